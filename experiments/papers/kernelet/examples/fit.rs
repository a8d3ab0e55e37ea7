//! Fits the constants of the linear latency model to the IPC of kernels alone.
//!
//! `cargo run --release -p counterpoint-kernelet --example fit -- KERNELS.csv c2050`
//!
//! `L0` and the slope `a0` are searched for that give the least sum of squares of the logarithm of predicted by measured IPC: slices and
//! profits (Eqs. 8 and 1) depend on ratios of IPC, and a kernel of low IPC counts as much as one of high IPC. Both kinds of access have the same `L0`: an
//! uncoalesced one has more requests outstanding. A fitted `L0` holds `b0`, and effects outside the model: a
//! warp of the model waits for each access, and one of the machine for the first result that it needs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the result, and what is wrong")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use counterpoint_kernelet::model::{Latency, Memory, Unit};
use counterpoint_kernelet::replay::{Kernel, Text};
use counterpoint_kernelet::schedule::{Card, GpuDescription};

/// Fits the constants of the linear latency model to the IPC of kernels alone.
#[derive(Parser)]
struct Arguments {
    /// Kernels with their profiles and their rates alone.
    kernels: PathBuf,
    /// The card.
    #[arg(value_parser = Card::named)]
    card: Card,
    /// Requests of an uncoalesced access.
    #[arg(long, default_value_t = 32.0)]
    requests: f64,
    /// Fits differences of IPC in place of ratios.
    #[arg(long)]
    differences: bool,
}

/// Latency without contention, and the slope.
type Constants = [f64; 2];

/// The smallest steps of the search, in parts of a value.
const FINEST: f64 = 0.002;

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
    let text = Text::read(&arguments.kernels)?;
    let measured = Kernel::read(text.source())?;
    let Card { machine: known, .. } = arguments.card;
    let with = |[base, slope]: Constants| {
        let latency = Latency { base, slope, offset: 0.0 };
        let memory = Memory::uniform(latency, known.memory.bandwidth);
        GpuDescription { memory: Memory { requests: arguments.requests, ..memory }, ..known }
    };
    let cycles = arguments.card.cycles();
    let ipc: Vec<f64> = measured
        .iter()
        .map(|kernel| kernel.rate * 1e3 * kernel.profile.instructions_per_block / cycles)
        .collect();
    let predicted = |constants: Constants| -> Option<Vec<f64>> {
        let machine = with(constants);
        measured.iter().map(|kernel| kernel.profile.alone(&machine, Unit::Block).ok()).collect()
    };
    let squares = |constants: Constants| {
        let error =
            |(found, ipc): (&f64, &f64)| if arguments.differences { found - ipc } else { (found / ipc).ln() };
        let errors = predicted(constants)
            .map(|found| found.iter().zip(&ipc).map(|one| error(one).powi(2)).sum::<f64>());
        errors.unwrap_or(f64::INFINITY)
    };
    let best = search([400.0, 1.0], squares);
    println!("latency {:.0}, slope {:.2}", best[0], best[1]);
    println!("sum of squares {:.4}", squares(best));
    println!("kernel  measured  predicted");
    let found = predicted(best).unwrap_or_default();
    for ((kernel, ipc), found) in measured.iter().zip(&ipc).zip(&found) {
        println!("{:6}  {ipc:8.4}  {found:9.4}", kernel.name);
    }
    let error = found.iter().zip(&ipc).map(|(found, ipc)| (found - ipc).abs()).sum::<f64>();
    println!("mean error {:.4}", error / ipc.len() as f64);
    Ok(())
}

/// Steps along each constant, up and down, as long as one is better, and then half as far.
fn search(mut best: Constants, squares: impl Fn(Constants) -> f64) -> Constants {
    let mut least = squares(best);
    let mut step = 1.0;
    while step > FINEST {
        let mut better = false;
        for place in 0..best.len() {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut tried = best;
                tried[place] *= factor;
                let found = squares(tried);
                if found < least {
                    (best, least, better) = (tried, found, true);
                }
            }
        }
        if !better {
            step /= 2.0;
        }
    }
    best
}
