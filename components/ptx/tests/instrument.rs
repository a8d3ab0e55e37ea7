//! Kernels with profilers: their text, their ends, their refusals.

use std::path::Path;

use counterpoint_ptx::analysis::access::Class;
use counterpoint_ptx::functional::{FlatMemory, Grid, Options, ToldRange, ctas};
use counterpoint_ptx::instrument::{self, Instrumented, Semi, instrument};
use counterpoint_ptx::{Kernel, PtxError, RangeAction, VariableBases, parser};

use crate::small::{self, HEAD};

fn instrumented(text: &str) -> Result<Instrumented, PtxError> {
    instrument(
        &parser::parse(text).unwrap_or_else(|errors| panic!("{errors:?}")),
        &instrument::Options::default(),
    )
}

/// The paper's VectorAdd (figure 7): C[i] = A[i] + B[i] where i < N.
const VECTOR_ADD: &str = "\
.visible .entry VecAdd(.param .u64 A, .param .u64 B, .param .u64 C, .param .u32 N)
{
	.reg .pred %p<2>;
	.reg .f32 %f<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [A];
	ld.param.u64 %rd2, [B];
	ld.param.u64 %rd3, [C];
	ld.param.u32 %r1, [N];
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.s32 %p1, %r5, %r1;
	@%p1 ret;
	mul.wide.s32 %rd4, %r5, 4;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	add.s64 %rd7, %rd3, %rd4;
	ld.global.f32 %f1, [%rd5];
	ld.global.f32 %f2, [%rd6];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd7], %f3;
	ret;
}
";

#[test]
fn the_text_of_vector_add_is_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instrument/vector-add.txt");
    let found = instrumented(&format!("{HEAD}{VECTOR_ADD}")).unwrap().text;
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(found == expected, "{found}");
}

/// Runs all blocks of a kernel with words in and out; gives the memory's words and the reported ranges.
fn run(
    text: &str,
    kernel: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    words: usize,
    numbers: &[u32],
) -> (Vec<u32>, Vec<ToldRange>) {
    let compiled = Kernel::compile(text, Some(kernel)).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let mut memory = FlatMemory::new(0);
    let content: Vec<u8> = (0..words as u32).flat_map(|word| (word * 7 + 1).to_le_bytes()).collect();
    let start = memory.push(&content);
    let mut params: Vec<u8> = start.to_le_bytes().to_vec();
    params.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    let options = Options { ranges: true, limit: 100_000, ..Options::default() };
    let mut run = Grid::new(&compiled, grid, block, &params, VariableBases::default(), &options).unwrap();
    for ctaid in ctas(grid) {
        let ended = run.run_cta(ctaid, &mut memory).unwrap_or_else(|failure| panic!("{failure}\n{text}"));
        assert!(ended.is_continue());
    }
    let chunks = memory.bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
    (chunks.collect(), run.ranges().to_vec())
}

/// A kernel of one array and one number around these instructions.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 data, .param .u32 n)\n{{\n\
         .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd0, [data]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n\
         mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %rd1, %r4, 4; add.s64 %rd2, %rd0, %rd1;\n\
         {body}\n}}\n"
    )
}

/// Runs a kernel with and without profilers: it must do the same, and release once for each block the range
/// that it set.
#[track_caller]
fn assert_releases(body: &str, block: [u32; 3]) {
    let text = kernel(body);
    let with = instrumented(&text).unwrap();
    assert_eq!(with.kernels[0].pre.as_deref(), Some("k__pre"), "{:?}", with.kernels[0].irregular);
    let shape = ([3, 1, 1], block);
    let (plain, none) = run(&text, "k", shape, 600, &[70]);
    assert!(none.is_empty());
    let (after, released) = run(&with.text, "k", shape, 600, &[70]);
    assert_eq!(plain, after);
    let numbers = [70, block[0], block[1], block[2]];
    let (_, set) = run(&with.text, "k__pre", ([3, 1, 1], [1; 3]), 600, &numbers);
    assert_eq!(set.len(), 3 * with.kernels[0].arrays.len());
    let as_set: Vec<ToldRange> = released
        .iter()
        .map(|range| {
            assert_eq!(range.action, RangeAction::Release);
            ToldRange { action: RangeAction::Set, ..*range }
        })
        .collect();
    assert_eq!(as_set, set);
}

#[test]
fn every_end_releases_once() {
    // A guarded return in front, an unguarded one in the middle, and the end of the text.
    assert_releases(
        "setp.ge.s32 %p0, %r4, %r0; @%p0 ret; ld.global.u32 %r5, [%rd2]; add.s32 %r5, %r5, 1;\n\
         and.b32 %r6, %r1, 1; setp.eq.s32 %p1, %r6, 0; @%p1 bra EVEN;\n\
         st.global.u32 [%rd2], %r5; ret;\nEVEN: st.global.u32 [%rd2], 5; @!%p1 exit;\n\
         st.global.u32 [%rd2], 6;",
        [50, 1, 1],
    );
    // Blocks of several warps and dimensions, and a label in front of the last return.
    assert_releases(
        "mov.u32 %r7, %tid.y; or.b32 %r8, %r7, %r1; setp.ne.s32 %p0, %r8, 0; @%p0 bra DONE;\n\
         st.global.u32 [%rd2], 9;\nDONE: ret;",
        [16, 4, 2],
    );
    // Lanes leave a loop and the kernel in different rounds.
    assert_releases(
        "mov.u32 %r5, 0;\nLOOP: setp.eq.s32 %p0, %r5, %r1; @%p0 ret;\n\
         st.global.u32 [%rd2], %r5; add.s32 %r5, %r5, 1; bra LOOP;",
        [40, 1, 1],
    );
}

#[test]
fn loops_are_bounded_by_their_last_round() {
    let body = "mov.u32 %r5, 0; mov.u64 %rd3, %rd2;\nLOOP: ld.global.u32 %r6, [%rd3];\n\
                add.s64 %rd3, %rd3, 256; add.s32 %r5, %r5, 1; setp.lt.s32 %p0, %r5, %r0; @%p0 bra LOOP;\n\
                st.global.u32 [%rd2], %r6;";
    let with = instrumented(&kernel(body)).unwrap();
    let (_, set) = run(&with.text, "k__pre", ([2, 1, 1], [1; 3]), 600, &[4, 32, 1, 1]);
    let [first, second] = set.as_slice() else { panic!("{set:?}") };
    let from = |range: &ToldRange| (range.call.low - range.call.array, range.call.high - range.call.array);
    assert_eq!([from(first), from(second)], [(0, 3 * 256 + 128), (128, 3 * 256 + 256)]);
    assert!(first.call.reads && first.call.writes);
}

#[test]
fn irregular_kernels_stay_and_are_named() {
    let body = "ld.global.u32 %r5, [%rd2]; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd0, %rd3;\n\
                st.global.u32 [%rd4], 1; ret;";
    let text = kernel(body);
    let with = instrumented(&text).unwrap();
    assert_eq!(with.text, text);
    let [kernel] = with.kernels.as_slice() else { panic!("{:?}", with.kernels) };
    assert_eq!((kernel.class, kernel.pre.as_ref()), (Class::Irregular, None));
    let why = kernel.irregular.as_ref().unwrap();
    assert_eq!((why.line, why.instruction.as_str()), (10, "st.global.u32 [%rd4], 1;"));
    assert!(why.reason.contains("line 9 loads"), "{}", why.reason);
}

#[test]
fn threads_that_end_before_a_barrier_have_no_profilers() {
    let parts = |test: &str, rest: &str| {
        let body = format!("{test} @%p0 ret; st.global.u32 [%rd2], 1; {rest} ret;");
        instrumented(&kernel(&body))
            .unwrap()
            .kernels
            .remove(0)
            .irregular
            .map(|why| (why.instruction, why.reason))
    };
    let (instruction, reason) = parts("setp.ge.s32 %p0, %r1, %r0;", "\nbar.sync 0;\n").unwrap();
    assert!(
        instruction == "@%p0 ret;" && reason.contains("the barrier at line 10"),
        "{instruction} {reason}"
    );
    assert_eq!(parts("setp.ge.s32 %p0, %r1, %r0;", ""), None, "no barrier");
    assert_eq!(parts("setp.ge.s32 %p0, %r2, %r0;", "bar.sync 0;"), None, "whole blocks end");
    let loaded = "ld.global.u32 %r5, [%rd2]; setp.eq.s32 %p0, %r5, 0;";
    assert!(parts(loaded, "bar.sync 0;").is_some());
    // The way says who came here, as a number would.
    let by_way = "mov.u32 %r5, 0; setp.lt.s32 %p1, %r1, 4; @%p1 bra SOME; mov.u32 %r5, 1;\n\
                  SOME: setp.eq.s32 %p0, %r5, 0;";
    assert!(parts(by_way, "bar.sync 0;").is_some());
    // A loop with a barrier whose rounds all threads make, behind a part that some skip.
    let body = "setp.ge.s32 %p1, %r1, 7; @%p1 bra ALL; st.global.u32 [%rd2], 3;\nALL: mov.u32 %r5, 0;\n\
                setp.le.s32 %p2, %r0, 0; @%p2 bra DONE;\nLOOP: bar.sync 0; add.s32 %r5, %r5, 1;\n\
                setp.lt.s32 %p0, %r5, %r0; @%p0 bra LOOP;\nDONE: ret;";
    assert_eq!(instrumented(&kernel(body)).unwrap().kernels[0].irregular, None);
}

#[test]
fn semi_regular_kernels_are_counted_through_if_that_is_wanted() {
    let body = "and.b32 %r5, %r1, 7; xor.b32 %r5, %r5, 5; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd0, %rd3;\n\
                st.global.u32 [%rd4], 1; ret;";
    let text = kernel(body);
    assert!(instrumented(&text).unwrap().kernels[0].irregular.as_ref().is_some_and(|why| why.line == 10));
    let module = parser::parse(&text).unwrap();
    let with = instrument(&module, &instrument::Options { semi: Semi::Enumerate, kernel: None }).unwrap();
    let told = |threads| {
        let (_, set) = run(&with.text, "k__pre", ([1, 1, 1], [1; 3]), 600, &[0, threads, 1, 1]);
        (set[0].call.low - set[0].call.array, set[0].call.high - set[0].call.array)
    };
    // 5, 4, 7, 6, 1, 0, 3, 2
    assert_eq!([told(1), told(3), told(6), told(32)], [(20, 24), (16, 32), (0, 32), (0, 32)]);
}

#[test]
fn names_and_room_are_checked() {
    let error = |text: &str| instrumented(text).unwrap_err();
    let text = format!("{HEAD}{VECTOR_ADD}");
    let twice = error(&instrumented(&text).unwrap().text);
    assert!(twice.line == 4 && twice.message.contains("declared already"), "{twice}");
    let taken = error(&format!("{text}.visible .entry VecAdd__pre() {{ ret; }}\n"));
    assert!(taken.line == 30 && taken.message.contains("a name that the profilers"), "{taken}");
    let full = text.replace(".param .u32 N", ".param .u32 N, .param .align 4 .b8 rest[4316]");
    assert!(instrumented(&full.replace("4316", "4312")).is_ok());
    let full = error(&full);
    assert!((full.line, full.column) == (4, 84) && full.message.contains("needs 12 more"), "{full}");
}

#[test]
fn one_thread_tells_and_says_what_it_means() {
    let declared =
        ".extern .func __claim_range(.param .b64 a, .param .b64 b, .param .b64 c, .param .b32 d);\n";
    let call = |flags: u32| format!("call __claim_range, (%rd0, %rd1, %rd2, {flags});");
    let fault =
        |body: &str, threads| small::execute_in(declared, body, threads, &[0], false).unwrap_err().message;
    assert!(fault(&call(1), 32).contains("32 threads"));
    assert!(fault(&call(4), 1).contains("has the flags 4"));
    // Without a request for ranges, a kernel may call the function.
    assert!(small::execute_in(declared, &call(3), 1, &[0], false).is_ok());
    let wrong = declared.replace(".param .b32 d", ".param .b64 d");
    let text = format!("{HEAD}{wrong}.visible .entry k() {{ call __claim_range, (1, 2, 3, 4); ret; }}");
    let errors = Kernel::compile(&text, None).unwrap_err();
    assert!(errors[0].to_string().contains("8, 8, 8 and 4 bytes"), "{}", errors[0]);
}
