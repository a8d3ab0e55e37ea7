//! A ring of routers with links in both directions.

use counterpoint_framework::model::{Params, Variant};

use super::{Ends, Hop, Route, RouterLink, Topology, Wiring};

/// Size of a ring.
#[derive(Clone, Debug, Params)]
pub(super) struct RingParams {
    /// Routers. If not set, the number of clients or of servers, whichever is larger.
    #[param(min = "1", max = "4096")]
    routers: Option<u32>,
}

/// The topology `ring`.
pub(super) struct Ring {
    given: Option<u32>,
    routers: u32,
}

const UP: u32 = 0;
const DOWN: u32 = 1;

impl Variant<dyn Topology> for Ring {
    const NAME: &'static str = "ring";
    const DOC: &'static str = "A ring with links in both directions. Packets go the shorter way; those that pass the link between the last router \
                               and the first change to the second class of virtual channels (Dally and Seitz's dateline).";
    type Params = RingParams;

    fn build(params: &RingParams) -> Result<Box<dyn Topology>, String> {
        Ok(Box::new(Ring { given: params.routers, routers: 1 }))
    }
}

impl Topology for Ring {
    fn classes(&self) -> u32 {
        2
    }

    fn wire(&mut self, ends: Ends) -> Result<Wiring, String> {
        self.routers = self.given.unwrap_or(ends.pairs());
        let (routers, all) = (self.routers, ends.clients + ends.servers);
        if routers > all {
            return Err(format!("a ring of {routers} routers has more of them than the {all} ends"));
        }
        let mut wiring = ends.spread(routers);
        if routers > 1 {
            wiring.links.extend((0..routers).flat_map(|from| {
                let to = [(UP, (from + 1) % routers), (DOWN, (from + routers - 1) % routers)];
                to.map(|(port, to)| RouterLink { from, port, to })
            }));
        }
        Ok(wiring)
    }

    fn route(&self, hop: &Hop) -> Route {
        let &Hop { router, target, class, .. } = hop;
        let up = (target + self.routers - router) % self.routers;
        let down = self.routers - up;
        // Of two ways of one length, even routers take the one up.
        let port = if up < down || up == down && router.is_multiple_of(2) { UP } else { DOWN };
        let passes_dateline = if port == UP { router + 1 == self.routers } else { router == 0 };
        Route { port, class: if passes_dateline { 1 } else { class } }
    }
}
