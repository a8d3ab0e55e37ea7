//! Simulation speed of whole programs: the reference kernels on two GPUs, and every application on a machine with 64 SMs.
//!
//! Prints one row of Markdown per program; `cargo xtask speeds --record` appends them to `speeds.md`. Words after `--` choose
//! programs by a part of their names.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::path::Path;
use std::sync::Arc;

use counterpoint_experiments::speed::{Speed, calibration_loop};
use counterpoint_simulation::find::{Sort, list};
use counterpoint_simulation::registry;

/// GPUs that run the reference kernels alone, and the machine that runs everything.
const GPUS: [&str; 2] = ["gtx480", "titanx-sm6"];
const WHOLE: &str = "papers/crcs/machines/crcs-64sm-pcie3-ssd.yaml";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let chosen = |name: &&String| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let registry = Arc::new(registry());
    let applications = list(Sort::Application, folder, &registry);
    let references = applications.iter().filter(|name| name.starts_with("reference-"));
    let programs = references.flat_map(|name| GPUS.map(|gpu| (gpu, name)));
    // Probes are for latencies: they keep a warp busy.
    let measures = |name: &&String| name.starts_with("probe-") || name.starts_with("reference-");
    let whole = applications.iter().filter(|name| !measures(name)).map(|name| (WHOLE, name));
    for (machine, application) in programs.chain(whole).filter(|(_, name)| chosen(name)) {
        // Beside each program, because what else the computer does changes.
        let calibration = calibration_loop();
        match Speed::of(machine, application, folder, &registry) {
            Ok(speed) => {
                let rate = |count: f64| (count / speed.cpu_seconds / 1e3).round();
                let name = Path::new(machine).file_stem().unwrap_or_default().display();
                println!(
                    "| {calibration:.2} | {name} | {application} | {} | {} | {} | {} |",
                    rate(speed.cycles),
                    rate(speed.warp_instructions),
                    rate(speed.l2_accesses),
                    speed.bound()
                );
            }
            Err(errors) => {
                let error = errors.iter().map(ToString::to_string).next().unwrap_or_default();
                eprintln!("left out: {}", error.lines().next().unwrap_or_default());
            }
        }
    }
}
