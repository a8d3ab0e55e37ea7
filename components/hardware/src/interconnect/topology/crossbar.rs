//! One router with all ends.

use counterpoint_framework::model::Variant;

use super::{Ends, Hop, Route, Topology, Wiring};

/// The topology `crossbar`.
pub(super) struct Crossbar;

impl Variant<dyn Topology> for Crossbar {
    const NAME: &'static str = "crossbar";
    const DOC: &'static str = "One router with all ends. Its inputs have virtual channels, unlike the inputs of `interconnect/crossbar`.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Topology>, String> {
        Ok(Box::new(Crossbar))
    }
}

impl Topology for Crossbar {
    fn wire(&mut self, ends: Ends) -> Result<Wiring, String> {
        Ok(ends.spread(1))
    }

    fn route(&self, hop: &Hop) -> Route {
        unreachable!("all ends are at router {}", hop.router)
    }
}
