//! Time series: how much each counter of a machine grew from one sample to the next.

use crate::kernel::Sample;
use crate::telemetry::CounterName;
use crate::time::SimTime;

/// The time series of a run.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The time from one sample to the next.
    pub every: SimTime,
    /// The counters.
    pub counters: Vec<CounterName>,
    /// Changes, by time and counter.
    pub points: Vec<Point>,
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
    pub(crate) fn new(every: SimTime, counters: Vec<Vec<CounterName>>, samples: &[Sample]) -> Self {
        let starts: Vec<usize> = counters
            .iter()
            .scan(0, |sum, own| {
                let start = *sum;
                *sum += own.len();
                Some(start)
            })
            .collect();
        let point = |sample: &Sample| Point {
            time: sample.time,
            counter: starts[sample.process as usize] + sample.number as usize,
            increase: sample.increase,
        };
        let points = samples.iter().map(point).collect();
        Series { every, counters: counters.into_iter().flatten().collect(), points }
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
