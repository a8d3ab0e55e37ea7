//! Kernels with slices: their text, all forms of reading the index, and refusals.

use std::num::NonZeroU32;
use std::path::Path;

use counterpoint_ptx::functional::{FlatMemory, ctas};
use counterpoint_ptx::slice::{Carry, Dimensions, Options, parameters, plan, slice, sliced};
use counterpoint_ptx::{PtxError, decode, parser};

use crate::runs::{Launch, compile, with_slices, words};

const HEAD: &str = ".version 7.8\n.target sm_35\n.address_size 64\n";

/// Doubles a matrix, one row of blocks after another; a function has a part in it.
const TWICE: &str = "\
.func (.param .b32 at) row(.param .b32 width)
{
	.reg .b32 %r<5>;
	ld.param.u32 %r1, [width];
	mov.u32 %r2, %ctaid.y;
	mov.u32 %r3, %nctaid.x;
	mul.lo.u32 %r4, %r1, %r3;
	mul.lo.u32 %r4, %r4, %r2;
	st.param.b32 [at], %r4;
	ret;
}
.visible .entry twice(
	.param .u64 twice_data
)
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<5>;
	// Blocks of one row.
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	{
	.param .b32 width;
	.param .b32 at;
	st.param.b32 [width], %r2;
	call.uni (at), row, (width);
	ld.param.b32 %r5, [at];
	}
	add.u32 %r6, %r4, %r5;
	ld.param.u64 %rd1, [twice_data];
	mul.wide.u32 %rd2, %r6, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r7, [%rd3];
	shl.b32 %r8, %r7, 1;
	st.global.u32 [%rd3], %r8;
	ret;
}
";

fn options(dimensions: Dimensions, carry: Carry) -> Options {
    Options { dimensions, carry, kernel: None }
}

#[test]
fn the_text_of_slices_is_as_it_was() {
    for (name, options) in [
        ("one", options(Dimensions::One, Carry::Subtract)),
        ("subtract", options(Dimensions::Two, Carry::Subtract)),
        ("divide", options(Dimensions::Three, Carry::Divide)),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/slice/{name}.txt"));
        let text = format!("{HEAD}{TWICE}");
        let found = with_slices(&text, &options).text;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        assert!(found == std::fs::read_to_string(&path).unwrap(), "{found}");
        // The old text stays.
        let mut kept = found.lines();
        assert!(text.lines().all(|line| kept.any(|found| found == line)));
    }
}

/// The value that the first thread of a block leaves at its place when it has done this, and the grid is
/// sliced.
///
/// The body has the place in `%rd3`; it may use `%r4`, `%rs`, `%rd4`, `%f` and `%p0`, which is true.
fn written(body: &str, grid: [u32; 3], options: &Options) -> Vec<u32> {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<2>; .reg .b32 %r<14>; .reg .b16 %rs<8>; .reg .b64 %rd<8>;\n\
         .reg .f32 %f<4>; ld.param.u64 %rd1, [out];\n\
         mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r9, 0; setp.eq.u32 %p0, %r9, 0;\n\
         {body}\nst.global.u32 [%rd3], %r4; ret;\n}}\n"
    );
    // Plain kernels may read more than our decoder takes; their slices must not.
    let module = parser::parse(&text).unwrap();
    let text = slice(&module, options).unwrap().text;
    let twin = text.find("// Added: k,").unwrap();
    let text = format!("{HEAD}{}", &text[twin..]);
    let kernel = compile(&text, &sliced("k"));
    let blocks: u32 = grid.iter().product();
    let mut memory = FlatMemory::new(4 * blocks as usize);
    let params = memory.base.to_le_bytes();
    let slices: Vec<_> = plan(blocks.into(), NonZeroU32::new(5).unwrap()).collect();
    Launch { kernel: &kernel, grid, block: [1, 1, 1], params: &params }.run_slices(&slices, &mut memory);
    words(&memory)
}

#[test]
fn every_form_of_a_read_gives_the_index_in_the_grid() {
    type Expected = fn([u32; 3], [u32; 3]) -> u32;
    let cases: [(&str, Expected); 16] = [
        ("mov.u32 %r4, %ctaid.y;", |[_, y, _], _| y),
        ("mov.b32 %f1, %nctaid.x; mov.b32 %r4, %f1;", |_, [x, ..]| x),
        ("mov.u16 %rs1, %ctaid.x; cvt.u32.u16 %r4, %rs1;", |[x, ..], _| x),
        ("mov.u16 %rs1, %nctaid.z; cvt.u32.u16 %r4, %rs1;", |_, [_, _, z]| z),
        ("cvt.u16.u32 %rs1, %nctaid.y; cvt.u32.u16 %r4, %rs1;", |_, [_, y, _]| y),
        ("cvt.u32.u16 %r4, %ctaid.x;", |[x, ..], _| x),
        ("cvt.u64.u32 %rd4, %ctaid.z; cvt.u32.u64 %r4, %rd4;", |[_, _, z], _| z),
        ("mov.u64 %rd4, %nctaid.y; cvt.u32.u64 %r4, %rd4;", |_, [_, y, _]| y),
        ("mad.lo.u32 %r4, %ctaid.x, %nctaid.x, %nctaid.z;", |[x, ..], [width, _, depth]| x * width + depth),
        ("mov.u32 %r4, 7; @%p0 mov.u32 %r4, %nctaid.y; @!%p0 mov.u32 %r4, %ctaid.x;", |_, [_, y, _]| y),
        (
            "mov.b64 %rd4, {%ctaid.x, %nctaid.z}; mov.b64 {%r5, %r6}, %rd4; shl.b32 %r6, %r6, 8; or.b32 %r4, %r5, %r6;",
            |[x, ..], [_, _, depth]| x | depth << 8,
        ),
        (
            "mov.v4.u32 {%r5, %r6, %r7, %r8}, %ctaid; shl.b32 %r6, %r6, 8; \
             shl.b32 %r7, %r7, 16; or.b32 %r4, %r5, %r6; \
             or.b32 %r4, %r4, %r7; sub.u32 %r4, %r4, %r8;",
            |[x, y, z], _| x | y << 8 | z << 16,
        ),
        (
            "mov.v4.u16 {%rs1, _, %rs3, %rs4}, %nctaid; cvt.u32.u16 %r5, %rs1; cvt.u32.u16 %r6, %rs3; mad.lo.u32 %r4, %r5, 64, %r6;",
            |_, [x, _, z]| 64 * x + z,
        ),
        (
            "mov.v4.u16 {%rs1, %rs2, _, %rs4}, %ctaid; cvt.u32.u16 %r5, %rs1; cvt.u32.u16 %r6, %rs2; mad.lo.u32 %r4, %r5, 64, %r6;",
            |[x, y, _], _| 64 * x + y,
        ),
        (
            "mov.u32 %r4, 3; @%p0 mov.v4.b32 {%r4, _, _, _}, %nctaid; @!%p0 mov.v4.b32 {_, %r4, _, _}, %ctaid;",
            |_, [x, ..]| x,
        ),
        (
            "mov.u32 %r4, %ctaid.w; mov.u32 %r5, 0;\nROUND: add.u32 %r4, %r4, %ctaid.x; add.u32 %r5, %r5, 1; \
             setp.lt.u32 %p1, %r5, 3; @%p1 bra ROUND; add.u32 %r4, %r4, %nctaid.w;",
            |[x, ..], _| 3 * x,
        ),
    ];
    for (body, expected) in cases {
        for grid in [[4, 1, 1], [3, 4, 1], [3, 2, 4]] {
            let enough = Dimensions::ALL.into_iter().filter(|some| *some >= Dimensions::of(grid));
            for dimensions in enough {
                for carry in [Carry::Subtract, Carry::Divide] {
                    let found = written(body, grid, &options(dimensions, carry));
                    let indices = ctas(grid);
                    let wanted: Vec<u32> = indices.map(|index| expected(index, grid)).collect();
                    assert_eq!(found, wanted, "{body} {grid:?} {dimensions:?} {carry:?}");
                }
            }
        }
    }
}

#[test]
fn parameters_are_added_to_any_list() {
    for list in ["", "()", "( )", "(.param .u8 a)", "(.param .align 8 .b8 a[13], .param .u16 b)"] {
        let text = format!("{HEAD}.weak .entry k{list} .maxntid 32, 1, 1 {{ ret; }}");
        let made = with_slices(&text, &Options::default());
        let kernel = compile(&made.text, &sliced("k"));
        let names: Vec<&str> = kernel.params().iter().map(|param| param.name.as_str()).collect();
        assert!(names.ends_with(&parameters("k").each_ref().map(String::as_str)), "{names:?}");
        assert_eq!(kernel.param_bytes() % 4, 0);
    }
    assert_eq!(parameters("k")[0], "k__slice_first_x");
}

#[test]
fn one_kernel_alone_has_a_twin_when_it_is_asked_for() {
    let text = format!("{HEAD}{TWICE}.visible .entry other() {{ ret; }}\n");
    let module = parser::parse(&text).unwrap();
    let only = |name: &str| {
        let made = slice(&module, &Options { kernel: Some(name.to_owned()), ..Options::default() }).unwrap();
        decode::decode(&parser::parse(&made.text).unwrap()).unwrap();
        made
    };
    let other = only("other");
    assert!(other.text.contains(".entry other__slice(") && !other.text.contains("row__slice"));
    assert_eq!(
        other.kernels.iter().map(|kernel| kernel.slice.as_deref()).collect::<Vec<_>>(),
        [None, Some("other__slice")]
    );
    assert!(only("twice").text.contains("row__slice, (width, %slice_y, %slice_grid_x)"));
    assert_eq!(only("none").text, text);
}

/// The reason why a kernel with this body, and these items before it, has no slices; the line, too.
fn reason(before: &str, body: &str) -> (u32, String) {
    let text = format!(
        "{HEAD}{before}.visible .entry k()\n{{\n.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n{body}\nret;\n}}\n"
    );
    let made = with_slices(&text, &Options::default());
    assert_eq!(made.text, text);
    let refused = made.kernels[0].refused.clone().unwrap();
    assert!(made.kernels[0].slice.is_none() && !refused.instruction.is_empty());
    (refused.line, refused.reason)
}

#[test]
fn kernels_that_know_their_grid_are_refused_by_name() {
    for (body, name) in [
        ("mov.u64 %rd1, %gridid;", "`%gridid` counts launches"),
        ("mov.u32 %r1, %clusterid.x;", "`%clusterid.x` belongs to clusters"),
        ("mov.u32 %r1, %cluster_ctarank;", "`%cluster_ctarank` belongs to clusters"),
        ("mov.u32 %r1, %nclusterid.y;", "`%nclusterid.y` belongs to clusters"),
        ("barrier.cluster.arrive;", "`barrier.cluster.arrive` belongs to clusters"),
        ("mapa.u64 %rd1, %rd2, %r1;", "`mapa.u64` belongs to clusters"),
        ("griddepcontrol.wait;", "`griddepcontrol.wait` waits for a whole grid"),
        ("mov.u32 %r1, %envreg2;", "`%envreg2` holds the barrier of a whole grid"),
        ("mov.b32 {%r1, %r2}, %ctaid;", "`%ctaid` as a whole"),
        (".global .u32 count;", "`count` is a variable of one kernel"),
    ] {
        let (line, found) = reason("", body);
        assert!(line == 7 && found.contains(name), "{line} {found}");
    }
    let runtime = ".extern .func (.param .b32 a) cudaCGSynchronizeGrid(.param .b64 b, .param .b32 c);\n";
    let (line, found) = reason(runtime, "call (%r1), cudaCGSynchronizeGrid, (%rd1, %r2);");
    assert!(
        line == 8 && found.contains("`cudaCGSynchronizeGrid` is for barriers of a whole grid"),
        "{found}"
    );
    // In a function that the kernel calls, the line is the function's.
    let function = ".func f()\n{ .reg .b64 %rd1;\nmov.u64 %rd1, %gridid; ret; }\n";
    assert_eq!(reason(function, "call f;").0, 6);
    assert!(
        with_slices(&format!("{HEAD}{function}.entry k() {{ ret; }}\n"), &Options::default()).kernels[0]
            .refused
            .is_none()
    );
}

#[test]
fn indirect_calls_are_refused_where_they_may_come_to_the_index() {
    let call = "mov.u64 %rd1, f;\nP: .callprototype (.reg .b32 _) _ ();\ncall (%r1), %rd1, (), P;";
    let function = |body: &str| format!(".func (.reg .b32 %a) f() {{ {body} ret; }}\n");
    let (line, found) = reason(&function("mov.u32 %a, %ctaid.x;"), call);
    assert!(line == 10 && found.contains("may go to `f`, which reads `%ctaid`"), "{line} {found}");
    let harmless = format!(
        "{HEAD}{}.entry k() {{ .reg .b32 %r<3>; .reg .b64 %rd<2>; {call} ret; }}\n",
        function("mov.u32 %a, %tid.x;")
    );
    let made = with_slices(&harmless, &Options::default());
    assert_eq!(made.kernels[0].refused, None);
    compile(&made.text, "k__slice");
}

#[test]
fn what_cannot_be_added_is_refused() {
    let error =
        |text: &str| -> PtxError { slice(&parser::parse(text).unwrap(), &Options::default()).unwrap_err() };
    let text = format!("{HEAD}{TWICE}");
    let twice = error(&with_slices(&text, &Options::default()).text);
    assert!(twice.message.contains("a name that the slices of `row` need"), "{twice}");
    let taken = error(&format!("{text}.global .u32 twice__slice;\n"));
    assert!(taken.line == 42 && taken.message.contains("`twice__slice`"), "{taken}");
    let full = |bytes: u32| {
        text.replace("twice_data\n", &format!("twice_data,\n\t.param .align 4 .b8 rest[{bytes}]\n"))
    };
    assert!(slice(&parser::parse(&full(4320)).unwrap(), &Options::default()).is_ok());
    let full = error(&full(4321));
    assert!(full.line == 17 && full.message.contains("its slice needs 24 more of 4352"), "{full}");
    // Names of registers give way.
    let text = text.replace("%r7", "%slice_n");
    let text = text.replace(".reg .b32 %r<9>;", ".reg .b32 %r<9>, %slice_n;");
    assert!(with_slices(&text, &Options::default()).text.contains("mov.u32 %slice__x, %ctaid.x;"));
}
