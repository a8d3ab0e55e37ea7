//! Runs, their applications and their ways to be held, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod applications;
mod functional;
mod held;
mod synthetic;
