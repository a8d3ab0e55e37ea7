//! Snapshots of a run's hashes: a hash of what each process has seen, at certain times.
//!
//! Two runs that should be the same, and are not, differ in a snapshot; the interval before the first that differs
//! holds the cause. A snapshot covers the events before its time and excludes those at its time, as `stop_at` does: a
//! window never extends beyond the next snapshot. So a snapshot depends neither on islands nor on threads.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use crate::process::hash::EventHasher;
use crate::process::state::Process;
use crate::time::SimTime;

/// Times at which snapshots of a run are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotTimes {
    /// The first time; nothing happens before time zero, so zero is equivalent to `every`.
    pub from: SimTime,
    /// From one to the next; at least a picosecond.
    pub every: SimTime,
}

impl SnapshotTimes {
    /// The first of these times after `time`, in picoseconds; `u64::MAX` if there is none.
    fn after(self, time: u64) -> u64 {
        let (from, every) = (self.from.as_ps(), self.every.as_ps().max(1));
        if time < from {
            return from;
        }
        let number = ((time - from) / every).saturating_add(1);
        from.saturating_add(number.saturating_mul(every))
    }
}

/// The hash of a process that saw something since the snapshot before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Snapshot {
    /// Time of the snapshot; the hash covers everything before this time.
    pub time: SimTime,
    /// The process's position in the machine.
    pub process: u32,
    /// The hash of all its events so far.
    pub hash: u64,
}

/// Iterates over the times of snapshots during a run.
pub(crate) struct Grid {
    times: Option<SnapshotTimes>,
    /// The next time, `u64::MAX` if none follows.
    next: u64,
}

impl Grid {
    pub(crate) fn new(times: Option<SnapshotTimes>) -> Self {
        Grid { times, next: times.map_or(u64::MAX, |times| times.after(0)) }
    }

    /// A window may not reach beyond this time.
    pub(crate) fn limit(&self) -> u64 {
        self.next
    }

    /// Interval between snapshots; zero if there are none.
    pub(crate) fn every(&self) -> SimTime {
        self.times.map_or(SimTime::ZERO, |times| times.every)
    }

    /// Number of intervals from the first time to `time`.
    pub(crate) fn number(&self, time: SimTime) -> u64 {
        let times = self.times.map(|times| (times.from.as_ps(), times.every.as_ps().max(1)));
        times.map_or(0, |(from, every)| time.as_ps().saturating_sub(from) / every)
    }

    /// The first snapshot time at or after `time`.
    pub(crate) fn at_or_after(&self, time: SimTime) -> SimTime {
        let before = time.as_ps().saturating_sub(1);
        self.times.map_or(SimTime::MAX, |times| SimTime::from_ps(times.after(before)))
    }

    /// The first snapshot time after `time`.
    pub(crate) fn after(&self, time: SimTime) -> SimTime {
        self.times.map_or(SimTime::MAX, |times| SimTime::from_ps(times.after(time.as_ps())))
    }

    /// Leaves out every other time; `next` is when something happens next.
    pub(crate) fn coarsen(&mut self, next: u64) {
        if let Some(times) = &mut self.times {
            times.every = SimTime::from_ps(times.every.as_ps().max(1).saturating_mul(2));
            self.next = times.after(next);
        }
    }

    /// The next time, if nothing more can happen before it: `next` is when something happens next anywhere, `horizon`
    /// when the run ends at the latest. The end of a run is the last of its times.
    pub(crate) fn reached(&mut self, next: u64, horizon: u64) -> Option<SimTime> {
        let times = self.times?;
        let time = self.next.min(horizon);
        if next < time {
            return None;
        }
        // Until `next` nothing changes: the times before it would give nothing.
        self.next = times.after(next);
        Some(SimTime::from_ps(time))
    }
}

/// Snapshots of one thread, while they are taken.
pub(crate) struct Recorder {
    grid: Grid,
    last: BTreeMap<usize, u64>,
    pub(crate) snapshots: Vec<Snapshot>,
}

impl Recorder {
    pub(crate) fn new(times: Option<SnapshotTimes>) -> Self {
        Recorder { grid: Grid::new(times), last: BTreeMap::new(), snapshots: Vec::new() }
    }

    /// A window may not reach beyond this time.
    pub(crate) fn limit(&self) -> u64 {
        self.grid.limit()
    }

    /// Takes the next snapshot, if no more events can happen before its time; see [`Grid::reached`].
    pub(crate) fn note(&mut self, next: u64, horizon: u64, processes: &BTreeMap<usize, Rc<Process>>) {
        let Some(time) = self.grid.reached(next, horizon) else { return };
        for (&index, process) in processes {
            let Some(hash) = process.hash() else { continue };
            if self.last.insert(index, hash).unwrap_or(EventHasher::default().finish()) != hash {
                self.snapshots.push(Snapshot { time, process: index as u32, hash });
            }
        }
    }
}

/// The hash of a run: of the hashes of its processes, each with its path, in the order of the machine.
pub(crate) fn combine<'a>(hashes: impl IntoIterator<Item = (&'a str, u64)>) -> u64 {
    let mut hasher = EventHasher::default();
    for (path, hash) in hashes {
        path.hash(&mut hasher);
        hasher.write_u64(hash);
    }
    hasher.finish()
}

/// The hash of a run of processes with these paths that stops at the time of `snapshots`.
pub fn hash_at(snapshots: &[Snapshot], paths: &[String], time: SimTime) -> u64 {
    let mut hashes = vec![EventHasher::default().finish(); paths.len()];
    for snapshot in snapshots.iter().filter(|snapshot| snapshot.time <= time) {
        hashes[snapshot.process as usize] = snapshot.hash;
    }
    combine(paths.iter().map(String::as_str).zip(hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_a_grid() {
        let times =
            |from, every| SnapshotTimes { from: SimTime::from_ps(from), every: SimTime::from_ps(every) };
        assert_eq!([0, 9, 10, 99].map(|time| times(0, 10).after(time)), [10, 10, 20, 100]);
        assert_eq!([0, 6, 7, 16, 17].map(|time| times(7, 10).after(time)), [7, 7, 17, 17, 27]);
        assert_eq!(times(0, 0).after(3), 4);
        assert_eq!([1, 10].map(|every| times(0, every).after(u64::MAX)), [u64::MAX; 2]);
    }
}
