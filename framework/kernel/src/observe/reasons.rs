//! The reasons of processes in the report of a run that hangs: one reason of each group is written, with the contents of the
//! address on which it depends.

use std::collections::BTreeMap;
use std::fmt;

use super::outcome::Blocked;
use crate::process::hang_reasons::{HangReason, Known};
use crate::time::SimTime;

/// Names of a group that are written.
const NAMES: usize = 4;

/// The names of each group of which nothing has been written.
#[derive(Default)]
pub(crate) struct Groups(BTreeMap<String, Vec<String>>);

impl Groups {
    pub(crate) fn of(blocked: &[Blocked]) -> Self {
        let mut groups = Groups::default();
        for (group, name) in
            blocked.iter().flat_map(|process| &process.reasons).filter_map(|it| it.group.as_ref())
        {
            groups.0.entry(group.clone()).or_default().push(name.clone());
        }
        groups
    }

    /// Writes a line for a reason, unless one of its group has been written.
    pub(crate) fn write(
        &mut self,
        f: &mut fmt::Formatter<'_>,
        path: &str,
        reason: &HangReason,
    ) -> fmt::Result {
        let Some((group, name)) = &reason.group else { return writeln!(f, "  {path}: {}", reason.text) };
        let Some(mut names) = self.0.remove(group) else { return Ok(()) };
        names.retain(|other| other != name);
        write!(f, "  {path}: {}", reason.text)?;
        if !names.is_empty() {
            let shown = &names[..names.len().min(NAMES)];
            write!(f, "; the same of {}", shown.join(", "))?;
        }
        if names.len() > NAMES {
            write!(f, ", and {} more", names.len() - NAMES)?;
        }
        writeln!(f)
    }
}

/// Adds to each reason that depends on an address (its `place`) the age of the process's copy, and the contents at the nearest holder:
/// among the holders whose path has the longest prefix in common with the process's, the one of the highest level.
pub(crate) fn complete(blocked: &mut [Blocked], known: &[Known], paths: &[String], time: SimTime) {
    for process in blocked {
        for reason in &mut process.reasons {
            let Some((place, since)) = reason.place.take() else { continue };
            reason.text += &format!(", for {} ns", time.saturating_sub(since).as_ps() / 1000);
            let holders = known.iter().filter(|(_, at, _)| *at == place);
            let nearest = holders.max_by_key(|(holder, _, recall)| {
                (common(&paths[*holder], &process.path), recall.level, std::cmp::Reverse(*holder))
            });
            if let Some((holder, _, recall)) = nearest {
                reason.text += &format!("; {} holds {} there now", paths[*holder], recall.contents);
            }
        }
    }
}

/// Number of leading parts that two paths have in common.
fn common(a: &str, b: &str) -> usize {
    a.split('.').zip(b.split('.')).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::hang_reasons::Recall;

    #[test]
    fn the_newest_contents_of_the_same_device_are_added() {
        let paths: Vec<String> =
            ["gpu0.dram", "gpu0.l2", "gpu0.sm", "gpu1.l2", "gpu1.sm"].map(str::to_owned).into();
        let recall = |level, contents: &str| Recall { level, contents: contents.to_owned() };
        let known = [
            (0, 64, recall(0, "0x0")),
            (1, 64, recall(1, "0x1")),
            (3, 64, recall(1, "0x7")),
            (3, 96, recall(1, "0x9")),
        ];
        let completed = |path: &str, place| {
            let reason = HangReason::new("polls a copy that it has").about(place, SimTime::from_ns(10));
            let mut blocked = [Blocked {
                path: path.to_owned(),
                daemon: true,
                busy: false,
                waits: Vec::new(),
                reasons: vec![reason],
            }];
            complete(&mut blocked, &known, &paths, SimTime::from_ns(50));
            blocked[0].reasons[0].text.clone()
        };
        assert_eq!(
            completed("gpu0.sm", 64),
            "polls a copy that it has, for 40 ns; gpu0.l2 holds 0x1 there now"
        );
        assert_eq!(
            completed("gpu1.sm", 64),
            "polls a copy that it has, for 40 ns; gpu1.l2 holds 0x7 there now"
        );
        assert_eq!(completed("gpu1.sm", 128), "polls a copy that it has, for 40 ns");
    }

    #[test]
    fn one_reason_of_a_group_is_written_out() {
        struct Report(Vec<Blocked>);
        impl fmt::Display for Report {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut groups = Groups::of(&self.0);
                self.0.iter().try_for_each(|process| {
                    process.reasons.iter().try_for_each(|reason| groups.write(f, &process.path, reason))
                })
            }
        }
        let process = |path: &str, reasons: &[(&str, Option<&str>)]| Blocked {
            path: path.to_owned(),
            daemon: true,
            busy: false,
            waits: Vec::new(),
            reasons: reasons
                .iter()
                .map(|(text, group)| match group {
                    Some(group) => HangReason::new(*text).among(*group, text.to_uppercase()),
                    None => HangReason::new(*text),
                })
                .collect(),
        };
        let report = Report(vec![
            process("a", &[("one", Some("g")), ("two", Some("g")), ("three", None)]),
            process("b", &[("four", Some("g")), ("five", Some("h")), ("three", None)]),
            process("c", &[("six", Some("g")), ("seven", Some("g")), ("eight", Some("g"))]),
        ]);
        assert_eq!(
            report.to_string(),
            "  a: one; the same of TWO, FOUR, SIX, SEVEN, and 1 more\n  a: three\n  b: five\n  b: three\n"
        );
    }
}
