//! Instances of kernels that wait, and when they come.

use counterpoint::component::Params;
use counterpoint::time::SimTime;

use crate::replay::{Arrival, Queue as Arrivals};
use crate::schedule::cut::Lanes;

/// The arrivals, and their times.
#[derive(Clone, Debug, Params)]
pub(super) struct QueueParams {
    /// Instances of each kernel.
    #[param(default = "1", min = "1", max = "100000")]
    pub(super) instances: u32,
    /// Mean time between two arrivals of a kernel, which are a Poisson process; with 0 s, all instances are there at the start, and kernels
    /// take turns. Times count from the first arrival of all.
    #[param(default = "0 s")]
    pub(super) every: SimTime,
    /// The seed of the arrivals: they are those of a replay with this seed.
    #[param(default = "1")]
    pub(super) seed: u64,
    /// Launches that are in flight at most, of all kernels together; devices run 16.
    #[param(default = "16", min = "2", max = "1024")]
    launches: u32,
    /// Blocks of a kernel that lie ready on the device, in those of its share of the SMs: they take the places of blocks that end. With 0 a
    /// place is empty until its slice has ended and the host has sent the next one.
    #[param(default = "0.5", min = "0", max = "16")]
    ready: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instance {
    /// The kernel's place among the kernels.
    pub(super) kernel: usize,
    /// Counted from 1 among those of its kernel.
    pub(super) number: u32,
    /// Time of its arrival, from the beginning of the queue.
    pub(super) arrival: SimTime,
    /// Blocks that have not been sent.
    pub(super) left: u64,
}

pub(super) struct Queue {
    /// Instances that have not arrived, the last one first.
    coming: Vec<Instance>,
    /// Instances that have arrived and have blocks left, in the order of their arrival.
    pub(super) pending: Vec<Instance>,
}

impl QueueParams {
    /// The launches in flight.
    pub(super) fn lanes(&self) -> Lanes {
        Lanes { launches: self.launches, ready: self.ready }
    }
}

impl Queue {
    /// Instances of kernels with these numbers of blocks.
    pub(super) fn new(params: &QueueParams, blocks: &[u64]) -> Self {
        let kernels: Vec<usize> = (0..blocks.len()).collect();
        let instances = params.instances as usize;
        // Milliseconds are 1e9 picoseconds.
        let arrivals =
            Arrivals::poisson(&kernels, instances, params.every.as_ps() as f64 * 1e-9, params.seed);
        let mut numbers = vec![0; blocks.len()];
        let coming = arrivals.arrivals().iter().map(|&Arrival { time, kernel }| {
            numbers[kernel] += 1;
            let arrival = SimTime::from_ps((time * 1e9).round() as u64);
            Instance { kernel, number: numbers[kernel], arrival, left: blocks[kernel] }
        });
        let mut coming: Vec<Instance> = coming.collect();
        coming.reverse();
        Queue { coming, pending: Vec::new() }
    }

    /// Admits the arrivals until now, and returns them.
    pub(super) fn admit(&mut self, now: SimTime) -> &[Instance] {
        let before = self.pending.len();
        while let Some(instance) = self.coming.pop_if(|instance| instance.arrival <= now) {
            self.pending.push(instance);
        }
        &self.pending[before..]
    }

    /// Time of the next arrival, if there is one.
    pub(super) fn next_arrival(&self) -> Option<SimTime> {
        self.coming.last().map(|instance| instance.arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(instances: u32, every: u64) -> QueueParams {
        QueueParams { instances, every: SimTime::from_ps(every), seed: 1, launches: 16, ready: 0.5 }
    }

    #[test]
    fn without_a_gap_kernels_take_turns_at_the_start() {
        let mut queue = Queue::new(&params(2, 0), &[5, 7]);
        let order: Vec<_> =
            queue.admit(SimTime::ZERO).iter().map(|one| (one.kernel, one.number, one.left)).collect();
        assert_eq!(order, [(0, 1, 5), (1, 1, 7), (0, 2, 5), (1, 2, 7)]);
        assert_eq!(queue.next_arrival(), None);
    }

    #[test]
    fn arrivals_are_those_of_a_replay() {
        let mut queue = Queue::new(&params(50, 2_000_000_000), &[5, 7]);
        let replayed = Arrivals::poisson(&[0, 1], 50, 2.0, 1);
        let found = queue.admit(SimTime::MAX);
        assert_eq!(found.len(), replayed.arrivals().len());
        for (found, replayed) in found.iter().zip(replayed.arrivals()) {
            let far = found.arrival.as_ps() as f64 * 1e-9 - replayed.time;
            assert!(found.kernel == replayed.kernel && far.abs() <= 1e-9, "{found:?} {replayed:?}");
        }
        assert_eq!((found[0].arrival, found[99].number), (SimTime::ZERO, 50));
    }

    #[test]
    fn what_has_not_come_is_not_there() {
        let mut queue = Queue::new(&params(3, 1000), &[1, 1]);
        let mut seen = 0;
        while let Some(next) = queue.next_arrival() {
            let before = next.as_ps().checked_sub(1);
            assert!(before.is_none_or(|before| queue.admit(SimTime::from_ps(before)).is_empty()));
            seen += queue.admit(next).len();
        }
        assert_eq!((seen, queue.pending.len()), (6, 6));
        assert!(queue.pending.is_sorted_by_key(|one| one.arrival));
    }
}
