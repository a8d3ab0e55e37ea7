//! Machines of papers: each lies with its paper, follows it, and reaches the peaks that the paper states.

use std::sync::Arc;

use counterpoint_cli::PAPERS;
use counterpoint_experiments::validation::peaks::{Extent, Stated, Verdict, peaks};
use counterpoint_framework::model::Registry;
use counterpoint_framework::topology::Follows;
use counterpoint_simulation::find::{ProjectFiles, Sort, list};
use counterpoint_simulation::registry_with;
use counterpoint_simulation::run::load_machine;

use crate::support::{assert_verified, request, root, run_with};

const MACHINES: [&str; 3] = ["crcs-64sm-pcie3-ssd", "dka", "fermi-16sm"];

fn registry() -> Registry {
    registry_with(PAPERS)
}

#[test]
fn papers_bring_the_machines_that_follow_them() {
    let all = list(Sort::Machine, &root(), &registry());
    let follows = |name: &String| load_machine(&request(name, "", &[]), &registry()).unwrap().machine.follows;
    let found: Vec<&String> = all.iter().filter(|name| follows(name) == Some(Follows::Paper)).collect();
    assert_eq!(found, MACHINES);
    assert_eq!(follows(&"titanx-maxwell-model".to_owned()), Some(Follows::Card));
    for machine in MACHINES {
        assert_verified(&run_with(&request(machine, "vecadd", &["app.size=small"]), registry()));
    }
}

/// Asserts that no figure of a paper's machine is missed.
fn assert_reached(machine: &str, extent: Extent) {
    let mut stated = Stated::read(&ProjectFiles::new(&root(), &registry())).unwrap();
    stated.retain(machine);
    let found = peaks(&stated, extent, &root(), &Arc::new(registry()))
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert!(found.len() > 5, "{machine}: {} figures", found.len());
    for peak in found {
        assert_ne!(peak.verdict, Verdict::Missed, "{peak:?}");
        let is_stream = machine == "fermi-16sm" && peak.of.starts_with("dram");
        assert!(!is_stream || peak.verdict == Verdict::Met, "{peak:?}");
    }
}

#[test]
fn units_of_a_papers_machine_reach_what_its_paper_states() {
    assert_reached("dka", Extent::Units);
}

#[test]
fn every_machine_of_a_paper_has_bandwidths_rates_and_latencies() {
    let stated = Stated::read(&ProjectFiles::new(&root(), &registry())).unwrap();
    for machine in MACHINES {
        // Memory latencies beyond the L1 are unknown for GPGPU-Sim 3.1, which this machine follows.
        let unknown = |name: &&str| machine == "fermi-16sm" && ["latency l2", "latency dram"].contains(name);
        for name in crate::peaks::OF_EVERY_MACHINE.into_iter().filter(|name| !unknown(name)) {
            assert!(stated.of(machine).any(|figure| figure.of == name), "{machine}: nothing of {name}");
        }
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn machines_of_papers_reach_what_is_stated_of_them() {
        MACHINES.into_iter().for_each(|machine| assert_reached(machine, Extent::All));
    }
}
