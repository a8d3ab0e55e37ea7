//! Sums and rates of small machines with invented numbers.

use super::*;
use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::telemetry::Level;
use counterpoint_protocols::roles;

use crate::results::summary::tests::{instance, machine, span};

fn count(path: &str, name: &'static str, value: u64) -> StatRow {
    row(path, (name, "", ""), value)
}

fn launch(id: u64, scheduler: &str, name: &'static str, start: u64, end: u64) -> Span {
    Span { path: scheduler.into(), ..span(id, None, Level::Kernels, name, start, end) }
}

/// The value of a row as text: a ratio as its part and its whole.
fn found(rows: &[StatRow], path: &str, name: &str) -> Option<String> {
    let row = rows.iter().find(|row| row.path == path && row.label.name == name)?;
    Some(match row.value {
        StatValue::Count(count) => count.to_string(),
        StatValue::Ratio { part, whole } => format!("{part}/{whole}"),
        StatValue::Distribution { .. } => "a distribution".to_owned(),
    })
}

/// Two devices of 700 MHz, the second with one slice, in a run of 100 ns; kernels run from 10 to 30 ns on the first, and
/// from 20 to 60 ns on the second.
fn two_devices(stats: Vec<StatRow>) -> Vec<StatRow> {
    let parts = [
        ("gpu[0].scheduler", roles::CTA_SCHEDULER),
        ("gpu[0].sm[0]", roles::SM),
        ("gpu[0].sm[1]", roles::SM),
        ("gpu[0].l2[0]", roles::L2),
        ("gpu[0].l2[1]", roles::L2),
        ("gpu[0].dram[0]", roles::DRAM),
        ("gpu[0].dram[1]", roles::DRAM),
        ("gpu[1].scheduler", roles::CTA_SCHEDULER),
        ("gpu[1].l2", roles::L2),
        ("gpu[1].dram[0]", roles::DRAM),
    ];
    let machine = machine(parts.map(|(path, role)| instance(path, role)).into());
    let spans = vec![
        launch(1, "gpu[0].scheduler", "a#1", 10_000, 30_000),
        launch(2, "gpu[1].scheduler", "b#2", 20_000, 60_000),
        launch(3, "gpu[1].scheduler", "H2D x", 0, 100_000),
    ];
    let mut report = RunReport::of(Outcome::Finished(SimTime::from_ns(100)));
    (report.stats, report.trace.spans) = (stats, spans);
    totals(&machine, &report)
}

#[test]
fn a_run_has_its_time_and_its_clocks() {
    let rows = two_devices(Vec::new());
    let of = |path, name| found(&rows, path, name).unwrap();
    assert_eq!([of("run", "simulated_time"), of("run", "kernel_time")], ["100000", "50000"]);
    let clock = "run.clocks[default]";
    assert_eq!([of(clock, "frequency"), of(clock, "cycles")], ["700000000", "70"]);
}

#[test]
fn slices_are_summed_up_for_the_machine_and_for_each_device() {
    let (accesses, misses) = ("L2_total_cache_accesses", "L2_total_cache_misses");
    let rate = |path: &str, part, whole| StatRow {
        value: StatValue::Ratio { part, whole },
        ..count(path, "L2_total_cache_miss_rate", 0)
    };
    let rows = two_devices(vec![
        count("gpu[0].l2[0]", accesses, 10),
        count("gpu[0].l2[0]", misses, 4),
        rate("gpu[0].l2[0]", 4, 10),
        count("gpu[0].l2[0].kernels[a#1]", accesses, 10),
        count("gpu[0].l2[1]", accesses, 6),
        count("gpu[0].l2[1]", misses, 0),
        rate("gpu[0].l2[1]", 0, 6),
        count("gpu[1].l2", accesses, 5),
        count("gpu[1].l2", misses, 5),
        rate("gpu[1].l2", 5, 5),
    ]);
    let of = |path: &str| {
        [accesses, misses, "L2_total_cache_hits", "L2_total_cache_miss_rate"]
            .map(|name| found(&rows, path, name))
    };
    let some = |values: [&str; 4]| values.map(|value| Some(value.to_owned()));
    assert_eq!(of("machine.l2"), some(["21", "9", "12", "9/21"]));
    assert_eq!(of("gpu[0].l2"), some(["16", "4", "12", "4/16"]));
    assert_eq!(of("gpu[1].l2"), [None, None, None, None], "it is the component's own");
    assert_eq!(found(&rows, "machine.l2.kernels[a#1]", accesses), None);
}

#[test]
fn bandwidths_are_bytes_by_time_and_shares_of_the_peaks() {
    let channel = |path: &str, bytes, copied| {
        [
            count(path, "bytes", bytes),
            count(path, "peak_bandwidth", 32_000_000_000),
            count(&format!("{path}.no_kernel"), "bytes", copied),
        ]
    };
    let channels = [
        channel("gpu[0].dram[0]", 500, 100),
        channel("gpu[0].dram[1]", 300, 0),
        channel("gpu[1].dram[0]", 200, 200),
    ];
    let rows = two_devices(channels.into_iter().flatten().collect());
    let of = |path: &str| {
        ["bandwidth", "bandwidth_of_peak", "kernel_bandwidth", "kernel_bandwidth_of_peak"]
            .map(|name| found(&rows, path, name).unwrap())
    };
    // 1000 bytes in 100 ns are 10 GB/s, of three times 32; kernels ran for 50 ns and wanted 700 of them.
    assert_eq!(of("machine.dram"), ["10000000000", "1000/9600", "14000000000", "700/4800"]);
    // Kernels ran for 20 ns on the first device.
    assert_eq!(of("gpu[0].dram"), ["8000000000", "800/6400", "35000000000", "700/1280"]);
}

#[test]
fn sms_have_rates_over_the_time_of_their_kernels_and_the_mean_of_all_loads() {
    let loads = |path: &str, count, sum| StatRow {
        path: path.into(),
        label: StatLabel { name: "load_latency", unit: "cycles", doc: "" },
        value: StatValue::Distribution { count, sum, min: 1, max: sum, percentiles: Default::default() },
    };
    let rows = two_devices(vec![
        count("gpu[0].sm[0]", "gpu_sim_insn", 300),
        count("gpu[0].sm[0]", "warp_insn", 10),
        loads("gpu[0].sm[0]", 3, 600),
        count("gpu[0].sm[0].mix", "int", 7),
        count("gpu[0].sm[1]", "gpu_sim_insn", 120),
        count("gpu[0].sm[1]", "warp_insn", 5),
        loads("gpu[0].sm[1]", 1, 100),
        count("gpu[0].sm[1].mix", "int", 2),
    ]);
    let of = |name| found(&rows, "machine.sms", name).unwrap();
    // Kernels ran for 20 ns on this device, 14 cycles.
    assert_eq!([of("gpu_sim_insn"), of("ipc"), of("warp_ipc")], ["420", "420/14", "15/14"]);
    assert_eq!(
        (of("mean_load_latency"), found(&rows, "machine.sms", "load_latency")),
        ("700/4".to_owned(), None)
    );
    assert_eq!(found(&rows, "machine.sms.mix", "int").unwrap(), "9");
}
