//! Results of single instructions and branches, through the public interface: small kernels, one warp.

use counterpoint_ptx::{FaultKind, Kernel};

use crate::small::{HEAD, execute, execute_in, outputs};

/// One instruction on two 32-bit operands in each thread.
fn binary32(instruction: &str, pairs: &[(u32, u32)]) -> Vec<u32> {
    let body = format!(
        "ld.global.v2.b32 {{%r1, %r2}}, [%rd4]; mov.b32 %f1, %r1; mov.b32 %f2, %r2;
        mov.b64 %rd5, {{%r1, %r2}}; {instruction}; st.global.u32 [%rd3], %r3; ret;"
    );
    let input: Vec<u64> = pairs.iter().map(|(a, b)| u64::from(*a) | u64::from(*b) << 32).collect();
    outputs(&body, pairs.len() as u32, &input).into_iter().map(|word| word as u32).collect()
}

fn floats(instruction: &str, pairs: &[(f32, f32)]) -> Vec<f32> {
    let bits: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (a.to_bits(), b.to_bits())).collect();
    binary32(&format!("{instruction}; mov.b32 %r3, %f3"), &bits).into_iter().map(f32::from_bits).collect()
}

#[test]
fn shifts_clamp() {
    let pairs = [(0x8000_0001, 31), (0x8000_0001, 32), (0x8000_0001, 255), (0x8000_0001, 1)];
    assert_eq!(binary32("shl.b32 %r3, %r1, %r2", &pairs), [0x8000_0000, 0, 0, 2]);
    assert_eq!(binary32("shr.u32 %r3, %r1, %r2", &pairs), [1, 0, 0, 0x4000_0000]);
    assert_eq!(binary32("shr.s32 %r3, %r1, %r2", &pairs), [!0, !0, !0, 0xc000_0000]);
}

#[test]
fn integer_division_never_traps() {
    let pairs = [(7, 0), (0x8000_0000, !0), (7, 2), ((-7i32) as u32, 2)];
    assert_eq!(binary32("div.s32 %r3, %r1, %r2", &pairs), [!0, 0x8000_0000, 3, (-3i32) as u32]);
    assert_eq!(binary32("rem.s32 %r3, %r1, %r2", &pairs), [!0, 0, 1, !0]);
    assert_eq!(binary32("div.u32 %r3, %r1, %r2", &pairs[..2]), [!0, 0]);
}

#[test]
fn products() {
    let pairs = [(0xffff_ffff, 0xffff_ffff), (0x1_0000, 0x1_0000)];
    assert_eq!(binary32("mul.hi.u32 %r3, %r1, %r2", &pairs), [0xffff_fffe, 1]);
    assert_eq!(binary32("mul.hi.s32 %r3, %r1, %r2", &pairs), [0, 1]);
    assert_eq!(binary32("mad.lo.s32 %r3, %r1, %r2, 5", &pairs), [6, 5]);
    assert_eq!(binary32("mul24.lo.s32 %r3, %r1, %r2", &pairs), [1, 0]);
    let wide =
        "ld.global.v2.b32 {%r1,%r2}, [%rd4]; mul.wide.s32 %rd5, %r1, %r2; st.global.u64 [%rd3], %rd5; ret;";
    assert_eq!(outputs(wide, 1, &[0xffff_ffff_0000_0002]), [(-2i64) as u64]);
}

#[test]
fn conversions_round_saturate_and_drop_nan() {
    let values = [(f32::NAN, 0f32), (3e9, 0.0), (-2.5, 0.0), (2.5, 0.0), (-3e9, 0.0)];
    let bits: Vec<(u32, u32)> = values.iter().map(|(a, b)| (a.to_bits(), b.to_bits())).collect();
    let min = i32::MIN as u32;
    assert_eq!(binary32("cvt.rzi.s32.f32 %r3, %f1", &bits), [0, i32::MAX as u32, (-2i32) as u32, 2, min]);
    assert_eq!(binary32("cvt.rni.s32.f32 %r3, %f1", &bits), [0, i32::MAX as u32, (-2i32) as u32, 2, min]);
    assert_eq!(binary32("cvt.rmi.s32.f32 %r3, %f1", &bits), [0, i32::MAX as u32, (-3i32) as u32, 2, min]);
    assert_eq!(binary32("cvt.rpi.u32.f32 %r3, %f1", &bits), [0, 3_000_000_000, 0, 3, 0]);
    assert_eq!(binary32("cvt.s32.s8 %r3, %r1", &[(0x180, 0)]), [(-128i32) as u32]);
    assert_eq!(binary32("cvt.u16.u32 %rs1, %r1; cvt.u32.u16 %r3, %rs1", &[(0x12345, 0)]), [0x2345]);
    // A 64-bit register read as a smaller type.
    assert_eq!(binary32("cvt.s64.s8 %rd6, %rd5; cvt.u32.u64 %r3, %rd6", &[(0xff, 1)]), [!0]);
}

#[test]
fn minimum_and_maximum_prefer_numbers() {
    let pairs = [(f32::NAN, 1.0), (1.0, f32::NAN), (-0.0, 0.0), (0.0, -0.0)];
    let least = floats("min.f32 %f3, %f1, %f2", &pairs);
    assert_eq!(least[..2], [1.0, 1.0]);
    assert!(least[2].is_sign_negative() && least[3].is_sign_negative());
    let most = floats("max.f32 %f3, %f1, %f2", &pairs);
    assert!(most[2].is_sign_positive() && most[3].is_sign_positive());
}

#[test]
fn single_precision_edges() {
    let tiny = f32::from_bits(1);
    assert_eq!(floats("add.f32 %f3, %f1, %f2", &[(tiny, 0.0)])[0], tiny);
    assert_eq!(floats("add.ftz.f32 %f3, %f1, %f2", &[(tiny, tiny)])[0], 0.0);
    assert!(floats("mul.ftz.f32 %f3, %f1, %f2", &[(-tiny, 1.0)])[0].is_sign_negative());
    let (a, b) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
    assert_eq!(floats("fma.rn.f32 %f3, %f1, %f2, 0fBF800000", &[(a, b)])[0], a.mul_add(b, -1.0));
    let nan = floats("add.f32 %f3, %f1, %f2", &[(f32::INFINITY, f32::NEG_INFINITY)])[0];
    assert_eq!(nan.to_bits(), 0x7fff_ffff);
    assert_eq!(floats("add.sat.f32 %f3, %f1, %f2", &[(f32::NAN, 1.0), (3.0, 1.0)]), [0.0, 1.0]);
    let halves = floats("rsqrt.approx.f32 %f3, %f1", &[(4.0, 0.0), (0.0, 0.0)]);
    assert_eq!(halves, [0.5, f32::INFINITY]);
    assert_eq!(floats("ex2.approx.ftz.f32 %f3, %f1", &[(3.0, 0.0)]), [8.0]);
}

#[test]
fn comparisons_with_nan_and_combination() {
    let pairs = [(1.0, f32::NAN), (1.0, 1.0), (0.0, 1.0)];
    let ask = |compare: &str| {
        floats(&format!("{compare} %p1, %f1, %f2; selp.f32 %f3, 0f3F800000, 0f00000000, %p1"), &pairs)
    };
    assert_eq!(ask("setp.lt.f32"), [0.0, 0.0, 1.0]);
    assert_eq!(ask("setp.geu.f32"), [1.0, 1.0, 0.0]);
    assert_eq!(ask("setp.ne.f32"), [0.0, 0.0, 1.0]);
    assert_eq!(ask("setp.neu.f32"), [1.0, 0.0, 1.0]);
    assert_eq!(ask("setp.nan.f32"), [1.0, 0.0, 0.0]);
    let both = "setp.lt.u32 %p1|%p2, %r1, %r2; setp.eq.and.u32 %p3, %r1, 1, !%p2; selp.u32 %r3, 1, 0, %p3";
    assert_eq!(binary32(both, &[(1, 2), (1, 0), (0, 5)]), [1, 0, 0]);
    assert_eq!(binary32("set.lt.u32.s32 %r3, %r1, %r2", &[(!0, 0), (1, 0)]), [!0, 0]);
    assert_eq!(binary32("mov.pred %p1, -1; not.pred %p2, %p1; selp.u32 %r3, 3, 4, %p2", &[(0, 0)]), [4]);
}

#[test]
fn loads_fill_registers_that_are_wider() {
    let body = "ld.global.s8 %r1, [%rd4]; ld.global.s32 %rd5, [%rd4]; cvt.s64.s32 %rd6, %r1;
        add.s64 %rd7, %rd5, %rd6; st.global.u64 [%rd3], %rd7; ret;";
    assert_eq!(outputs(body, 2, &[0xffff_fffe, 0x7f]), [(-4i64) as u64, 0xfe]);
}

#[test]
fn nested_branches_meet_again() {
    let body = "mov.u32 %r1, 0; and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;
        add.u32 %r1, %r1, 100; bra.uni MEET;
        EVEN: setp.lt.u32 %p2, %r0, 16; @!%p2 bra HIGH; add.u32 %r1, %r1, 10; bra MEET;
        HIGH: add.u32 %r1, %r1, 20;
        MEET: add.u32 %r1, %r1, 1; cvt.u64.u32 %rd5, %r1; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..32)
        .map(|t| {
            if t % 2 == 1 {
                101
            } else if t < 16 {
                11
            } else {
                21
            }
        })
        .collect();
    assert_eq!(outputs(body, 32, &[]), want);
    // Everything from MEET on runs once: 3 instructions and `ret` for all lanes.
    let (_, statistics) = execute(body, 32, &[], false).unwrap();
    assert_eq!(statistics.warp_instructions, 6 + 4 + 2 + 2 + 2 + 1 + 4);
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 0;
        LOOP: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r0; @%p1 bra LOOP;
        cvt.u64.u32 %rd5, %r1; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..64).map(|t| t * (t + 1) / 2).collect();
    assert_eq!(outputs(body, 64, &[]), want);
}

#[test]
fn lanes_exit_inside_branches_and_by_guard() {
    let body =
        "mov.u64 %rd5, 7; setp.lt.u32 %p1, %r0, 8; @%p1 bra SOME; st.global.u64 [%rd3], %rd5; bra MEET;
        SOME: setp.eq.u32 %p2, %r0, 3; @%p2 exit; mov.u64 %rd5, 9;
        MEET: setp.gt.u32 %p3, %r0, 20; @%p3 ret; add.s64 %rd5, %rd5, 1; st.global.u64 [%rd3], %rd5;";
    let want: Vec<u64> = (0..30)
        .map(|t| {
            if t == 3 {
                0
            } else if t > 20 {
                7
            } else if t < 8 {
                10
            } else {
                8
            }
        })
        .collect();
    assert_eq!(outputs(body, 30, &[]), want);
}

#[test]
fn shared_memory_barriers_and_atomics() {
    let body = "mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
        bar.sync 0; xor.b32 %r4, %r2, 252; add.u32 %r5, %r1, %r4; ld.shared.u32 %r6, [%r5]; bar.sync 0;
        atom.shared.add.u32 %r7, [tile], 1; bar.sync 0; ld.shared.u32 %r8, [tile];
        mov.b64 %rd5, {%r6, %r8}; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..64).map(|t| (63 - t) | 64 << 32).collect();
    assert_eq!(outputs(body, 64, &[]), want);
}

#[test]
fn generic_and_local_addresses() {
    let body = ".local .align 8 .b8 mine[16]; mov.u64 %rd5, mine; cvta.local.u64 %rd6, %rd5; cvt.u64.u32 %rd7, %r0;
        st.u64 [%rd6+8], %rd7; ld.local.u64 %rd8, [mine+8]; mov.u64 %rd9, tile; cvta.shared.u64 %rd10, %rd9;
        add.s64 %rd10, %rd10, %rd2; st.u64 [%rd10], %rd8; cvta.to.shared.u64 %rd11, %rd10; ld.shared.u64 %rd12, [%rd11];
        st.u64 [%rd3], %rd12; ret;";
    assert_eq!(outputs(body, 32, &[]), (0..32).collect::<Vec<u64>>());
}

#[test]
fn faults_name_line_and_lane() {
    let misaligned =
        execute("add.s64 %rd5, %rd4, 2; ld.global.u32 %r1, [%rd5]; ret;", 4, &[0], false).unwrap_err();
    assert!(misaligned.message.contains("not a multiple") && misaligned.line > 5, "{misaligned}");
    let trap = execute("setp.gt.u32 %p1, %r0, 4; @%p1 trap; ret;", 32, &[0], false).unwrap_err();
    assert_eq!(trap.lane, 5);
    let outside = execute("mov.u64 %rd5, 64; ld.global.u32 %r1, [%rd5]; ret;", 1, &[0], false).unwrap_err();
    assert!(outside.message.contains("outside"));
    let endless = execute("L: bra L;", 1, &[0], false).unwrap_err();
    assert!(endless.message.contains("a loop that does not end"), "{endless}");
}

#[test]
fn faults_are_of_the_sorts_that_cuda_tells_apart() {
    let before = ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
        .func down() { call down, (); ret; }\n";
    let local = ".local .b8 mine[8]; mov.u64 %rd5, mine;";
    for (body, kind) in [
        ("ld.global.u32 %r1, [64];", FaultKind::IllegalAddress),
        ("st.shared.u32 [tile+1024], %r1;", FaultKind::IllegalAddress),
        (&format!("{local} st.local.u32 [%rd5+8], %r1;"), FaultKind::IllegalAddress),
        ("ld.global.u64 %rd5, [%rd4+4];", FaultKind::MisalignedAddress),
        ("ld.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4+8];", FaultKind::MisalignedAddress),
        ("ld.global.u32 %r1, [66];", FaultKind::MisalignedAddress),
        ("st.shared.u32 [tile+1026], %r1;", FaultKind::MisalignedAddress),
        (
            &format!("{local} cvta.local.u64 %rd6, %rd5; atom.add.u32 %r1, [%rd6], 1;"),
            FaultKind::InvalidAddressSpace,
        ),
        ("mov.u64 %rd5, 40; P: .callprototype ()_(); call %rd5, (), P;", FaultKind::InvalidProgramCounter),
        (
            "{ .param .b64 a; .param .b32 c; st.param.b64 [a], %rd0; st.param.b32 [c], %r0;
              call __assertfail, (a, a, c, a, a); }",
            FaultKind::Assertion,
        ),
        ("call down, ();", FaultKind::StackOverflow),
        ("alloca.u64 %rd5, 9000;", FaultKind::StackOverflow),
        ("stackrestore.u64 %rd4;", FaultKind::Other),
        ("trap;", FaultKind::Other),
    ] {
        let error = execute_in(before, &format!("{body} ret;"), 1, &[0], false).expect_err(body);
        assert_eq!(error.kind, kind, "{body} {error}");
    }
}

#[test]
fn integers_and_floats_do_not_mix() {
    let source = format!(
        "{HEAD}.visible .entry k(.param .u64 a) {{ .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .u32 %u<4>; .reg .b64 %rd<4>; .reg .pred %p;\nadd.u32 %f1, %r1, %r2;\n\
         add.f32 %f1, %f2, %u1;\nsetp.eq.s32 %p, %f1, 0;\ncvt.rn.f32.s32 %u2, %r1;\nld.global.u32 %f2, [%rd1];\nst.global.f32 [%rd1], %u3;\n\
         atom.global.add.u32 %f3, [%rd1], %r1;\nld.global.f32 %r1, [%rd1];\nadd.f32 %r1, %r2, %f1;\nshfl.idx.b32 %f1, %f2, 0, 31;\nand.b32 %f1, %f2, %u1;\nret; }}"
    );
    let errors = Kernel::compile(&source, None).unwrap_err();
    let lines: Vec<u32> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(
        errors[1].to_string(),
        "6:19: `%u1` is an integer register, and the type here is `.f32` (expected a floating-point or untyped one)"
    );
}

#[test]
fn mistakes_are_all_reported_with_their_place() {
    let source = format!(
        "{HEAD}.visible .entry k() {{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\nadd.s31 %r1, %r2, %r3;\n  mov.u32 %r1, %r9;\n\
         add.u32 %r1, %rd1, 1;\nbra NOWHERE;\nld.global.nope.u32 %r1, [%rd1];\ncall foo;\n}}"
    );
    let errors = Kernel::compile(&source, None).unwrap_err();
    let lines: Vec<u32> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [7, 8, 9, 10, 11, 12]);
    assert_eq!(errors[1].column, 16);
    assert!(errors[0].expected.as_deref().is_some_and(|text| text.contains("add.")));
    let shape = Kernel::compile(".version 7.8 .target sm_35\n.entry k() { .what 3; add.s32 ; ld [; }", None)
        .unwrap_err();
    assert!(shape.len() >= 2, "{shape:?}");
}

#[test]
fn what_a_kernel_says_of_itself() {
    let source = format!(
        "{HEAD}.extern .shared .align 16 .b8 more[];\n.const .align 4 .b32 table[2] = {{5, 6}};
        .visible .entry k(.param .u32 a, .param .align 8 .b8 s[24], .param .u64 b) .maxntid 128, 2, 1 .minnctapersm 4 {{
        .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p; .shared .align 4 .b8 x[20];
        mov.u32 %r1, more; {{ .reg .b32 %r1; mov.u32 %r1, 3; }} ld.const.u32 %r2, [table+4]; @%p st.shared.u32 [%r1], %r2; }}"
    );
    let kernel = Kernel::compile(&source, Some("k")).unwrap();
    let offsets: Vec<u32> = kernel.params().iter().map(|param| param.offset).collect();
    assert_eq!((offsets, kernel.param_bytes()), (vec![0, 8, 32], 40));
    assert_eq!(kernel.shared_bytes(), 32);
    assert_eq!(kernel.max_ntid(), Some([128, 2, 1]));
    assert_eq!(kernel.min_ctas_per_sm(), Some(4));
    assert_eq!(kernel.constant_symbols()[0].initial, [5, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(kernel.instructions().len(), 5);
    assert_eq!(kernel.instructions()[3].reads.as_slice().len(), 3);
    assert_eq!(kernel.live_registers(), 2);
    let text = kernel.instructions()[0].text;
    assert_eq!(&source[text.0 as usize..text.1 as usize], "mov.u32 %r1, more;");
}
