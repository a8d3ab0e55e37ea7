//! Routing of the answers to an SM's requests: one port to memory serves all its caches.

use counterpoint_protocols::memory::Tag;

/// Bits of a tag that hold the index of the waiting entry.
const INDEX_BITS: u32 = 28;

/// Position of a store's epoch in the tag, above the slot of its warp.
const EPOCH_BIT: u32 = 8;

/// Destination of the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The L1 data cache's miss.
    Miss(u32),
    /// An access that bypassed the L1.
    Bypass(u32),
    /// A store of a warp, and its epoch in the block.
    Store(u32, u8),
    /// A line that the L1 has evicted.
    WriteBack,
    /// The instruction cache's miss.
    Instruction(u32),
    /// The constant cache's miss.
    Constant(u32),
    /// The texture cache's miss.
    Texture(u32),
}

impl Answer {
    pub(super) fn tag(self) -> Tag {
        let (kind, index) = match self {
            Answer::Miss(index) => (0, index),
            Answer::Bypass(index) => (1, index),
            Answer::Store(warp, epoch) => (2, warp | u32::from(epoch) << EPOCH_BIT),
            Answer::WriteBack => (3, 0),
            Answer::Instruction(index) => (4, index),
            Answer::Constant(index) => (5, index),
            Answer::Texture(index) => (6, index),
        };
        Tag(kind << INDEX_BITS | index)
    }

    pub(super) fn of(tag: Tag) -> Self {
        let index = tag.0 & ((1 << INDEX_BITS) - 1);
        match tag.0 >> INDEX_BITS {
            0 => Answer::Miss(index),
            1 => Answer::Bypass(index),
            2 => Answer::Store(index & ((1 << EPOCH_BIT) - 1), (index >> EPOCH_BIT) as u8),
            3 => Answer::WriteBack,
            4 => Answer::Instruction(index),
            5 => Answer::Constant(index),
            _ => Answer::Texture(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_its_answer() {
        let all = [
            Answer::Miss(7),
            Answer::Bypass(0),
            Answer::Store(63, 0),
            Answer::Store(5, 1),
            Answer::WriteBack,
            Answer::Instruction(1),
            Answer::Constant(9),
            Answer::Texture(8),
        ];
        assert_eq!(all.map(|answer| Answer::of(answer.tag())), all);
    }
}
