//! What can be known of a kernel without running it.

pub mod cfg;
pub(crate) mod liveness;
