//! Predicted IPC of kernels and pairs beside the measured one: Figs. 7 to 12.
//!
//! ```text
//! cargo run --release -p counterpoint-kernelet --example predictions -- kernels.csv pairs.csv --machine c2050
//! ```
//!
//! `--coalesced` predicts as if all accesses were coalesced (Fig. 10), `--schedulers 1` with one warp scheduler (Fig. 11). Slices marked `B` are
//! those that the whole model balances (Fig. 8), `E` those with as many blocks of both (Fig. 9). The profit is that of Eq. 1 (Fig. 12).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use counterpoint_kernelet::model::{Resident, Unit, Unsolvable};
use counterpoint_kernelet::replay::{Kernel, Measured, Text};
use counterpoint_kernelet::schedule::prune::pairs;
use counterpoint_kernelet::schedule::{Card, GpuDescription, Options, Profile, predict, profit, slices};

/// Predicts kernels and pairs that were measured.
#[derive(Parser)]
struct Arguments {
    /// CSV of kernels alone.
    kernels: PathBuf,
    /// CSV of pairs in slices.
    pairs: PathBuf,
    /// The GPU of the model.
    #[arg(long, value_parser = Card::named, default_value = "c2050")]
    machine: Card,
    /// Whether all accesses count as coalesced.
    #[arg(long)]
    coalesced: bool,
    /// Warp schedulers of the model, in the place of the card's.
    #[arg(long)]
    schedulers: Option<u32>,
}

/// Errors of predictions against measurements.
#[derive(Default)]
struct Errors(Vec<f64>);

impl Errors {
    fn add(&mut self, predicted: f64, measured: f64) {
        self.0.push((predicted - measured).abs());
    }

    fn print(&self, what: &str, scope: f64) {
        let count = self.0.len().max(1) as f64;
        let within = self.0.iter().filter(|error| **error <= scope).count();
        let mean = self.0.iter().sum::<f64>() / count;
        println!("{what}: mean error {mean:.3}, {within} of {} within {scope}", self.0.len());
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

/// The model, whole and as the options have it.
struct Model {
    whole: GpuDescription,
    reduced: GpuDescription,
    coalesced: bool,
    /// Cycles of all SMs in a millisecond.
    cycles: f64,
}

impl Model {
    fn ipc<const N: usize>(&self, kernels: [(&Profile, u32); N]) -> Result<[f64; N], Unsolvable> {
        let resident = kernels.map(|(kernel, blocks)| Resident {
            blocks,
            warps_per_block: kernel.warps_per_block,
            memory: kernel.memory_fraction,
            uncoalesced: if self.coalesced { 0.0 } else { kernel.uncoalesced_fraction },
        });
        self.reduced.sm().ipc(resident, Unit::Block)
    }

    fn alone(&self, kernel: &Profile) -> Result<f64, Unsolvable> {
        Ok(self.ipc([(kernel, slices::most(&self.whole.offer, &kernel.resources))])?[0])
    }

    /// The IPC at this rate of blocks per millisecond.
    fn measured(&self, kernel: &Kernel, rate: f64) -> f64 {
        rate * kernel.profile.instructions_per_block / self.cycles
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let (kernels, pairs) = (Text::read(&arguments.kernels)?, Text::read(&arguments.pairs)?);
    let measured = Measured::read(kernels.source(), pairs.source(), None)?;
    let Card { gpu, machine: whole, .. } = arguments.machine;
    let reduced = GpuDescription { schedulers: arguments.schedulers.unwrap_or(whole.schedulers), ..whole };
    let cycles = arguments.machine.cycles() / 1e3;
    let model = Model { whole, reduced, coalesced: arguments.coalesced, cycles };
    // A fifth of the peak.
    let scope = gpu.peak_ipc / 5.0;
    let mut alone = Errors::default();
    println!("kernel         measured  predicted");
    for kernel in measured.kernels() {
        let (came, predicted) = (model.measured(kernel, kernel.rate), model.alone(&kernel.profile)?);
        println!("{:<14}{came:9.3}{predicted:11.3}", kernel.name);
        alone.add(predicted, came);
    }
    println!();
    print_pairs(&measured, &model, scope)?;
    alone.print("kernels alone", scope);
    Ok(())
}

fn print_pairs(measured: &Measured, model: &Model, scope: f64) -> Result<(), Unsolvable> {
    let [mut balanced, mut even, mut all, mut profits] = [(); 4].map(|()| Errors::default());
    println!("pair      slices       measured  predicted    profit  predicted");
    for places in pairs(measured.kernels().len()) {
        let kernels = places.map(|place| &measured.kernels()[place]);
        let found = predict(kernels.map(|kernel| &kernel.profile), &model.whole, &Options::default())?;
        let ipc_alone = [model.alone(&kernels[0].profile)?, model.alone(&kernels[1].profile)?];
        for row in measured.together(places) {
            let blocks = row.slices.map(|slice| slice / model.whole.sms);
            let predicted =
                model.ipc([(&kernels[0].profile, blocks[0]), (&kernels[1].profile, blocks[1])])?;
            let came: f64 = [0, 1].map(|at| model.measured(kernels[at], row.rates[at])).iter().sum();
            let total = predicted.iter().sum::<f64>();
            let is_balanced = found.is_some_and(|found| found.slices == row.slices);
            let mark = match (is_balanced, row.slices[0] == row.slices[1]) {
                (true, true) => "BE",
                (true, false) => "B",
                (false, true) => "E",
                (false, false) => "",
            };
            let (profit_came, profit_predicted) =
                (measured.profit(places, row), profit(ipc_alone, predicted));
            println!(
                "{:<10}{:>4}:{:<4}{mark:3}{came:9.3}{total:11.3}{profit_came:10.3}{profit_predicted:11.3}",
                format!("{}/{}", kernels[0].name, kernels[1].name),
                row.slices[0],
                row.slices[1]
            );
            all.add(total, came);
            if is_balanced {
                balanced.add(total, came);
                profits.add(profit_predicted, profit_came);
            }
            if row.slices[0] == row.slices[1] {
                even.add(total, came);
            }
        }
    }
    println!();
    balanced.print("balanced slices", scope);
    even.print("as many blocks of both", scope);
    all.print("all slices", scope);
    profits.print("profit in balanced slices", 0.1);
    Ok(())
}
