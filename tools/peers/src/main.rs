//! Our kernel beside its peers on the four workloads of `framework/benches`: one core, processor time, one table.
//!
//! `cargo xtask bench-peers` builds and runs this; its only argument is the file that the table goes to as markdown.
//! `PEERS_SHARE=20` does a twentieth of the work, to see whether everything runs, and writes no file.

use std::process::ExitCode;

use kernels::{Kernel, REFERENCE};
use measure::{Run, Workload};
use table::Table;

#[path = "../../../framework/benches/floors.rs"]
mod floors;
#[path = "../../../framework/benches/graph.rs"]
mod graph;
mod kernels;
mod measure;
mod table;
#[path = "../../../framework/benches/workloads.rs"]
mod workloads;

/// Timed rounds; one that is not timed comes before them.
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let file = std::env::args().nth(1).ok_or("usage: counterpoint-peers FILE.md")?;
    let share = match std::env::var("PEERS_SHARE") {
        Ok(text) => text.parse().map_err(|_| format!("PEERS_SHARE={text}: a whole number from 1"))?,
        Err(_) => 1,
    };
    // Threads and processes that are started later inherit the core.
    let core = core_affinity::get_core_ids().and_then(|cores| cores.into_iter().next_back());
    let pinned = core.is_some_and(core_affinity::set_for_current);
    if !pinned {
        return Err("this machine does not let a process be bound to a core".to_owned());
    }
    let kernels = kernels::all();
    let mut table = Table::new(&kernels, REFERENCE);
    for kernel in &kernels {
        if let Err(reason) = &kernel.runner {
            eprintln!("NOT MEASURED: {}: {reason}", kernel.name);
        }
    }
    for workload in Workload::ALL {
        for (row, rates) in measure(&kernels, workload, share)?.into_iter().enumerate() {
            table.set(row, workload, rates);
        }
    }
    print!("{}", table.text());
    if share > 1 {
        return Ok(());
    }
    std::fs::write(&file, table.markdown()).map_err(|error| format!("{file}: {error}"))
}

/// The rates of all kernels on one workload, a round of all kernels after the other, so that a noisy minute hits all.
fn measure(kernels: &[Kernel], workload: Workload, share: u64) -> Result<Vec<Vec<f64>>, String> {
    let mut rates = vec![Vec::new(); kernels.len()];
    for round in 0..=ROUNDS {
        eprintln!("{}: round {round} of {ROUNDS}", workload.name());
        for (kernel, rates) in kernels.iter().zip(&mut rates) {
            let Ok(runner) = &kernel.runner else { continue };
            let size = workload.size(kernel.share * share);
            let Some(run) = runner(workload, size)? else { continue };
            if round == 0 {
                verify(kernel, workload, size, &run)?;
            } else {
                rates.push(run.rate());
            }
        }
    }
    Ok(rates)
}

/// Compares the work with that of the hand-written loop.
fn verify(kernel: &Kernel, workload: Workload, size: u64, run: &Run) -> Result<(), String> {
    let expected = kernels::expected(workload, size);
    let same = if kernel.own_times && workload == Workload::Phold {
        // Other times are other draws: the number of hops comes near, and that is all.
        run.work.operations.abs_diff(expected.operations) < expected.operations / 5
    } else {
        run.work == expected
    };
    if same {
        return Ok(());
    }
    let (name, workload, work) = (&kernel.name, workload.name(), run.work);
    Err(format!("{name}, {workload}: did {work:?}, where the hand-written loop does {expected:?}"))
}
