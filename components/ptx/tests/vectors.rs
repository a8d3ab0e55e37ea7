//! Registers of vector type as operands: moves, packing, parameters and results; predicates as parameters and results; addresses of
//! functions' variables in local memory; and registers with a constant added to them. ptxas 13 takes all of it, except that it wants
//! more results beside a predicate.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::analysis::access::{Array, KernelAccesses};

use crate::small::{HEAD, outputs, outputs_in};

/// The words that eight threads store, of a body that leaves one in %rd5.
fn found(before: &str, body: &str) -> Vec<u64> {
    outputs_in(before, &format!("{body} st.global.u64 [%rd3], %rd5; ret;"), 8, &[])
}

fn want(of: impl Fn(u64) -> u64) -> Vec<u64> {
    (0..8).map(of).collect()
}

const REGISTERS: &str = ".reg .v2 .u32 %u; .reg .v2 .b32 %b; .reg .v2 .f32 %v; .reg .v4 .u16 %h; .reg .v4 .u32 %q; .reg .v2 .b64 %w;
    add.u32 %r1, %r0, 100; cvt.u16.u32 %rs1, %r0; add.u16 %rs2, %rs1, 10; add.u16 %rs3, %rs1, 20; add.u16 %rs4, %rs1, 30;";

fn pair(low: u64, high: u64) -> u64 {
    low | high << 32
}

fn four(parts: [u64; 4]) -> u64 {
    parts.iter().rev().fold(0, |all, part| all << 16 | part)
}

#[test]
fn vectors_are_moved_as_a_whole() {
    for (body, of) in [
        ("mov.v2.u32 %u, {%r0, %r1}; mov.v2.u32 {%r2, %r3}, %u; mov.b64 %rd5, {%r2, %r3};", (|t| pair(t, t + 100)) as fn(u64) -> u64),
        ("mov.v2.u32 %u, {%r0, %r1}; mov.b64 %rd5, %u;", |t| pair(t, t + 100)),
        ("mov.v2.u32 %u, {%r0, %r1}; mov.v2.u32 %b, %u; mov.u32 %u.x, 0; mov.b64 %rd5, %b;", |t| pair(t, t + 100)),
        ("mov.u32.v2 %u, {7, %r0}; mov.b64 %rd5, %u;", |t| pair(7, t)),
        ("mov.v2.f32 %v, {0f3F800000, 0f40000000}; mov.v2.b32 %u, %v; mov.b64 %rd5, %u;", |_| pair(0x3f80_0000, 0x4000_0000)),
        ("mov.u32 %r3, 5; mov.v2.u32 {%r2, _}, {%r0, %r1}; mov.b64 %rd5, {%r2, %r3};", |t| pair(t, 5)),
        // All parts are read before one is written.
        ("mov.v2.u32 {%r0, %r1}, {%r1, %r0}; mov.b64 %rd5, {%r0, %r1};", |t| pair(t + 100, t)),
        ("mov.v4.u16 %h, {%rs2, %rs3, %rs4, %rs1}; mov.v4.u16 {%rs1, %rs2, %rs3, %rs4}, %h;
          mov.v4.u16 {%rs4, %rs1, %rs2, %rs3}, {%rs3, %rs4, %rs1, %rs2}; mov.b64 %rd5, {%rs1, %rs2, %rs3, %rs4};", |t| {
            // (t + 10, t + 20, t + 30, t), of which the first goes to the second and so on, and then the third to the fourth.
            let [a, b, c, d] = [t + 10, t + 20, t + 30, t];
            four([d, a, b, c])
        }),
        ("mov.v4.b16 %h, {%rs1, %rs2, %rs3, %rs4}; mov.b64 %rd5, %h;", |t| four([t, t + 10, t + 20, t + 30])),
        ("mov.u64 %rd6, 0x1122334455667788; mov.b64 %u, %rd6; mov.b64 %rd5, {%u.y, %u.x};", |_| 0x5566_7788_1122_3344),
        ("mov.v2.b64 %w, {%rd2, 3}; add.u64 %rd5, %w.x, %w.y;", |t| 8 * t + 3),
        ("mov.v2.b64 %w, {9, 8}; .reg .b128 %wide; mov.b128 %wide, %w; mov.b128 {%rd6, %rd7}, %wide; mad.lo.u64 %rd5, %rd6, 10, %rd7;", |_| 98),
        ("mov.v4.u32 %q, %tid; mov.v4.u32 {%r2, %r3, _, %r4}, %ntid; add.u32 %r3, %r3, %r4; mad.lo.u32 %r2, %r2, 10, %r3; mov.b64 %rd5, {%q.x, %r2};", |t| {
            pair(t, 81)
        }),
        ("mov.v2.u32 %u, {%r0, %r0}; setp.gt.u32 %p1, %r0, 3; @%p1 mov.v2.u32 %u, {1, 2}; mov.b64 %rd5, %u;", |t| {
            if t > 3 { pair(1, 2) } else { pair(t, t) }
        }),
    ] {
        assert_eq!(found("", &format!("{REGISTERS} {body}")), want(of), "{body}");
    }
}

#[test]
fn vectors_are_parameters_and_results() {
    let functions = "
        .func (.reg .u32 r) weigh(.reg .v4 .u16 x) { .reg .u32 %a<2>; cvt.u32.u16 r, x.x;
            mov.u32 %a0, 10; cvt.u32.u16 %a1, x.y; mad.lo.u32 r, r, %a0, %a1; cvt.u32.u16 %a1, x.z; mad.lo.u32 r, r, %a0, %a1;
            cvt.u32.u16 %a1, x.w; mad.lo.u32 r, r, %a0, %a1; ret; }
        .func (.reg .v2 .u32 r) both(.reg .v2 .u32 x, .reg .u32 more) { .reg .v2 .u32 t; add.u32 t.x, x.y, more; sub.u32 t.y, x.x, more;
            mov.v2.u32 r, t; ret; }
        .func (.reg .v4 .f32 r) large(.reg .v4 .f32 x) { neg.f32 r.x, x.w; mov.f32 r.y, x.z; mov.f32 r.z, x.y; mov.f32 r.w, x.x; ret; }";
    let weigh = "mov.v4.u16 %h, {1, %rs1, 3, %rs1}; call (%r2), weigh, (%h); cvt.u64.u32 %rd5, %r2;";
    assert_eq!(found(functions, &format!("{REGISTERS} {weigh}")), want(|t| 1030 + 101 * t));
    let both = "mov.v2.u32 %u, {%r1, 50}; call (%u), both, (%u, %r0); mov.b64 %rd5, %u;";
    let wanted = want(|t| (50 + t) | 100 << 32);
    assert_eq!(found(functions, &format!("{REGISTERS} {both}")), wanted);
    let floats = ".reg .v4 .f32 %g; mov.v4.f32 %g, {0f3F800000, 0f40000000, 0f40400000, 0f40800000}; call (%g), large, (%g);
        mad.lo.u32 %r2, %r0, 0, 0; cvt.rzi.s32.f32 %r2, %g.x; cvt.rzi.s32.f32 %r3, %g.w; mov.b64 %rd5, {%r2, %r3};";
    assert_eq!(found(functions, &format!("{REGISTERS} {floats}")), want(|_| 0xffff_fffc | 1 << 32));
    // A result that nobody wants, and a call under a guard.
    let idle = "mov.v2.u32 %u, {%r0, %r0}; call (_), both, (%u, 1); setp.gt.u32 %p1, %r0, 4; @%p1 call (%u), both, (%u, 1); mov.b64 %rd5, %u;";
    let wanted = want(|t| if t > 4 { (t + 1) | (t - 1) << 32 } else { t | t << 32 });
    assert_eq!(found(functions, &format!("{REGISTERS} {idle}")), wanted);
}

#[test]
fn predicates_are_parameters_and_results() {
    let functions = "
        .func (.reg .u32 r, .reg .pred q) next(.reg .u32 x) { add.u32 r, x, 1; setp.gt.u32 q, x, 4; ret; }
        .func (.reg .u32 r, .reg .u32 s) choose(.reg .pred p, .reg .pred q) { selp.u32 r, 1, 2, p; selp.u32 s, 3, 4, q; ret; }
        .func (.reg .pred r) deep(.reg .u32 x) { .reg .u32 %y; .reg .pred %odd, %end, %rest; and.b32 %y, x, 1; setp.eq.u32 %odd, %y, 1;
            setp.le.u32 %end, x, 1; mov.pred r, %odd; @%end ret; sub.u32 %y, x, 2; call (%rest), deep, (%y); mov.pred r, %rest; ret; }";
    let next = "call (%r2, %p1), next, (%r0); selp.u32 %r3, 10, 20, %p1; mov.b64 %rd5, {%r2, %r3};";
    assert_eq!(found(functions, next), want(|t| (t + 1) | (if t > 4 { 10 } else { 20 }) << 32));
    let choose = "setp.gt.u32 %p1, %r0, 2; setp.lt.u32 %p2, %r0, 6; call (%r2, %r3), choose, (%p1, %p2); mov.b64 %rd5, {%r2, %r3};";
    let wanted = want(|t| if t > 2 { 1 } else { 2 } | (if t < 6 { 3 } else { 4 }) << 32);
    assert_eq!(found(functions, choose), wanted);
    // The others keep theirs.
    let some = "setp.eq.u32 %p1, %r0, %r0; setp.lt.u32 %p2, %r0, 3; @%p2 call (_, %p1), next, (%r0); selp.u64 %rd5, 1, 0, %p1;";
    assert_eq!(found(functions, some), want(|t| u64::from(t >= 3)));
    let deep = "call (%p1), deep, (%r0); selp.u64 %rd5, 1, 0, %p1;";
    assert_eq!(found(functions, deep), want(|t| t % 2));
}

#[test]
fn functions_take_addresses_of_their_own_variables() {
    let function = "
        .func (.reg .u32 r) sum(.reg .u32 x) { .local .align 8 .b8 other[8]; .local .align 8 .b8 own[16]; .reg .u64 %a; .reg .u32 %b<3>;
            .reg .pred %p; mov.u32 %b0, own; st.local.u32 [%b0], x; cvta.local.u64 %a, own; add.u32 %b1, x, 5; st.u32 [%a+4], %b1;
            mov.u64 %a, own+8; st.local.u32 [%a], 7; mov.u32 r, 0; setp.eq.u32 %p, x, 0; @%p bra last; sub.u32 %b2, x, 1;
            call (r), sum, (%b2);
            last: ld.local.u32 %b1, [own]; mad.lo.u32 r, r, 1, %b1; ld.local.u32 %b1, [own+4]; add.u32 r, r, %b1; ld.local.u32 %b1, [own+8];
            add.u32 r, r, %b1; ret; }";
    // Each call has its variables: x, x + 5 and 7, for x down to 0.
    let wanted = want(|t| (0..=t).map(|x| 2 * x + 12).sum());
    assert_eq!(found(function, "call (%r2), sum, (%r0); cvt.u64.u32 %rd5, %r2;"), wanted);
}

#[test]
fn a_constant_may_be_added_to_a_register() {
    let body = "mov.u64 %rd6, %rd2+3; add.u64 %rd6, %rd6+1, %rd2+2; mad.lo.u32 %r1, %r0+1, %r0+2, %r0+3; cvt.u16.u32 %rs1, %r0;
        cvt.u32.u16 %r2, %rs1+65535; setp.eq.u32 %p1, %r0+1, 3; selp.u32 %r3, 1000, 0, %p1; add.u32 %r1, %r1, %r3; mov.b64 %rd7, {%r1, %r2};
        add.u64 %rd7, %rd7, %rd6; st.global.u64 [%rd3], %rd7+1; ret;";
    let wanted = want(|t| {
        let sum = 8 * t + 3 + 1 + 8 * t + 2;
        let product = (t + 1) * (t + 2) + t + 3 + if t == 2 { 1000 } else { 0 };
        (product | (((t + 65535) % 65536) << 32)) + sum + 1
    });
    assert_eq!(outputs(body, 8, &[]), wanted);
}

#[test]
fn what_does_not_fit_is_refused() {
    for (body, message) in [
        ("mov.v2.u32 {_, _}, %u;", "no part of the vector is kept"),
        ("mov.v2.u32 %u, %v;", "is a floating-point register"),
        ("mov.v4.u16 %h, %q;", "has 32 bits"),
        ("mov.v2.u32 %u, %q;", "4 values where 2 are moved"),
        ("mov.v2.u32 %u, %tid;", "1 values where 2 are moved"),
        ("mov.v4.u64 {%rd0, %rd1, %rd2, %rd3}, {%rd1, %rd2, %rd3, %rd0};", "`.u64` is unknown or misplaced"),
        ("mov.v2.pred {%p0, %p1}, {%p1, %p0};", "`.pred` is unknown or misplaced"),
        ("mov.b32 %r1, %h;", "4 parts do not make 32 bits"),
        ("mov.u64 %rd5, %u;", "parts have no type of their own"),
        ("mov.b64 %u, {%r0, %r1};", "`%u` is a vector"),
        ("call (%r1), pack, (%q);", "`%q.x` has 32 bits"),
        ("call (%r1), pack, (%u);", "a vector of 4 elements of `.u16`"),
        ("call (%r1), pack, (%rd5);", "a vector of 4 elements of `.u16`"),
        ("call (%u), ask, (%p1);", "a value of `.u32`"),
        ("call (%r1), ask, (1);", "a predicate"),
        ("call (%r1), ask, (%r0);", "`%r0` is not a predicate"),
        ("st.f32 [%rd3], %f1+1;", "is not an integer"),
    ] {
        let source = format!(
            "{HEAD}.func (.reg .u32 r) pack(.reg .v4 .u16 x) {{ cvt.u32.u16 r, x.x; ret; }}
             .func (.reg .u32 r) ask(.reg .pred x) {{ selp.u32 r, 1, 0, x; ret; }}
             .visible .entry k(.param .u64 out) {{ .reg .pred %p<3>; .reg .b16 %rs<6>; .reg .b32 %r<9>; .reg .f32 %f<3>; .reg .b64 %rd<9>;
             {REGISTERS} {body} ret; }}"
        );
        let errors = Kernel::compile(&source, None).expect_err(body);
        assert!(format!("{errors:?}").contains(message), "{body}: {errors:?}");
    }
    let stored = format!("{HEAD}.func (.param .pred r) f() {{ ret; }} .visible .entry k() {{ ret; }}");
    let errors = Kernel::compile(&stored, None).expect_err("a predicate in memory");
    assert!(format!("{errors:?}").contains("predicates cannot be stored"), "{errors:?}");
}

#[test]
fn analyses_take_a_sum_for_a_value_and_not_for_a_variable() {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{ .reg .b64 base, there; .reg .b32 one; ld.param.u64 base, [out];
         mov.u64 there, base+8; mov.u32 one, 1; st.global.u32 [there], one; st.global.u32 [base], one+1; ret; }}"
    );
    let module = counterpoint_ptx::parser::parse(&text).expect("a module");
    let found = KernelAccesses::new(&module, &module.functions[0]);
    let arrays: Vec<&Option<Array>> = found.accesses.iter().map(|access| &access.array).collect();
    assert_eq!(arrays, [&None, &Some(Array::Param(0))]);
}
