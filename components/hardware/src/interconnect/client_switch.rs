//! A crossbar's port for one client: sends its requests to the switch of the right server, and is itself the switch
//! for all replies to this client.

use counterpoint_framework::kernel::{Fault, In, Out, Socket};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::time::Bytes;
use counterpoint_protocols::memory::{MemReply, MemRequest, MemoryServer};
use futures::future::try_join;

use super::lane::{LaneStats, pass};
use crate::memory::address_map::{AddressMap, AddressMapParams};

/// Width and routing.
#[derive(Clone, Debug, Params)]
pub struct ClientSwitchParams {
    /// Bytes that pass in a cycle, each way.
    #[param(default = "32 B", min = "1 B")]
    flit: Bytes,
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
    /// Bytes of requests.
    #[stat(unit = "bytes")]
    request_bytes: Counter,
    /// Bytes of replies.
    #[stat(unit = "bytes")]
    reply_bytes: Counter,
}

/// A crossbar's port for one client.
pub struct ClientSwitch {
    flit: u64,
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
        Ok(ClientSwitch { flit: params.flit.get(), map })
    }

    async fn run(
        &mut self,
        io: &mut ClientSwitchPorts,
        sim: &Context<ClientSwitchStats>,
    ) -> Result<(), Fault> {
        let ClientSwitch { flit, map } = *self;
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
                    let stats = LaneStats { messages: &stats.requests, bytes: &stats.request_bytes };
                    pass(sim, permit, request, flit, stats).await;
                }
            }
        };
        let inward = async {
            loop {
                let permit = tx.reserve().await;
                let reply = replies.recv().await;
                let stats = LaneStats { messages: &stats.replies, bytes: &stats.reply_bytes };
                pass(sim, permit, reply, flit, stats).await;
            }
        };
        sim.concurrently(try_join(outward, inward)).await.map(|((), ())| ())
    }
}
