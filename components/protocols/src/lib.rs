//! What components say to each other: messages and roles, and no behaviour.
//!
//! Hardware and host never name each other; they meet here. A role is a socket type: the two ends of a link line take
//! the two sides of one.

pub mod bus;
pub mod host;
pub mod launch;
pub mod memory;
