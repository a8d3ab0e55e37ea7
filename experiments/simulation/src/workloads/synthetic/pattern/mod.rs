//! Where the global accesses of a synthetic kernel go, from one to the next.
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
    /// How addresses follow each other in a buffer of `footprint` bytes, where a warp's access takes `record`
    /// bytes. Both are powers of two.
    ///
    /// # Errors
    /// A sentence that says what does not fit.
    fn walk(&self, footprint: u64, record: u64) -> Result<Walk, String>;
}

/// How the addresses of a warp follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Walk {
    /// By a step, and from the end of a region to its beginning.
    Linear {
        /// From an access to the next.
        step: Stride,
        /// Bytes of the region, a power of two; the regions of blocks follow each other where a block has its own.
        region: u64,
        /// Whether each block has a region of its own.
        per_block: bool,
    },
    /// To lines drawn evenly from the buffer, or from its first `hot` bytes.
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
    /// All that the warps of the grid access at a time.
    Grid,
    /// All that the warps of a block access at a time.
    Block,
    /// A number of bytes.
    Bytes(u64),
}
