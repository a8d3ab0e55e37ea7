//! The page's statements about queues and predictions, from the committed rates of both cards.

use counterpoint_kernelet::model::Unit;
use counterpoint_kernelet::paper::WORKLOADS;
use counterpoint_kernelet::replay::{Measured, Policy, Queue, Source, monte_carlo, replay};
use counterpoint_kernelet::schedule::Card;

macro_rules! tables {
    ($card:literal) => {
        ["kernels", "pairs", "tails"].map(|name| Source {
            name,
            text: match name {
                "kernels" => include_str!(concat!("../measured/", $card, "/kernels.csv")),
                "pairs" => include_str!(concat!("../measured/", $card, "/pairs.csv")),
                _ => include_str!(concat!("../measured/", $card, "/tails.csv")),
            },
        })
    };
}

fn measured(card: Card) -> Measured {
    let is_fermi = card.gpu.name == Card::C2050.gpu.name;
    let [kernels, pairs, tails] = if is_fermi { tables!("c2050") } else { tables!("gtx680") };
    Measured::read(kernels, pairs, Some(tails)).unwrap()
}

fn kernelet(card: Card) -> Policy {
    Policy::Kernelet { machine: card.machine, options: card.options() }
}

/// Milliseconds of a mix under BASE, Kernelet and OPT.
fn totals(card: Card, mix: &str, instances: usize, gap: Option<f64>) -> ([f64; 3], Queue, Measured) {
    let measured = measured(card);
    let names = WORKLOADS.iter().find(|(name, _)| *name == mix).unwrap().1;
    let kernels = measured.places(names).unwrap();
    let alone: f64 = kernels.iter().map(|kernel| measured.kernels()[*kernel].alone()).sum();
    let queue = Queue::poisson(&kernels, instances, gap.unwrap_or(alone / 10.0), 1);
    let total = |policy: &Policy| replay(&measured, &queue, policy).unwrap().total;
    ([total(&Policy::Base), total(&kernelet(card)), total(&Policy::Optimal)], queue, measured)
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

#[test]
fn kernels_alone_are_predicted_as_the_page_says() {
    for (card, mean) in [(Card::C2050, 0.114), (Card::GTX680, 0.564)] {
        let (measured, cycles) = (measured(card), card.cycles() / 1e3);
        let error = measured.kernels().iter().map(|kernel| {
            let came = kernel.rate * kernel.profile.instructions_per_block / cycles;
            (kernel.profile.alone(&card.machine, Unit::Block).unwrap() - came).abs()
        });
        near(error.sum::<f64>() / 8.0, mean, 0.001);
    }
}

/// Fig. 13: card and mix, and gains in per cent, BASE / Kernelet - 1 and BASE / OPT - 1.
type Gains = (Card, &'static str, f64, f64);

#[track_caller]
fn assert_gains(gains: &[Gains]) {
    for &(card, mix, gain, optimal) in gains {
        let ([base, kernelet, best], ..) = totals(card, mix, 1000, None);
        near(100.0 * (base / kernelet - 1.0), gain, 0.1);
        near(100.0 * (base / best - 1.0), optimal, 0.1);
    }
}

#[test]
fn two_queues_take_as_long_as_the_page_says() {
    assert_gains(&[(Card::C2050, "MIX", 18.9, 20.1), (Card::GTX680, "CI", 1.2, 20.9)]);
}
/// Fig. 14.
#[test]
fn random_plans_are_as_much_longer_than_kernelet_as_the_page_says() {
    for (card, factor) in [(Card::C2050, 1.15), (Card::GTX680, 1.1)] {
        let ([_, kernelet, _], queue, measured) = totals(card, "MIX", 1000, None);
        let random = monte_carlo(&measured, &queue, 50, 1);
        assert!(random[0] > factor * kernelet, "{} {kernelet}", random[0]);
    }
}

/// Milliseconds of the same queue on the machines, under `kernelet` and `consolidation`.
#[test]
fn a_queue_of_40_takes_as_long_as_its_replay() {
    for (card, on_kernelet, on_base) in [(Card::C2050, 26.230, 26.536), (Card::GTX680, 16.441, 16.556)] {
        let ([base, kernelet, _], ..) = totals(card, "ALL", 5, Some(0.5));
        near(kernelet / on_kernelet, 1.0, 0.05);
        near(base / on_base, 1.0, 0.05);
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn queues_take_as_long_as_the_page_says() {
        assert_gains(&[
            (Card::C2050, "CI", -1.9, 3.1),
            (Card::C2050, "MI", -5.2, -0.3),
            (Card::C2050, "MIX", 18.9, 20.1),
            (Card::C2050, "ALL", 7.1, 13.3),
            (Card::GTX680, "CI", 1.2, 20.9),
            (Card::GTX680, "MI", -9.6, 5.2),
            (Card::GTX680, "MIX", 16.9, 15.7),
            (Card::GTX680, "ALL", 1.1, 17.5),
        ]);
    }
}
