//! A network of routers between the clients of memory and its servers, in a topology of choice.
//!
//! Requests and replies have a network each, so that neither can block the other. `fabric/` describes
//! the routers, [`Topology`] the parts of a topology.
//!
//! Without load a message that arrives in cycle t leaves in cycle t + (h + 1) · `router` + h · `link` + f − 1, where h is the number
//! of links between routers on its route and f the number of its flits.
//!
//! Networks and crossbars can follow each other (`clients.rs` describes the return path).

use counterpoint_framework::kernel::{Fault, Inputs, Message, Out, Socket, Source, Watch};
use counterpoint_framework::model::{
    Choice, Component, Context, Counter, Distribution, Invalid, Params, PartStats, Ports, Slot, Stats,
};
use counterpoint_framework::time::{Cycles, SimTime};
use counterpoint_protocols::memory::{MemReply, MemRequest, MemoryClient, MemoryServer, Packets};
use counterpoint_protocols::roles;

use super::clients::Clients;
use super::fabric::{Exits, Fabric, FabricShape};
use super::lane::PacketParams;
use super::topology::{Ends, Topology};
use crate::memory::address_map::{AddressMap, AddressMapParams};

/// Which virtual channel of a class a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum ChannelChoice {
    /// One channel for all packets from one end to another, which keeps their order. Memory requires this order.
    Pair,
    /// Any that is free. Messages from one end to another can overtake each other.
    Any,
}

/// Topology, routers, packets and map.
#[derive(Clone, Debug, Params)]
pub struct NetworkParams {
    /// Routers and links between them.
    #[param(default = "mesh")]
    topology: Slot<dyn Topology>,
    /// Packets of requests.
    requests: PacketParams,
    /// Packets of replies.
    replies: PacketParams,
    /// Virtual channels of a link; a multiple of the classes of the topology.
    #[param(default = "4", min = "1", max = "64")]
    virtual_channels: u32,
    /// Flits that an input of a router holds for each virtual channel.
    #[param(default = "8", min = "1", max = "4096")]
    buffer: u32,
    /// Latency of a router without load: route computation, allocation and switch.
    #[param(default = "3 cycles", max = "1000 cycles")]
    router: Cycles,
    /// Latency of a link for flits and for their credits.
    #[param(default = "1 cycle", min = "1 cycle", max = "1000 cycles")]
    link: Cycles,
    /// Virtual channel that a packet takes.
    #[param(default = "pair")]
    allocation: ChannelChoice,
    /// Map from addresses to servers, which are the map's slices.
    map: AddressMapParams,
}

/// The ports of a network.
#[derive(Ports)]
pub struct NetworkPorts {
    /// Components that send requests.
    clients: Vec<MemoryServer>,
    /// Components that answer requests.
    servers: Vec<MemoryClient>,
}

/// Statistics of a network.
#[derive(Default, Stats)]
pub struct NetworkStats {
    /// The network for requests.
    requests: PartStats<DirectionStats>,
    /// The network for replies.
    replies: PartStats<DirectionStats>,
}

/// Statistics of a direction of a network.
#[derive(Default, Stats)]
struct DirectionStats {
    /// Messages that have passed.
    #[stat(unit = "messages")]
    messages: Counter,
    /// Flits that have passed.
    #[stat(unit = "flits")]
    flits: Counter,
    /// Latency of a message, from its entry into the network to its exit.
    #[stat(unit = "cycles")]
    latency: Distribution,
}

/// A network of routers.
pub struct Network {
    params: NetworkParams,
    map: AddressMap,
}

impl NetworkParams {
    /// The slot of the topology.
    pub fn topology(&self) -> &Slot<dyn Topology> {
        &self.topology
    }

    /// The shape of both networks with a topology of this number of classes.
    fn shape(&self, classes: u32) -> Result<FabricShape, String> {
        let channels = self.virtual_channels;
        if classes == 0 || !channels.is_multiple_of(classes) {
            let name = self.topology.name();
            return Err(format!(
                "virtual_channels is {channels}, and `{name}` needs a multiple of its {classes} classes"
            ));
        }
        Ok(FabricShape {
            lanes: (channels / classes) as usize,
            classes: classes as usize,
            buffer: self.buffer as usize,
            router: self.router.get(),
            link: self.link.get(),
            ordered: self.allocation == ChannelChoice::Pair,
        })
    }
}

impl Component for Network {
    const KIND: &'static str = "interconnect/network";
    const DOC: &'static str = "A network of routers between clients and servers of memory, in a topology of choice, with virtual channels and credits; \
                               one for requests and one for replies.";
    const DAEMON: bool = true;
    const LINK_WEIGHT: u32 = 10;
    const ROLE: &'static str = roles::NETWORK;
    type Params = NetworkParams;
    type Ports = NetworkPorts;
    type Stats = NetworkStats;

    fn new(params: NetworkParams) -> Result<Self, Invalid> {
        if let Some(topology) = params.topology.build_detached() {
            params.shape(topology.classes())?;
        }
        Ok(Network { map: AddressMap::new(&params.map)?, params })
    }

    async fn run(&mut self, io: &mut NetworkPorts, sim: &Context<NetworkStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        let Network { params, map } = self;
        let ends = Ends { clients: io.clients.len() as u32, servers: io.servers.len() as u32 };
        let mut topology = params.topology.build(sim)?;
        let shape = params.shape(topology.classes()).map_err(Fault::new)?;
        let wiring = topology.wire(ends).map_err(Fault::new)?;
        let (clients, servers) = (wiring.clients.as_slice(), wiring.servers.as_slice());
        if (clients.len(), servers.len()) != (io.clients.len(), io.servers.len()) {
            let (attached, servers) = (clients.len(), servers.len());
            return Err(Fault::new(format!(
                "the topology attaches {attached} clients and {servers} servers of {ends:?}"
            )));
        }
        let fabric = |ends| Fabric::new(&wiring, ends, shape).map_err(Fault::new);
        let mut requests = Direction::new("request", params.requests, fabric((clients, servers))?);
        let mut replies = Direction::new("reply", params.replies, fabric((servers, clients))?);
        let (clients, servers) = (clients.len(), servers.len());
        let asking = Watch::new(io.clients.iter().map(|client| &client.rx));
        let answering = Watch::new(io.servers.iter().map(|server| &server.rx));
        let (mut unasked, mut unanswered) = (InputSet::all(clients), InputSet::all(servers));
        let callers = Clients::new(clients);
        loop {
            let route = |request: &mut MemRequest, client| {
                callers.add(request, client);
                map.slice(request.line)
            };
            let (inputs, outputs) = (io.clients.as_mut_slice(), io.servers.as_mut_slice());
            let taken = requests.take(sim, (inputs, &asking, &mut unasked), servers, route);
            taken.map_err(|server| Fault::new(format!("the map names slice {server} of {servers}")))?;
            callers.check()?;
            let asked = requests.step(sim, &*topology, outputs, &sim.stats.requests, &mut unasked)?;
            let route = |reply: &mut MemReply, _| {
                let client = callers.of(reply);
                callers.remove(reply);
                client
            };
            let (inputs, outputs) = (outputs, inputs);
            let taken = replies.take(sim, (inputs, &answering, &mut unanswered), clients, route);
            taken.map_err(|client| Fault::new(format!("a reply to client {client} of {clients}")))?;
            let answered = replies.step(sim, &*topology, outputs, &sim.stats.replies, &mut unanswered)?;
            asking.set(&unasked);
            answering.set(&unanswered);
            let next = [asked, answered].into_iter().flatten().min();
            let cycle = sim.cycle();
            if next == Some(cycle + 1) {
                sim.tick().await;
                continue;
            }
            let deadline = next.map_or(SimTime::MAX, |next| sim.cycles_from_now(next - cycle));
            sim.wait(deadline, [asking.when(true), answering.when(true)]).await;
        }
    }
}

/// Inputs of one direction, of which there may be any number.
type InputSet = Inputs<Box<[u64]>>;

/// The network of one direction with the messages on it.
struct Direction<M> {
    /// Name of its messages, for the log.
    name: &'static str,
    packets: PacketParams,
    fabric: Fabric,
    /// Messages on their way with the cycles in which they were taken, by slot, and free slots.
    messages: Vec<Option<(u64, M)>>,
    free: Vec<usize>,
}

/// The outputs of a direction, and its messages on their way.
struct Outputs<'a, M: Message, B: Message> {
    sockets: &'a mut [Socket<M, B>],
    messages: &'a mut [Option<(u64, M)>],
    free: &'a mut Vec<usize>,
    stats: &'a DirectionStats,
    cycle: u64,
}

impl<M: Message, B: Message> Exits for Outputs<'_, M, B> {
    fn is_open(&self, end: usize) -> bool {
        self.sockets[end].tx.credits() > 0
    }

    fn deliver(&mut self, end: usize, slot: usize) {
        let Outputs { sockets, messages, free, stats, cycle } = self;
        let out: &mut Out<M> = &mut sockets[end].tx;
        if let (Some((taken, message)), Some(permit)) = (messages[slot].take(), out.try_reserve()) {
            stats.messages.add(1);
            stats.latency.record(*cycle - taken);
            permit.send(message);
            free.push(slot);
        }
    }
}

impl<M: Message + Packets> Direction<M> {
    fn new(name: &'static str, packets: PacketParams, fabric: Fabric) -> Self {
        Direction { name, packets, fabric, messages: Vec::new(), free: Vec::new() }
    }

    /// Takes the messages of idle inputs. `route` gives a message's output and may change the message, whose input it learns.
    ///
    /// # Errors
    /// The output of a message, if it does not exist.
    fn take<A: Message>(
        &mut self,
        sim: &Context<impl Stats>,
        (inputs, watch, idle): (&mut [Socket<A, M>], &Watch, &mut InputSet),
        outputs: usize,
        route: impl Fn(&mut M, u32) -> u32,
    ) -> Result<(), u32> {
        for index in watch.arrived(sim) {
            let Some(mut message) = inputs[index].rx.try_recv() else { continue };
            let output = route(&mut message, index as u32);
            if output as usize >= outputs {
                return Err(output);
            }
            let (sectors, carries) = message.sectors();
            sim.trace(|| format!("{}: {sectors} sectors from {index} to {output}", self.name));
            let slot = self.free.pop().unwrap_or_else(|| {
                self.messages.push(None);
                self.messages.len() - 1
            });
            self.messages[slot] = Some((sim.cycle(), message));
            self.fabric.send(slot, index, output as usize, self.packets.cut(sectors.into(), carries));
            idle.remove(index);
        }
        Ok(())
    }

    /// Passes what can pass in this cycle. The result is the next cycle in which something may be to do, if no idle input has a message.
    fn step<B: Message>(
        &mut self,
        sim: &Context<impl Stats>,
        topology: &dyn Topology,
        sockets: &mut [Socket<M, B>],
        stats: &DirectionStats,
        idle: &mut InputSet,
    ) -> Result<Option<u64>, Fault> {
        let Direction { fabric, messages, free, .. } = self;
        let mut outputs = Outputs { sockets, messages, free, stats, cycle: sim.cycle() };
        let (next, left) = fabric.step(sim.cycle(), topology, &mut outputs, idle).map_err(Fault::new)?;
        stats.flits.add(left);
        Ok(next)
    }
}
