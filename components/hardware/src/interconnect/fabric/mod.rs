//! A network of routers in one direction, without simulated time or messages: packets of flits, virtual channels and credits.
//!
//! An end sends the packets of a message one after the other, a flit a cycle, into a virtual channel of its router's input. A
//! flit can leave the router `router` cycles later, and is at the next one `link` cycles after it has left. Inputs and outputs
//! of a router pass a flit a cycle each. An input has a queue for each virtual channel. A packet has a virtual channel of a link to itself
//! from its head to its tail; packets that pass a link side by side share its cycles. A flit needs a free slot in the queue at the other
//! end, for which it takes a credit; the credit is back `link` cycles after the flit has left that queue.
//!
//! Each cycle a free virtual channel with a credit goes to one of the heads that want it. Then an output grants one of the
//! queues whose front flit can pass, and an input that several outputs grant accepts one of them. All three go round (the last two
//! are iSLIP with one iteration). A virtual channel has a turn of its own, because with a common one a steady
//! packet in another virtual channel can put the same head behind another one forever.
//!
//! The outcome does not depend on the order in which routers are served, as nothing passes between them within a cycle.

mod construction;
mod ports;
#[cfg(test)]
mod reference;

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Inputs, members};

use super::lane::Cut;
use super::topology::{Hop, Topology};
use ports::{Exit, Flit, Injector, InputChannel, NONE, Output, Passage, Router, find_from};

/// Sizes and latencies of all routers of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct FabricShape {
    /// Virtual channels of an input and class.
    pub(super) lanes: usize,
    /// Classes of virtual channels.
    pub(super) classes: usize,
    /// Flits that the queue of a virtual channel holds.
    pub(super) buffer: usize,
    /// Cycles from a flit being at a router to it leaving at the earliest.
    pub(super) router: u64,
    /// Cycles of a link, at least 1.
    pub(super) link: u64,
    /// The packets from one end to another keep to one virtual channel of each class.
    pub(super) ordered: bool,
}

/// The ends that take messages.
pub(super) trait Exits {
    /// Whether an end can take a message now.
    fn is_open(&self, end: usize) -> bool;
    /// Delivers the message of a slot to an end, which is open.
    fn deliver(&mut self, end: usize, slot: usize);
}

/// A network of routers in one direction.
pub(super) struct Fabric {
    shape: FabricShape,
    routers: Vec<Router>,
    /// Ends that send.
    injectors: Vec<Injector>,
    /// Ends that have begun to send a message.
    injecting: Inputs<Box<[u64]>>,
    /// Virtual channels of all inputs, router by router.
    channels: Vec<InputChannel>,
    /// The queues of the virtual channels, each a ring of `buffer` flits.
    flits: Vec<Flit>,
    /// Per input of a router the output before it; [`NONE`] behind an end.
    feeders: Vec<usize>,
    /// Per input the output whose turn it is to be accepted, counted within the router.
    turns: Vec<usize>,
    outputs: Vec<Output>,
    /// Credits of each output's virtual channels.
    credits: Vec<usize>,
    /// Whether a packet has one of these, and the queue whose turn it is to have it, counted within the router.
    taken: Vec<bool>,
    head_turns: Vec<usize>,
    /// Credits on their way back: when, and of which virtual channel of an output.
    returns: VecDeque<(u64, usize)>,
    /// Per end that takes messages, its router and output.
    exits: Vec<(usize, usize)>,
    /// Messages on their way, by slot.
    passages: Vec<Passage>,
    /// Routers with flits.
    busy: Inputs<Box<[u64]>>,
    /// Grants of a router in a cycle, and per input of it the one that it accepts.
    grants: Vec<Grant>,
    accepted: Vec<usize>,
}

/// A virtual channel of an input that an output would serve.
#[derive(Clone, Copy)]
struct Grant {
    output: usize,
    channel: usize,
}

impl Fabric {
    /// Begins to send the message of a slot from one end to another. The sender has nothing to send.
    pub(super) fn send(&mut self, slot: usize, from: usize, to: usize, cut: Cut) {
        let passage = Passage { from, to, packets: cut.packets };
        match self.passages.get_mut(slot) {
            Some(place) => *place = passage,
            None => {
                self.passages.resize(slot, Passage::default());
                self.passages.push(passage);
            }
        }
        let injector = &mut self.injectors[from];
        (injector.slot, injector.rest, injector.sent) = (slot, cut, 0);
        self.injecting.insert(from);
    }

    /// Passes what can pass in a cycle, and adds ends that have sent a whole message to `idle`. Returns the next cycle in which something
    /// can pass, if no end sends before, and the number of flits that have left the network.
    ///
    /// # Errors
    /// A sentence about a route that leads nowhere.
    pub(super) fn step(
        &mut self,
        cycle: u64,
        topology: &dyn Topology,
        exits: &mut impl Exits,
        idle: &mut Inputs<Box<[u64]>>,
    ) -> Result<(Option<u64>, u64), String> {
        while let Some(&(due, channel)) = self.returns.front()
            && due <= cycle
        {
            self.returns.pop_front();
            self.credits[channel] += 1;
        }
        let (mut next, mut left) = (u64::MAX, 0);
        for word in 0..self.injecting.words().len() {
            for from in members(word, self.injecting.words()[word]) {
                self.inject(from, cycle, topology)?;
                if self.injectors[from].rest.packets == 0 {
                    self.injecting.remove(from);
                    idle.insert(from);
                }
                // The end may have another message.
                next = cycle + 1;
            }
        }
        for word in 0..self.busy.words().len() {
            for router in members(word, self.busy.words()[word]) {
                next = next.min(self.grant(router, cycle, exits));
                for place in 0..self.grants.len() {
                    let grant = self.grants[place];
                    let input = self.input_of(router, grant.channel);
                    if self.accepted[input] == place {
                        self.accepted[input] = NONE;
                        left += u64::from(self.pass(router, grant, cycle, topology, exits)?);
                    }
                }
                if self.routers[router].flits == 0 {
                    self.busy.remove(router);
                }
            }
        }
        Ok(((next != u64::MAX).then_some(next), left))
    }

    /// An end puts a flit into a virtual channel of its router.
    fn inject(&mut self, from: usize, cycle: u64, topology: &dyn Topology) -> Result<(), String> {
        let FabricShape { lanes, buffer, ordered, .. } = self.shape;
        let injector = &self.injectors[from];
        let first = self.channels_of(injector.input);
        let has_room = |lane: usize, channels: &[InputChannel]| channels[first + lane].length < buffer;
        let lane = match () {
            () if injector.sent > 0 => Some(injector.lane),
            () if ordered => Some(self.lane_of(injector.slot)),
            () => (injector.lane + 1..=injector.lane + lanes)
                .map(|lane| lane % lanes)
                .find(|&lane| has_room(lane, &self.channels)),
        };
        let Some(lane) = lane.filter(|&lane| has_room(lane, &self.channels)) else { return Ok(()) };
        let injector = &mut self.injectors[from];
        let flits = if injector.rest.packets == 1 { injector.rest.last } else { injector.rest.flits };
        injector.lane = lane;
        injector.sent += 1;
        let is_tail = injector.sent == flits;
        let flit = Flit { slot: injector.slot, is_tail, ready: cycle + self.shape.router };
        if is_tail {
            injector.sent = 0;
            injector.rest.packets -= 1;
        }
        let router = injector.router;
        self.queue(router, first + lane, flit, topology)
    }

    /// The virtual channel of a class to which the packets of this message keep.
    fn lane_of(&self, slot: usize) -> usize {
        let Passage { from, to, .. } = self.passages[slot];
        (from + to) % self.shape.lanes
    }

    /// Adds a flit to a queue. A flit that reaches the front is the head of a packet, or its packet has an output already.
    fn queue(
        &mut self,
        router: usize,
        channel: usize,
        flit: Flit,
        topology: &dyn Topology,
    ) -> Result<(), String> {
        let buffer = self.shape.buffer;
        let queue = &mut self.channels[channel];
        self.flits[channel * buffer + (queue.first + queue.length) % buffer] = flit;
        queue.length += 1;
        self.routers[router].flits += 1;
        self.busy.insert(router);
        if queue.output == NONE { self.want(router, channel, topology) } else { Ok(()) }
    }

    /// The head of a packet has reached the front of a queue: it requests an output.
    fn want(&mut self, router: usize, channel: usize, topology: &dyn Topology) -> Result<(), String> {
        let slot = self.front(channel).slot;
        let end = self.passages[slot].to;
        let (target, exit) = self.exits[end];
        let (output, class) = if target == router {
            (exit, 0)
        } else {
            let class = (channel - self.routers[router].channel) % self.virtual_channels() / self.shape.lanes;
            let hop =
                Hop { router: router as u32, target: target as u32, end: end as u32, class: class as u32 };
            let route = topology.route(&hop);
            let output = self.routers[router].ports.get(route.port as usize).copied().unwrap_or(NONE);
            if output == NONE || route.class as usize >= self.shape.classes {
                return Err(format!("the topology has no link for {route:?} of {hop:?}"));
            }
            (output, route.class as usize)
        };
        let queue = &mut self.channels[channel];
        (queue.output, queue.class, queue.next) = (output, class, NONE);
        let place = &mut self.outputs[output];
        place.wanted.insert(channel - self.routers[router].channel);
        place.heads += usize::from(target != router);
        Ok(())
    }

    /// Allocates the free virtual channels of a link to heads that request them.
    fn allocate(&mut self, output: usize, first: usize, cycle: u64) {
        let (virtual_channels, lanes) = (self.virtual_channels(), self.shape.lanes);
        let begin = self.outputs[output].lane_turn;
        for next in (begin..begin + virtual_channels).map(|next| next % virtual_channels) {
            let link_channel = output * virtual_channels + next;
            if self.taken[link_channel] || self.credits[link_channel] == 0 {
                continue;
            }
            let Output { wanted, heads, .. } = &self.outputs[output];
            if *heads == 0 {
                break;
            }
            let fits = |local: usize| {
                let (queue, flit) = (&self.channels[first + local], self.front(first + local));
                let is_head = queue.next == NONE && queue.class == next / lanes;
                let is_there = is_head && queue.length > 0 && flit.ready <= cycle;
                is_there && (!self.shape.ordered || self.lane_of(flit.slot) == next % lanes)
            };
            let Some(local) = find_from(wanted, self.head_turns[link_channel], fits) else { continue };
            self.head_turns[link_channel] = local + 1;
            self.taken[link_channel] = true;
            self.channels[first + local].next = next;
            let place = &mut self.outputs[output];
            place.heads -= 1;
            place.lane_turn = (next + 1) % virtual_channels;
        }
    }

    /// Every output of a router grants a queue, and every input accepts an output. Returns the next cycle in which the result
    /// may differ, unless a flit arrives.
    fn grant(&mut self, router: usize, cycle: u64, exits: &impl Exits) -> u64 {
        let mut next = u64::MAX;
        self.grants.clear();
        let first = self.routers[router].channel;
        for output in self.routers[router].outputs.clone() {
            if self.outputs[output].heads > 0 {
                self.allocate(output, first, cycle);
            }
            let Output { wanted, turn, .. } = &self.outputs[output];
            let passes = |local: usize| {
                let channel = first + local;
                if self.channels[channel].length == 0 {
                    return false;
                }
                let ready = self.front(channel).ready;
                next = next.min(ready.max(cycle + 1));
                ready <= cycle && self.can_pass(output, channel, exits)
            };
            if let Some(local) = find_from(wanted, *turn, passes) {
                self.grants.push(Grant { output, channel: first + local });
            }
        }
        let outputs = self.routers[router].outputs.clone();
        for place in 0..self.grants.len() {
            let Grant { output, channel, .. } = self.grants[place];
            let input = self.input_of(router, channel);
            let turn = self.turns[self.routers[router].input + input];
            let distance = |output: usize| (output - outputs.start + outputs.len() - turn) % outputs.len();
            let best = self.accepted[input];
            if best == NONE || distance(output) < distance(self.grants[best].output) {
                self.accepted[input] = place;
            }
        }
        next
    }

    /// Whether there is room behind an output for the front flit of a queue.
    fn can_pass(&self, output: usize, channel: usize, exits: &impl Exits) -> bool {
        match self.outputs[output].exit {
            Exit::End(end) => exits.is_open(end),
            Exit::Link { .. } => {
                let next = self.channels[channel].next;
                next != NONE && self.credits[output * self.virtual_channels() + next] > 0
            }
        }
    }

    /// A flit passes a router. Returns whether it has left the network.
    fn pass(
        &mut self,
        router: usize,
        Grant { output, channel }: Grant,
        cycle: u64,
        topology: &dyn Topology,
        exits: &mut impl Exits,
    ) -> Result<bool, String> {
        let flit = self.front(channel);
        let queue = &mut self.channels[channel];
        queue.first = (queue.first + 1) % self.shape.buffer;
        queue.length -= 1;
        self.routers[router].flits -= 1;
        let Router { channel: first, input: first_input, ref outputs, .. } = self.routers[router];
        let (local, virtual_channels) = (channel - first, self.virtual_channels());
        let input = first_input + local / virtual_channels;
        self.turns[input] = (output + 1 - outputs.start) % outputs.len();
        let feeder = self.feeders[input];
        if feeder != NONE {
            self.returns
                .push_back((cycle + self.shape.link, feeder * virtual_channels + local % virtual_channels));
        }
        let place = &mut self.outputs[output];
        place.turn = local + 1;
        let is_end = match place.exit {
            Exit::End(end) => {
                if flit.is_tail {
                    let passage = &mut self.passages[flit.slot];
                    passage.packets -= 1;
                    if passage.packets == 0 {
                        exits.deliver(end, flit.slot);
                    }
                }
                true
            }
            Exit::Link { router: to, input } => {
                let next = self.channels[channel].next;
                let link_channel = output * virtual_channels + next;
                self.credits[link_channel] -= 1;
                self.taken[link_channel] = !flit.is_tail;
                let ready = cycle + self.shape.link + self.shape.router;
                let there = self.channels_of(input) + next;
                self.queue(to, there, Flit { ready, ..flit }, topology)?;
                false
            }
        };
        if flit.is_tail {
            self.outputs[output].wanted.remove(local);
            self.channels[channel].output = NONE;
            if self.channels[channel].length > 0 {
                self.want(router, channel, topology)?;
            }
        }
        Ok(is_end)
    }
}
