//! The path of an instruction from its issue to its result: register files, operand collectors, units, and the
//! write-back.
//!
//! Nothing here is stepped. An instruction reserves its whole path when it is issued.

pub(super) mod collector;
mod exit;
pub(super) mod facts;
mod pipeline_path;
pub(super) mod pipeline_slots;
pub(super) mod units;
mod uses;
pub(super) mod writeback;
