//! Reads the counts of Valgrind's callgrind: instructions by the file that they come from. The format is
//! described in Valgrind's manual, "Callgrind Format Specification".

use std::collections::BTreeMap;

/// The library that comes with the compiler, by a part of its files' paths.
const STANDARD: &str = "/rustc/";

/// Instructions by file. Files below `root` are named from there; instructions of the standard library inside
/// of one of their functions count for the file of this function.
pub(super) fn by_file(text: &str, root: &str) -> BTreeMap<String, u64> {
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    // The file of the function, and that of the lines, which another function may have been inlined from.
    let (mut function, mut current) = (String::new(), String::new());
    // The line behind a call has the cost of the called function, which is counted there.
    let mut call = false;
    for line in text.lines() {
        if let Some((kind, value)) = line.split_once('=')
            && !line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
        {
            match kind {
                "fl" => function = name(value, &mut names),
                // Named without its file, a function is of the file of the one before.
                "fn" => current.clone_from(&function),
                "fi" | "fe" => current = name(value, &mut names),
                // Names of called functions' files are numbered with the others.
                "cfi" | "cfl" => drop(name(value, &mut names)),
                "calls" => call = true,
                _ => {}
            }
            continue;
        }
        let mut fields = line.split_whitespace();
        let place = fields.next().unwrap_or_default();
        let is_cost = place.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first));
        let cost = fields.next().and_then(|cost| cost.parse::<u64>().ok());
        if let (true, Some(cost)) = (is_cost, cost)
            && !std::mem::take(&mut call)
        {
            let file = if current.contains(STANDARD) { &function } else { &current };
            *counts.entry(file.strip_prefix(root).unwrap_or(file).to_owned()).or_insert(0) += cost;
        }
    }
    counts
}

/// A name is given with its number once, `(3) src/main.rs`, and then by the number, `(3)`.
fn name(value: &str, names: &mut BTreeMap<u32, String>) -> String {
    let Some((number, name)) = value.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
        return value.to_owned();
    };
    let Ok(number) = number.parse() else { return value.to_owned() };
    if !name.is_empty() {
        names.insert(number, name.trim_start().to_owned());
    }
    names.get(&number).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_for_their_files_and_calls_where_they_lead() {
        let text = "version: 1\npositions: line\nevents: Ir\n\nfl=(1) /tree/a.rs\nfn=(1) first\n10 5\n+2 3\n\
                    fi=(2) /tree/b.rs\n7 11\nfe=(1)\n* 1\ncfi=(3) /lib/c.S\ncfn=(2) copy\ncalls=1 40\n12 1000\n\
                    fi=(4) /rustc/1/library/core.rs\n-1 20\n\nfn=(3) second\n50 6\n\nfl=(3)\nfn=(2)\n40 1000\ntotals: 1046\n";
        let found = by_file(text, "/tree/");
        let found: Vec<(&str, u64)> = found.iter().map(|(file, count)| (file.as_str(), *count)).collect();
        assert_eq!(found, [("/lib/c.S", 1000), ("a.rs", 5 + 3 + 1 + 20 + 6), ("b.rs", 11)]);
    }
}
