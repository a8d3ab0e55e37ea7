//! Bypass of a cache: the choice of reads that allocate no line on a miss.
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

/// Decides which reads bypass a cache.
pub trait Bypass {
    /// Whether none passes. Then nothing else is asked.
    fn is_idle(&self) -> bool {
        false
    }

    /// Whether a read that misses goes to memory without a line being allocated.
    fn passes(&mut self, read: &MemRequest) -> bool;
}
