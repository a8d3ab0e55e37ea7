//! Samples of a run: what the processes have counted up to certain times.
//!
//! As a [snapshot](super::snapshot), a sample holds what has happened before its time and nothing of what happens at it.
//! What a process counts only when it wakes, such as the cycles that it slept, is counted then.

use std::collections::BTreeMap;

use super::snapshot::{Grid, SnapshotTimes};
use crate::time::SimTime;

/// Gives the numbers that a process has counted so far, always as many and in the same order.
pub type Sampler = Box<dyn Fn(&mut Vec<u64>)>;

/// A number of a process that has changed since the sample before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// When: everything before this time is in it.
    pub time: SimTime,
    /// The process's position in the machine.
    pub process: u32,
    /// Which of its numbers.
    pub number: u32,
    /// How much has been added since the sample before.
    pub increase: u64,
}

/// One thread's samples in the making.
pub(super) struct Samples {
    grid: Grid,
    last: BTreeMap<usize, Vec<u64>>,
    now: Vec<u64>,
    pub(super) taken: Vec<Sample>,
}

impl Samples {
    pub(super) fn new(times: Option<SnapshotTimes>) -> Self {
        Samples { grid: Grid::new(times), last: BTreeMap::new(), now: Vec::new(), taken: Vec::new() }
    }

    /// A window may not reach beyond this time.
    pub(super) fn limit(&self) -> u64 {
        self.grid.limit()
    }

    /// Notes what has been counted before the next sample, if nothing more can be; see [`Grid::reached`].
    pub(super) fn note(&mut self, next: u64, horizon: u64, samplers: &BTreeMap<usize, Sampler>) {
        let Some(time) = self.grid.reached(next, horizon) else { return };
        for (&index, sampler) in samplers {
            self.now.clear();
            sampler(&mut self.now);
            let last = self.last.entry(index).or_default();
            last.resize(self.now.len(), 0);
            for (number, (now, last)) in self.now.iter().zip(last.iter_mut()).enumerate() {
                if *now != *last {
                    let (process, number) = (index as u32, number as u32);
                    self.taken.push(Sample { time, process, number, increase: now.saturating_sub(*last) });
                    *last = *now;
                }
            }
        }
    }
}
