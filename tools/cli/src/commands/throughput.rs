//! Maximum throughput of a machine's links, as a table: a line for all links between two arrays of ports.

use std::collections::BTreeMap;
use std::io::{self, Write};

use counterpoint_framework::kernel::{Endpoint, ProcessNetwork, Throughput};

/// Links that differ in the indices of their ends only.
struct Row {
    links: usize,
    ends: String,
    figures: String,
}

/// Prints the throughput of every link per cycle of its sender, and the cause that limits it.
pub(super) fn print(machine: &ProcessNetwork, out: &mut dyn Write) -> io::Result<()> {
    let rows = rows(machine);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "  messages that links carry in a cycle of their senders, at most:")?;
    let width = rows.iter().map(|row| row.ends.len()).max().unwrap_or(0);
    for Row { links, ends, figures } in rows {
        writeln!(out, "  {links:>5} {ends:width$}  {figures}")?;
    }
    Ok(())
}

/// Rows in the order of the first link of each.
fn rows(machine: &ProcessNetwork) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places = BTreeMap::new();
    for link in &machine.links {
        let figures = figures(&machine.throughput(link));
        let ends = format!("{} -> {}", place(machine, &link.from), place(machine, &link.to));
        let &mut row = places.entry((ends.clone(), figures.clone())).or_insert(rows.len());
        match rows.get_mut(row) {
            Some(row) => row.links += 1,
            None => rows.push(Row { links: 1, ends, figures }),
        }
    }
    rows
}

/// Messages per cycle, the limit behind this number, and the effect of bandwidth on long messages.
fn figures(throughput: &Throughput) -> String {
    let Throughput { credits, round_trip, bytes } = throughput;
    let messages =
        if throughput.is_full() { "1".to_owned() } else { format!("{:.3}", throughput.messages()) };
    let text = format!("{messages:<5}  {credits} credits for a round trip of {round_trip} cycles");
    match bytes {
        Some(bytes) => {
            format!("{text}; messages of more than {} B take longer than a cycle", rounded(*bytes))
        }
        None => text,
    }
}

/// A port with `[*]` for each index.
fn place(machine: &ProcessNetwork, end: &Endpoint) -> String {
    let index = end.index.map(|index| format!("[{index}]")).unwrap_or_default();
    let path = format!("{}.{}{index}", machine.processes[end.process].path, end.port);
    let mut out = String::new();
    let mut rest = path.as_str();
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((_, behind)) = behind.split_once(']') else { break };
        out += before;
        out += "[*]";
        rest = behind;
    }
    out + rest
}

/// A number with up to two decimals.
fn rounded(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_keeps_a_link_from_a_message_a_cycle() {
        let link = Throughput { credits: 8, round_trip: 8, bytes: None };
        assert_eq!(figures(&link), "1      8 credits for a round trip of 8 cycles");
        let short = Throughput { round_trip: 14, ..link };
        assert_eq!(figures(&short), "0.571  8 credits for a round trip of 14 cycles");
        let narrow = Throughput { bytes: Some(22.5), ..short };
        assert_eq!(
            figures(&narrow),
            "0.571  8 credits for a round trip of 14 cycles; messages of more than 22.5 B take longer than a cycle"
        );
        let narrower = Throughput { bytes: Some(1.0 / 3.0), ..link };
        assert!(figures(&narrower).ends_with("; messages of more than 0.33 B take longer than a cycle"));
    }
}
