//! `counterpoint graph`: the machine as a picture, or as the islands that a run would make of it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use clap::Args;
use counterpoint_experiments::registry;
use counterpoint_experiments::run::{RunRequest, cut};
use counterpoint_framework::kernel::{Cut, Islands};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::Machine;

use super::machine::MachineOptions;
use super::run::{islands as parse_islands, time};
use super::{fail, note_unused};
use crate::{Console, SUCCESS};

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
    /// Threads to cut it for.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// How to cut it: `auto`, `one`, or at links of this latency or more, such as `10 ns`.
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = parse_islands)]
    cut: Islands,
    /// Simulate this much first, to see what each component costs.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "application")]
    warm_up: Option<SimTime>,
    /// Print a picture for Graphviz: `counterpoint graph tiny --dot | dot -Tsvg > tiny.svg`.
    #[arg(long)]
    dot: bool,
}

impl Graph {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        let request = RunRequest {
            threads: self.threads,
            islands: self.cut,
            warm_up: self.warm_up,
            ..self.machine.request(self.application.as_deref().unwrap_or_default())
        };
        if self.application.is_none() {
            note_unused(&request.sets, console)?;
        }
        let (machine, cut) = match cut(&request, &Arc::new(registry())) {
            Ok(found) => found,
            Err(errors) => return fail(&errors, console),
        };
        match (self.dot, self.islands) {
            (true, _) => console.out.write_all(dot(&machine, self.islands.then_some(&cut)).as_bytes())?,
            (false, true) => islands(&machine, &cut, console)?,
            (false, false) => links(&machine, console)?,
        }
        Ok(SUCCESS)
    }
}

/// A line per link, by sender.
fn links(machine: &Machine, console: &mut Console<'_>) -> io::Result<()> {
    for link in &machine.links {
        let (from, to) = (machine.path(&link.from), machine.path(&link.to));
        writeln!(console.out, "{from} -> {to} ({})", link.latency)?;
    }
    Ok(())
}

fn islands(machine: &Machine, cut: &Cut, console: &mut Console<'_>) -> io::Result<()> {
    let threads = cut.islands.iter().map(|island| island.thread + 1).max().unwrap_or(0);
    let (parts, count) = (machine.instances.len(), cut.islands.len());
    let of = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    writeln!(
        console.out,
        "machine {}: {} in {} on {}, lookahead {}",
        machine.name,
        of(parts, "component"),
        of(count, "island"),
        of(threads, "thread"),
        cut.lookahead
    )?;
    if let Some(link) = cut.limit.and_then(|index| machine.links.get(index)) {
        let (from, to) = (machine.path(&link.from), machine.path(&link.to));
        writeln!(console.out, "limited by {from} -> {to} ({})", link.latency)?;
    }
    let paths: Vec<String> = machine.processes().map(|(path, _)| path).collect();
    let total: u64 = cut.islands.iter().map(|island| island.load).sum();
    for thread in 0..threads {
        let own = || cut.islands.iter().enumerate().filter(|(_, island)| island.thread == thread);
        let load: u64 = own().map(|(_, island)| island.load).sum();
        writeln!(console.out, "\nthread {thread}: {:.1} % of the load", percent(load, total))?;
        for (number, island) in own() {
            let names: Vec<&str> = island.processes.iter().map(|&process| paths[process].as_str()).collect();
            let share = percent(island.load, total);
            writeln!(console.out, "  island {number:>3} {share:5.1} %  {}", names.join(", "))?;
        }
    }
    Ok(())
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// The machine in Graphviz's language; boxes around islands, or around the outermost modules.
fn dot(machine: &Machine, cut: Option<&Cut>) -> String {
    let paths: Vec<String> = machine.processes().map(|(path, _)| path).collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    match cut {
        Some(cut) => {
            for (number, island) in cut.islands.iter().enumerate() {
                let name = format!("island {number:03}, thread {}", island.thread);
                groups.insert(name, island.processes.clone());
            }
        }
        None => {
            for (number, path) in paths.iter().enumerate() {
                let module = path.split_once('.').map_or("", |(module, _)| module);
                groups.entry(module.to_owned()).or_default().push(number);
            }
        }
    }
    let mut text =
        format!("digraph {:?} {{\n  rankdir=LR;\n  node [shape=box, fontname=Helvetica];\n", machine.name);
    for (number, (name, members)) in groups.iter().enumerate() {
        text += &format!("  subgraph cluster_{number} {{\n    label={name:?};\n");
        for &member in members {
            // What does faults to a link is no component of the file and has no kind.
            let kind = machine.instances.get(member).map_or("", |instance| instance.kind.as_str());
            text += &format!("    n{member} [label=\"{}\\n{kind}\"];\n", paths[member]);
        }
        text += "  }\n";
    }
    // Links of the same pair and latency, such as an array's, are one arrow.
    let mut arrows: BTreeMap<(usize, usize, String), usize> = BTreeMap::new();
    for link in &machine.links {
        *arrows.entry((link.from.instance, link.to.instance, link.latency.to_string())).or_default() += 1;
    }
    for ((from, to, latency), count) in arrows {
        let label = if count == 1 { latency } else { format!("{count} × {latency}") };
        text += &format!("  n{from} -> n{to} [label=\"{label}\"];\n");
    }
    text += "}\n";
    text
}
