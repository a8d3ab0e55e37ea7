//! Write policies of a cache: where a write goes, and whether it brings its line into the cache.
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
    /// Whether every write stays in the cache until its line makes room, and brings its line where it is not here. Then
    /// nothing else is asked.
    fn keeps_all(&self) -> bool {
        false
    }

    /// Whether every write goes to memory alone. Then an L1 asks nothing else.
    fn goes_around(&self) -> bool {
        false
    }

    /// Where a write goes whose line is here or not.
    fn write(&mut self, here: bool) -> WriteTo;
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTo {
    /// Into the cache alone, until the line makes room: write-back.
    Cache,
    /// Into memory, and into the cache if the line is here or brought here: write-through.
    Both {
        /// Whether a line that is not here is brought here, as far as it is written.
        allocate: bool,
    },
    /// Into memory alone; the cache forgets the bytes: write-around.
    Memory,
}
