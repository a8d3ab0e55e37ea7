//! A mesh of routers in two dimensions.

use counterpoint_framework::model::{Params, Variant};

use super::{Ends, Hop, Route, RouterLink, Topology, Wiring};

/// Size of a mesh.
#[derive(Clone, Debug, Params)]
pub(super) struct MeshParams {
    /// Routers of a row. If not set, the mesh is as close to a square as its number of ends allows.
    #[param(min = "1", max = "256")]
    columns: Option<u32>,
    /// Routers of a column. If not set, enough for a router per client or per server, whichever are more.
    #[param(min = "1", max = "256")]
    rows: Option<u32>,
}

/// The topology `mesh`.
pub(super) struct Mesh {
    params: MeshParams,
    columns: u32,
}

const EAST: u32 = 0;
const WEST: u32 = 1;
const SOUTH: u32 = 2;
const NORTH: u32 = 3;

impl Variant<dyn Topology> for Mesh {
    const NAME: &'static str = "mesh";
    const DOC: &'static str = "A mesh of two dimensions. Clients and servers are spread over the routers, row by row, and packets go along the row first \
                               and then along the column.";
    type Params = MeshParams;

    fn build(params: &MeshParams) -> Result<Box<dyn Topology>, String> {
        Ok(Box::new(Mesh { params: params.clone(), columns: 1 }))
    }
}

impl Topology for Mesh {
    fn wire(&mut self, ends: Ends) -> Result<Wiring, String> {
        let (pairs, all) = (ends.pairs(), ends.clients + ends.servers);
        let columns = match (self.params.columns, self.params.rows) {
            (Some(columns), _) => columns,
            (None, Some(rows)) => pairs.div_ceil(rows),
            (None, None) => (1..).find(|columns| columns * columns >= pairs).unwrap_or(pairs),
        };
        let rows = self.params.rows.unwrap_or(pairs.div_ceil(columns));
        let routers = columns * rows;
        // A square may have a few routers that no end needs.
        if (self.params.columns, self.params.rows) != (None, None) && routers > all {
            return Err(format!("a mesh of {columns} x {rows} routers has more of them than the {all} ends"));
        }
        self.columns = columns;
        let mut wiring = ends.spread(routers);
        for from in 0..routers {
            let (column, row) = (from % columns, from / columns);
            let link = |port: u32, to: u32| RouterLink { from, port, to };
            wiring.links.extend((column + 1 < columns).then(|| link(EAST, from + 1)));
            wiring.links.extend((column > 0).then(|| link(WEST, from - 1)));
            wiring.links.extend((row + 1 < rows).then(|| link(SOUTH, from + columns)));
            wiring.links.extend((row > 0).then(|| link(NORTH, from - columns)));
        }
        Ok(wiring)
    }

    fn route(&self, hop: &Hop) -> Route {
        let (here, there) = (hop.router % self.columns, hop.target % self.columns);
        let port = match () {
            () if here < there => EAST,
            () if here > there => WEST,
            () if hop.router < hop.target => SOUTH,
            () => NORTH,
        };
        Route { port, class: hop.class }
    }
}
