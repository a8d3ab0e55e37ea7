//! Experiments: many runs and their joint results, or results beside a paper, a card or another simulator.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

pub mod bisect;
pub mod characterise;
pub mod compare;
mod pattern;
mod recorded;
pub mod speed;
pub mod study;
pub mod validation;
