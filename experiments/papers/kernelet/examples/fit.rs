//! Fits the constants of the linear latency model to what kernels come to alone.
//!
//! `cargo run --release -p counterpoint-kernelet --example fit -- KERNELS.csv c2050`
//!
//! `L0` and the slope `a0` are searched for that give the least sum of squares of the logarithm of predicted by measured IPC: slices and
//! profits (Eqs. 8 and 1) depend on ratios of IPC, and a kernel of low IPC counts as much as one of high IPC. Both kinds of access have the same `L0`: an
//! uncoalesced one has more requests outstanding. A fitted `L0` holds `b0`, and what the model does not know: a warp of the model waits for each access, and one of the
//! machine for the first result that it needs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the result, and what is wrong")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use counterpoint_kernelet::model::{Latency, Memory, Unit};
use counterpoint_kernelet::replay::{Kernel, Source};
use counterpoint_kernelet::schedule::{C2050_CLOCK, C2050_MEMORY, GTX680_CLOCK, GTX680_MEMORY, Machine};

/// Fits the constants of the linear latency model to what kernels come to alone.
#[derive(Parser)]
struct Arguments {
    /// Kernels with their profiles and their rates alone.
    kernels: PathBuf,
    /// The card.
    card: Card,
    /// Requests of an uncoalesced access.
    #[arg(long, default_value_t = 32.0)]
    requests: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Card {
    C2050,
    Gtx680,
}

impl Card {
    /// The card with a memory, the cycles of its model in a second, and requests of 128 bytes in such a cycle.
    fn known(self) -> (fn(Memory) -> Machine, f64, f64) {
        match self {
            Card::C2050 => (Machine::c2050, C2050_CLOCK, C2050_MEMORY.bandwidth),
            Card::Gtx680 => (Machine::gtx680, GTX680_CLOCK, GTX680_MEMORY.bandwidth),
        }
    }
}

/// Latency without contention, and the slope.
type Constants = [f64; 2];

/// The smallest steps of the search, in parts of a value.
const FINEST: f64 = 0.002;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let text = match std::fs::read_to_string(&arguments.kernels) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: {}: {error}", arguments.kernels.display());
            return ExitCode::FAILURE;
        }
    };
    let name = arguments.kernels.display().to_string();
    let measured = match Kernel::read(Source { name: &name, text: &text }) {
        Ok(measured) => measured,
        Err(report) => {
            eprintln!("{report}");
            return ExitCode::FAILURE;
        }
    };
    let (machine, clock, bandwidth) = arguments.card.known();
    let with = |[base, slope]: Constants| {
        let latency = Latency { base, slope, offset: 0.0 };
        machine(Memory { requests: arguments.requests, ..Memory::uniform(latency, bandwidth) })
    };
    let sms = f64::from(with([1.0; 2]).sms);
    let ipc: Vec<f64> = measured
        .iter()
        .map(|kernel| kernel.rate * 1e3 * kernel.profile.instructions_per_block / (sms * clock))
        .collect();
    let predicted = |constants: Constants| -> Option<Vec<f64>> {
        let machine = with(constants);
        measured.iter().map(|kernel| kernel.profile.alone(&machine, Unit::Block).ok()).collect()
    };
    let squares = |constants: Constants| {
        let errors = predicted(constants)
            .map(|found| found.iter().zip(&ipc).map(|(found, ipc)| (found / ipc).ln().powi(2)).sum::<f64>());
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
    ExitCode::SUCCESS
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
