//! The command as a process of its own, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod installed;
mod real;
