//! Instances of kernels that wait, and when they come.

use counterpoint_framework::model::Params;
use counterpoint_framework::time::SimTime;

/// What comes, and when.
#[derive(Clone, Debug, Params)]
pub(super) struct QueueParams {
    /// Instances of each kernel.
    #[param(default = "1", min = "1", max = "100000")]
    pub(super) instances: u32,
    /// Mean time between two arrivals of a kernel, which are a Poisson process; with 0 s, all instances are there at the start, a kernel's
    /// behind the one of the kernel before it.
    #[param(default = "0 s")]
    pub(super) every: SimTime,
}

/// An instance of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instance {
    /// The kernel's place among the kernels.
    pub(super) kernel: usize,
    /// Counted from 1 among those of its kernel.
    pub(super) number: u32,
    /// When it comes, from the beginning of the queue.
    pub(super) arrival: SimTime,
    /// Blocks that have not been sent.
    pub(super) left: u64,
}

/// The instances of a queue.
pub(super) struct Queue {
    /// Those that will come, the last one first.
    coming: Vec<Instance>,
    /// Those that have come and have blocks left, in the order of their arrival.
    pub(super) pending: Vec<Instance>,
}

impl Queue {
    /// Instances of kernels with so many blocks. Gaps are drawn from the random numbers, one for each instance.
    pub(super) fn new(params: &QueueParams, blocks: &[u64], mut random: impl FnMut() -> u64) -> Self {
        let mut coming = Vec::new();
        for (kernel, &left) in blocks.iter().enumerate() {
            let mut arrival = SimTime::ZERO;
            for number in 1..=params.instances {
                if params.every > SimTime::ZERO {
                    arrival += exponential(params.every, random());
                }
                coming.push(Instance { kernel, number, arrival, left });
            }
        }
        coming.sort_by_key(|instance| (instance.arrival, instance.number, instance.kernel));
        coming.reverse();
        Queue { coming, pending: Vec::new() }
    }

    /// Takes in what has come until now; gives what that is.
    pub(super) fn admit(&mut self, now: SimTime) -> &[Instance] {
        let before = self.pending.len();
        while let Some(instance) = self.coming.pop_if(|instance| instance.arrival <= now) {
            self.pending.push(instance);
        }
        &self.pending[before..]
    }

    /// When the next instance comes, if one does.
    pub(super) fn next_arrival(&self) -> Option<SimTime> {
        self.coming.last().map(|instance| instance.arrival)
    }
}

/// A time with an exponential distribution of this mean, from a random number. The logarithm has the same bits on every host.
fn exponential(mean: SimTime, random: u64) -> SimTime {
    // From 0, left out, to 1.
    let uniform = ((random >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    SimTime::from_ps((-libm::log(uniform) * mean.as_ps() as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from splitmix64.
    fn numbers() -> impl FnMut() -> u64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }
    }

    #[test]
    fn without_a_gap_kernels_take_turns_at_the_start() {
        let params = QueueParams { instances: 2, every: SimTime::ZERO };
        let mut queue = Queue::new(&params, &[5, 7], numbers());
        let order: Vec<_> =
            queue.admit(SimTime::ZERO).iter().map(|one| (one.kernel, one.number, one.left)).collect();
        assert_eq!(order, [(0, 1, 5), (1, 1, 7), (0, 2, 5), (1, 2, 7)]);
        assert_eq!(queue.next_arrival(), None);
    }

    #[test]
    fn gaps_have_their_mean_and_the_spread_of_a_poisson_process() {
        let params = QueueParams { instances: 20_000, every: SimTime::from_ps(1_000_000) };
        let mut queue = Queue::new(&params, &[1], numbers());
        let all = queue.admit(SimTime::MAX);
        let times = std::iter::once(0).chain(all.iter().map(|one| one.arrival.as_ps())).collect::<Vec<_>>();
        let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.06, "{mean} {variance}");
    }

    #[test]
    fn what_has_not_come_is_not_there() {
        let params = QueueParams { instances: 3, every: SimTime::from_ps(1000) };
        let mut queue = Queue::new(&params, &[1, 1], numbers());
        let mut seen = 0;
        while let Some(next) = queue.next_arrival() {
            assert!(queue.admit(SimTime::from_ps(next.as_ps() - 1)).is_empty());
            seen += queue.admit(next).len();
        }
        assert_eq!((seen, queue.pending.len()), (6, 6));
        assert!(queue.pending.is_sorted_by_key(|one| one.arrival));
    }
}
