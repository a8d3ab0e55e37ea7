//! Experiments: many runs and what they say together, or beside a paper, a card or another simulator.

pub mod bisect;
pub mod characterise;
pub mod compare;
mod pattern;
mod recorded;
pub mod speed;
pub mod study;
pub mod validation;
