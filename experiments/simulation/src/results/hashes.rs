//! The hashes of a run: the events that each component has seen up to certain times, as a file and in comparison with
//! another run.
//!
//! The file has a JSON value per line: first the run and its components, then each component's hash whenever it has
//! changed.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use counterpoint_framework::kernel::{Snapshot, SnapshotTimes};
use counterpoint_framework::time::SimTime;
use serde::{Deserialize, Serialize};

/// The first word of a file.
const FORMAT: &str = "counterpoint-hashes-1";

/// A component whose events are hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashed {
    /// Path of the component.
    pub path: String,
    /// The frequency of its clock.
    pub hertz: u64,
}

/// The hashes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashes {
    /// Outcome of the run.
    pub outcome: String,
    /// The components, in the machine's order.
    pub components: Vec<Hashed>,
    /// Hashes that have changed since the previous time, by time, then by component.
    pub snapshots: Vec<Snapshot>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    outcome: String,
    components: Vec<Hashed>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    ps: u64,
    component: u32,
    hash: String,
}

impl Hashes {
    /// Writes the file.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = Head {
            format: FORMAT.to_owned(),
            outcome: self.outcome.clone(),
            components: self.components.clone(),
        };
        serde_json::to_writer(&mut *out, &head)?;
        writeln!(out)?;
        for snapshot in &self.snapshots {
            let line = Line {
                ps: snapshot.time.as_ps(),
                component: snapshot.process,
                hash: format!("{:016x}", snapshot.hash),
            };
            serde_json::to_writer(&mut *out, &line)?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The line, and the problem with it.
    pub fn read(text: impl BufRead) -> Result<Hashes, String> {
        let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
        let problem = |number: usize, what: &dyn std::fmt::Display| format!("line {number}: {what}");
        let (_, first) = lines.next().ok_or("the file is empty")?;
        let first = first.map_err(|error| problem(1, &error))?;
        let head: Head = serde_json::from_str(&first).map_err(|error| problem(1, &error))?;
        if head.format != FORMAT {
            return Err(problem(1, &format!("the format is `{}`, expected `{FORMAT}`", head.format)));
        }
        let mut snapshots = Vec::new();
        for (number, line) in lines {
            let line = line.map_err(|error| problem(number, &error))?;
            let line: Line = serde_json::from_str(&line).map_err(|error| problem(number, &error))?;
            let hash = u64::from_str_radix(&line.hash, 16).map_err(|error| problem(number, &error))?;
            if line.component as usize >= head.components.len() {
                return Err(problem(number, &format!("there is no component {}", line.component)));
            }
            snapshots.push(Snapshot { time: SimTime::from_ps(line.ps), process: line.component, hash });
        }
        Ok(Hashes { outcome: head.outcome, components: head.components, snapshots })
    }

    /// Per path, what the component saw: the interval of `times` and the hash at its end.
    fn histories(&self, times: SnapshotTimes) -> BTreeMap<&str, Vec<(u64, u64)>> {
        let mut histories: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for Snapshot { time, process, hash } in &self.snapshots {
            // The end of a run may lie within an interval.
            let interval = time.saturating_sub(times.from).as_ps().div_ceil(times.every.as_ps().max(1));
            let path = self.components[*process as usize].path.as_str();
            histories.entry(path).or_default().push((interval, *hash));
        }
        histories
    }

    /// The first interval of `times`, which both runs used, in which the runs differ, as its begin and its end, and the
    /// paths of the components that differ.
    pub fn first_difference(
        &self,
        other: &Hashes,
        times: SnapshotTimes,
    ) -> Option<(SimTime, SimTime, Vec<String>)> {
        let (own, others) = (self.histories(times), other.histories(times));
        let mut first: Option<(u64, Vec<String>)> = None;
        let paths: std::collections::BTreeSet<&str> = own.keys().chain(others.keys()).copied().collect();
        for path in paths {
            let of = |histories: &BTreeMap<&str, Vec<(u64, u64)>>| {
                histories.get(path).cloned().unwrap_or_default()
            };
            let (own, other) = (of(&own), of(&others));
            let Some(place) =
                (0..own.len().max(other.len())).find(|&place| own.get(place) != other.get(place))
            else {
                continue;
            };
            let entries = [own.get(place), other.get(place)];
            let interval = entries.iter().flatten().map(|entry| entry.0).min().unwrap_or(0);
            match &mut first {
                Some((earliest, paths)) if *earliest == interval => paths.push(path.to_owned()),
                Some((earliest, _)) if *earliest < interval => {}
                _ => first = Some((interval, vec![path.to_owned()])),
            }
        }
        let (interval, paths) = first?;
        let edge = |interval: u64| {
            let distance = interval.saturating_mul(times.every.as_ps().max(1));
            times.from.saturating_add(SimTime::from_ps(distance))
        };
        let begin = if interval == 0 { SimTime::ZERO } else { edge(interval - 1) };
        Some((begin, edge(interval), paths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(snapshots: &[(u64, u32, u64)]) -> Hashes {
        let component = |path: &str| Hashed { path: path.to_owned(), hertz: 1_000_000_000 };
        let snapshot =
            |&(ps, process, hash): &(u64, u32, u64)| Snapshot { time: SimTime::from_ps(ps), process, hash };
        Hashes {
            outcome: "finished".to_owned(),
            components: vec![component("a"), component("b")],
            snapshots: snapshots.iter().map(snapshot).collect(),
        }
    }

    #[test]
    fn a_file_reads_back() {
        let hashes = hashes(&[(10, 0, 1), (10, 1, u64::MAX), (25, 0, 7)]);
        let mut file = Vec::new();
        hashes.write(&mut file).unwrap();
        assert_eq!(Hashes::read(file.as_slice()), Ok(hashes));
        let read = |text: &str| Hashes::read(text.as_bytes()).unwrap_err();
        assert_eq!(read(""), "the file is empty");
        let head = "{\"format\":\"counterpoint-hashes-1\",\"outcome\":\"\",\"components\":[]}\n";
        let line = "{\"ps\":1,\"component\":3,\"hash\":\"0\"}";
        assert_eq!(read(&format!("{head}{line}")), "line 2: there is no component 3");
        let old = head.replace("-1", "-0");
        assert!(read(&old).contains("expected `counterpoint-hashes-1`"));
    }

    #[test]
    fn the_first_interval_that_differs_is_found() {
        let times = SnapshotTimes { from: SimTime::from_ps(100), every: SimTime::from_ps(10) };
        let one = hashes(&[(100, 0, 1), (110, 1, 2), (120, 0, 3), (120, 1, 5)]);
        let difference = |snapshots: &[(u64, u32, u64)]| {
            let (begin, end, paths) = one.first_difference(&hashes(snapshots), times)?;
            Some((begin.as_ps(), end.as_ps(), paths.join(" ")))
        };
        assert_eq!(difference(&[(100, 0, 1), (110, 1, 2), (120, 0, 3), (120, 1, 5)]), None);
        // The end of a run is taken as it is, not at a multiple of the interval.
        assert_eq!(difference(&[(100, 0, 1), (110, 1, 2), (117, 0, 3), (117, 1, 5)]), None);
        let found = |begin, end, paths: &str| Some((begin, end, paths.to_owned()));
        assert_eq!(difference(&[(100, 0, 1), (110, 1, 2), (120, 0, 4)]), found(110, 120, "a b"));
        assert_eq!(difference(&[(100, 0, 1), (120, 0, 3), (120, 1, 5)]), found(100, 110, "b"));
        assert_eq!(difference(&[]), found(0, 100, "a"));
    }
}
