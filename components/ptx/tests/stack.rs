//! `alloca`, `stacksave` and `stackrestore`, by the manual's rules (PTX ISA 9.7.17): the stack grows down, allocations are apart,
//! aligned to 8 bytes at least, and end with their function.

use counterpoint_ptx::Kernel;

use crate::small::{HEAD, execute, execute_in, execute_on_stack, outputs, outputs_in};

/// Fills as many words as its argument says with the argument, calls itself with one less, and adds up its own words.
const RECURSIVE: &str = "
    .func (.param .b64 r) fill(.param .b64 n) { .reg .b64 %x<9>; .reg .pred %q; ld.param.u64 %x0, [n];
        mov.u64 %x5, 0; setp.eq.u64 %q, %x0, 0; @%q bra END; shl.b64 %x1, %x0, 3; alloca.u64 %x2, %x1, 16; mov.u64 %x3, %x2;
        add.s64 %x4, %x2, %x1; FILL: st.local.u64 [%x3], %x0; add.s64 %x3, %x3, 8; setp.lt.u64 %q, %x3, %x4; @%q bra FILL;
        { .param .b64 a; .param .b64 b; sub.s64 %x6, %x0, 1; st.param.b64 [a], %x6; call (b), fill, (a); ld.param.b64 %x5, [b]; }
        ADD: ld.local.u64 %x7, [%x2]; add.s64 %x5, %x5, %x7; add.s64 %x2, %x2, 8; setp.lt.u64 %q, %x2, %x4; @%q bra ADD;
        END: st.param.b64 [r], %x5; }
    .func large(.reg .b32 n) { .reg .b64 %x<2>; .reg .pred %q; setp.eq.u32 %q, n, 0; @%q ret; alloca.u64 %x0, 5000;
        st.local.u32 [%x0], n; st.local.u32 [%x0+4996], n; ret; }
";

#[test]
fn allocations_are_apart_and_aligned() {
    // Of 8 bytes and of as many words as the thread's number says; the first is written last, and both are read back.
    let body = "cvt.u64.u32 %rd5, %r0; shl.b64 %rd6, %rd5, 3; add.s64 %rd6, %rd6, 8; alloca.u64 %rd7, 8; alloca.u64 %rd8, %rd6, 64;
        alloca.u64 %rd9, 1; mov.u64 %rd10, %rd8; add.s64 %rd11, %rd8, %rd6; st.local.u8 [%rd9], 0;
        FILL: st.local.u64 [%rd10], %rd5; add.s64 %rd10, %rd10, 8; setp.lt.u64 %p1, %rd10, %rd11; @%p1 bra FILL;
        st.local.u64 [%rd7], 100; ld.local.u64 %rd12, [%rd8]; ld.local.u64 %rd13, [%rd11+-8]; ld.local.u64 %rd14, [%rd7];
        add.s64 %rd12, %rd12, %rd13; add.s64 %rd12, %rd12, %rd14; and.b64 %rd13, %rd8, 63; and.b64 %rd14, %rd9, 7;
        or.b64 %rd13, %rd13, %rd14; shl.b64 %rd13, %rd13, 32; or.b64 %rd12, %rd12, %rd13;
        setp.le.u64 %p2, %rd11, %rd7; setp.lt.u64 %p3, %rd9, %rd8; selp.u64 %rd13, 0, 1000, %p2; selp.u64 %rd14, 0, 2000, %p3;
        add.s64 %rd12, %rd12, %rd13; add.s64 %rd12, %rd12, %rd14; st.global.u64 [%rd3], %rd12; ret;";
    assert_eq!(outputs(body, 40, &[]), (0..40).map(|t| 100 + 2 * t).collect::<Vec<u64>>());
}

#[test]
fn addresses_are_local_and_have_generic_ones() {
    let body = "alloca.u32 %r1, 12, 4; add.u32 %r2, %r0, 5; st.local.v2.u32 [%r1], {%r2, %r0}; cvt.u64.u32 %rd5, %r1;
        cvta.local.u64 %rd6, %rd5; ld.u32 %r3, [%rd6]; st.u32 [%rd6+8], %r3; ld.local.u32 %r4, [%r1+8]; ld.u32 %r5, [%rd6+4];
        mov.b64 %rd7, {%r4, %r5}; st.global.u64 [%rd3], %rd7; ret;";
    assert_eq!(outputs(body, 32, &[]), (0..32).map(|t| (t + 5) | t << 32).collect::<Vec<u64>>());
}

#[test]
fn a_saved_stack_pointer_gives_memory_back() {
    let round = |restores: &str| {
        format!(
            "mov.u32 %r1, 0; stacksave.u64 %rd5; AGAIN: alloca.u64 %rd6, 1000; st.local.u32 [%rd6], %r1; add.u32 %r1, %r1, 1;
             ld.local.u32 %r2, [%rd6];\n{restores}\nsetp.lt.u32 %p1, %r1, 50; @%p1 bra AGAIN;
             stacksave.u64 %rd7; sub.s64 %rd8, %rd5, %rd7; cvt.u64.u32 %rd9, %r2; shl.b64 %rd8, %rd8, 32;
             add.s64 %rd9, %rd9, %rd8; st.global.u64 [%rd3], %rd9; ret;"
        )
    };
    assert_eq!(outputs(&round("stackrestore.u64 %rd5;"), 3, &[]), [49; 3]);
    // Eight times 1000 bytes fit into 8 KiB.
    let full = execute(&round(""), 3, &[], false).unwrap_err();
    assert!(full.message.contains("is exhausted: `alloca` takes 1000 at a multiple of 8, and 192 are free"));
    // Lanes have stacks of their own: one of them is exhausted.
    let one =
        "mov.u64 %rd5, 8; setp.eq.u32 %p1, %r0, 7; @%p1 mov.u64 %rd5, 9000;\nalloca.u64 %rd6, %rd5;\nret;";
    let full = execute(one, 32, &[], false).unwrap_err();
    let line = 2 + HEAD.lines().count() as u32;
    assert_eq!(full.lane, 7, "{full}");
    assert!(full.line > line && full.message.contains("takes 9000"), "{full}");
}

#[test]
fn lanes_that_allocate_differ_from_those_that_do_not() {
    let body = "stacksave.u32 %r4; and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; @%p1 alloca.u32 %r2, 256; stacksave.u32 %r5;
        sub.u32 %r5, %r4, %r5; @!%p1 alloca.u32 %r2, 16; st.local.u32 [%r2], %r0; ld.local.u32 %r3, [%r2];
        mov.b64 %rd5, {%r3, %r5}; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..32).map(|t| t | (256 * (t % 2)) << 32).collect();
    assert_eq!(outputs(body, 32, &[]), want);
}

#[test]
fn allocations_end_with_their_function() {
    // A function that allocates nothing where its argument is 0 gives the others' memory back, too.
    let body = "mov.u32 %r1, 0; stacksave.u64 %rd5; AGAIN: and.b32 %r2, %r0, 1; add.u32 %r2, %r2, %r1; call large, (%r2);
        add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20; @%p1 bra AGAIN; stacksave.u64 %rd6; sub.s64 %rd7, %rd5, %rd6;
        st.global.u64 [%rd3], %rd7; ret;";
    assert_eq!(outputs_in(RECURSIVE, body, 32, &[]), [0; 32]);
    // 1² + 2² + … of each thread's own depth.
    let deep =
        "cvt.u64.u32 %rd5, %r0; { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd5; call (b), fill, (a);
        ld.param.b64 %rd6, [b]; } st.global.u64 [%rd3], %rd6; ret;";
    let want: Vec<u64> = (0..32).map(|t| t * (t + 1) * (2 * t + 1) / 6).collect();
    assert_eq!(outputs_in(RECURSIVE, deep, 32, &[]), want);
    let frames = ".func framed(.reg .b32 n) { .local .b8 mine[200]; st.local.u32 [mine], n; ret; }";
    let call = |bytes: u32| format!("alloca.u64 %rd5, {bytes}; call framed, (%r0); ret;");
    assert!(execute_in(frames, &call(8192), 2, &[], false).is_ok());
    let full = execute_in(frames, &call(8200), 2, &[], false).unwrap_err();
    assert!(full.message.ends_with("is exhausted, 1 calls deep"), "{full}");
}

#[test]
fn a_stack_has_the_size_of_its_launch() {
    // Each call keeps 64 bytes, and adds up its own word behind the deeper ones.
    let deep = ".func (.param .b32 r) down(.param .b32 n) { .local .b8 mine[64]; .reg .b32 %v<4>; .reg .pred %q;
        ld.param.u32 %v0, [n]; mov.u32 %v2, 0; setp.eq.u32 %q, %v0, 0; @%q bra END; st.local.u32 [mine+60], %v0; sub.u32 %v1, %v0, 1;
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %v1; call (b), down, (a); ld.param.b32 %v2, [b]; }
        ld.local.u32 %v3, [mine+60]; add.u32 %v2, %v2, %v3; END: st.param.b32 [r], %v2; ret; }";
    let call = |depth: u32| {
        let store = "cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd3], %rd5; ret;";
        format!("add.u32 %r2, %r0, {depth}; call (%r3), down, (%r2); {store}")
    };
    let sum = |n: u64| n * (n + 1) / 2;
    let full = execute_on_stack(8192, deep, &call(200), 3).unwrap_err();
    assert!(full.message.ends_with("the stack of 8192 bytes is exhausted, 129 calls deep"), "{full}");
    assert_eq!(
        execute_on_stack(65_536, deep, &call(200), 40).unwrap(),
        (200..240).map(sum).collect::<Vec<u64>>()
    );
    assert_eq!(
        execute_on_stack(65_536, deep, &call(1020), 1).unwrap(),
        [sum(1020)],
        "a call for each 64 bytes"
    );
    let full = execute_on_stack(4096, deep, &call(64), 1).unwrap_err();
    assert!(full.message.ends_with("the stack of 4096 bytes is exhausted, 65 calls deep"), "{full}");
    let take = "alloca.u64 %rd5, 9000; st.local.u64 [%rd5+8992], %rd2; ld.local.u64 %rd6, [%rd5+8992]; st.global.u64 [%rd3], %rd6; ret;";
    assert_eq!(execute_on_stack(9008, "", take, 2).unwrap(), [0, 8]);
    let full = execute_on_stack(8992, "", take, 2).unwrap_err();
    assert!(full.message.starts_with("the stack of 8992 bytes is exhausted"), "{full}");
}

#[test]
fn a_stack_pointer_that_no_stacksave_gave_is_an_error() {
    for (value, body) in [
        ("0x8", "mov.u64 %rd5, 8; stackrestore.u64 %rd5; ret;"),
        ("above the end", "stacksave.u64 %rd5; add.s64 %rd5, %rd5, 16; stackrestore.u64 %rd5; ret;"),
        (
            "given back",
            "stacksave.u64 %rd5; alloca.u64 %rd6, 16; stackrestore.u64 %rd5; stackrestore.u64 %rd6; ret;",
        ),
    ] {
        let error = execute(body, 1, &[], false).unwrap_err();
        assert!(error.message.contains("`stackrestore` is given"), "{value}: {error}");
    }
}

#[test]
fn forms_that_the_assembler_refuses_are_refused() {
    for (body, wanted) in [
        ("alloca.u64 %rd5, 64, 12;", "a power of 2 up to 8388608"),
        ("alloca.u64 %rd5, 64, 0;", "a power of 2 up to 8388608"),
        ("alloca.u64 %rd5, 64, 16777216;", "a power of 2 up to 8388608"),
        ("alloca.u64 %rd5, 64, %r1;", "a power of 2 up to 8388608"),
        ("alloca.u64 %r1, 64;", "64 bits"),
        ("alloca.b64 %rd5, 64;", "unknown instruction `alloca.b64`"),
        ("stackrestore.u64 16;", "a register that `stacksave` has written"),
        ("stacksave.u64 %rd5, %rd5;", "`stacksave.u64 d`"),
    ] {
        let source =
            format!("{HEAD}.visible .entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<8>; {body} ret; }}");
        let errors = Kernel::compile(&source, None).unwrap_err();
        assert!(errors[0].to_string().contains(wanted), "{body} {}", errors[0]);
    }
}
