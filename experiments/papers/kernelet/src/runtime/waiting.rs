//! Waiting instances for the replay's choices: a choice names kernels, and this module keeps their instances.

use super::queue::Instance;
use crate::replay::Pending;

/// Instances by kernel.
pub(super) struct Waiting {
    /// Kernel of each instance, by the instance's index.
    kernels: Vec<usize>,
    /// The choices of a replay.
    pub(super) pending: Pending,
}

impl Waiting {
    /// An empty set of waiting instances of `count` kernels. `kernel` gives the kernel of an instance.
    pub(super) fn new(instances: &[Instance], count: usize, kernel: impl Fn(&Instance) -> usize) -> Self {
        let kernels: Vec<usize> = instances.iter().map(kernel).collect();
        let mut pending = Pending::new(count);
        for (order, (instance, &kernel)) in instances.iter().zip(&kernels).enumerate() {
            pending.add(order, kernel, instance.left);
        }
        Waiting { kernels, pending }
    }

    /// The places of instances of two kernels: those that came first. `None` if there are none.
    pub(super) fn places(&self, [first, second]: [usize; 2]) -> Option<[usize; 2]> {
        let own = self.kernels.iter().position(|kernel| *kernel == first)?;
        let mut others =
            (0..self.kernels.len()).filter(|&place| self.kernels[place] == second && place != own);
        Some([own, others.next()?])
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::time::SimTime;

    use super::*;

    #[test]
    fn places_are_those_of_the_first_to_come() {
        let instances =
            [1, 0, 1, 0].map(|kernel| Instance { kernel, number: 1, arrival: SimTime::ZERO, left: 1 });
        // Kernel 0 has place 2 elsewhere, and kernel 1 place 0.
        let waiting = Waiting::new(&instances, 3, |instance| [2, 0][instance.kernel]);
        assert_eq!(waiting.pending.kernels().collect::<Vec<_>>(), [(0, 2), (2, 2)]);
        let found = [[0, 2], [2, 0], [0, 0], [2, 2], [0, 1]].map(|kernels| waiting.places(kernels));
        assert_eq!(found, [Some([0, 1]), Some([1, 0]), Some([0, 2]), Some([1, 3]), None]);
    }
}
