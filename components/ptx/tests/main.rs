//! The tests of this crate through what it exports, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod asynchrony;
mod atomics;
mod calls;
mod checks;
mod committed;
mod common;
mod device_library;
mod extended;
mod happens_before;
mod independent;
mod instrument;
mod instrument_ranges;
mod kernels;
mod language;
mod limits;
mod link;
mod matrices;
mod mixed;
mod oracle;
mod registers;
mod robustness;
mod runs;
mod semantics;
mod slice;
mod slice_committed;
mod slice_runs;
mod small;
mod spaces;
mod spellings;
mod stack;
mod surfaces;
mod textures;
mod types;
mod vectors;
mod warp_wide;
mod wide;
