//! Networks of routers: the family of topologies, which another crate adds to.

#[doc(inline)]
pub use counterpoint_hardware::interconnect::network::Network;
#[doc(inline)]
pub use counterpoint_hardware::interconnect::topology::{Ends, Hop, Route, RouterLink, Topology, Wiring};
