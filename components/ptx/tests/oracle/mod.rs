//! The meaning of PTX from a second source: a slow interpreter that checks the executor, and value tables.

mod alone;
mod exhaustive;
mod logic;
mod programs;
mod random;
mod scalar;
mod selectors;
mod sweep;
mod values;
