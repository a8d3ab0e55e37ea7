//! Networks between SMs and memory.

mod clients;
mod fabric;
mod lane;
pub mod load;
pub mod topology;

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod crossbar::Crossbar;
    pub mod network::Network;
    pub mod traffic::Traffic;
}
