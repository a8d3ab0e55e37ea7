//! DRAM: banks, timings, the bytes themselves, and the controller that schedules accesses to them.

pub mod backing;
pub mod bank;
pub mod controller;
pub mod timing;
