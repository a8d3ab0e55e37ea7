//! Retirement: warps go on that have waited for results, fences, barriers or pages, and blocks end.
//!
//! All of it is methods of the SM's state.

mod blocks;
mod order;
mod pages;
