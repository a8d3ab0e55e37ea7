//! `counterpoint validate --peaks`: cards reach their stated peaks, and the cost of atomics follows from contention.

use std::sync::{Arc, OnceLock};

use counterpoint_cli::{FAILURE, SUCCESS};
use counterpoint_experiments::validation::peaks::{Extent, Peak, QUANTITIES, Stated, Verdict, peaks};
use counterpoint_simulation::find::ProjectFiles;
use counterpoint_simulation::registry;

use crate::cli::call;
use crate::support::root;

const CARDS: [&str; 5] = ["c2050", "gtx680", "k40", "m2050", "titanx-maxwell"];

/// What is stated of every machine.
pub(crate) const OF_EVERY_MACHINE: [&str; 13] = [
    "dram read",
    "dram write",
    "dram copy",
    "l2 read",
    "shared read",
    "fp32 fma",
    "fp64 fma",
    "sfu",
    "latency int add",
    "latency fp32 fma",
    "latency shared",
    "latency l2",
    "latency dram",
];

/// Everything that is stated of a machine, measured.
fn measured(machine: &str, extent: Extent) -> Vec<Peak> {
    let mut stated = Stated::read(&ProjectFiles::new(&root(), &registry())).unwrap();
    stated.retain(machine);
    peaks(&stated, extent, &root(), &Arc::new(registry())).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

/// Everything that is stated of a card, measured once for all slow tests. Streams and atomics of fewer threads are in `microbenchmarks`.
fn of_card(machine: &str) -> &'static [Peak] {
    static FOUND: [OnceLock<Vec<Peak>>; CARDS.len()] = [const { OnceLock::new() }; CARDS.len()];
    let place = CARDS.iter().position(|card| *card == machine).unwrap();
    FOUND[place].get_or_init(|| measured(machine, Extent::All))
}

fn of<'a>(peaks: &'a [Peak], name: &str) -> &'a Peak {
    peaks.iter().find(|peak| peak.of == name).unwrap_or_else(|| panic!("nothing of {name}"))
}

/// Asserts that no figure of a card is missed, and that the card has at least `least` figures.
fn assert_reached(machine: &str, found: &[Peak], least: usize) {
    assert!(found.len() >= least, "{machine}: {} figures", found.len());
    for peak in found {
        assert_ne!(peak.verdict, Verdict::Missed, "{peak:?}");
    }
    // Double precision, by the CUDA C Programming Guide, in cycles of half Fermi's hot clock.
    let lanes = match machine {
        "c2050" | "m2050" => 32.0,
        "gtx680" => 8.0,
        "k40" => 64.0,
        _ => 4.0,
    };
    let fp64 = of(found, "fp64 fma").ours;
    // A rate is the difference of two runs, whose ends differ by some cycles.
    assert!((0.9..=1.005).contains(&(fp64 / lanes)), "{machine}: {fp64} a cycle and SM");
}

/// Everything of a card: its streams use DRAM, whatever else is known.
fn assert_all_reached(machine: &str) {
    let found = of_card(machine);
    assert_reached(machine, found, 19);
    for stream in ["dram read", "dram write", "dram copy"] {
        let peak = of(found, stream);
        assert!(peak.share() >= 0.75 && peak.verdict == Verdict::Met, "{peak:?}");
    }
}

fn assert_atomics(machine: &str) {
    let rate = |name: &str| of(of_card(machine), name).ours;
    let (word, line, own) =
        (rate("atomics on one word"), rate("atomics on one line"), rate("atomics on own lines"));
    assert!(word < 0.6 * line && line < 0.2 * own, "{machine}: {word}, {line}, {own} a cycle");
    // Kepler does nine times as many on one word as Fermi, with one a clock.
    let expected = if machine.ends_with("2050") { 1.0 / 9.0 } else { 1.0 };
    assert!((word / expected - 1.0).abs() < 0.05, "{machine}: {word} a cycle on one word");
}

#[test]
fn units_of_cards_reach_what_is_stated_of_them() {
    // A card of Fermi and one of Maxwell.
    for machine in ["c2050", "titanx-maxwell"] {
        assert_reached(machine, &measured(machine, Extent::Units), 12);
    }
}

#[test]
fn the_command_prints_a_line_a_figure_and_json_has_limits_and_sources() {
    let called = call(&["validate", "c2050", "--peaks", "--quick"]);
    assert_eq!((called.status, called.err.as_str()), (SUCCESS, ""), "{}", called.out);
    let lines: Vec<&str> = called.out.lines().collect();
    assert!(lines[0].starts_with("machine") && lines[0].ends_with("source"), "{}", called.out);
    let fp64 = lines.iter().find(|line| line.contains(" fp64 fma ")).unwrap();
    assert!(fp64.starts_with("c2050 ") && fp64.contains(" card ") && fp64.contains(" 32.00 "), "{fp64}");
    assert!(!called.out.contains("dram read"), "streams take longer than a quick look");

    let called = call(&["validate", "c2050", "--peaks", "--quick", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&called.out).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), lines.len() - 1);
    for row in rows {
        for key in ["machine", "follows", "of", "unit", "ours", "stated", "limit", "verdict", "source"] {
            assert!(row.get(key).is_some(), "{row}");
        }
    }
}

#[test]
fn what_no_machine_reaches_is_missed() {
    // A folder whose file states a value that no machine reaches.
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("experiments/validation");
    std::fs::create_dir_all(&own).unwrap();
    let text = "figures:\n  - { of: sfu, stated: { c2050: 800 }, limit: !within 0.1, source: nobody }\n";
    std::fs::write(own.join("peaks.yaml"), text).unwrap();
    let mut stated = Stated::read(&ProjectFiles::new(folder.path(), &registry())).unwrap();
    stated.retain("c2050");
    let found = peaks(&stated, Extent::Units, &root(), &Arc::new(registry())).unwrap();
    assert_eq!((found.len(), found[0].verdict), (1, Verdict::Missed));

    let called = call(&["validate", "c250", "--peaks"]);
    assert_eq!((called.status, called.out.as_str()), (FAILURE, ""));
    let expected = "error: no figures are kept of a machine `c250`\n  help: did you mean `c2050`?";
    assert!(called.err.starts_with(expected), "{}", called.err);
}

#[test]
fn every_quantity_is_stated_of_some_machine_and_every_machine_has_bandwidths_rates_and_latencies() {
    let stated = Stated::read(&ProjectFiles::new(&root(), &registry())).unwrap();
    for quantity in &QUANTITIES {
        assert!(stated.figures.iter().any(|figure| figure.of == quantity.name), "{}", quantity.name);
    }
    let machines = stated.machines();
    assert!(machines.len() >= 8, "{machines:?}");
    for machine in &machines {
        for name in OF_EVERY_MACHINE {
            assert!(stated.of(machine).any(|figure| figure.of == name), "{machine}: nothing of {name}");
        }
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn cards_reach_what_is_stated_of_them() {
        CARDS.into_iter().for_each(assert_all_reached);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn atomics_on_one_word_are_slower_than_on_one_line_and_these_than_on_lines_of_their_own() {
        // The order is reversed, because the test above runs at the same time.
        CARDS.into_iter().rev().for_each(assert_atomics);
    }
}
