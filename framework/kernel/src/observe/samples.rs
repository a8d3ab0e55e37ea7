//! Samples of a run: the counts of the processes up to certain times.
//!
//! Like a [snapshot](super::snapshot), a sample includes the events before its time and none at it. Counts that a process makes only when it wakes, such as the cycles that it slept, are made
//! then.
//!
//! Samples are kept until the end of the run, so their number has a limit: beyond it, two neighbours become one, and the
//! time between samples doubles. That depends on simulated time alone, and so is the same on any number of threads.

use std::collections::BTreeMap;

use super::sample_log::Log;
use super::snapshot::{Grid, SnapshotTimes};
use crate::machine::Sampler;
use crate::time::SimTime;

/// A number of a process that has changed since the sample before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// Time of the sample, which contains everything before this time.
    pub time: SimTime,
    /// The process's position in the machine.
    pub process: u32,
    /// Index among its numbers.
    pub number: u32,
    /// Increase since the sample before.
    pub increase: u64,
}

/// Times of samples that are kept for a machine of one process; for more processes there are fewer.
const MOST: usize = 1 << 19;

/// Samples of one thread, while they are taken.
pub(crate) struct Samples {
    grid: Grid,
    /// Times of samples from the beginning to the end of the run.
    most: u64,
    last: BTreeMap<usize, Vec<u64>>,
    now: Vec<u64>,
    pub(crate) taken: Log,
}

impl Samples {
    /// Samples of a machine of this number of processes.
    pub(crate) fn new(times: Option<SnapshotTimes>, processes: usize) -> Self {
        let most = (MOST / processes.max(1)).clamp(1 << 10, 1 << 16) as u64;
        Samples {
            grid: Grid::new(times),
            most,
            last: BTreeMap::new(),
            now: Vec::new(),
            taken: Log::default(),
        }
    }

    /// From one sample to the next, in the end.
    pub(crate) fn every(&self) -> SimTime {
        self.grid.every()
    }

    /// A window may not reach beyond this time.
    pub(crate) fn limit(&self) -> u64 {
        self.grid.limit()
    }

    /// Takes the next sample, if no more events can happen before its time; see [`Grid::reached`].
    pub(crate) fn note(&mut self, next: u64, horizon: u64, samplers: &BTreeMap<usize, Sampler>) {
        let Some(mut time) = self.grid.reached(next, horizon) else { return };
        // Until then nothing happens; a server may be busy all the same.
        let quiet = match next.min(horizon) {
            u64::MAX => time,
            quiet => SimTime::from_ps(quiet),
        };
        if self.grid.number(quiet) > self.most {
            time = self.thin(time, quiet, next, next >= horizon);
            if next < time.as_ps() {
                // More may happen before that sample.
                return;
            }
        }
        while self.take(time, samplers) && time < quiet {
            let following = self.grid.after(time).min(SimTime::from_ps(horizon));
            if following > quiet {
                break;
            }
            time = following;
        }
    }

    /// Takes a sample; returns whether a count has changed.
    fn take(&mut self, time: SimTime, samplers: &BTreeMap<usize, Sampler>) -> bool {
        let mut has_changed = false;
        for (&index, sampler) in samplers {
            self.now.clear();
            sampler(time, &mut self.now);
            let last = self.last.entry(index).or_default();
            last.resize(self.now.len(), 0);
            for (number, (now, last)) in self.now.iter().zip(last.iter_mut()).enumerate() {
                if *now != *last {
                    let (process, number) = (index as u32, number as u32);
                    self.taken.push(Sample { time, process, number, increase: now.saturating_sub(*last) });
                    *last = *now;
                    has_changed = true;
                }
            }
        }
        has_changed
    }

    /// Doubles the time between samples until those up to `quiet` are few enough; gives the time of the sample that is due.
    #[cold]
    fn thin(&mut self, due: SimTime, quiet: SimTime, next: u64, is_last: bool) -> SimTime {
        while self.grid.number(quiet) > self.most {
            self.grid.coarsen(next);
        }
        let end = if is_last { due } else { SimTime::MAX };
        let later = |time: SimTime| self.grid.at_or_after(time).min(end);
        let due = later(due);
        let taken = std::mem::take(&mut self.taken);
        let mut samples = taken.iter().map(|sample| Sample { time: later(sample.time), ..sample }).peekable();
        let mut row: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        while let Some(time) = samples.peek().map(|sample| sample.time) {
            while let Some(Sample { process, number, increase, .. }) =
                samples.next_if(|sample| sample.time == time)
            {
                *row.entry((process, number)).or_default() += increase;
            }
            while let Some(((process, number), increase)) = row.pop_first() {
                self.taken.push(Sample { time, process, number, increase });
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// Samples every `every` picoseconds, of a process that counts the picoseconds.
    fn taken(every: u64, end: u64) -> Samples {
        let now = Rc::new(Cell::new(0));
        let times = SnapshotTimes { from: SimTime::ZERO, every: SimTime::from_ps(every) };
        let mut samples = Samples::new(Some(times), MOST);
        let counted = Rc::clone(&now);
        let sampler: Sampler = Box::new(move |_, numbers| numbers.push(counted.get()));
        let samplers = BTreeMap::from([(3, sampler)]);
        for time in 1..=end {
            samples.note(time, end, &samplers);
            now.set(time);
        }
        samples
    }

    #[test]
    fn few_samples_are_kept_as_they_are() {
        let samples = taken(10, 95);
        let times: Vec<u64> = samples.taken.iter().map(|sample| sample.time.as_ps()).collect();
        assert_eq!(times, [10, 20, 30, 40, 50, 60, 70, 80, 90, 95]);
        assert_eq!(samples.every().as_ps(), 10);
    }

    #[test]
    fn a_busy_time_without_events_has_its_samples() {
        let times = SnapshotTimes { from: SimTime::ZERO, every: SimTime::from_ps(10) };
        let mut samples = Samples::new(Some(times), MOST);
        // Busy from 4 to 37; the next event is at 62, and the run ends at 95.
        let sampler: Sampler = Box::new(|time, numbers| {
            numbers.push(time.as_ps().clamp(4, 37) - 4 + u64::from(time.as_ps() > 62))
        });
        let samplers = BTreeMap::from([(0, sampler)]);
        samples.note(62, 95, &samplers);
        samples.note(u64::MAX, 95, &samplers);
        let taken: Vec<(u64, u64)> =
            samples.taken.iter().map(|sample| (sample.time.as_ps(), sample.increase)).collect();
        assert_eq!(taken, [(10, 6), (20, 10), (30, 10), (40, 7), (70, 1)]);
    }

    #[test]
    fn many_samples_become_fewer_and_lose_nothing() {
        let samples = taken(1, 10_001);
        assert_eq!(samples.every().as_ps(), 16, "no more than 1024 of them");
        let times: Vec<u64> = samples.taken.iter().map(|sample| sample.time.as_ps()).collect();
        let grid: Vec<u64> = (1..=625).map(|number| 16 * number).chain([10_001]).collect();
        assert_eq!(times, grid);
        assert_eq!(samples.taken.iter().map(|sample| sample.increase).sum::<u64>(), 10_000);
        assert!(samples.taken.iter().take(625).skip(1).all(|sample| sample.increase == 16));
    }
}
