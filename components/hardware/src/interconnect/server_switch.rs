//! A crossbar's switch for one server: merges the requests of all clients, oldest first, and sends each reply to the
//! switch of the client that asked.

use counterpoint_framework::kernel::{Fault, In, Out, Socket};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_protocols::memory::{MemReply, MemRequest, MemoryClient};
use futures::future::try_join;

use super::lane::{LaneStats, PacketParams, pass};

/// Width.
#[derive(Clone, Debug, Params)]
pub struct ServerSwitchParams {
    /// Packets of requests.
    requests: PacketParams,
    /// Packets of replies.
    replies: PacketParams,
}

/// The ports of a server's switch.
#[derive(Ports)]
pub struct ServerSwitchPorts {
    /// The server.
    server: MemoryClient,
    /// Requests from all clients.
    requests: In<MemRequest>,
    /// Replies to each client's switch, in the order of the clients.
    replies: Vec<Out<MemReply>>,
}

/// What a server's switch counts.
#[derive(Default, Stats)]
pub struct ServerSwitchStats {
    /// Requests delivered.
    requests: Counter,
    /// Replies sent.
    replies: Counter,
    /// Flits of requests.
    request_flits: Counter,
    /// Flits of replies.
    reply_flits: Counter,
}

/// A crossbar's switch for one server.
pub struct ServerSwitch {
    params: ServerSwitchParams,
}

impl Component for ServerSwitch {
    const KIND: &'static str = "interconnect/server-switch";
    const DOC: &'static str = "A crossbar's switch for one server: merges the requests of all clients, oldest first, \
                               and returns each reply to the client that asked.";
    const DAEMON: bool = true;
    type Params = ServerSwitchParams;
    type Ports = ServerSwitchPorts;
    type Stats = ServerSwitchStats;

    fn new(params: ServerSwitchParams) -> Result<Self, Invalid> {
        Ok(ServerSwitch { params })
    }

    async fn run(
        &mut self,
        io: &mut ServerSwitchPorts,
        sim: &Context<ServerSwitchStats>,
    ) -> Result<(), Fault> {
        let params = &self.params;
        let ServerSwitchPorts { server: Socket { tx, rx }, requests, replies } = io;
        let stats = &sim.stats;
        let inward = async {
            loop {
                let permit = tx.reserve().await;
                requests.ready().await;
                if let Some((client, mut request)) = requests.try_recv_from() {
                    // The client's place among the senders is its address for the reply.
                    request.client = client;
                    let stats = LaneStats { messages: &stats.requests, flits: &stats.request_flits };
                    pass(sim, permit, request, &params.requests, stats).await;
                }
            }
        };
        let outward = async {
            loop {
                rx.ready().await;
                let client = rx.peek(|reply| reply.client as usize).unwrap_or_default();
                let clients = replies.len();
                let Some(out) = replies.get_mut(client) else {
                    return Err(Fault::new(format!("a reply to client {client} of {clients}")));
                };
                let permit = out.reserve().await;
                if let Some(reply) = rx.try_recv() {
                    let stats = LaneStats { messages: &stats.replies, flits: &stats.reply_flits };
                    pass(sim, permit, reply, &params.replies, stats).await;
                }
            }
        };
        sim.concurrently(try_join(outward, inward)).await.map(|((), ())| ())
    }
}
