//! The GPU: command processor, CTA scheduler, SMs.

pub mod command_processor;
pub mod cta_scheduler;
pub mod sm;
