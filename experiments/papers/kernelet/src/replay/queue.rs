//! Instances of kernels, and when they arrive.

use counterpoint::application::SplitMix;

/// An instance of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Time of its arrival, in milliseconds.
    pub time: f64,
    /// The place of the kernel in [`Measured::kernels`](super::Measured::kernels).
    pub kernel: usize,
}

/// Instances in the order of their arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    arrivals: Vec<Arrival>,
}

impl Queue {
    /// A queue of these instances. Instances that arrive at the same time keep their order.
    pub fn new(arrivals: impl IntoIterator<Item = Arrival>) -> Self {
        let mut arrivals: Vec<Arrival> = arrivals.into_iter().collect();
        arrivals.sort_by(|one, other| one.time.total_cmp(&other.time));
        Queue { arrivals }
    }

    /// `instances` instances of each kernel. Each kernel arrives by a Poisson process of its own, with a mean gap of `gap` milliseconds;
    /// times count from the earliest arrival. At equal times, as with a gap of 0, the first instance of each kernel comes first, then the
    /// second of each.
    ///
    /// A seed gives the same times on every computer.
    pub fn poisson(kernels: &[usize], instances: usize, gap: f64, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut arrivals = Vec::new();
        for &kernel in kernels {
            let mut time = 0.0;
            for number in 0..instances {
                // `libm` gives the same logarithm on every computer; the argument is never 0.
                time -= gap * libm::log(1.0 - random.unit());
                arrivals.push((number, Arrival { time, kernel }));
            }
        }
        arrivals.sort_by_key(|(number, _)| *number);
        let mut queue = Queue::new(arrivals.into_iter().map(|(_, arrival)| arrival));
        let start = queue.arrivals.first().map_or(0.0, |first| first.time);
        queue.arrivals.iter_mut().for_each(|arrival| arrival.time -= start);
        queue
    }

    /// The instances in the order of their arrival.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_arrive_in_order_and_each_kernel_as_often() {
        let queue = Queue::poisson(&[2, 0, 5], 100, 3.0, 7);
        assert!(queue.arrivals().windows(2).all(|pair| pair[0].time <= pair[1].time));
        assert_eq!((queue.arrivals().len(), queue.arrivals()[0].time), (300, 0.0));
        for kernel in [2, 0, 5] {
            assert_eq!(queue.arrivals().iter().filter(|arrival| arrival.kernel == kernel).count(), 100);
        }
    }

    /// Mean and standard deviation of an exponential distribution are equal.
    #[test]
    fn gaps_are_exponential() {
        let queue = Queue::poisson(&[0], 20_000, 3.0, 1);
        let gaps: Vec<f64> = queue.arrivals().windows(2).map(|pair| pair[1].time - pair[0].time).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 3.0).abs() < 0.1 && (square.sqrt() - 3.0).abs() < 0.1, "{mean} {square}");
    }

    #[test]
    fn a_seed_has_its_times() {
        let bits = |seed| -> Vec<u64> {
            let queue = Queue::poisson(&[0, 1], 50, 1.0, seed);
            queue.arrivals().iter().map(|arrival| arrival.time.to_bits()).collect()
        };
        assert_eq!(bits(3), bits(3));
        assert_ne!(bits(3), bits(4));
    }

    #[test]
    fn without_a_gap_kernels_take_turns() {
        let queue = Queue::poisson(&[4, 2], 2, 0.0, 1);
        assert_eq!(queue, Queue::new([4, 2, 4, 2].map(|kernel| Arrival { time: 0.0, kernel })));
    }

    #[test]
    fn those_of_one_time_keep_their_order() {
        let of = |kernel, time| Arrival { time, kernel };
        let queue = Queue::new([of(3, 1.0), of(1, 1.0), of(2, 0.0)]);
        assert_eq!(queue.arrivals().iter().map(|arrival| arrival.kernel).collect::<Vec<_>>(), [2, 3, 1]);
    }
}
