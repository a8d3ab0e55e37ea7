//! CRCS and PPCS: components driven by hand, and whole machines, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod machines;
mod page;
mod timing;
