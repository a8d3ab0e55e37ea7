//! Clusters of clients with a switch each, such as GPCs, linked to a central switch with all servers.

use counterpoint_framework::model::{Params, Variant};

use super::{Ends, Hop, Route, RouterLink, Topology, Wiring};

/// Size of a hierarchy.
#[derive(Clone, Debug, Params)]
pub(super) struct HierarchyParams {
    /// Clusters, each of consecutive clients.
    #[param(default = "4", min = "1", max = "1024")]
    clusters: u32,
    /// Links between the switch of a cluster and the central switch, in each direction. All packets to a destination take one link.
    #[param(default = "1", min = "1", max = "64")]
    links: u32,
}

/// The topology `hierarchy`.
pub(super) struct Hierarchy(HierarchyParams);

impl Variant<dyn Topology> for Hierarchy {
    const NAME: &'static str = "hierarchy";
    const DOC: &'static str = "Clusters of clients, such as GPCs, each with a switch and links to a central switch that has all servers.";
    type Params = HierarchyParams;

    fn build(params: &HierarchyParams) -> Result<Box<dyn Topology>, String> {
        Ok(Box::new(Hierarchy(params.clone())))
    }
}

impl Topology for Hierarchy {
    fn wire(&mut self, ends: Ends) -> Result<Wiring, String> {
        let HierarchyParams { clusters, links } = self.0;
        if clusters > ends.clients {
            return Err(format!("{} clients cannot fill {clusters} clusters", ends.clients));
        }
        // The central switch follows those of the clusters.
        let centre = clusters;
        let mut wiring = ends.spread(clusters);
        wiring.routers = clusters + 1;
        wiring.servers.fill(centre);
        for (cluster, link) in (0..clusters).flat_map(|cluster| (0..links).map(move |link| (cluster, link))) {
            let up = RouterLink { from: cluster, port: link, to: centre };
            let down = RouterLink { from: centre, port: cluster * links + link, to: cluster };
            wiring.links.extend([up, down]);
        }
        Ok(wiring)
    }

    fn route(&self, hop: &Hop) -> Route {
        let HierarchyParams { clusters, links } = self.0;
        let link = hop.end % links;
        let port = if hop.router == clusters { hop.target * links + link } else { link };
        Route { port, class: hop.class }
    }
}
