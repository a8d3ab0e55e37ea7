//! Networks at and beyond saturation: no deadlock, throughput, and fairness among sources.

use counterpoint_hardware::interconnect::load::{LoadFigures, measure};

const PATTERNS: [&str; 5] = ["uniform", "transpose", "complement", "tornado", "neighbour"];

/// A network of 16 sources and sinks under a pattern.
fn load(network: &str, pattern: &str, load: f64, flits: u64) -> LoadFigures {
    let traffic = format!("pattern: {pattern}, load: {load}, flits: {flits}, warmup: 1000 cycles");
    measure(&format!("type: interconnect/network\n    topology: {network}"), 16, &traffic, 3000)
}

#[test]
fn a_low_load_arrives_with_the_latency_of_the_formula() {
    // Links, of 1 cycle each: to the network, between routers, and from the network. A router takes 3 cycles.
    let passing = |hops: f64, flits: f64| 2.0 + 3.0 * (hops + 1.0) + hops + flits - 1.0;
    // Means over all sources: of the distances in a ring, a square of side 4, its transposition.
    for (network, pattern, hops) in [
        ("crossbar", "uniform", 0.0),
        ("ring", "uniform", 4.0),
        ("ring", "tornado", 7.0),
        ("mesh", "uniform", 2.5),
        ("mesh", "transpose", 2.5),
        ("mesh", "complement", 4.0),
        ("hierarchy", "uniform", 1.0),
    ] {
        for flits in [1, 4] {
            let figures = load(network, pattern, 0.01, flits);
            assert_eq!(figures.missing, 0, "{network}, {pattern}");
            let formula = passing(hops, flits as f64);
            assert!(
                (figures.latency / formula - 1.0).abs() < 0.12,
                "{network}, {pattern}: {formula}, {figures:?}"
            );
        }
    }
}

#[test]
fn nothing_locks_up_beyond_saturation() {
    let mut stuck = Vec::new();
    for network in ["crossbar", "ring", "mesh", "hierarchy"] {
        for shape in ["virtual_channels: 2\n    buffer: 1", "allocation: any", "buffer: 4"] {
            for pattern in PATTERNS {
                let figures = load(&format!("{network}\n    {shape}"), pattern, 1.0, 4);
                if figures.accepted < 0.005 {
                    stuck.push((network, shape, pattern, figures));
                }
            }
        }
    }
    assert!(stuck.is_empty(), "{stuck:#?}");
}

#[test]
fn throughput_and_fairness_up_to_saturation_and_beyond() {
    let mut wrong = Vec::new();
    // The load, the least and the most rate that arrives, and the least ratio of the source that fares worst to the mean.
    for (network, pattern, offered, least, most, fairness) in [
        // A permutation passes a crossbar without conflicts.
        ("crossbar", "complement", 1.0, 0.98, 1.0, 0.98),
        ("crossbar", "uniform", 1.0, 0.55, 1.0, 0.90),
        ("ring", "neighbour", 1.0, 0.95, 1.0, 0.95),
        ("ring", "uniform", 0.2, 0.195, 0.205, 0.85),
        // Half of the packets of each half of a ring cross its middle, by a link on each side. Beyond saturation sources starve that much
        // traffic passes: BookSim accepts 0.17, and nearly nothing of some sources.
        ("ring", "uniform", 1.0, 0.12, 0.5, 0.0),
        // Half of the packets of each half of the mesh cross its middle, by 4 links; of the complement, all of them.
        ("mesh", "uniform", 1.0, 0.45, 1.0, 0.40),
        ("mesh", "complement", 1.0, 0.25, 0.5, 0.25),
        // Four links lead to the central switch, for 16 sources.
        ("hierarchy", "uniform", 1.0, 0.22, 0.25, 0.85),
    ] {
        for allocation in ["pair", "any"] {
            let figures = load(&format!("{network}\n    allocation: {allocation}"), pattern, offered, 1);
            let is_within = (least..=most + 0.005).contains(&figures.accepted);
            if !is_within || figures.least < fairness * figures.accepted {
                wrong.push((network, pattern, allocation, figures));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
