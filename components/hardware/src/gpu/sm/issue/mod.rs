//! Issue: blocks begin, schedulers choose warps, and instructions are executed and sent on their way.
//!
//! All functions are methods of the SM's state, in one file for each reason for which a warp may or may not continue.

mod endless;
mod gate;
mod schedule;
mod stalls;
mod start;
