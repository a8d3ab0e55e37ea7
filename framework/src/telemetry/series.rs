//! Time series: the growth of each counter of a machine from one sample to the next.

use crate::kernel::{Sample, SampleLog};
use crate::telemetry::CounterName;
use crate::time::SimTime;

/// The time series of a run.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The time from one sample to the next.
    pub every: SimTime,
    /// The counters.
    pub counters: Vec<CounterName>,
    /// The number of each process's first counter.
    starts: Vec<usize>,
    samples: SampleLog,
}

/// A counter that has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// The end of the interval.
    pub time: SimTime,
    /// The counter.
    pub counter: usize,
    /// The increase within the interval.
    pub increase: u64,
}

impl Series {
    /// Names the samples of processes; `counters` has those of each process.
    pub(crate) fn new(every: SimTime, counters: Vec<Vec<CounterName>>, samples: SampleLog) -> Self {
        let starts: Vec<usize> = counters
            .iter()
            .scan(0, |sum, own| {
                let start = *sum;
                *sum += own.len();
                Some(start)
            })
            .collect();
        Series { every, counters: counters.into_iter().flatten().collect(), starts, samples }
    }

    /// Time series of these points, which are in the order of their times.
    pub fn of(every: SimTime, counters: Vec<CounterName>, points: impl IntoIterator<Item = Point>) -> Self {
        let sample =
            |Point { time, counter, increase }| Sample { time, process: 0, number: counter as u32, increase };
        Series { every, counters, starts: vec![0], samples: points.into_iter().map(sample).collect() }
    }

    /// The changes, by time and counter.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.samples.iter().map(|sample| Point {
            time: sample.time,
            counter: self.starts[sample.process as usize] + sample.number as usize,
            increase: sample.increase,
        })
    }

    /// Bytes that the changes take in memory.
    pub fn bytes(&self) -> usize {
        self.samples.bytes()
    }
}

/// A machine's activity over time, as a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name of its quantity.
    pub name: &'static str,
    /// In which unit.
    pub unit: &'static str,
    /// From when on it has which value.
    pub points: Vec<(SimTime, f64)>,
}
