//! A crossbar between the clients of memory and its servers: a network for requests and one for replies.
//!
//! Crossbars can follow each other (`clients.rs` describes the return path).

use counterpoint_framework::kernel::{Fault, Source, Watch, Words};
use counterpoint_framework::model::{Component, Context, Invalid, Params, PartStats, Ports, Stats};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::memory::{MemReply, MemRequest, MemoryClient, MemoryServer};
use counterpoint_protocols::roles;

use super::clients::Clients;
use super::lane::{Lane, LaneStats, PacketParams};
use crate::memory::address_map::{AddressMap, AddressMapParams};

/// Width, speed and routing.
#[derive(Clone, Debug, Params)]
pub struct CrossbarParams {
    /// Packets of requests.
    requests: PacketParams,
    /// Packets of replies.
    replies: PacketParams,
    /// Steps of the switches in a cycle (BookSim's internal_speedup).
    #[param(default = "2", min = "1", max = "8")]
    speedup: u32,
    /// Map from addresses to servers, which are the map's slices.
    map: AddressMapParams,
}

/// The ports of a crossbar.
#[derive(Ports)]
pub struct CrossbarPorts {
    /// Components that send requests.
    clients: Vec<MemoryServer>,
    /// Components that answer requests.
    servers: Vec<MemoryClient>,
}

/// Statistics of a crossbar.
#[derive(Default, Stats)]
pub struct CrossbarStats {
    /// The network for requests.
    requests: PartStats<LaneStats>,
    /// The network for replies.
    replies: PartStats<LaneStats>,
}

/// A crossbar.
pub struct Crossbar {
    params: CrossbarParams,
    map: AddressMap,
}

impl Component for Crossbar {
    const KIND: &'static str = "interconnect/crossbar";
    const DOC: &'static str = "A crossbar between clients and servers of memory: input-queued switches, one for requests \
                               and one for replies.";
    const DAEMON: bool = true;
    const LINK_WEIGHT: u32 = 10;
    const ROLE: &'static str = roles::NETWORK;
    type Params = CrossbarParams;
    type Ports = CrossbarPorts;
    type Stats = CrossbarStats;

    fn new(params: CrossbarParams) -> Result<Self, Invalid> {
        Ok(Crossbar { map: AddressMap::new(&params.map)?, params })
    }

    async fn run(&mut self, io: &mut CrossbarPorts, sim: &Context<CrossbarStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        match io.clients.len().max(io.servers.len()) {
            0..=64 => self.serve::<[u64; 1]>(io, sim).await,
            65..=128 => self.serve::<[u64; 2]>(io, sim).await,
            _ => self.serve::<Box<[u64]>>(io, sim).await,
        }
    }
}

impl Crossbar {
    /// Serves all ends; `W` holds a set of them.
    async fn serve<W: Words>(
        &mut self,
        io: &mut CrossbarPorts,
        sim: &Context<CrossbarStats>,
    ) -> Result<(), Fault> {
        let Crossbar { params, map } = self;
        let (clients, servers) = (io.clients.len(), io.servers.len());
        let mut requests = Lane::<W>::new("request", params.requests, params.speedup, clients, servers);
        let mut replies = Lane::<W>::new("reply", params.replies, params.speedup, servers, clients);
        let asking = Watch::new(io.clients.iter().map(|client| &client.rx));
        let answering = Watch::new(io.servers.iter().map(|server| &server.rx));
        let callers = Clients::new(clients);
        loop {
            let (clients, servers) = (io.clients.as_mut_slice(), io.servers.as_mut_slice());
            let route = |request: &MemRequest| map.slice(request.line);
            let arrive = |request: &mut MemRequest, client| callers.add(request, client);
            let asked = requests.step(sim, (clients, &asking), servers, &sim.stats.requests, (route, arrive));
            let asked = asked
                .map_err(|server| Fault::new(format!("the map names slice {server} of {}", servers.len())))?;
            callers.check()?;
            let route = |reply: &MemReply| callers.of(reply);
            let arrive = |reply: &mut MemReply, _| callers.remove(reply);
            let answered =
                replies.step(sim, (servers, &answering), clients, &sim.stats.replies, (route, arrive));
            let answered = answered
                .map_err(|client| Fault::new(format!("a reply to client {client} of {}", clients.len())))?;
            let (next, cycle, speedup) = (asked.min(answered), sim.cycle(), u64::from(params.speedup));
            if next < (cycle + 2) * speedup {
                sim.tick().await;
                continue;
            }
            let deadline = match next {
                u64::MAX => SimTime::MAX,
                next => sim.cycles_from_now(next / speedup - cycle),
            };
            sim.wait(deadline, [asking.when(true), answering.when(true)]).await;
        }
    }
}
