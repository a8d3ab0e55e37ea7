//! Bypass of a cache: which reads of lines that are not here leave no line behind.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    /// Registers the bypass policies of this folder.
    pub(crate) fn register, of dyn Bypass;

    pub(in crate::memory) mod none::NoBypass;
    mod all::All;
    mod fraction::Fraction;
}

use counterpoint_protocols::memory::MemRequest;

/// Decides which reads pass a cache by.
pub trait Bypass {
    /// Whether none passes. Then nothing else is asked.
    fn is_idle(&self) -> bool {
        false
    }

    /// Whether a read of a line that is not here goes on to memory without one being kept.
    fn passes(&mut self, read: &MemRequest) -> bool;
}
