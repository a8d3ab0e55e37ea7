//! Task pipelines: what launches of one say of themselves, and what is said on their account (Mu et al., "Exploiting the
//! Task-Pipelined Parallelism of Stream Programs on Many-Core GPUs", IEICE 2013).

use counterpoint_framework::kernel::{Message, Socket};

/// A launch as part of a task pipeline: a kernel on a batch of data, which the paper calls a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// Which kernel of the pipeline, from 0.
    pub kernel: u32,
    /// How many kernels the pipeline has.
    pub kernels: u32,
    /// Which batch, from 0.
    pub batch: u32,
    /// In which step it runs, from 0.
    pub step: u32,
    /// How many launches run in that step.
    pub members: u32,
    /// Of two launches that run together, the kernel whose successor the other one is.
    pub first: u32,
}

impl Task {
    /// What L2 lines that it writes are labelled with.
    pub fn label(&self) -> TaskLabel {
        let label = TaskLabel::new(self.kernel, self.batch);
        if self.kernel + 1 == self.kernels { label.last() } else { label }
    }

    /// The labels of lines that nobody reads any more when it has ended: what the kernel before it wrote for this batch, and
    /// what it wrote itself if it was the last (section 3.2, example of Fig. 7).
    pub fn read(&self) -> impl Iterator<Item = TaskLabel> + use<> {
        let before = self.kernel.checked_sub(1).map(|kernel| TaskLabel::new(kernel, self.batch));
        let own = (self.kernel + 1 == self.kernels).then(|| self.label());
        before.into_iter().chain(own)
    }
}

/// Kernel and stream in the bits that an L2 line has for them, 3 and 5, and one that says whether they mean anything: the
/// paper's -1 does not fit into eight bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskLabel(u16);

impl TaskLabel {
    /// Bits of a kernel's number.
    pub const KERNEL_BITS: u32 = 3;
    /// Bits of a stream's number, which is that of a batch, modulo what fits.
    pub const STREAM_BITS: u32 = 5;
    /// The label of what no pipeline wrote.
    pub const NONE: TaskLabel = TaskLabel(0);
    const VALID: u16 = 1 << (Self::KERNEL_BITS + Self::STREAM_BITS);
    const LAST: u16 = Self::VALID << 1;

    /// The label of a kernel and a batch.
    pub const fn new(kernel: u32, batch: u32) -> Self {
        let kernel = kernel & ((1 << Self::KERNEL_BITS) - 1);
        let stream = batch & ((1 << Self::STREAM_BITS) - 1);
        TaskLabel(Self::VALID | (kernel << Self::STREAM_BITS | stream) as u16)
    }

    /// The same of a pipeline's last kernel. Requests say so; a line that keeps it as one more bit protects what a kernel reads.
    #[must_use]
    pub const fn last(self) -> Self {
        TaskLabel(self.0 | Self::LAST)
    }

    /// Whether a kernel will read what bears it.
    pub fn is_produced(self) -> bool {
        self.0 & (Self::VALID | Self::LAST) == Self::VALID
    }

    /// Whether it means anything.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// From the CTA scheduler to the slices of the L2: lines with this label are written back and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flush(pub TaskLabel);

/// How long the kernels of a pair took when they ran last, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measured {
    /// One after the other, each on all SMs.
    Alone {
        /// The first kernel of the pair.
        first: u64,
        /// The second.
        second: u64,
    },
    /// Together.
    Together {
        /// SMs of the first kernel; the second had the others.
        sms: u32,
        /// The first kernel.
        first: u64,
        /// The second.
        second: u64,
    },
}

/// From the CTA scheduler to the kernel allocator: a pair of kernels is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Round {
    /// The table of the pair: the number of its first kernel.
    pub table: u32,
    /// SMs that the two share.
    pub sms: u32,
    /// How it went last.
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

impl Message for Flush {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
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
    fn labels_have_eight_kernels_and_32_streams() {
        assert!(!TaskLabel::default().is_some());
        assert_eq!(TaskLabel::new(7, 31), TaskLabel::new(15, 63));
        let all: std::collections::BTreeSet<_> =
            (0..8).flat_map(|kernel| (0..32).map(move |batch| TaskLabel::new(kernel, batch))).collect();
        assert_eq!(all.len(), 256);
        assert!(all.iter().all(|label| label.is_some()));
    }

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
