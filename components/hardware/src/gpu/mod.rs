//! The GPU: command processor, CTA scheduler, SMs.

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod command_processor::CommandProcessor;
    pub mod cta_scheduler::CtaScheduler;
    pub mod sm::Sm;
}
