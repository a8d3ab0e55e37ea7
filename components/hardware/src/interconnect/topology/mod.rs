//! Topologies of a network: its routers, the links between them, and the route of a packet.
//!
//! A topology is one file and one line in the list, here or in an outside crate. It has a variant with its parameters
//! ([`Variant`](counterpoint_framework::model::Variant)), [`Topology::wire`] for the links, and [`Topology::route`] for the next link of a packet.
//! All else is in the fabric (`fabric/`): buffers, virtual channels, credits, arbitration and time.
//!
//! A route depends on the packet's router, destination and class, so the packets between two ends keep one path and their order.
//! Classes break cycles: the virtual channels are divided evenly among them, and a network cannot deadlock if the routes contain no cycle
//! of links, each with its class. A packet enters the network in class 0.

counterpoint_framework::variants! {
    /// Registers the topologies of this folder.
    pub(crate) fn register, of dyn Topology;

    mod crossbar::Crossbar;
    mod ring::Ring;
    mod mesh::Mesh;
    mod hierarchy::Hierarchy;
}

/// Routers and the ways between them.
pub trait Topology {
    /// Classes of virtual channels that routes distinguish, at least 1.
    fn classes(&self) -> u32 {
        1
    }

    /// The network for these ends; called once, before any call of `route`.
    ///
    /// # Errors
    /// A sentence with the reason for which the parameters do not suit these ends.
    fn wire(&mut self, ends: Ends) -> Result<Wiring, String>;

    /// The next link of a packet that has reached a router, and its class there. A packet at the router of its destination leaves the
    /// network without a call.
    fn route(&self, hop: &Hop) -> Route;
}

/// The ends of a network.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Components that send requests and take replies.
    pub clients: u32,
    /// Components that take requests and send replies.
    pub servers: u32,
}

impl Ends {
    /// The larger of both numbers: with a router for each, a router has a client, a server or both.
    pub fn pairs(self) -> u32 {
        self.clients.max(self.servers).max(1)
    }

    /// A wiring without links, in which clients and servers are spread evenly over a number of routers.
    pub fn spread(self, routers: u32) -> Wiring {
        let over = |ends: u32| {
            (0..ends).map(|end| (u64::from(end) * u64::from(routers) / u64::from(ends)) as u32).collect()
        };
        Wiring { routers, clients: over(self.clients), servers: over(self.servers), links: Vec::new() }
    }
}

/// Routers of the ends, and links between the routers. The network for requests and the network for replies have the same wiring.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// Number of routers.
    pub routers: u32,
    /// The router of each client.
    pub clients: Vec<u32>,
    /// The router of each server.
    pub servers: Vec<u32>,
    /// Links, each in one direction.
    pub links: Vec<RouterLink>,
}

/// A link from one router to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterLink {
    /// The router that sends.
    pub from: u32,
    /// Its port, by which routes name the link.
    pub port: u32,
    /// The router that receives.
    pub to: u32,
}

/// A packet's head at a router.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The router.
    pub router: u32,
    /// The router of its destination, another one.
    pub target: u32,
    /// The destination: the number of the server of a request, of the client of a reply.
    pub end: u32,
    /// Class of the packet on the link by which it has arrived.
    pub class: u32,
}

/// The next link of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The port of the link.
    pub port: u32,
    /// The class of virtual channels that the packet takes on it.
    pub class: u32,
}
