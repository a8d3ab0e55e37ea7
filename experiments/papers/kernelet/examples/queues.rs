//! Total times of queues of the paper's four mixes under BASE, Kernelet, OPT and random plans, from measured rates: the results of
//! Figs. 13 and 14.
//!
//! ```text
//! cargo run --release -p counterpoint-kernelet --example queues -- kernels.csv pairs.csv --tails tails.csv
//! ```
//!
//! Kernels have the names of Table 4. A mix is left out if the table lacks one of its kernels. A gain is that of throughput: the total time
//! of BASE in that of Kernelet, less 1.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use counterpoint_kernelet::paper::{ALPHA_M, ALPHA_P, WORKLOADS};
use counterpoint_kernelet::replay::{
    Choice, Measured, Outcome, Policy, Queue, Text, monte_carlo, quantile, replay,
};
use counterpoint_kernelet::schedule::Card;
use counterpoint_kernelet::schedule::prune::{Thresholds, Use, pairs};

/// Runs queues of the paper's mixes from measured rates.
#[derive(Parser)]
struct Arguments {
    /// CSV of kernels alone.
    kernels: PathBuf,
    /// CSV of pairs in slices.
    pairs: PathBuf,
    /// CSV of whole kernels in streams; without it tails do not overlap.
    #[arg(long)]
    tails: Option<PathBuf>,
    /// Instances of each kernel of a mix.
    #[arg(long, default_value_t = 1000)]
    instances: usize,
    /// Mean gap between instances of a kernel, in ms; a tenth of the time of one instance of each kernel if it is not given.
    #[arg(long)]
    gap: Option<f64>,
    /// Seed of the arrivals and of the random plans.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Random plans.
    #[arg(long, default_value_t = 1000)]
    monte_carlo: usize,
    /// The GPU of the model, and its thresholds.
    #[arg(long, value_parser = Card::named, default_value = "c2050")]
    machine: Card,
    /// Prints how many pairs are pruned by thresholds from 0.1 to 1 and 0.015 to 0.15, instead of queues: Table 6.
    #[arg(long)]
    pruned: bool,
    /// Prints the decisions with their counts, too.
    #[arg(long)]
    decisions: bool,
}

impl Arguments {
    fn kernelet(&self) -> Policy {
        Policy::Kernelet { machine: self.machine.machine, options: self.machine.options() }
    }

    fn measured(&self) -> Result<Measured, Box<dyn Error>> {
        let (kernels, pairs) = (Text::read(&self.kernels)?, Text::read(&self.pairs)?);
        let tails = self.tails.as_deref().map(Text::read).transpose()?;
        Ok(Measured::read(kernels.source(), pairs.source(), tails.as_ref().map(Text::source))?)
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let measured = arguments.measured()?;
    if arguments.pruned {
        pruned(&measured);
        return Ok(());
    }
    for (mix, names) in WORKLOADS {
        match measured.places(names) {
            Ok(kernels) => print(mix, &kernels, &measured, arguments)?,
            Err(unknown) => println!("{mix}: left out, {unknown}\n"),
        }
    }
    Ok(())
}

fn print(
    mix: &str,
    kernels: &[usize],
    measured: &Measured,
    arguments: &Arguments,
) -> Result<(), Box<dyn Error>> {
    let alone: f64 = kernels.iter().map(|kernel| measured.kernels()[*kernel].alone()).sum();
    let gap = arguments.gap.unwrap_or(alone / 10.0);
    let queue = Queue::poisson(kernels, arguments.instances, gap, arguments.seed);
    let base = replay(measured, &queue, &Policy::Base)?;
    let kernelet = replay(measured, &queue, &arguments.kernelet())?;
    let optimal = replay(measured, &queue, &Policy::Optimal)?;
    println!("{mix}: {} instances of each kernel, mean gap {gap:.4} ms", arguments.instances);
    println!("  BASE      {:14.3} ms", base.total);
    println!("  Kernelet  {:14.3} ms  BASE / Kernelet - 1 = {:.2} %", kernelet.total, more(&base, &kernelet));
    println!(
        "  OPT       {:14.3} ms  Kernelet / OPT - 1 = {:.2} %",
        optimal.total,
        more(&kernelet, &optimal)
    );
    if arguments.decisions {
        for (policy, outcome) in [("Kernelet", &kernelet), ("OPT", &optimal)] {
            println!("  decisions of {policy}:");
            list(outcome, measured);
        }
    }
    let random = monte_carlo(measured, &queue, arguments.monte_carlo, arguments.seed);
    let shorter = random.iter().filter(|total| **total < kernelet.total).count();
    println!("  MC({}): {shorter} shorter than Kernelet", random.len());
    for (name, part) in [
        ("minimum", 0.0),
        ("5 %", 0.05),
        ("25 %", 0.25),
        ("median", 0.5),
        ("75 %", 0.75),
        ("95 %", 0.95),
        ("maximum", 1.0),
    ] {
        if let Some(total) = quantile(&random, part) {
            println!("    {name:<8}{total:14.3} ms");
        }
    }
    println!();
    Ok(())
}

/// Number of pruned pairs, as in Table 6.
fn pruned(measured: &Measured) {
    let uses: Vec<Use> = measured
        .kernels()
        .iter()
        .map(|kernel| Use { pur: kernel.profile.pur, mur: kernel.profile.mur })
        .collect();
    let count = |pur: f64, mur: f64| {
        let is_pruned =
            |[first, second]: &[usize; 2]| Thresholds { pur, mur }.prunes(&uses[*first], &uses[*second]);
        pairs(uses.len()).iter().filter(|pair| is_pruned(pair)).count()
    };
    let head: Vec<String> = ALPHA_P.iter().map(|pur| format!("{pur:>4}")).collect();
    println!("alpha_m  {}", head.join(""));
    for mur in ALPHA_M {
        let cells: Vec<String> = ALPHA_P.iter().map(|&pur| format!("{:>4}", count(pur, mur))).collect();
        println!("{mur:<9}{}", cells.join(""));
    }
}

/// Extra time of `longer` over `shorter`, in per cent of `shorter`.
fn more(longer: &Outcome, shorter: &Outcome) -> f64 {
    100.0 * (longer.total / shorter.total - 1.0)
}

/// The decisions, with their counts and durations.
fn list(outcome: &Outcome, measured: &Measured) {
    let name = |kernel: usize| measured.kernels()[kernel].name.as_str();
    for used in &outcome.decisions {
        let what = match used.choice {
            Choice::Alone(kernel) => name(kernel).to_owned(),
            Choice::CoSchedule { kernels: [first, second], slices: [own, others] } => {
                format!("{} + {} ({own}:{others})", name(first), name(second))
            }
        };
        println!("    {what:<24}{:6} times {:14.3} ms", used.count, used.time);
    }
}
