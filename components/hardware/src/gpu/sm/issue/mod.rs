//! Issue: blocks begin, schedulers choose warps, and instructions are executed and sent on their way.
//!
//! All of it is methods of the SM's state, one file for each reason for which a warp may or may not go on.

mod endless;
mod gate;
mod schedule;
mod stalls;
mod start;
