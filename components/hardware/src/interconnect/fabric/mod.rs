//! A network of routers in one direction, without simulated time or messages: packets of flits, virtual channels and credits.
//!
//! An end sends the packets of a message one after the other, a flit a cycle, into a virtual channel of its router's input. A
//! flit can leave the router `router` cycles later, and is at the next one `link` cycles after it has left. Inputs and outputs
//! of a router pass a flit a cycle each. An input has a queue for each virtual channel. The head of a packet takes a
//! virtual channel of the link, which is its own up to the tail; packets that pass a link side by side share its
//! cycles. A flit needs room in the queue that it goes to, which a credit stands for; the credit is back `link` cycles after the
//! flit has left the queue.
//!
//! Each cycle an output grants one of the virtual channels that want it, and an input that several outputs grant accepts
//! one of them; both go round (iSLIP with one iteration). A virtual channel of a link is given together with the first
//! grant, without a stage of its own.
//!
//! The outcome does not depend on the order in which routers are served, as nothing passes between them within a cycle.

mod construction;
mod ports;

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Inputs, members};

use super::lane::Cut;
use super::topology::{Hop, Topology};
use ports::{Exit, Flit, Injector, InputChannel, NONE, Output, Passage, Router};

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
    /// Gives an end the message of a slot; it is open.
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
    /// Whether a packet has one of these.
    taken: Vec<bool>,
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
    /// The virtual channel of the link behind the output.
    next: usize,
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

    /// Adds a flit to a queue. If it comes to its front, it is the head of a packet, or the packet has its output.
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

    /// The head of a packet has come to the front of a queue: it wants an output.
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
        self.outputs[output].wanted.insert(channel - self.routers[router].channel);
        Ok(())
    }

    /// Every output of a router grants a virtual channel, and every input accepts an output. Returns the next cycle in which
    /// this may come out differently, unless a flit comes.
    fn grant(&mut self, router: usize, cycle: u64, exits: &impl Exits) -> u64 {
        let mut next = u64::MAX;
        self.grants.clear();
        let first = self.routers[router].channel;
        for output in self.routers[router].outputs.clone() {
            let wanted = &self.outputs[output].wanted;
            let turn = self.outputs[output].turn;
            let (mut place, mut wrapped) = (turn, false);
            while let Some(local) = wanted.turn(place) {
                let goes_round = local < place;
                if goes_round && wrapped || (goes_round || wrapped) && local >= turn {
                    break;
                }
                (place, wrapped) = (local + 1, wrapped || goes_round);
                let channel = first + local;
                if self.channels[channel].length == 0 {
                    continue;
                }
                let ready = self.front(channel).ready;
                next = next.min(ready.max(cycle + 1));
                if ready > cycle {
                    continue;
                }
                if let Some(link_channel) = self.next_channel(output, channel, exits) {
                    self.grants.push(Grant { output, channel, next: link_channel });
                    break;
                }
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

    /// The virtual channel behind an output to which the front flit of a queue can pass now.
    fn next_channel(&self, output: usize, channel: usize, exits: &impl Exits) -> Option<usize> {
        let Output { exit, lane_turn, .. } = &self.outputs[output];
        if let Exit::End(end) = exit {
            return exits.is_open(*end).then_some(0);
        }
        let (queue, first) = (&self.channels[channel], output * self.virtual_channels());
        if queue.next != NONE {
            return (self.credits[first + queue.next] > 0).then_some(queue.next);
        }
        let lanes = self.shape.lanes;
        let is_free = |next: &usize| !self.taken[first + next] && self.credits[first + next] > 0;
        let of_class = |lane: usize| queue.class * lanes + lane % lanes;
        if self.shape.ordered {
            return Some(of_class(self.lane_of(self.front(channel).slot))).filter(is_free);
        }
        (*lane_turn..lane_turn + lanes).map(of_class).find(is_free)
    }

    /// A flit passes a router. Returns whether it has left the network.
    fn pass(
        &mut self,
        router: usize,
        Grant { output, channel, next }: Grant,
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
                place.lane_turn = (next + 1) % self.shape.lanes;
                let link_channel = output * virtual_channels + next;
                self.channels[channel].next = next;
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
