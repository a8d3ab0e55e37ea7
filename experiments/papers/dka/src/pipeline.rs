//! Task pipelines: the addition to a launch of one, and the messages between CTA scheduler and allocator.

use std::hash::{Hash, Hasher};

use counterpoint::kernel::{Message, Socket};
use counterpoint::messages::extra::Payload;
use counterpoint::telemetry::{Attribute, Attributes};

use crate::labels::TaskLabel;

/// A launch as part of a task pipeline: a kernel on a batch of data, which the paper calls a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// The kernel's place in the pipeline, from 0.
    pub kernel: u32,
    /// Number of kernels of the pipeline.
    pub kernels: u32,
    /// The batch, from 0.
    pub batch: u32,
    /// Step in which the task runs, from 0.
    pub step: u32,
    /// Number of launches in that step.
    pub members: u32,
    /// First kernel of the pair that runs together: its successor is the other one.
    pub first: u32,
}

impl Task {
    /// The label of L2 lines that it writes.
    pub fn label(&self) -> TaskLabel {
        let label = TaskLabel::new(self.kernel, self.batch);
        if self.kernel + 1 == self.kernels { label.last() } else { label }
    }

    /// The labels of lines that nobody reads any more when it has ended: those that the kernel before it
    /// wrote for this batch, and its own if it was the last (section 3.2, example of Fig. 7).
    pub fn read(&self) -> impl Iterator<Item = TaskLabel> + use<> {
        let before = self.kernel.checked_sub(1).map(|kernel| TaskLabel::new(kernel, self.batch));
        let own = (self.kernel + 1 == self.kernels).then(|| self.label());
        before.into_iter().chain(own)
    }
}

/// Times of a pair's kernels in their last run, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measured {
    /// The kernels ran one after the other, each on all SMs.
    Alone {
        /// The first kernel of the pair.
        first: u64,
        /// The second.
        second: u64,
    },
    /// Together.
    CoRun {
        /// SMs of the first kernel; the second had the others.
        sms: u32,
        /// The first kernel.
        first: u64,
        /// The second.
        second: u64,
    },
}

/// Message from the CTA scheduler to the kernel allocator: a pair of kernels is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Round {
    /// The table of the pair: the number of its first kernel.
    pub table: u32,
    /// SMs that the two share.
    pub sms: u32,
    /// Last times of the pair.
    pub measured: Measured,
}

/// The allocator's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allotted {
    /// The table of the pair.
    pub table: u32,
    /// SMs of the first kernel; the second gets the others.
    pub sms: u32,
}

impl Payload for Task {
    fn feed(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }

    fn attributes(&self) -> Attributes {
        let number = |number: u32| Attribute::Number(number.into());
        vec![("batch", number(self.batch)), ("step", number(self.step))]
    }
}

impl Message for Round {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for Allotted {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// The CTA scheduler's side.
pub type AllocatorClient = Socket<Round, Allotted>;
/// The allocator's side.
pub type AllocatorServer = Socket<Allotted, Round>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_producers_lines_are_done_with_when_the_consumer_has_ended() {
        let task = |kernel| Task { kernel, kernels: 3, batch: 5, step: 9, members: 2, first: kernel };
        let read = |kernel| task(kernel).read().collect::<Vec<_>>();
        assert_eq!(read(0), []);
        assert_eq!(read(1), [TaskLabel::new(0, 5)]);
        assert_eq!(read(2), [TaskLabel::new(1, 5), TaskLabel::new(2, 5).last()]);
        assert_eq!([0, 1, 2].map(|kernel| task(kernel).label().is_produced()), [true, true, false]);
        assert!(!TaskLabel::NONE.is_produced());
    }
}
