//! Interleaved scheduling: kernels, policies and studies, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod kernels;
mod page;
mod policies;
mod studies;
