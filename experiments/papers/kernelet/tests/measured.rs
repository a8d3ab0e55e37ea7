//! The page's statements about queues and predictions, from the committed rates of the C2050.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use counterpoint_kernelet::model::Unit;
use counterpoint_kernelet::paper::WORKLOADS;
use counterpoint_kernelet::replay::{Measured, Policy, Queue, Source, monte_carlo, replay};
use counterpoint_kernelet::schedule::Card;

macro_rules! table {
    ($name:literal) => {
        Source { name: $name, text: include_str!(concat!("../measured/c2050/", $name)) }
    };
}

fn measured() -> Measured {
    Measured::read(table!("kernels.csv"), table!("pairs.csv"), Some(table!("tails.csv"))).unwrap()
}

fn kernelet() -> Policy {
    Policy::Kernelet { machine: Card::C2050.machine, options: Card::C2050.options() }
}

/// Milliseconds of a mix under BASE, Kernelet and OPT.
fn totals(mix: &str, instances: usize, gap: Option<f64>) -> ([f64; 3], Queue, Measured) {
    let measured = measured();
    let names = WORKLOADS.iter().find(|(name, _)| *name == mix).unwrap().1;
    let kernels = measured.places(names).unwrap();
    let alone: f64 = kernels.iter().map(|kernel| measured.kernels()[*kernel].alone()).sum();
    let queue = Queue::poisson(&kernels, instances, gap.unwrap_or(alone / 10.0), 1);
    let total = |policy: &Policy| replay(&measured, &queue, policy).unwrap().total;
    ([total(&Policy::Base), total(&kernelet()), total(&Policy::Optimal)], queue, measured)
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

#[test]
fn kernels_alone_are_predicted_as_the_page_says() {
    let (measured, machine) = (measured(), Card::C2050.machine);
    let cycles = Card::C2050.cycles() / 1e3;
    let error = measured.kernels().iter().map(|kernel| {
        let came = kernel.rate * kernel.profile.instructions_per_block / cycles;
        (kernel.profile.alone(&machine, Unit::Block).unwrap() - came).abs()
    });
    near(error.sum::<f64>() / 8.0, 0.114, 0.001);
}

/// Fig. 13: gains in per cent, BASE / Kernelet - 1 and BASE / OPT - 1.
#[test]
fn queues_take_as_long_as_the_page_says() {
    for (mix, gain, optimal) in
        [("CI", -1.8, 3.3), ("MI", -12.6, -0.3), ("MIX", 18.9, 20.3), ("ALL", -6.6, 13.3)]
    {
        let ([base, kernelet, best], ..) = totals(mix, 1000, None);
        near(100.0 * (base / kernelet - 1.0), gain, 0.1);
        near(100.0 * (base / best - 1.0), optimal, 0.1);
    }
}

/// Fig. 14.
#[test]
fn no_random_plan_of_mix_is_shorter_than_kernelet() {
    let ([_, kernelet, _], queue, measured) = totals("MIX", 1000, None);
    let random = monte_carlo(&measured, &queue, 50, 1);
    assert!(random[0] > 1.15 * kernelet, "{} {kernelet}", random[0]);
}

/// The same queue on the machine `c2050` takes 29.696 ms under `kernelet` and 26.536 ms under `consolidation`.
#[test]
fn a_queue_of_40_takes_as_long_as_its_replay() {
    let ([base, kernelet, _], ..) = totals("ALL", 5, Some(0.5));
    near(kernelet / 29.696, 1.0, 0.05);
    near(base / 26.536, 1.0, 0.05);
}
