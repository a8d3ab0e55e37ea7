//! Labels of L2 lines: the kernel and the batch that wrote to a line last, and their effect in the L2
//! (section 3.2).
//!
//! A label is the tag of a launch's requests. The CTA scheduler reports when a kernel has ended ([`Flush`]):
//! nobody reads lines with the label of the kernel before any more, and these are written back and dropped.
//! Until then lines may be kept longer.

use counterpoint::component::{Choice, Equipped, Params, Ports, Registry, Site};
use counterpoint::gpu::l2::LineRule;
use counterpoint::kernel::{Fault, In, Message, Source};
use counterpoint::messages::extra::LineTag;

pub(crate) fn register(registry: &mut Registry) {
    registry.equipped::<dyn LineRule, Labels>();
}

/// Label of an L2 line: kernel (3 bits), stream (5 bits) and a valid bit. The paper's -1 for "no label" does not fit into
/// eight bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskLabel(u16);

impl TaskLabel {
    /// Bits of a kernel's number.
    pub const KERNEL_BITS: u32 = 3;
    /// Bits of a stream's number, which is that of a batch, modulo their range.
    pub const STREAM_BITS: u32 = 5;
    /// The label of lines that no pipeline wrote.
    pub const NONE: TaskLabel = TaskLabel(0);
    const VALID: u16 = 1 << (Self::KERNEL_BITS + Self::STREAM_BITS);
    const LAST: u16 = Self::VALID << 1;

    /// The label of a kernel and a batch.
    pub const fn new(kernel: u32, batch: u32) -> Self {
        let kernel = kernel & ((1 << Self::KERNEL_BITS) - 1);
        let stream = batch & ((1 << Self::STREAM_BITS) - 1);
        TaskLabel(Self::VALID | (kernel << Self::STREAM_BITS | stream) as u16)
    }

    /// This label, marked as that of the pipeline's last kernel. Requests carry the mark; an L2 that keeps it as one more
    /// bit per line protects lines that a kernel reads.
    #[must_use]
    pub const fn last(self) -> Self {
        TaskLabel(self.0 | Self::LAST)
    }

    /// Whether a kernel will read lines with this label.
    pub fn is_produced(self) -> bool {
        self.0 & (Self::VALID | Self::LAST) == Self::VALID
    }

    /// Whether it means anything.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl From<TaskLabel> for LineTag {
    fn from(label: TaskLabel) -> Self {
        LineTag(label.0)
    }
}

impl From<LineTag> for TaskLabel {
    fn from(tag: LineTag) -> Self {
        TaskLabel(tag.0)
    }
}

/// Message from the CTA scheduler to the slices of the L2: lines with this label are written back and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flush(pub TaskLabel);

impl Message for Flush {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// Which labelled lines make room for others only if all lines of their set are kept.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    /// None: lines are dropped when nobody will read them any more, and that is all.
    None,
    /// All.
    All,
    /// Those that a kernel will read: not what the last kernel of a pipeline writes. A line needs one more bit.
    Produced,
}

/// Treatment of labelled lines.
#[derive(Clone, Debug, Params)]
pub(crate) struct LabelParams {
    /// Which of them are kept longer than others.
    #[param(default = "produced")]
    keep: Keep,
}

/// How the L2 learns what nobody will read any more.
#[derive(Ports)]
pub(crate) struct LabelPorts {
    /// The CTA scheduler.
    labels: In<Flush>,
}

/// The rule `labels`.
pub(crate) struct Labels {
    keep: Keep,
    ports: LabelPorts,
}

impl Equipped<dyn LineRule> for Labels {
    const NAME: &'static str = "labels";
    const DOC: &'static str = "Lines bear the kernel and the batch of a task pipeline that wrote to them last; they are dropped when \
                               nobody will read them any more, and some are kept longer until then (DKA).";
    type Params = LabelParams;
    type Ports = LabelPorts;
    type Stats = ();

    fn build(params: &LabelParams, site: Site<'_, LabelPorts, ()>) -> Result<Box<dyn LineRule>, Fault> {
        Ok(Box::new(Labels { keep: params.keep, ports: site.ports }))
    }
}

impl LineRule for Labels {
    fn protects(&self, tag: LineTag) -> bool {
        match self.keep {
            Keep::None => false,
            Keep::All => TaskLabel::from(tag).is_some(),
            Keep::Produced => TaskLabel::from(tag).is_produced(),
        }
    }

    fn dropped(&mut self) -> Option<LineTag> {
        self.ports.labels.try_recv().map(|Flush(label)| label.into())
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        vec![self.ports.labels.when(true)]
    }
}

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
}
