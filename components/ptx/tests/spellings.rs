//! What NVIDIA's assembler takes and compilers write: directives, constants, vectors of registers, lists of targets, names of
//! functions, instructions that nothing executes. Results are arithmetic that is done here.

use counterpoint_ptx::functional::{FlatMemory, Options, run};
use counterpoint_ptx::{Kernel, decode, parser};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The words that a kernel of one block stores behind `%out`, of which `%in` holds 0x100, 0x101 and so on.
fn words_of(source: &str, threads: u32, count: usize) -> Vec<u32> {
    let kernel = Kernel::compile(source, Some("k")).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"));
    let mut memory = FlatMemory::new(0);
    let input: Vec<u8> = (0x100..0x140u32).flat_map(u32::to_le_bytes).collect();
    let from = memory.push(&input);
    let to = memory.push(&vec![0; 4 * count]);
    let parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    run(&kernel, [1; 3], [threads, 1, 1], &parameters, &mut memory, &Options::default()).expect("it runs");
    let bytes = &memory.bytes[(to - memory.base) as usize..][..4 * count];
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect()
}

/// A kernel with registers, its two pointers in `%in` and `%out`.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "{HEAD}{before}\n.visible .entry k(.param .u64 a, .param .u64 b)\n{{\n.reg .pred %p<8>; .reg .b32 %r<16>; \
         .reg .b64 %in, %out, %d<8>; .reg .f32 %f<8>;\nld.param.u64 %in, [a]; ld.param.u64 %out, [b];\n{body}\nret;\n}}\n"
    )
}

fn stored(before: &str, body: &str, count: usize) -> Vec<u32> {
    words_of(&kernel(before, body), 1, count)
}

#[test]
fn constants_are_c_expressions() {
    let rows: [(&str, u32); 20] = [
        ("(1 + 2) * 3", 9),
        ("1 + 2 * 3", 7),
        ("-(4 - 6)", 2),
        ("7 / 2 + 7 % 2", 4),
        ("-7 / 2", -3i32 as u32),
        ("1 << 4 | 1", 17),
        ("0xff & ~0xf", 0xf0),
        ("6 ^ 3", 5),
        ("3 > 2 && 2 > 3", 0),
        ("3 >= 3 || 0", 1),
        ("5 == 5 ? 10 : 20", 10),
        ("!5 != 0 ? 10 : 20", 20),
        ("-1 < 0", 1),
        ("-1 < 0U", 0),
        ("(.u64)-1 > 0", 1),
        ("-8 >> 1", -4i32 as u32),
        ("WARP_SZ * 2 - 1", 63),
        ("0b101 + 010", 13),
        ("((((1))))", 1),
        ("2 <= 1", 0),
    ];
    for (expression, want) in rows {
        let body = format!("mov.u32 %r1, {expression}; st.global.u32 [%out], %r1;");
        assert_eq!(stored("", &body, 1), [want], "{expression}");
    }
    let zero = Kernel::compile(&kernel("", "mov.u32 %r1, 1 / 0;"), None).unwrap_err();
    assert!(zero[0].message.contains("divided by zero"), "{zero:?}");
    let deep = format!("mov.u32 %r1, {}1{};", "(".repeat(500), ")".repeat(500));
    assert!(Kernel::compile(&kernel("", &deep), None).unwrap_err()[0].message.contains("nested too deeply"));
    assert_eq!(
        stored("", "ld.global.u32 %r1, [%in+4*(1+2)-4]; st.global.u32 [%out+8-2*4], %r1;", 1),
        [0x102]
    );
    assert_eq!(
        stored(
            ".global .b32 g[WARP_SZ / 8] = {1, 1+1, (3), 2*2};",
            "ld.global.u32 %r1, [g+12]; st.global.u32 [%out], %r1;",
            1
        ),
        [4]
    );
}

#[test]
fn registers_come_in_vectors() {
    let body = ".reg .v4 .b32 v; .reg .v2 .f32 w<3>;\nld.global.v4.b32 v, [%in+16];\nmov.b32 %r1, v.w; mov.b32 v.x, %r1;\n\
        st.global.v4.b32 [%out], v; ld.global.v2.f32 w2, [%in]; mov.b32 %r2, w2.g; st.global.u32 [%out+16], %r2;";
    assert_eq!(stored("", body, 5), [0x107, 0x105, 0x106, 0x107, 0x101]);
    let errors = Kernel::compile(&kernel("", ".reg .v2 .b32 v; add.u32 %r1, v, 1; mov.b32 %r1, v.z;"), None)
        .unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts[0].contains("`v` is a vector (expected a part of it, such as `v.x`)"), "{texts:?}");
    assert!(texts[1].contains("`v.z` is not declared"), "{texts:?}");
}

#[test]
fn indexed_branches_go_to_their_targets() {
    let body = "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; mul.wide.u32 %d1, %r1, 4; add.u64 %out, %out, %d1;\n\
        setp.lt.u32 %p1, %r1, 24; mov.u32 %r3, 99;\nts: .branchtargets A, B, C, B;\n@%p1 brx.idx %r2, ts;\nbra E;\n\
        A: mov.u32 %r3, 10; bra E;\nB: mov.u32 %r3, 20; bra E;\nC: mov.u32 %r3, 30;\nE: st.global.u32 [%out], %r3;";
    let want: Vec<u32> = (0..32).map(|t| if t < 24 { [10, 20, 30, 20][t % 4] } else { 99 }).collect();
    assert_eq!(words_of(&kernel("", body), 32, 32), want);
    let unknown =
        Kernel::compile(&kernel("", "tss: .branchtargets A;\nA: brx.idx %r1, ts;"), None).unwrap_err();
    assert!(
        unknown[0].to_string().contains("no `.branchtargets` is named `ts` (expected something like `tss`)")
    );
}

#[test]
fn functions_have_aliases_and_declarations_without_an_end() {
    let before = ".visible .func (.param .b32 r) twice(.param .b32 a)\n.func (.param .b32 r) again(.param .b32 a);\n\
        .visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %v; ld.param.b32 %v, [a]; add.u32 %v, %v, %v; \
        st.param.b32 [r], %v; ret; }\n.alias again, twice;";
    let body = "mov.u32 %r1, 21; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), again, (x); \
        ld.param.b32 %r2, [y]; }\nst.global.u32 [%out], %r2;\n\
        mov.u64 %d1, again; t: .calltargets twice, again; call (%r3), %d1, (%r2), t; st.global.u32 [%out+4], %r3;";
    assert_eq!(stored(before, body, 2), [42, 84]);
    let error = parser::parse(&kernel(".alias a, nowhere;", ""))
        .and_then(|module| decode::decode(&module))
        .unwrap_err();
    assert!(error[0].message.contains("no function is named `nowhere`"), "{error:?}");
}

#[test]
fn special_registers_and_constant_predicates_are_operands() {
    let body = "add.u32 %r1, %tid.x, %ntid.x; mad.lo.u32 %r1, %r1, 10, %laneid; mul.wide.u32 %d1, %tid.x, 4; \
        add.u64 %out, %out, %d1; selp.u32 %r2, 1000, 0, 1; selp.u32 %r3, 500, 0, 0; setp.eq.u32 %p1, %laneid, 2;\n\
        selp.u32 %r4, 0, 7, !%p1; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;\n\
        st.global.u32 [%out], %r1;";
    let want: Vec<u32> = (0..4).map(|t| (t + 4) * 10 + t + 1000 + if t == 2 { 7 } else { 0 }).collect();
    assert_eq!(words_of(&kernel("", body), 4, 4), want);
    let wide = Kernel::compile(&kernel("", "add.u64 %d1, %d1, %tid.x;"), None).unwrap_err();
    assert!(wide[0].message.contains("`%tid.x` is an integer of 32 bits"), "{wide:?}");
}

#[test]
fn accesses_without_a_space_go_to_their_variable() {
    let before = ".shared .align 4 .b32 s;\n.global .align 4 .b32 g = 5;";
    let body = "mov.u32 %r1, 9; st.u32 [s], %r1; ld.shared.u32 %r2, [s]; atom.add.u32 %r3, [g], %r2; ld.global.u32 %r4, [g];\n\
        st.global.v4.u32 [%out], {%r2, %r3, %r4, %r1};";
    assert_eq!(stored(before, body, 4), [9, 5, 14, 9]);
}

#[test]
fn addresses_have_their_spaces() {
    let before = ".shared .align 4 .b32 s;\n.global .align 4 .b32 g;\n.const .align 4 .b32 c = 3;";
    let body = "mov.u64 %d1, s; cvta.shared::cta.u64 %d1, %d1; cvta.const.u64 %d2, c; mov.u64 %d3, g;\n\
        isspacep.const %p1, %d2; isspacep.const %p2, %d3; isspacep.shared::cta %p3, %d1; isspacep.const %p4, %d1;\n\
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4;\n\
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    assert_eq!(stored(before, body, 4), [1, 0, 1, 0]);
    // Code without optimisation asks for every space: a block alone is a cluster, and no address is that of a parameter.
    let body = "mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; isspacep.shared::cluster %p1, %d1; isspacep.shared::cluster %p2, %out;\n\
        isspacep.param %p3, %d1; isspacep.param::entry %p4, %out;\n\
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4;\n\
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    assert_eq!(stored(before, body, 4), [1, 0, 0, 0]);
}

#[test]
fn files_may_begin_with_a_mark_and_have_returns() {
    let text =
        format!("\u{feff}{}", kernel("", "mov.u32 %r1, 8; st.global.u32 [%out], %r1;").replace('\n', "\r\n"));
    assert_eq!(words_of(&text, 1, 1), [8]);
    let glued = kernel("", ".reg.b32 %q;.reg.b64 %w;\nmov.u32 %q, 8; st.global.u32 [%out], %q;");
    assert_eq!(words_of(&glued, 1, 1), [8]);
}

#[test]
fn three_directives_are_required() {
    for (missing, rest) in [
        (".version", ".target sm_80\n.address_size 64\n// .version\n"),
        (".target", ".version 8.0\n.address_size 64\n"),
        (".address_size", ".version 8.0\n.target sm_80\n"),
    ] {
        let errors = parser::parse(&format!("{rest}.visible .entry k() {{ ret; }}")).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].message, format!("the module has no `{missing}`"));
    }
}

#[test]
fn old_modules_do_not_say_how_wide_addresses_are() {
    let module = |version: &str, body: &str| {
        let registers = ".reg .pred %p; .reg .u32 %r<4>; .reg .u64 %d<2>; .shared .b32 s;";
        format!(
            ".version {version}\n.target sm_20\n.entry k(.param .u64 o)\n{{\n{registers}\n{body}\nexit;\n}}\n"
        )
    };
    // Shared memory may have addresses of 32 bits.
    let wide = "ld.param.u64 %d1, [o]; mov.u32 %r1, s; st.shared.u32 [%r1], 7; { .reg .u32 q; ld.shared.u32 q, [%r1]; \
        st.global.u32 [%d1], q; }";
    let kernel = Kernel::compile(&module("2.1", wide), None).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut memory = FlatMemory::new(0);
    let to = memory.push(&[0; 4]);
    run(&kernel, [1; 3], [1; 3], &to.to_le_bytes(), &mut memory, &Options::default()).expect("it runs");
    assert_eq!(memory.bytes[(to - memory.base) as usize], 7);
    let refused = |version: &str, body: &str| {
        Kernel::compile(&module(version, body), None).unwrap_err().first().map(ToString::to_string)
    };
    let narrow = "ld.param.u32 %r1, [o]; st.global.u32 [%r1], 1;";
    let told =
        "6:38: `%r1` is an address of 32 bits: this is a 32-bit module (expected addresses of 64 bits)";
    assert_eq!(refused("1.4", narrow).as_deref(), Some(told));
    assert!(refused("2.3", wide).is_some_and(|error| error.contains("the module has no `.address_size`")));
}

#[test]
fn only_the_kernel_that_needs_it_is_refused() {
    let unsupported = ".func helper() { wgmma.fence.sync.aligned; ret; }\n.extern .global .b32 other;\n.extern .func far();\n\
        .visible .entry direct() { .reg .b32 %r; mov.u32 %r, %cluster_ctarank; ret; }\n\
        .visible .entry called() { call helper; ret; }\n.visible .entry external() { .reg .b64 %d; mov.u64 %d, other; ret; }\n\
        .visible .entry linked() { call far; ret; }\n.visible .entry clustered() .reqnctapercluster 2 { ret; }\n\
        .visible .entry blackwell() { .reg .b64 %d; fma.rn.f32x2 %d, %d, %d, %d; ret; }";
    let text = kernel(unsupported, "mov.u32 %r1, 8; st.global.u32 [%out], %r1;");
    assert_eq!(words_of(&text, 1, 1), [8]);
    for (name, want) in [
        ("direct", "`%cluster_ctarank` is not supported: clusters of blocks are not simulated"),
        ("called", "`wgmma.fence.sync.aligned` is not supported: it needs the matrix unit of sm_90a"),
        ("external", "`other` is defined in another module, and there is no linker"),
        ("linked", "`far` has no body, and there is no linker"),
        ("clustered", "`.reqnctapercluster` is not supported: clusters of blocks are not simulated"),
        ("blackwell", "`fma.rn.f32x2` is not supported: it needs sm_100"),
    ] {
        let errors = Kernel::compile(&text, Some(name)).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].message, want);
    }
    let unknown = Kernel::compile(&text.replace("wgmma", "wgnna"), Some("k")).unwrap_err();
    assert!(unknown[0].message.contains("unknown instruction"), "{unknown:?}");
}

#[test]
fn errors_name_the_line_of_the_program() {
    let text = kernel("", ".loc 1 17 5\nmov.u32 %r1, %nowhere;\n") + "\n.file 1 \"saxpy.cu\"\n";
    let errors = Kernel::compile(&text, None).unwrap_err();
    assert_eq!(errors[0].compiled_from, Some(("saxpy.cu".to_owned(), 17)));
    assert!(errors[0].to_string().ends_with(", compiled from saxpy.cu:17"), "{}", errors[0]);
    let text = kernel("", ".loc 1 21 5\ntrap;\n") + "\n.file 1 \"saxpy.cu\"\n";
    let kernel = Kernel::compile(&text, None).unwrap();
    let mut memory = FlatMemory::new(0);
    let failure = run(&kernel, [1; 3], [1; 3], &[0; 16], &mut memory, &Options::default()).unwrap_err();
    assert!(kernel.quote(failure.line).starts_with("saxpy.cu:21 (PTX line 10), `trap;`"), "{failure}");
}

#[test]
fn roundings_that_are_the_only_ones_may_be_said_or_not() {
    let product = |rounding: &str| {
        let body = format!(
            ".reg .f64 %x<4>;\nld.global.f64 %x0, [%in];\n\
             wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64{rounding} {{%x2, %x3}}, {{%x0}}, {{%x0}}, {{%x0, %x0}};\n\
             st.global.f64 [%out], %x2;"
        );
        words_of(&kernel("", &body), 32, 2)
    };
    assert_eq!(product(".rn"), product(""));
    // The assembler makes FFMA.FTZ of it, whose product is not rounded: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24.
    let body = "mov.f32 %f0, 0f3F800800; mov.f32 %f1, 0fBF801000; mad.f32 %f2, %f0, %f0, %f1; st.global.f32 [%out], %f2;";
    assert_eq!(stored("", body, 1), [(2f32.powi(-24)).to_bits()]);
}
