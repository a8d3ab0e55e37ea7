//! The GPU: command processor, CTA scheduler, SMs.

mod pages;
pub mod room;

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod command_processor::CommandProcessor;
    pub mod cta_scheduler::CtaScheduler;
    pub mod mmu::Mmu;
    pub mod sm::Sm;
}
