//! The path of an instruction from its issue to its result: register files, operand collectors, units, and the
//! write-back.
//!
//! Nothing here is stepped. An instruction reserves its whole path when it is issued.

pub(super) mod collector;
pub(super) mod facts;
mod exit;
mod pipeline_path;
pub(super) mod pipeline_slots;
mod uses;
pub(in crate::gpu) mod units;
pub(super) mod writeback;
