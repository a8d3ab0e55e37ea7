//! Modules that the assembler refuses, because no GPU runs them or PTX does not have such an instruction.

use counterpoint_ptx::functional::{FlatMemory, Options, run};
use counterpoint_ptx::{Kernel, decode, parser};

fn texts(source: &str, kernel: &str) -> Vec<String> {
    let errors = Kernel::compile(source, Some(kernel)).err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

/// The problems of a module of an architecture, with a kernel `k`.
fn refused(version: &str, target: u32, before: &str, body: &str) -> Vec<String> {
    let head = format!(".version {version}\n.target sm_{target}\n.address_size 64\n");
    texts(&format!("{head}{before}\n.visible .entry k()\n{{\n{body}\nret;\n}}\n"), "k")
}

#[test]
fn initial_values_are_of_the_class_of_their_type() {
    let of = |before: &str| refused("7.8", 35, before, "");
    let integer = "this constant is an integer, and the type here is `.f32` (expected a number such as `1.5` or `0f3FC00000`)";
    assert_eq!(of(".global .f32 g[2] = {1, -1};"), [format!("4:22: {integer}")]);
    assert!(of(".const .f64 c = 0;")[0].contains("this constant is an integer, and the type here is `.f64`"));
    let fraction = of(".global .u32 g[2] = {1, 0f3F800000};");
    assert!(fraction[0].starts_with("4:25: this constant is a floating-point number"), "{fraction:?}");
    assert!(of(".global .s64 g = 1.5;")[0].contains("the type here is `.s64`"));
    assert!(of(".global .f16 g = 1;")[0].contains("`.f16` has no initial value (expected untyped bits"));
    for right in [
        ".global .f32 g[3] = {1.0, 0fBF800000, -2.5};",
        ".const .f64 c = 0d3FF0000000000000;",
        ".global .b32 g[2] = {1, 0f3F800000};",
        ".global .b64 g = 1.5;",
        ".global .b16 g = 0x3c00;",
    ] {
        assert_eq!(of(right), [""; 0], "{right}");
    }
}

#[test]
fn constants_take_64_kib_at_most() {
    let of = |before: &str| refused("7.8", 35, before, "");
    assert_eq!(of(".const .align 4 .b8 c[65536];"), [""; 0]);
    assert_eq!(
        of(".const .align 4 .b8 c[65536];\n.const .b32 d;"),
        [
            "5:1: up to here the module has 65540 bytes of constants, and 65536 is the most (expected `.global` for the larger ones)"
        ]
    );
    // Those of functions lie beside those of the module.
    let inside = refused("7.8", 35, ".const .b8 c[40000];", ".const .b8 d[40000];");
    assert!(inside[0].contains("80000 bytes of constants"), "{inside:?}");
}

#[test]
fn kernels_name_48_kib_of_shared_memory_at_most() {
    let text = ".version 7.8\n.target sm_70\n.address_size 64\n.shared .b8 a[32768];\n.shared .b8 b[32768];\n\
        .func f() { .shared .b8 c[32768]; ret; }\n\
        .visible .entry one() { .reg .b32 %r; mov.u32 %r, a; ret; }\n\
        .visible .entry both() { .reg .b32 %r; mov.u32 %r, a; mov.u32 %r, b; ret; }\n\
        .visible .entry own() { .shared .b8 d[49152]; ret; }\n\
        .visible .entry large() { .shared .b8 e[49156]; ret; }\n\
        .visible .entry calls() { .reg .b32 %r; mov.u32 %r, b; call f; ret; }\n";
    assert!(parser::parse(text).and_then(|module| decode::decode(&module)).is_ok(), "others can run");
    for kernel in ["one", "own"] {
        assert_eq!(texts(text, kernel), [""; 0], "{kernel}");
    }
    for (kernel, bytes) in [("both", 65536), ("large", 49156), ("calls", 65536)] {
        let told = format!("`{kernel}` has {bytes} bytes in shared memory, and 49152 is the most");
        let found = texts(text, kernel);
        assert!(found.len() == 1 && found[0].contains(&told), "{found:?}");
    }
}

#[test]
fn votes_and_shuffles_have_masks_from_sm_70_on() {
    let registers = ".reg .pred %p<3>; .reg .b32 %r<3>;\n";
    for (old, new) in [
        ("shfl.down.b32 %r1, %r2, 1, 31;", "shfl.sync.down.b32"),
        ("vote.ballot.b32 %r1, %p1;", "vote.sync.ballot.b32"),
        ("vote.all.pred %p2, %p1;", "vote.sync.all.pred"),
    ] {
        let body = format!("{registers}{old}");
        assert_eq!(refused("7.8", 61, "", &body), [""; 0]);
        // Until PTX 6.4 assemblers took them.
        assert_eq!(refused("6.3", 70, "", &body), [""; 0]);
        let name = old.split(' ').next().unwrap();
        let told = format!("8:1: `{name}` is gone from sm_70 on (expected `{new}` and a mask of lanes)");
        assert_eq!(refused("6.4", 70, "", &body), [told]);
    }
    assert_eq!(refused("7.8", 80, "", ".reg .b32 %r; activemask.b32 %r; bar.warp.sync -1;"), [""; 0]);
}

/// A module of a kernel `small` and a kernel `k` with 33,000 registers of 32 bits.
fn many_registers(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\
         .visible .entry small(.param .u64 o)\n{{ .reg .b64 %d; ld.param.u64 %d, [o]; st.global.u32 [%d], 1; ret; }}\n\
         .visible .entry k(.param .u64 o)\n{{\n.reg .pred %p; .reg .b32 %n, %r<33001>; .reg .b64 %d;\n\
         ld.param.u64 %d, [o];\n{body}ret;\n}}\n"
    )
}

fn first_word(text: &str, kernel: &str) -> u32 {
    let kernel = Kernel::compile(text, Some(kernel)).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut memory = FlatMemory::new(0);
    let to = memory.push(&[0; 4]);
    run(&kernel, [1; 3], [1; 3], &to.to_le_bytes(), &mut memory, &Options::default()).expect("it runs");
    u32::from_le_bytes(memory.bytes[(to - memory.base) as usize..][..4].try_into().expect("4 bytes"))
}

#[test]
fn kernels_have_any_number_of_registers_that_do_not_live_at_once() {
    let next = |at: u32| format!("mad.lo.u32 %r{at}, %r{}, 3, %n;\n", at - 1);
    let chain: String = (1..=33_000).map(next).collect();
    let text = many_registers(&format!(
        "mov.u32 %n, 0; mov.u32 %r0, 7;\nL: add.u32 %n, %n, 1;\n{chain}mov.u32 %r0, %r33000; \
         setp.lt.u32 %p, %n, 2; @%p bra L;\nst.global.u32 [%d], %r0;\n"
    ));
    let mut want = 7u32;
    for round in 1..=2 {
        (0..33_000).for_each(|_| want = want.wrapping_mul(3).wrapping_add(round));
    }
    assert_eq!([first_word(&text, "small"), first_word(&text, "k")], [1, want]);
    // A register of 64 bits takes two rows.
    let next = |at: u32| format!("add.u64 %w{at}, %w{}, 3;\n", at - 1);
    let chain: String = (1..20_000).map(next).collect();
    let text = many_registers(&format!(
        ".reg .b64 %w<20000>; mov.u64 %w0, 1;\n{chain}cvt.u32.u64 %n, %w19999; st.global.u32 [%d], %n;\n"
    ));
    assert_eq!(first_word(&text, "k"), 1 + 3 * 19_999);
}

#[test]
fn only_a_kernel_with_too_many_live_registers_is_refused() {
    let loads: String = (0..33_000).map(|at| format!("ld.global.u32 %r{at}, [%d];\n")).collect();
    let sums: String = (0..33_000).map(|at| format!("add.u32 %n, %n, %r{at};\n")).collect();
    let text = many_registers(&format!("{loads}{sums}st.global.u32 [%d], %n;\n"));
    assert_eq!(first_word(&text, "small"), 1);
    let told = texts(&text, "k");
    assert!(told.len() == 1 && told[0].contains("`k` has more than 32752 registers"), "{told:?}");
}
