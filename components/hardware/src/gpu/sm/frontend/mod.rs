//! The front end of an SM: instruction buffers, warps with their scoreboards, and the blocks to which they belong.

pub(super) mod copies;
pub(in crate::gpu) mod cta;
pub(super) mod drain;
pub(in crate::gpu) mod fetch;
pub(super) mod moving;
pub(super) mod samples;
pub(super) mod spans;
pub(super) mod warp;
