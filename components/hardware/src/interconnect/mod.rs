//! Networks between SMs and memory.

mod lane;

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod crossbar::Crossbar;
}
