//! The figures of a network under a load: a machine of a generator and a network between its sources and sinks.

use counterpoint_framework::kernel::{Outcome, RunOptions};
use counterpoint_framework::model::StatValue;
use counterpoint_framework::testing::run_text;

/// Throughput and latency of a network under a load. Rates are in flits per cycle and source.
#[derive(Clone, Copy, Debug)]
pub struct LoadFigures {
    /// The rate that was made.
    pub offered: f64,
    /// The rate that arrived.
    pub accepted: f64,
    /// The rate of the source of which the least arrived.
    pub least: f64,
    /// The rate of the source of which the most arrived.
    pub most: f64,
    /// Mean latency of the messages that arrived, in cycles, from being made to being taken. Two of them are links between generator and network.
    pub latency: f64,
    /// Messages that arrived.
    pub messages: u64,
    /// Messages that did not arrive before the end.
    pub missing: u64,
}

/// Runs a network with the same number of sources and sinks. `network` has its type and parameters, a line each with the
/// indentation of a machine file; `traffic` has parameters of [`Traffic`](super::traffic::Traffic), separated by commas. `cycles` are
/// measured.
///
/// # Panics
/// If the parameters are not right, or the run fails.
pub fn measure(network: &str, ends: u32, traffic: &str, cycles: u64) -> LoadFigures {
    let link = |end: u32| {
        format!(
            "  - {{ from: \"traffic.sources[{end}]\", to: \"network.clients[{end}]\", latency: 1 cycle, capacity: 4 }}
  - {{ from: \"network.servers[{end}]\", to: \"traffic.sinks[{end}]\", latency: 1 cycle, capacity: 4 }}
"
        )
    };
    let links: String = (0..ends).map(link).collect();
    let text = format!(
        "counterpoint: 1
machine: load
clocks: {{ core: 1 GHz }}
components:
  traffic: {{ type: interconnect/traffic, clock: core, measured: {cycles} cycles, {traffic} }}
  network:
    clock: core
    requests: {{ flit: 32 B, header: 0 B, packet: 128 B }}
    map: {{ slices: {ends}, interleave: 128 B }}
    {network}
links:
{links}"
    );
    let report = run_text(&text, crate::register, &RunOptions::default());
    assert!(matches!(report.outcome, Outcome::Finished(_)), "{}", report.outcome);
    let value = |name: &str| {
        let mut rows = report.stats.iter().filter(|row| row.path == "traffic" && row.label.name == name);
        rows.next().map(|row| row.value).unwrap_or_else(|| panic!("no statistic {name}"))
    };
    let count = |name: &str| match value(name) {
        StatValue::Count(count) => count,
        other => panic!("{name} is {other:?}"),
    };
    let rate = |flits: u64, sources: u32| flits as f64 / cycles as f64 / f64::from(sources);
    let StatValue::Distribution { count: messages, sum, .. } = value("latency") else {
        panic!("the latency is a distribution")
    };
    LoadFigures {
        offered: rate(count("offered"), ends),
        accepted: rate(count("accepted"), ends),
        least: rate(count("accepted_least"), 1),
        most: rate(count("accepted_most"), 1),
        latency: sum as f64 / messages.max(1) as f64,
        messages,
        missing: count("missing"),
    }
}
