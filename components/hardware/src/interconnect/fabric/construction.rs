//! The construction of a network from the wiring of a topology.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Inputs;

use super::ports::{Exit, Flit, Injector, InputChannel, NONE, Output, Passage, Router};
use super::{Fabric, FabricShape};
use crate::interconnect::lane::Cut;
use crate::interconnect::topology::{RouterLink, Wiring};

/// Most ports of a router, which bounds its table.
const PORTS: u32 = 1 << 16;

impl Fabric {
    /// The network from the ends at the routers `senders` to those at the routers `takers`.
    ///
    /// # Errors
    /// A sentence that names the mistake in the wiring.
    pub(in crate::interconnect) fn new(
        wiring: &Wiring,
        (senders, takers): (&[u32], &[u32]),
        shape: FabricShape,
    ) -> Result<Self, String> {
        let numbers = wiring.links.iter().flat_map(|link| [link.from, link.to]);
        if let Some(router) =
            numbers.chain(senders.iter().chain(takers).copied()).find(|&router| router >= wiring.routers)
        {
            return Err(format!("the topology names router {router} of {}", wiring.routers));
        }
        if let Some(link) = wiring.links.iter().find(|link| link.port >= PORTS) {
            return Err(format!("the topology has {link:?}, and ports are below {PORTS}"));
        }
        let virtual_channels = shape.lanes * shape.classes;
        let mut fabric = Fabric {
            shape,
            routers: Vec::new(),
            injectors: Vec::new(),
            injecting: Inputs::none(senders.len()),
            channels: Vec::new(),
            flits: Vec::new(),
            feeders: Vec::new(),
            turns: Vec::new(),
            outputs: Vec::new(),
            credits: Vec::new(),
            taken: Vec::new(),
            head_turns: Vec::new(),
            returns: VecDeque::new(),
            exits: vec![(NONE, NONE); takers.len()],
            passages: Vec::<Passage>::new(),
            busy: Inputs::none(wiring.routers as usize),
            grants: Vec::new(),
            accepted: Vec::new(),
        };
        let mut injectors: Vec<Option<Injector>> = senders.iter().map(|_| None).collect();
        // Per link the input that it leads to, which is known when all routers have their inputs.
        let mut arrivals = vec![NONE; wiring.links.len()];
        let mut departures = vec![NONE; wiring.links.len()];
        for router in 0..wiring.routers {
            let (input, output) = (fabric.feeders.len(), fabric.outputs.len());
            let place = router as usize;
            for (end, _) in senders.iter().enumerate().filter(|(_, at)| **at == router) {
                let input = fabric.feeders.len();
                fabric.feeders.push(NONE);
                let lane = shape.lanes - 1;
                injectors[end] =
                    Some(Injector { router: place, input, slot: NONE, rest: Cut::default(), sent: 0, lane });
            }
            for (number, _) in wiring.links.iter().enumerate().filter(|(_, link)| link.to == router) {
                arrivals[number] = fabric.feeders.len();
                fabric.feeders.push(NONE);
            }
            let inputs = fabric.feeders.len() - input;
            let new_output = |exit| {
                let wanted = Inputs::none(inputs * virtual_channels);
                Output { exit, wanted, turn: 0, heads: 0, lane_turn: 0 }
            };
            for (end, _) in takers.iter().enumerate().filter(|(_, at)| **at == router) {
                fabric.exits[end] = (place, fabric.outputs.len());
                fabric.outputs.push(new_output(Exit::End(end)));
            }
            let mut ports = Vec::new();
            for (number, link) in wiring.links.iter().enumerate().filter(|(_, link)| link.from == router) {
                let port = link.port as usize;
                ports.resize(ports.len().max(port + 1), NONE);
                if ports[port] != NONE {
                    return Err(format!("the topology has two links for port {port} of router {router}"));
                }
                ports[port] = fabric.outputs.len();
                departures[number] = fabric.outputs.len();
                fabric.outputs.push(new_output(Exit::Link { router: link.to as usize, input: NONE }));
            }
            fabric.accepted.resize(fabric.accepted.len().max(inputs), NONE);
            fabric.routers.push(Router {
                input,
                channel: input * virtual_channels,
                outputs: output..fabric.outputs.len(),
                ports,
                flits: 0,
            });
        }
        for (link, (&arrival, &departure)) in wiring.links.iter().zip(arrivals.iter().zip(&departures)) {
            let &RouterLink { to, .. } = link;
            fabric.feeders[arrival] = departure;
            fabric.outputs[departure].exit = Exit::Link { router: to as usize, input: arrival };
        }
        fabric.injectors = injectors.into_iter().flatten().collect();
        let queue = InputChannel { first: 0, length: 0, output: NONE, class: 0, next: NONE };
        fabric.channels = vec![queue; fabric.feeders.len() * virtual_channels];
        fabric.flits = vec![Flit::default(); fabric.channels.len() * shape.buffer];
        fabric.turns = vec![0; fabric.feeders.len()];
        fabric.credits = vec![shape.buffer; fabric.outputs.len() * virtual_channels];
        fabric.taken = vec![false; fabric.credits.len()];
        fabric.head_turns = vec![0; fabric.credits.len()];
        Ok(fabric)
    }

    /// Virtual channels of an input.
    pub(super) fn virtual_channels(&self) -> usize {
        self.shape.lanes * self.shape.classes
    }

    /// The first virtual channel of an input.
    pub(super) fn channels_of(&self, input: usize) -> usize {
        input * self.virtual_channels()
    }

    /// The input that has a virtual channel, counted within the router.
    pub(super) fn input_of(&self, router: usize, channel: usize) -> usize {
        (channel - self.routers[router].channel) / self.virtual_channels()
    }

    /// The flit at the front of a queue, which is not empty.
    pub(super) fn front(&self, channel: usize) -> Flit {
        self.flits[channel * self.shape.buffer + self.channels[channel].first]
    }
}
