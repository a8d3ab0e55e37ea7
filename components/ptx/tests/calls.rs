//! Calls of every form, by hand: parameters, returns, and refusals.

use counterpoint_ptx::Kernel;

use crate::small::{HEAD, execute_in, outputs_in};

/// `twice` with parameters in registers, `sum` of a 64-bit and a 16-bit parameter, and one that counts down.
const FUNCTIONS: &str = "
    .func (.reg .b32 r) twice(.reg .b32 a) { add.u32 r, a, a; ret; }
    .func (.param .b64 r) sum(.param .b64 a, .param .b16 b) { .reg .b64 %x<3>; .reg .b16 %h;
        ld.param.u64 %x0, [a]; ld.param.s16 %h, [b]; cvt.s64.s16 %x1, %h; add.s64 %x0, %x0, %x1;
        st.param.b64 [r], %x0; ret; }
    .func leaves(.param .b32 n) { .reg .b32 %n; .reg .pred %q; ld.param.u32 %n, [n]; setp.eq.u32 %q, %n, 3; @%q exit; ret; }
    .func (.param .b32 r) depth(.param .b32 n) { .reg .b32 %v<3>; .reg .pred %q; .local .b32 mine; .local .b32 other;
        ld.param.u32 %v0, [n]; st.local.u32 [mine], %v0; setp.eq.u32 %q, %v0, 0; @%q bra END;
        { .param .b32 a; .param .b32 b; sub.u32 %v1, %v0, 1; st.param.b32 [a], %v1; call (b), depth, (a); }
        END: ld.local.u32 %v2, [mine]; st.param.b32 [r], %v2; }
    .func (.param .b32 r) square(.param .b32 a) { .reg .b32 %v; ld.param.u32 %v, [a]; mul.lo.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }
    .func (.param .b32 r) odd(.param .b32 a) { .reg .b32 %v; .reg .pred %q; ld.param.u32 %v, [a];
        setp.lt.u32 %q, %v, 8; @%q bra SMALL; add.u32 %v, %v, 100; st.param.b32 [r], %v; ret;
        SMALL: add.u32 %v, %v, 200; st.param.b32 [r], %v; ret; }
    .global .u64 table[2] = {square, odd};
    .global .u64 pointer = table+8;
";

#[test]
fn registers_constants_and_small_parameters() {
    let body = "call (%r3), twice, (%r0); call (%r4), twice, (21); mov.b64 %rd5, {%r3, %r4};
        { .param .b64 a; .param .b16 b; .param .b64 c; st.param.b64 [a], %rd5; mov.u16 %rs1, -1; st.param.b16 [b], %rs1;
        call.uni (c), sum, (a, b); ld.param.b64 %rd6, [c+0]; } st.global.u64 [%rd3], %rd6; ret;";
    let want: Vec<u64> = (0..40u64).map(|t| ((2 * t) | (42 << 32)).wrapping_sub(1)).collect();
    assert_eq!(outputs_in(FUNCTIONS, body, 40, &[]), want);
}

#[test]
fn vectors_and_bytes_of_a_parameter() {
    let function =
        ".func (.param .align 4 .b8 r[8]) swap(.param .align 8 .b8 a[8]) { .reg .b32 %v<2>; .reg .b16 %h<4>;
        ld.param.v2.b32 {%v0, %v1}, [a]; st.param.b32 [r], %v1; ld.param.v4.u8 {%h0, %h1, %h2, %h3}, [a];
        st.param.b8 [r+4], %h3; st.param.b8 [r+5], %h2; st.param.b16 [r+6], %h0; ret; }";
    let body = "{ .param .align 8 .b8 a[8]; .param .align 4 .b8 b[8]; mov.u64 %rd5, 0x1122334455667788; st.param.b64 [a], %rd5;
        call (b), swap, (a); ld.param.b32 %r3, [b]; ld.param.b32 %r4, [b+4]; } mov.b64 %rd6, {%r3, %r4};
        st.global.u64 [%rd3], %rd6; ret;";
    assert_eq!(outputs_in(function, body, 3, &[]), [0x0088_6655_1122_3344; 3]);
}

#[test]
fn guarded_and_diverged_calls_meet_behind_the_call() {
    let body = "mov.u32 %r3, 7; and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; @%p1 call (%r3), twice, (%r0);
        activemask.b32 %r4; mov.b64 %rd5, {%r3, %r4}; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..32).map(|t| (if t % 2 == 1 { 2 * t } else { 7 }) | 0xffff_ffff << 32).collect();
    assert_eq!(outputs_in(FUNCTIONS, body, 32, &[]), want);
}

#[test]
fn indirect_calls_go_function_by_function() {
    let body = "and.b32 %r1, %r0, 1; mul.wide.u32 %rd5, %r1, 8; mov.u64 %rd6, table; add.s64 %rd6, %rd6, %rd5;
        ld.global.u64 %rd7, [%rd6]; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;
        proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %rd7, (a), proto; ld.param.b32 %r3, [b]; }
        activemask.b32 %r4; mov.b64 %rd8, {%r3, %r4}; st.global.u64 [%rd3], %rd8; ret;";
    let value = |t: u64| match t % 2 {
        0 => t * t,
        _ if t < 8 => t + 200,
        _ => t + 100,
    };
    let want: Vec<u64> = (0..32).map(|t| value(t) | 0xffff_ffff << 32).collect();
    assert_eq!(outputs_in(FUNCTIONS, body, 32, &[]), want);
    // The address of a variable among initial values, and of a function in a register.
    let through =
        "ld.global.u64 %rd5, [pointer]; ld.u64 %rd6, [%rd5]; mov.u64 %rd7, odd; sub.s64 %rd8, %rd6, %rd7;
        st.global.u64 [%rd3], %rd8; ret;";
    assert_eq!(outputs_in(FUNCTIONS, through, 1, &[]), [0]);
}

#[test]
fn threads_may_end_inside_a_function() {
    let body = "mov.u64 %rd5, 1; { .param .b32 a; st.param.b32 [a], %r0; call leaves, (a); } st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..6).map(|t| u64::from(t != 3)).collect();
    assert_eq!(outputs_in(FUNCTIONS, body, 6, &[]), want);
}

#[test]
fn recursion_has_a_frame_for_every_call_and_an_end() {
    let body = |depth: &str| {
        format!("call (%r3), depth, ({depth}); cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd3], %rd5; ret;")
    };
    // Every thread has another depth; each sees its own local variable after the deeper calls.
    assert_eq!(outputs_in(FUNCTIONS, &body("%r0"), 32, &[]), (0..32).collect::<Vec<u64>>());
    let deep = execute_in(FUNCTIONS, &body("1000000"), 1, &[], false).unwrap_err();
    assert!(deep.message.contains("nest deeper than 256"), "{deep}");
    let large = ".func big(.param .b32 n) { .local .b8 mine[3000]; .reg .b32 %v; ld.param.u32 %v, [n]; call big, (%v); ret; }";
    let full = execute_in(large, "call big, (1); ret;", 1, &[], false).unwrap_err();
    assert!(full.message.contains("stack of 8192 bytes is exhausted, 3 calls deep"), "{full}");
}

#[test]
fn functions_have_shared_memory_and_reach_barriers() {
    let function = ".func (.param .b32 r) reverse(.param .b32 a) { .shared .b32 box[64]; .reg .b32 %v<4>;
        ld.param.u32 %v0, [a]; mov.u32 %v1, box; shl.b32 %v2, %v0, 2; add.u32 %v3, %v1, %v2; st.shared.u32 [%v3], %v0;
        bar.sync 0; sub.u32 %v3, %v1, %v2; ld.shared.u32 %v0, [%v3+252]; st.param.b32 [r], %v0; ret; }";
    let body = "st.shared.u32 [tile], 77; call (%r3), reverse, (%r0); ld.shared.u32 %r4, [tile]; mov.b64 %rd5, {%r3, %r4};
        st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..64).map(|t| (63 - t) | 77 << 32).collect();
    assert_eq!(outputs_in(function, body, 64, &[]), want);
}

#[test]
fn bad_calls_are_refused_with_their_place() {
    let source = format!(
        "{HEAD}{FUNCTIONS}.visible .entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .b16 %s;\ncall (%r1), twcie, (%r2);\n\
         call (%r1), twice;\ncall (%r1), square, (%rd1);\ncall (%s), square, (%r1);\ncall (%r1), %rd0, (%r1);\ncall (%r1), %rd0, (%r1), prot;\n\
         mov.u32 %r1, twice;\ncall k;\n st.param.b32 [nowhere], %r1;\n\
         {{ .param .b64 a; st.param.b64 [a+4], %rd1; call (%r1), square, (a); }}\nret; }}"
    );
    let first = 1 + source.lines().position(|line| line.contains("twcie")).unwrap() as u32;
    let errors = Kernel::compile(&source, Some("k")).unwrap_err();
    let found: Vec<(u32, String)> = errors.iter().map(|e| (e.line - first, e.to_string())).collect();
    let wanted = [
        (0, "no function is named `twcie` (expected something like `twice`)"),
        (1, "the call has 0 arguments, the function 1 (expected 1 arguments)"),
        (2, "`%rd1` has 64 bits (expected 32 bits)"),
        (3, "`%s` has 16 bits (expected 32 bits or more)"),
        (4, "an indirect call needs a prototype"),
        (5, "no `.callprototype` or `.calltargets` is named `prot`"),
        (6, "`twice` is a function without an address here"),
        (7, "no function is named `k`"),
        (8, "`nowhere` is not declared"),
        (9, "`a` has 8 bytes (expected an offset that leaves 8 bytes)"),
        (9, "`a` has 8 bytes (expected 4 bytes)"),
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for ((line, text), (want_line, want)) in found.iter().zip(wanted) {
        assert!(*line == want_line && text.contains(want), "{line} {text}\n{want_line} {want}");
    }
}
