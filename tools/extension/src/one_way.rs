//! A ring of routers whose links lead in one direction.

use counterpoint::component::{Params, Variant};
use counterpoint::network::{Ends, Hop, Route, RouterLink, Topology, Wiring};

/// Size of the ring.
#[derive(Clone, Debug, Params)]
pub struct OneWayParams {
    /// Routers.
    #[param(default = "4", min = "1", max = "256")]
    routers: u32,
}

/// The topology `one-way-ring`.
pub struct OneWay(u32);

impl Variant<dyn Topology> for OneWay {
    const NAME: &'static str = "one-way-ring";
    const DOC: &'static str = "A ring in one direction. Packets change to the second class of virtual channels behind the last router.";
    type Params = OneWayParams;

    fn build(params: &OneWayParams) -> Result<Box<dyn Topology>, String> {
        Ok(Box::new(OneWay(params.routers)))
    }
}

impl Topology for OneWay {
    fn classes(&self) -> u32 {
        2
    }

    fn wire(&mut self, ends: Ends) -> Result<Wiring, String> {
        let mut wiring = ends.spread(self.0);
        wiring.links =
            (0..self.0).map(|from| RouterLink { from, port: 0, to: (from + 1) % self.0 }).collect();
        Ok(wiring)
    }

    fn route(&self, hop: &Hop) -> Route {
        Route { port: 0, class: if hop.router + 1 == self.0 { 1 } else { hop.class } }
    }
}
