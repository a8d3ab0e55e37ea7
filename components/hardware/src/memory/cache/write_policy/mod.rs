//! Write policies of a cache: the destination of a write, and whether it allocates its line in the cache.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    /// Registers the write policies of this folder.
    pub(crate) fn register, of dyn WritePolicy;

    mod back::Back;
    mod through::Through;
    mod around::Around;
}

/// Decides where writes go.
pub trait WritePolicy {
    /// Whether every write stays in the cache until its line is evicted, and allocates its line on a miss. Then no other
    /// method is called.
    fn keeps_all(&self) -> bool {
        false
    }

    /// Whether every write goes to memory alone. Then an L1 calls no other method.
    fn goes_around(&self) -> bool {
        false
    }

    /// Destination of a write; `here`: its line is in the cache.
    fn write(&mut self, here: bool) -> WriteTo;
}

/// Destination of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTo {
    /// Into the cache alone, until the line is evicted: write-back.
    Cache,
    /// Into memory, and into the cache if the line is here or is allocated: write-through.
    Both {
        /// Whether a write that misses allocates its line, with the written bytes.
        allocate: bool,
    },
    /// Into memory alone; the cache invalidates the bytes: write-around.
    Memory,
}
