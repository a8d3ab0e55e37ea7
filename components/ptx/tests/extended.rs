//! Extended precision, permutations and rounding modes: results of single instructions.

use counterpoint_ptx::Kernel;

use crate::small::{HEAD, outputs};

/// One result of 64 bits, in %rd5, of two operands of 64 bits, in %rd6 and %rd7, whose halves are %r1 to %r4.
fn wide(instructions: &str, a: u64, b: u64) -> u64 {
    let body = format!(
        "mov.u64 %rd6, {a:#x}; mov.u64 %rd7, {b:#x}; mov.b64 {{%r1, %r2}}, %rd6; mov.b64 {{%r3, %r4}}, %rd7;
        mov.b64 %fd1, %rd6; mov.b64 %fd2, %rd7; {instructions} st.global.u64 [%rd3], %rd5; ret;"
    );
    outputs(&body, 1, &[])[0]
}

/// The same for every pair of these numbers, a thread each: the first one changes least.
fn of_pairs(instructions: &str, numbers: &[u64]) -> Vec<u64> {
    let count = numbers.len() as u32;
    // The numbers come again and again in the input.
    let body = format!(
        "div.u32 %r5, %r0, {count}; mul.wide.u32 %rd5, %r5, 8; add.s64 %rd5, %rd1, %rd5; ld.global.u64 %rd6, [%rd5];
        ld.global.u64 %rd7, [%rd4]; mov.b64 {{%r1, %r2}}, %rd6; mov.b64 {{%r3, %r4}}, %rd7; {instructions}
        st.global.u64 [%rd3], %rd5; ret;"
    );
    outputs(&body, count * count, numbers)
}

const PAIRS: [(u64, u64); 6] = [
    (0, 0),
    (0xffff_ffff, 1),
    (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210),
    (u64::MAX, u64::MAX),
    (1 << 63, 1 << 63),
    (5, 9),
];

#[test]
fn carries_ripple_through_halves() {
    for (a, b) in PAIRS {
        let sum = "add.cc.u32 %r5, %r1, %r3; addc.u32 %r6, %r2, %r4; mov.b64 %rd5, {%r5, %r6};";
        assert_eq!(wide(sum, a, b), a.wrapping_add(b));
        let difference = "sub.cc.s32 %r5, %r1, %r3; subc.s32 %r6, %r2, %r4; mov.b64 %rd5, {%r5, %r6};";
        assert_eq!(wide(difference, a, b), a.wrapping_sub(b));
        // The carry of the whole, and of a chain that writes its sources.
        let carry = "add.cc.u64 %rd6, %rd6, %rd7; addc.u64 %rd5, 0, 0;";
        assert_eq!(wide(carry, a, b), u64::from(a.overflowing_add(b).1));
        let chain =
            "add.cc.u32 %r1, %r1, %r3; addc.cc.u32 %r2, %r2, %r4; addc.u32 %r5, 0, 0; cvt.u64.u32 %rd5, %r5;";
        assert_eq!(wide(chain, a, b), u64::from(a.overflowing_add(b).1));
        let borrow = "sub.cc.u64 %rd6, %rd6, %rd7; subc.cc.u64 %rd5, 0, 0; subc.u64 %rd5, 1, 0;";
        assert_eq!(wide(borrow, a, b), u64::from(a >= b));
        // The flag of a difference is set if nothing is borrowed, for every reader.
        let flag = "sub.cc.u64 %rd6, %rd6, %rd7; addc.u64 %rd5, 0, 0;";
        assert_eq!(wide(flag, a, b), u64::from(a >= b));
        // 64 x 64 bits to the high half, as compilers write it.
        let product = "mul.lo.u32 %r5, %r1, %r3; mul.hi.u32 %r6, %r1, %r3; mad.lo.cc.u32 %r6, %r2, %r3, %r6;
            madc.hi.u32 %r7, %r2, %r3, 0; mad.lo.cc.u32 %r6, %r1, %r4, %r6; madc.hi.cc.u32 %r7, %r1, %r4, %r7;
            addc.u32 %r8, 0, 0; mad.lo.cc.u32 %r7, %r2, %r4, %r7; madc.hi.u32 %r8, %r2, %r4, %r8; mov.b64 %rd5, {%r7, %r8};";
        assert_eq!(wide(product, a, b), ((u128::from(a) * u128::from(b)) >> 64) as u64);
        let high = "mad.lo.cc.u64 %rd5, %rd6, %rd7, -1; madc.hi.u64 %rd5, %rd6, %rd7, 0;";
        assert_eq!(wide(high, a, b), ((u128::from(a) * u128::from(b) + u128::from(u64::MAX)) >> 64) as u64);
    }
}

/// Results of mixed chains of limbs, by the adder's definition over whole numbers: `d = a + (b or ~b) + carry
/// in`, where the carry is the excess over the limb, and a difference without a carry in begins with 1.
fn by_limbs(steps: &[&str], bits: u32, a: u64, b: u64, c: u64) -> Vec<u64> {
    let limb = (1u128 << bits) - 1;
    let [a, b, c] = [a, b, c].map(|value| u128::from(value) & limb);
    let mut flag = 0;
    let mut found = Vec::new();
    for step in steps {
        let head = step.split('.').next().unwrap_or_default();
        let exact = match head {
            "add" => a + b,
            "addc" => a + b + flag,
            "sub" => a + (limb - b) + 1,
            "subc" => a + (limb - b) + flag,
            "mad" | "madc" => {
                let part = if step.contains("hi") { (a * b) >> bits } else { (a * b) & limb };
                part + c + if head == "madc" { flag } else { 0 }
            }
            _ => panic!("{step}"),
        };
        if step.ends_with(".cc") {
            flag = exact >> bits;
        }
        found.push((exact & limb) as u64);
    }
    found.push(flag as u64);
    found
}

#[test]
fn chains_that_mix_sums_differences_and_products_hand_on_the_adders_carry() {
    const CHAINS: [&[&str]; 10] = [
        &["sub.cc", "addc.cc", "subc.cc", "addc"],
        &["add.cc", "subc.cc", "addc.cc", "subc"],
        &["sub.cc", "madc.lo.cc", "subc.cc", "madc.hi"],
        &["mad.lo.cc", "subc.cc", "madc.hi.cc", "addc"],
        &["mad.hi.cc", "subc", "addc.cc", "subc.cc"],
        &["sub.cc", "subc.cc", "subc.cc", "addc"],
        &["sub.cc", "sub.cc", "addc", "subc"],
        &["add.cc", "sub.cc", "addc.cc", "addc.cc"],
        &["sub.cc", "add", "sub", "madc.lo"],
        &["mad.lo.cc", "sub.cc", "madc.hi.cc", "subc.cc"],
    ];
    const EDGES: [u64; 9] =
        [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, 0x0123_4567_89ab_cdef, u64::MAX];
    let mut compared = 0;
    for (chain, bits) in CHAINS.into_iter().flat_map(|chain| [(chain, 32u32), (chain, 64)]) {
        let (result, [x, y, z]) = match bits {
            32 => ("%r9", ["%r1", "%r3", "%r5"]),
            _ => ("%rd5", ["%rd6", "%rd7", "%rd4"]),
        };
        let lines: Vec<String> = chain
            .iter()
            .map(|name| match name.starts_with("mad") {
                true => format!("{name}.u{bits} {result}, {x}, {y}, {z};"),
                false => format!("{name}.u{bits} {result}, {x}, {y};"),
            })
            .chain([format!("addc.u{bits} {result}, 0, 0;")])
            .collect();
        // A run gives one value for each pair: the result of one of the steps, or the flag at the end.
        for step in 0..lines.len() {
            let narrow = if bits == 32 { "cvt.u64.u32 %rd5, %r9;" } else { "" };
            // The third operand is the second one again.
            let set = if bits == 32 { "mov.u32 %r5, %r3;" } else { "mov.u64 %rd4, %rd7;" };
            let found = of_pairs(&format!("{set} {} {narrow}", lines[..=step].join(" ")), &EDGES);
            for ((a, b), found) in EDGES.into_iter().flat_map(|a| EDGES.map(|b| (a, b))).zip(found) {
                let want = by_limbs(chain, bits, a, b, b)[step];
                assert_eq!(found, want, "{chain:?}, {bits} bits, step {step}: {a:#x} {b:#x}");
                compared += 1;
            }
        }
    }
    assert!(compared > 7000, "{compared}");
}

#[test]
fn a_difference_of_three_limbs_is_the_difference_of_whole_numbers() {
    // 96 bits: borrows ripple through all limbs; the flag says whether the whole borrows.
    let body = "mov.u32 %r5, 7; mov.u32 %r6, 6; sub.cc.u32 %r7, %r1, %r3; subc.cc.u32 %r8, %r2, %r4; subc.cc.u32 %r9, %r5, %r6;
        addc.u32 %r10, 0, 0; mov.b64 %rd5, {%r8, %r9};";
    for (a, b) in PAIRS {
        let whole = (7u128 << 64 | u128::from(a)) - (6u128 << 64 | u128::from(b));
        assert_eq!(wide(body, a, b), (whole >> 32) as u64);
        assert_eq!(wide(&format!("{body} cvt.u64.u32 %rd5, %r10;"), a, b), 1, "nothing is borrowed");
    }
}

#[test]
fn the_carry_belongs_to_a_lane() {
    let body = "sub.u32 %r1, 16, %r0; add.cc.u32 %r2, %r1, -16; addc.u32 %r3, 0, 0; cvt.u64.u32 %rd5, %r3;
        st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..32u32)
        .map(|t| u64::from(16u32.wrapping_sub(t).overflowing_add(0u32.wrapping_sub(16)).1))
        .collect();
    assert_eq!(outputs(body, 32, &[]), want);
}

#[test]
fn permutations_and_bit_searches() {
    let narrow = |instruction: &str, a: u64, b: u64| {
        wide(&format!("{instruction}; cvt.u64.u32 %rd5, %r5;"), a, b) as u32
    };
    let (a, b) = (0x3322_1100_u64, 0x7766_5544);
    let mode = |name: &str, c: u32| narrow(&format!("prmt.b32.{name} %r5, %r1, %r3, {c}"), a, b);
    assert_eq!([mode("f4e", 1), mode("b4e", 1), mode("rc8", 2)], [0x4433_2211, 0x6677_0011, 0x2222_2222]);
    assert_eq!([mode("ecl", 1), mode("ecr", 2), mode("rc16", 3)], [0x3322_1111, 0x2222_1100, 0x3322_3322]);
    assert_eq!(narrow("bfind.shiftamt.u32 %r5, %r1", 0x10, 0), 27);
    assert_eq!(narrow("bfind.shiftamt.s32 %r5, %r1", 0xffff_fff0, 0), 28);
    assert_eq!(narrow("bfind.shiftamt.u64 %r5, %rd6", 0, 0), !0);
    assert_eq!(narrow("sad.u32 %r5, %r1, %r3, 7", 3, 5), 9);
    assert_eq!(narrow("slct.ftz.u32.f32 %r5, 1, 2, 0f80000001", 0, 0), 1);
}

#[test]
fn rounding_modes() {
    let d = |value: f64| value.to_bits();
    let ask = |text: &str, a: f64, b: f64| {
        f64::from_bits(wide(&format!("{text}; mov.b64 %rd5, %fd3;"), d(a), d(b)))
    };
    let third = 1.0 / 3.0;
    for (mode, want) in [("rz", 1.0f64 / 3.0), ("rm", third), ("rp", third.next_up())] {
        assert_eq!(ask(&format!("rcp.{mode}.f64 %fd3, %fd1"), 3.0, 0.0), want);
    }
    assert_eq!(ask("fma.rp.f64 %fd3, %fd1, %fd1, %fd2", 1e-200, 1.0), 1f64.next_up());
    assert_eq!(ask("fma.rz.f64 %fd3, %fd1, %fd1, %fd2", 1e-200, 1.0), 1.0);
    assert_eq!(ask("sub.rm.f64 %fd3, %fd1, %fd2", 1.0, 1e-30), 1f64.next_down());
    assert_eq!(ask("sqrt.rm.f64 %fd3, %fd1", 2.0, 0.0).next_up(), ask("sqrt.rp.f64 %fd3, %fd1", 2.0, 0.0));
    let single = |text: &str| {
        let body = format!(
            "cvt.rn.f32.f64 %f1, %fd1; cvt.rn.f32.f64 %f2, %fd2; {text}; mov.b32 %r5, %f3; cvt.u64.u32 %rd5, %r5;"
        );
        f32::from_bits(wide(&body, d(1.0), d(3.0)) as u32)
    };
    assert_eq!(single("div.rm.f32 %f3, %f1, %f2").next_up(), single("div.rp.f32 %f3, %f1, %f2"));
    assert_eq!(single("sqrt.rz.f32 %f3, %f2").next_up(), single("sqrt.rp.ftz.f32 %f3, %f2"));
    assert_eq!(single("rcp.rz.f32 %f3, 0f00000000"), f32::INFINITY);
    assert_eq!(single("add.rz.ftz.f32 %f3, %f1, 0f33000000"), 1.0);
}

#[test]
fn forms_that_do_not_exist_are_refused() {
    let source = format!(
        "{HEAD}.visible .entry k() {{ .reg .b32 %r<4>; .reg .b16 %h; .reg .pred %p; .reg .f64 %d;\nadd.cc.u16 %h, %h, %h;\naddc.u32 %r1, %r1;\n\
         fma.f64 %d, %d, %d, %d;\ncvt.rzi.f32 %r1, %r2;\nsetp.lx.s32 %p, %r1, 0;\nret; }}"
    );
    let errors = Kernel::compile(&source, None).unwrap_err();
    let lines: Vec<u32> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [5, 6, 7, 8, 9]);
    assert!(errors[2].expected.as_deref().is_some_and(|text| text.contains("`fma.r")), "{}", errors[2]);
}
