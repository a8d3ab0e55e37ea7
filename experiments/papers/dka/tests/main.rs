//! The allocator and the labelled L2: components driven by hand, and whole machines, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod labels;
mod machines;
mod page;
mod studies;
mod timing;
