//! Address patterns of a synthetic kernel's global accesses.
//!
//! A pattern is one file with its parameters and one line in the list.

counterpoint_framework::variants! {
    pub(crate) fn register, of dyn Pattern;

    pub(super) mod sequential::Sequential;
    mod strided::Strided;
    mod random::Random;
    mod hot_set::HotSet;
    mod tile::Tile;
}

/// A pattern of global accesses.
pub trait Pattern {
    /// Sequence of addresses in a buffer of `footprint` bytes, where a warp's access takes `record` bytes.
    /// Both are powers of two.
    ///
    /// # Errors
    /// A sentence that names the size that does not fit.
    fn walk(&self, footprint: u64, record: u64) -> Result<Walk, String>;
}

/// Sequence of a warp's addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Walk {
    /// Fixed step, wrapping from the end of a region to its beginning.
    Linear {
        /// Distance from an access to the next.
        step: Stride,
        /// Bytes of the region, a power of two; the regions of blocks follow each other where a block has its own.
        region: u64,
        /// Whether each block has a region of its own.
        per_block: bool,
    },
    /// Lines drawn evenly from the buffer, or from its first `hot` bytes.
    Drawn {
        /// The smaller part of the buffer.
        hot: u64,
        /// The share of accesses that go there.
        share: f64,
    },
}

/// The distance between accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// Bytes that all warps of the grid access at a time.
    Grid,
    /// Bytes that all warps of a block access at a time.
    Block,
    /// A number of bytes.
    Bytes(u64),
}
