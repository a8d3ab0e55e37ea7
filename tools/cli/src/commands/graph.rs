//! `counterpoint graph`: the machine as a picture, or as the islands that a run would make of it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use counterpoint_framework::kernel::{Cut, Islands};
use counterpoint_framework::model::Registry;
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::Machine;
use counterpoint_framework::topology::picture::{self as drawing, Arrays};
use counterpoint_simulation::output::WriteError;
use counterpoint_simulation::roles;
use counterpoint_simulation::run::{RunRequest, cut};

use super::machine::MachineOptions;
use super::run::{islands as parse_islands, sharing, time};
use super::{fail, note_unused};
use crate::{Console, SUCCESS, dot, picture};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    machine: MachineOptions,
    /// The application that a warm-up runs: a file, or a name that `counterpoint list applications` prints.
    application: Option<String>,
    /// Show the islands that a run cuts the machine into, and their threads.
    #[arg(long)]
    islands: bool,
    /// Threads to cut it for at most: fewer where fewer are faster.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cut it for all threads asked for, even where fewer are faster.
    #[arg(long)]
    force_threads: bool,
    /// How to cut it: `auto`, `one`, or at links of this latency or more, such as `10 ns`.
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = parse_islands)]
    cut: Islands,
    /// Simulate this much first, to see what each component costs.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "application")]
    warm_up: Option<SimTime>,
    /// Draw the machine as SVG: modules, components, arrays once, and links with latency and bandwidth.
    #[arg(long, conflicts_with_all = ["dot", "islands"])]
    svg: bool,
    /// Print a picture for Graphviz: `counterpoint graph tiny --dot | dot -Tsvg > tiny.svg`.
    #[arg(long)]
    dot: bool,
    /// Write to this file instead of printing.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Graph {
    pub(super) fn execute(&self, registry: &Arc<Registry>, console: &mut Console<'_>) -> io::Result<u8> {
        let request = RunRequest {
            threads: self.threads,
            sharing: sharing(self.force_threads),
            islands: self.cut,
            warm_up: self.warm_up,
            ..self.machine.request(self.application.as_deref().unwrap_or_default())
        };
        if self.application.is_none() {
            note_unused(&request.sets, console)?;
        }
        let (machine, cut) = match cut(&request, registry) {
            Ok(found) => found,
            Err(errors) => return fail(&errors, console),
        };
        let graph = |arrays| drawing::Graph::new(&machine, arrays, |instance| instance.role == roles::HOST);
        let mut text = Vec::new();
        match (self.svg, self.dot, self.islands) {
            (true, ..) => text.write_all(picture::svg(&graph(Arrays::Together)).as_bytes())?,
            (_, true, true) => {
                text.write_all(dot::islands(&machine, &graph(Arrays::Apart), &cut).as_bytes())?
            }
            (_, true, false) => text.write_all(dot::modules(&graph(Arrays::Together)).as_bytes())?,
            (_, false, true) => islands(&machine, &cut, &mut text)?,
            (_, false, false) => links(&machine, &mut text)?,
        }
        match &self.out {
            None => console.out.write_all(&text)?,
            Some(path) => {
                if let Err(error) = std::fs::write(path, &text) {
                    let error = WriteError { path: path.clone(), error };
                    return fail(&[error.into()], console);
                }
            }
        }
        Ok(SUCCESS)
    }
}

/// A line per link, by sender.
fn links(machine: &Machine, out: &mut dyn Write) -> io::Result<()> {
    for link in &machine.links {
        let (from, to) = (machine.path(&link.from), machine.path(&link.to));
        writeln!(out, "{from} -> {to} ({})", link.latency)?;
    }
    Ok(())
}

fn islands(machine: &Machine, cut: &Cut, out: &mut dyn Write) -> io::Result<()> {
    let threads = cut.threads;
    let (parts, count) = (machine.instances.len(), cut.islands.len());
    let of = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    writeln!(
        out,
        "machine {}: {} in {} on {}, lookahead {}",
        machine.name,
        of(parts, "component"),
        of(count, "island"),
        of(threads, "thread"),
        cut.lookahead
    )?;
    if threads > 1 {
        let (meeting, speedup) = (cut.meeting, cut.speedup);
        writeln!(out, "threads meet every {meeting}; estimate: {speedup:.1} times as fast as one")?;
    }
    if let Some(fewer) = cut.fewer {
        writeln!(out, "no more threads: {fewer}")?;
    }
    if let Some(link) = cut.limit.and_then(|index| machine.links.get(index)) {
        let (from, to) = (machine.path(&link.from), machine.path(&link.to));
        writeln!(out, "limited by {from} -> {to} ({})", link.latency)?;
    }
    let paths: Vec<String> = machine.processes().map(|(path, _)| path).collect();
    let total: u64 = cut.islands.iter().map(|island| island.load).sum();
    for thread in 0..threads {
        let own = || cut.islands.iter().enumerate().filter(|(_, island)| island.thread == thread);
        let load: u64 = own().map(|(_, island)| island.load).sum();
        writeln!(out, "\nthread {thread}: {:.1} % of the load", percent(load, total))?;
        for (number, island) in own() {
            let names: Vec<&str> = island.processes.iter().map(|&process| paths[process].as_str()).collect();
            let share = percent(island.load, total);
            writeln!(out, "  island {number:>3} {share:5.1} %  {}", names.join(", "))?;
        }
    }
    Ok(())
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
