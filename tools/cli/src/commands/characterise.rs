//! `counterpoint characterise`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use counterpoint_experiments::characterise::{Bound, Character, THRESHOLD, kernels, unmeasured, write_csv};
use counterpoint_framework::model::Registry;
use counterpoint_simulation::run::{RunError, RunRequest, load_machine};

use super::fail;
use super::machine::MachineOptions;
use super::run::{simulate, status};
use crate::{Console, FAILURE, SUCCESS, columns};

/// The command's arguments.
#[derive(Args)]
#[command(
    after_help = "MEM instructions are loads, stores and atomics of global, shared, local and constant memory, and texture \
                        fetches, counted by the warp; ALU instructions are all others, loads of kernel parameters included. A \
                        latency is the mean of cycles from the issue of an instruction to the write of its result, as the SMs \
                        measure it. Density is ALU by MEM instructions; ideal warps are the sum of both latencies by the density \
                        (Awatramani et al., ICCD 2013). Of launches that differ, blocks have the mean of their warps, and blocks of \
                        an SM are the fewest."
)]
pub(crate) struct Characterise {
    #[command(flatten)]
    machine: MachineOptions,
    /// The application: a file, or a name that `counterpoint list applications` prints.
    application: String,
    /// Kernels of fewer ideal warps have the type `compute`, the others `memory`. The default lies between the two groups of
    /// Awatramani et al., Table I, which end at 6.63 and begin at 12.55.
    #[arg(long, value_name = "WARPS", default_value_t = THRESHOLD, value_parser = warps)]
    threshold: f64,
    /// Threads to simulate with at most; the results do not depend on it.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Write the kernels to this file, too, with all digits.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print the kernels as JSON.
    #[arg(long)]
    json: bool,
}

/// A number of warps that something can be below of.
fn warps(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(warps) if warps > 0.0 && f64::is_finite(warps) => Ok(warps),
        _ => Err("expected a number above 0".to_owned()),
    }
}

impl Characterise {
    pub(super) fn execute(
        &self,
        words: Vec<String>,
        registry: &Arc<Registry>,
        console: &mut Console<'_>,
    ) -> io::Result<u8> {
        let request = RunRequest {
            threads: self.threads,
            launch_rows: u32::MAX,
            command_line: words,
            ..self.machine.request(&self.application)
        };
        // The run reports problems of the machine, with those of the application.
        if let Ok(loaded) = load_machine(&request, registry)
            && let Some(path) = unmeasured(&loaded.machine)
        {
            let name = &loaded.machine.name;
            let message =
                format!("a model of throughput measures no latencies, and `{name}` has it as `{path}`");
            return fail(&[RunError::Usage(message)], console);
        }
        let summary = match simulate(&request, console.interactive, registry, console)? {
            Ok(summary) => summary,
            Err(errors) => return fail(&errors, console),
        };
        let status = status(&summary, console)?;
        if status != SUCCESS {
            return Ok(status);
        }
        let kernels = kernels(&summary.roles, &summary.report.stats, self.threshold);
        if kernels.is_empty() {
            let message = format!("`{}` launches no kernel on `{}`", summary.application, summary.machine);
            return fail(&[RunError::Usage(message)], console);
        }
        if let Some(path) = &self.csv
            && let Err(error) = write(&kernels, path)
        {
            writeln!(console.err, "error: {}: {error}", path.display())?;
            return Ok(FAILURE);
        }
        if self.json {
            let text = serde_json::to_string_pretty(&kernels).map_err(io::Error::other)?;
            writeln!(console.out, "{text}")?;
        } else {
            columns::print(&table(&kernels), 1, console.out)?;
        }
        Ok(SUCCESS)
    }
}

fn write(kernels: &[Character], path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write_csv(kernels, &mut file)?;
    file.flush()
}

/// The names of the columns, and a line for each kernel.
fn table(kernels: &[Character]) -> Vec<Vec<String>> {
    let names = [
        "kernel",
        "launches",
        "blocks",
        "warps/block",
        "ALU insn",
        "MEM insn",
        "density",
        "ALU cycles",
        "MEM cycles",
        "ideal warps",
        "type",
        "blocks/SM",
        "L1 misses",
    ];
    let line = |one: &Character| {
        let bound = match one.bound {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
        };
        vec![
            one.kernel.clone(),
            one.launches.to_string(),
            one.blocks.to_string(),
            warps_per_block(one.warps_per_block),
            one.alu_insn.to_string(),
            one.mem_insn.to_string(),
            two_digits(one.density),
            two_digits(one.alu_latency),
            two_digits(one.mem_latency),
            two_digits(Some(one.ideal_warps)),
            bound.to_owned(),
            one.blocks_per_sm.to_string(),
            one.l1_miss_rate.map_or("-".to_owned(), |rate| format!("{:.2} %", 100.0 * rate)),
        ]
    };
    [names.map(str::to_owned).to_vec()].into_iter().chain(kernels.iter().map(line)).collect()
}

/// A number with two digits, as in the paper's table, or a mark for none.
fn two_digits(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// Warps of a block, with digits only where blocks differ.
fn warps_per_block(mean: f64) -> String {
    if mean.fract() == 0.0 { format!("{mean:.0}") } else { format!("{mean:.2}") }
}
