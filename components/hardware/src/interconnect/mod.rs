//! Networks between SMs and memory.

pub mod client_switch;
mod lane;
pub mod server_switch;
