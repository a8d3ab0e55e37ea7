//! A crossbar's port for one client: sends its requests to the switch of the right server, and is itself the switch
//! for all replies to this client.

use counterpoint_framework::kernel::{Fault, In, Out, Socket};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_protocols::memory::{MemReply, MemRequest, MemoryServer};
use futures::future::try_join;

use super::lane::{LaneStats, PacketParams, pass};
use crate::memory::address_map::{AddressMap, AddressMapParams};

/// Width and routing.
#[derive(Clone, Debug, Params)]
pub struct ClientSwitchParams {
    /// Packets of requests.
    requests: PacketParams,
    /// Packets of replies.
    replies: PacketParams,
    /// Which server holds an address: the servers are the map's slices.
    map: AddressMapParams,
}

/// The ports of a client's switch.
#[derive(Ports)]
pub struct ClientSwitchPorts {
    /// The client.
    client: MemoryServer,
    /// Requests to each server's switch.
    requests: Vec<Out<MemRequest>>,
    /// Replies from all servers.
    replies: In<MemReply>,
}

/// What a client's switch counts.
#[derive(Default, Stats)]
pub struct ClientSwitchStats {
    /// Requests sent.
    requests: Counter,
    /// Replies delivered.
    replies: Counter,
    /// Flits of requests.
    request_flits: Counter,
    /// Flits of replies.
    reply_flits: Counter,
}

/// A crossbar's port for one client.
pub struct ClientSwitch {
    params: ClientSwitchParams,
    map: AddressMap,
}

impl Component for ClientSwitch {
    const KIND: &'static str = "interconnect/client-switch";
    const DOC: &'static str = "A crossbar's port for one client: routes its requests by address and merges the replies \
                               of all servers.";
    const DAEMON: bool = true;
    type Params = ClientSwitchParams;
    type Ports = ClientSwitchPorts;
    type Stats = ClientSwitchStats;

    fn new(params: ClientSwitchParams) -> Result<Self, Invalid> {
        let map = AddressMap::new(&params.map)?;
        Ok(ClientSwitch { params, map })
    }

    async fn run(
        &mut self,
        io: &mut ClientSwitchPorts,
        sim: &Context<ClientSwitchStats>,
    ) -> Result<(), Fault> {
        let ClientSwitch { params, map } = self;
        let ClientSwitchPorts { client, requests, replies } = io;
        let Socket { tx, rx } = client;
        let stats = &sim.stats;
        let outward = async {
            loop {
                rx.ready().await;
                let target = rx.peek(|request| map.slice(request.line) as usize).unwrap_or_default();
                let servers = requests.len();
                let Some(out) = requests.get_mut(target) else {
                    return Err(Fault::new(format!("the map names slice {target} of {servers}")));
                };
                let permit = out.reserve().await;
                if let Some(request) = rx.try_recv() {
                    let stats = LaneStats { messages: &stats.requests, flits: &stats.request_flits };
                    pass(sim, permit, request, &params.requests, stats).await;
                }
            }
        };
        let inward = async {
            loop {
                let permit = tx.reserve().await;
                let reply = replies.recv().await;
                let stats = LaneStats { messages: &stats.replies, flits: &stats.reply_flits };
                pass(sim, permit, reply, &params.replies, stats).await;
            }
        };
        sim.concurrently(try_join(outward, inward)).await.map(|((), ())| ())
    }
}
