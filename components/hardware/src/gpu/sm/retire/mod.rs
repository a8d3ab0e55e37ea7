//! Retirement: warps resume that have waited for results, fences, barriers or pages, and blocks end.
//!
//! All functions are methods of the SM's state.

mod blocks;
mod order;
mod pages;
mod preempt;
mod samples;
