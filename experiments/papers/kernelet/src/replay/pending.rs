//! Instances that have arrived and have blocks left.

use std::collections::VecDeque;

/// Instances by kernel. Among those of one kernel the first to arrive is the first to run.
pub(crate) struct Pending {
    by_kernel: Vec<VecDeque<Instance>>,
    instances: usize,
}

#[derive(Clone, Copy)]
struct Instance {
    /// Position in the order of arrival.
    order: usize,
    /// Blocks that have not run.
    left: u64,
}

impl Pending {
    /// No pending instance of any of `kernels` kernels.
    pub(crate) fn new(kernels: usize) -> Self {
        Pending { by_kernel: vec![VecDeque::new(); kernels], instances: 0 }
    }

    /// Adds an instance, after all earlier ones.
    pub(crate) fn add(&mut self, order: usize, kernel: usize, blocks: u64) {
        self.by_kernel[kernel].push_back(Instance { order, left: blocks });
        self.instances += 1;
    }

    /// Instances of all kernels.
    pub(super) fn instances(&self) -> usize {
        self.instances
    }

    /// Kernels with pending instances, in the order of their places, and how many of each.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = (usize, usize)> {
        let counts = self.by_kernel.iter().map(VecDeque::len).enumerate();
        counts.filter(|(_, count)| *count > 0)
    }

    /// The kernels of all pairs of instances, each once: the first is not behind the second.
    pub(super) fn pairs(&self) -> impl Iterator<Item = [usize; 2]> {
        self.kernels().flat_map(move |(first, count)| {
            let others = self.kernels().map(|(second, _)| second);
            let others = others.filter(move |second| *second > first || *second == first && count > 1);
            others.map(move |second| [first, second])
        })
    }

    /// The kernel of the instance that came first.
    pub(super) fn oldest(&self) -> Option<usize> {
        let fronts = self.by_kernel.iter().enumerate();
        let fronts = fronts.filter_map(|(kernel, queue)| queue.front().map(|front| (front.order, kernel)));
        fronts.min().map(|(_, kernel)| kernel)
    }

    /// Blocks that are left of the instance of a kernel at a place among its instances; 0 if there is none.
    pub(super) fn left(&self, kernel: usize, place: usize) -> u64 {
        self.by_kernel[kernel].get(place).map_or(0, |instance| instance.left)
    }

    /// Takes blocks off an instance of a kernel.
    pub(super) fn ran(&mut self, kernel: usize, place: usize, blocks: u64) {
        if let Some(instance) = self.by_kernel[kernel].get_mut(place) {
            instance.left = instance.left.saturating_sub(blocks);
        }
    }

    /// Drops the instances of a kernel that have no blocks left.
    pub(super) fn drop_ended(&mut self, kernel: usize) {
        let queue = &mut self.by_kernel[kernel];
        let before = queue.len();
        // Only the first two instances of a kernel ever run.
        for place in (0..before.min(2)).rev() {
            if queue[place].left == 0 {
                queue.remove(place);
            }
        }
        self.instances -= before - queue.len();
    }
}
