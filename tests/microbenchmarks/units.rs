//! Throughput of an SM's units: it follows from their number and initiation intervals.
//!
//! Operands are immediate, so that no bank of the register file is read twice in a cycle; the cost of banks
//! is measured by itself. Counts are taken while all warps run: schedulers are served in a fixed order (as
//! GPGPU-Sim's are), so where there are more of them than units the last one's warps would go on alone at the
//! end.

use counterpoint_tests::probe::{Configured, Probe, close, lines, micros};

const SM: &str = "gpu.sm[0]";

/// Instructions a cycle of a body that is repeated without end, on the one SM of a machine with settings, where `expected`
/// are expected.
fn rate(machine: &str, sets: &[&str], body: impl Fn(u64) -> String, expected: f64) -> f64 {
    let sets = [&["gpu.sms=1"], sets].concat();
    let cycles_a_microsecond = Configured::of(machine, &sets).megahertz(SM);
    // The Titan X holds a launch for 3.5 us.
    let from = 8.0;
    let to = from + (1000.0 / expected / cycles_a_microsecond).max(8.0);
    // No warp ends: neither one that has a slow unit nearly for itself, nor those that hold back the others.
    let total = expected * cycles_a_microsecond * to;
    let each = (2.0 * total / 32.0).max(1000.0) as u64;
    // All warps have read the parameters when the first one begins.
    let body = format!("bar.sync 0;\n{}", lines(each, body));
    let probe = Probe { machine, sets: &sets, body: &body, threads: 1024, ..Probe::default() };
    let [instructions] = probe.between([from, to].map(micros), [("gpu.sm", "warp_insn")]);
    instructions / ((to - from) * cycles_a_microsecond)
}

/// Registers of a chain are written every 16 instructions, which no warp waits for.
fn register(number: u64) -> u64 {
    number % 16
}

/// An instruction of a number.
type Line = fn(u64) -> String;

/// Instructions a cycle that pass the ports of the collectors of a sort of units: as many in a turn of the register file.
fn ports(machine: &Configured, way: &str) -> f64 {
    let number = |name: &str| machine.number(SM, name);
    let of = |ports: &str| number(&format!("{way}.{ports}"));
    of("inputs").min(of("outputs")) * number("register_turns")
}

/// An instruction, the sort of units that it goes to (divisions go the way of approximations), and its class: `None` where its initiation interval is 1.
type Case = (Line, &'static str, Option<&'static str>);

const CASES: [Case; 16] = [
    (|n| format!("add.s32 %r{}, 7, 1;", 8 + register(n)), "sp", Some("int_initiation.add")),
    (|n| format!("max.s32 %r{}, 7, 1;", 8 + register(n)), "sp", Some("int_initiation.max")),
    (|n| format!("mul.lo.s32 %r{}, 7, 3;", 8 + register(n)), "sp", Some("int_initiation.mul")),
    (|n| format!("mad.lo.s32 %r{}, 7, 3, 1;", 8 + register(n)), "sp", Some("int_initiation.mad")),
    (|n| format!("div.s32 %r{}, 7, 3;", 8 + register(n)), "sfu", Some("int_initiation.div")),
    (|n| format!("add.f32 %f{}, 0f3F800000, 0f3F800000;", register(n)), "sp", Some("fp_initiation.add")),
    (|n| format!("max.f32 %f{}, 0f3F800000, 0f3F800000;", register(n)), "sp", Some("fp_initiation.max")),
    (|n| format!("mul.f32 %f{}, 0f3F800000, 0f3F800000;", register(n)), "sp", Some("fp_initiation.mul")),
    (
        |n| format!("fma.rn.f32 %f{}, 0f3F800000, 0f3F800000, 0f3F800000;", register(n)),
        "sp",
        Some("fp_initiation.mad"),
    ),
    (|n| format!("div.rn.f32 %f{}, 0f3F800000, 0f3F800000;", register(n)), "sfu", Some("fp_initiation.div")),
    (|n| format!("rsqrt.approx.f32 %f{}, 0f3F800000;", register(n)), "sfu", Some("sfu_initiation")),
    (
        |n| format!("add.f64 %d{}, 0d3FF0000000000000, 0d3FF0000000000000;", register(n)),
        "dp",
        Some("dp_initiation.add"),
    ),
    (
        |n| {
            format!(
                "fma.rn.f64 %d{}, 0d3FF0000000000000, 0d3FF0000000000000, 0d3FF0000000000000;",
                register(n)
            )
        },
        "dp",
        Some("dp_initiation.mad"),
    ),
    (
        |n| format!("div.rn.f64 %d{}, 0d3FF0000000000000, 0d3FF0000000000000;", register(n)),
        "sfu",
        Some("dp_initiation.div"),
    ),
    (|n| format!("ld.param.u32 %r{}, [with];", 8 + register(n)), "memory", None),
    (|n| format!("ld.shared.u32 %r{}, [words];", 8 + register(n)), "memory", None),
];

/// Instructions a cycle that the schedulers issue, where all go to one sort of units.
fn issued(machine: &Configured) -> f64 {
    let alike = machine.text(SM, "pairing") == "any";
    machine.number(SM, "schedulers") * if alike { machine.number(SM, "issue_width") } else { 1.0 }
}

/// Asserts the rate of every unit of a machine.
fn assert_rates(name: &str) {
    let machine = Configured::of(name, &[]);
    for (line, sort, initiation) in CASES {
        // Without units of its own, double precision takes the pipeline path of approximations.
        let doubles = machine.number(SM, "dp.units") > 0.0;
        let way = if sort == "dp" && !doubles { "sfu" } else { sort };
        let interval = initiation.map_or(1.0, |initiation| machine.number(SM, initiation));
        let units = machine.number(SM, &format!("{way}.units")) / interval;
        let expected = units.min(issued(&machine)).min(ports(&machine, way));
        close(&format!("{name}: {}", line(0)), rate(name, &[], line, expected), expected);
    }
}

#[test]
fn units_of_fermi_take_instructions_as_often_as_configured() {
    assert_rates("gtx480");
}

#[test]
fn units_of_kepler_take_instructions_as_often_as_configured() {
    assert_rates("kepler-titan");
}

#[test]
fn units_of_maxwell_and_pascal_take_instructions_as_often_as_configured() {
    assert_rates("titanx-sm6");
}

/// A pattern of lines, repeated.
fn pattern(cases: &[usize]) -> impl Fn(u64) -> String {
    move |n| CASES[cases[n as usize % cases.len()]].0(n)
}

const INTEGER: usize = 0;
const APPROXIMATION: usize = 10;
const DOUBLE: usize = 11;

#[test]
fn a_scheduler_issues_two_instructions_where_they_may_be_paired() {
    let rates = |machine: &str, sets: &[&str], cases: &[usize], expected: f64| {
        close(
            &format!("{machine} {sets:?} {cases:?}"),
            rate(machine, sets, pattern(cases), expected),
            expected,
        );
    };
    // Six integer units of Kepler take the instructions that four schedulers issue in pairs, if those pass
    // the ports of their collectors, two in each of two turns of the register file; they take single ones as
    // well.
    rates("kepler-titan", &["gpu.sm.sp.inputs=3", "gpu.sm.sp.outputs=3"], &[INTEGER], 6.0);
    rates("kepler-titan", &[], &[INTEGER], 4.0);
    rates("kepler-titan", &["gpu.sm.pairing=different-units"], &[INTEGER], 4.0);
    rates("kepler-titan", &["gpu.sm.issue_width=1"], &[INTEGER], 4.0);
    // Four units, each every other cycle, take two doubles a cycle; twice as many integers go beside them.
    rates("kepler-titan", &[], &[INTEGER, INTEGER, DOUBLE], 6.0);
    rates("kepler-titan", &["gpu.sm.issue_width=1"], &[INTEGER, INTEGER, DOUBLE], 4.0);
    // Pairs on Pascal go to different units: one approximation per cycle beside four integers.
    let five = [INTEGER, INTEGER, INTEGER, INTEGER, APPROXIMATION];
    rates("titanx-sm6", &[], &five, 5.0);
    rates("titanx-sm6", &["gpu.sm.issue_width=1"], &five, 4.0);
    // Fermi issues one a scheduler, whatever it is.
    rates("gtx480", &[], &[INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE], 1.0);
}

#[test]
fn a_fetch_brings_two_instructions_and_a_bank_passes_an_operand_a_cycle() {
    let add = pattern(&[INTEGER]);
    for width in [1.0_f64, 2.0] {
        let set = format!("gpu.sm.fetch_width={width}");
        let expected = (2.0 * width).min(issued(&Configured::of("titanx-sm6", &[])));
        close(&set, rate("titanx-sm6", &[&set], &add, expected), expected);
    }
    // With one register bank, operands and results are transferred one after another.
    let operands: [(Line, f64); 3] = [
        (|n| format!("mov.u32 %r{}, %r4;", 8 + register(n)), 1.0),
        (|n| format!("add.s32 %r{}, %r4, %r5;", 8 + register(n)), 2.0),
        (|n| format!("mad.lo.s32 %r{}, %r4, %r5, %r6;", 8 + register(n)), 3.0),
    ];
    for (line, reads) in operands {
        let expected = 1.0 / (reads + 1.0);
        close(&line(0), rate("gtx480", &["gpu.sm.register_banks=1"], line, expected), expected);
    }
}
