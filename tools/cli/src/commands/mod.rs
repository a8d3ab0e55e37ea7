//! The commands: one file each, one line in [`Command`] and one in its `execute`; and what several of them share.

mod bisect;
mod characterise;
mod check;
mod compare;
mod cost;
mod cuda;
mod entries;
mod explain;
#[cfg(feature = "otlp")]
mod export;
mod graph;
mod instrument;
mod list;
mod live_run;
mod machine;
mod new;
mod ptx;
mod report;
mod resolve;
mod run;
mod schema;
mod slice;
mod study;
mod synth;
mod throughput;
mod validate;

use std::io;
use std::sync::Arc;

use clap::Subcommand;
use counterpoint_framework::model::Registry;
use counterpoint_simulation::application::SETTING_PREFIX;
use counterpoint_simulation::run::RunError;

use crate::{Console, FAILURE};

/// The user's command.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an application on a machine.
    Run(Box<run::Run>),
    /// Send the spans of a run to Jaeger that could not be sent when it ended.
    #[cfg(feature = "otlp")]
    Export(export::Export),
    /// Find where two runs part: the first clock cycle in which a component differs.
    Bisect(Box<bisect::Bisect>),
    /// Show what differs between two runs, or two studies, and by how much.
    Compare(compare::Compare),
    /// Measure what the kernels of an application are like on a machine: instructions, latencies, and what bounds them.
    Characterise(characterise::Characterise),
    /// Report everything that is wrong with a machine, and with an application.
    Check(check::Check),
    /// Show a machine's components and links, or the islands that a run would cut it into.
    Graph(graph::Graph),
    /// Print a machine with everything filled in, and who set what.
    Resolve(resolve::Resolve),
    /// Compute what the mechanisms of papers cost a machine in storage.
    Cost(cost::Cost),
    /// Run a CUDA program without a GPU, and make an application of it that every machine can run.
    Cuda(cuda::Cuda),
    /// List machines, applications, component kinds, policies and runtimes.
    List(list::List),
    /// Begin a machine, an application, a study or a component of your own.
    New(new::New),
    /// Describe a component kind, the keys of application and study files, synthetic kernels, faults of links, or where files are found.
    Explain(explain::Explain),
    /// Print the JSON Schema of machine, application or study files, for editors.
    Schema(schema::Schema),
    /// Show what a PTX file holds, analyse the memory accesses of its kernels, or print kernels that are described.
    Ptx(ptx::Ptx),
    /// Run a study: many runs side by side, what is computed from them, and figures.
    Study(study::Study),
    /// Draw the results of a study: a page with figures and tables, and each figure as SVG, PNG and CSV.
    Report(report::Report),
    /// Compare the reference kernels and latencies with what GPGPU-Sim measures.
    Validate(validate::Validate),
}

impl Command {
    pub(crate) fn execute(
        self,
        words: Vec<String>,
        registry: &Arc<Registry>,
        console: &mut Console<'_>,
    ) -> io::Result<u8> {
        match self {
            Command::Run(command) => command.execute(words, registry, console),
            #[cfg(feature = "otlp")]
            Command::Export(command) => command.execute(console),
            Command::Bisect(command) => command.execute(registry, console),
            Command::Compare(command) => command.execute(console),
            Command::Characterise(command) => command.execute(words, registry, console),
            Command::Check(command) => command.execute(registry, console),
            Command::Graph(command) => command.execute(registry, console),
            Command::Resolve(command) => command.execute(registry, console),
            Command::Cost(command) => command.execute(registry, console),
            Command::Cuda(command) => command.execute(words, registry, console),
            Command::List(command) => command.execute(registry, console),
            Command::New(command) => command.execute(console),
            Command::Explain(command) => command.execute(registry, console),
            Command::Schema(command) => command.execute(registry, console),
            Command::Ptx(command) => command.execute(registry, console),
            Command::Study(command) => command.execute(registry, console),
            Command::Report(command) => command.execute(console),
            Command::Validate(command) => command.execute(registry, console),
        }
    }
}

/// Says that settings of an application mean nothing to a command that was given none.
fn note_unused(sets: &[String], console: &mut Console<'_>) -> io::Result<()> {
    for set in sets.iter().filter(|set| set.starts_with(SETTING_PREFIX)) {
        writeln!(console.err, "note: --set {set}: no application is given")?;
    }
    Ok(())
}

/// Prints remarks on what is sound and may not be meant.
fn note_remarks(remarks: &[String], console: &mut Console<'_>) -> io::Result<()> {
    remarks.iter().try_for_each(|remark| writeln!(console.err, "note: {remark}"))
}

/// Prints errors: drawn for a terminal, plain for a file.
fn fail(errors: &[RunError], console: &mut Console<'_>) -> io::Result<u8> {
    for (index, error) in errors.iter().enumerate() {
        if index > 0 {
            writeln!(console.err)?;
        }
        match error {
            RunError::Input(report) if console.interactive => {
                write!(console.err, "{}", report.render_fancy())?;
            }
            RunError::Input(report) => writeln!(console.err, "{}", report.render().trim_end())?,
            _ => writeln!(console.err, "{error}")?,
        }
    }
    Ok(FAILURE)
}
