//! One direction of a crossbar: inputs with a queue each, outputs that serve one of them at a time.
//!
//! A message waits at the head of its input until its output is free, and holds back all behind it: a queue has one
//! head, so that a busy output costs the others as well (head-of-line blocking). Its packets pass one by one, and those of
//! others may pass between them; it has arrived when the last one has. Outputs choose among the heads that want
//! them in turn (iSLIP). Time passes in steps of the switch, `speedup` of them a cycle. A packet takes a step for the
//! allocation of its output and one for each of its flits, as in the input-queued router of BookSim with one virtual
//! channel; behind the switch an output sends a flit a cycle.

use counterpoint_framework::kernel::{In, Inputs, Message, Socket, Watch, Words, members};
use counterpoint_framework::model::{Context, Counter, Params, Stats};
use counterpoint_framework::time::{Bytes, SimTime};
use counterpoint_protocols::memory::{LINE_BYTES, Packets, SECTOR_BYTES};

/// How messages are cut into packets, and packets into flits.
#[derive(Clone, Copy, Debug, Params)]
pub(super) struct PacketParams {
    /// Bytes that pass in a cycle: the width of the network.
    #[param(default = "40 B", min = "1 B")]
    flit: Bytes,
    /// Data bytes that a packet covers, at most; a message for more data is several packets.
    #[param(default = "32 B", min = "32 B", max = "128 B")]
    packet: Bytes,
    /// Bytes of a packet besides its values.
    #[param(default = "8 B")]
    header: Bytes,
}

impl PacketParams {
    /// The packets of a message about a number of sectors, which carries their values or does not.
    pub(super) fn cut(&self, sectors: u64, carries: bool) -> Cut {
        let (values, packet) = (sectors * SECTOR_BYTES, self.packet.get());
        let flits = |values: u64| {
            (self.header.get() + if carries { values } else { 0 }).div_ceil(self.flit.get()).max(1)
        };
        let packets = values.div_ceil(packet).max(1);
        let last = flits(values - (packets - 1) * packet);
        Cut { packets, flits: flits(packet.min(values)), last }
    }
}

/// The packets of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cut {
    pub(super) packets: u64,
    /// Flits of each packet but the last, and of the last.
    pub(super) flits: u64,
    pub(super) last: u64,
}

/// The packets of messages by whether they carry values, and by sectors.
type Cuts = [[Cut; SECTORS + 1]; 2];

const SECTORS: usize = (LINE_BYTES / SECTOR_BYTES) as usize;

/// Statistics of a direction of a crossbar.
#[derive(Default, Stats)]
pub(super) struct LaneStats {
    /// Messages that have passed.
    #[stat(unit = "messages")]
    messages: Counter,
    /// Flits that have passed.
    #[stat(unit = "flits")]
    flits: Counter,
    /// Cycles in which the head of a queue waited for a busy output, summed up.
    #[stat(unit = "cycles")]
    conflicts: Counter,
}

/// State of an input.
#[derive(Clone, Copy, Default)]
struct Source {
    /// The step in which the next packet reaches the head, of this message or of another one.
    head: u64,
    /// Packets of the message at its head that have not passed.
    packets: u64,
    /// Flits of each packet but the last, and of the last.
    flits: u64,
    last: u64,
}

/// State of an output.
struct Sink<W> {
    /// The step from which on it can take another message.
    free: u64,
    /// The cycle from which on its channel can send another flit.
    channel: u64,
    wanted: Inputs<W>,
    turn: usize,
}

/// One direction of a crossbar. Most steps concern few inputs and outputs, which are sets for that reason.
pub(super) struct Lane<W> {
    /// Name of its messages, for the log.
    name: &'static str,
    cuts: Cuts,
    speedup: u64,
    sources: Vec<Source>,
    sinks: Vec<Sink<W>>,
    /// Inputs with no known message at the head and no packet that passes.
    vacant: Inputs<W>,
    /// Inputs with the last packet of a message that still passes.
    passing: Inputs<W>,
    /// The first step in which one of these can pass another one.
    passed: u64,
    /// Outputs that a head wants.
    wanted: Inputs<W>,
    /// The first step in which one of these may take a packet.
    open: u64,
}

impl<W: Words> Lane<W> {
    pub(super) fn new(
        name: &'static str,
        packets: PacketParams,
        speedup: u32,
        inputs: usize,
        outputs: usize,
    ) -> Self {
        let cuts =
            [false, true].map(|carries| std::array::from_fn(|sectors| packets.cut(sectors as u64, carries)));
        let sink = || Sink { free: 0, channel: 0, wanted: Inputs::none(inputs), turn: 0 };
        Lane {
            name,
            cuts,
            speedup: speedup.into(),
            sources: vec![Source::default(); inputs],
            sinks: (0..outputs).map(|_| sink()).collect(),
            vacant: Inputs::all(inputs),
            passing: Inputs::none(inputs),
            passed: u64::MAX,
            wanted: Inputs::none(outputs),
            open: u64::MAX,
        }
    }

    /// Passes what can pass in this cycle. `watch` knows which inputs have something; `route` gives a message's output,
    /// `arrive` learns its input as it passes. The result is the next step in which a packet may pass, if no message
    /// arrives at the watched inputs; [`u64::MAX`] if none can.
    ///
    /// # Errors
    /// The output of a message, if it does not exist.
    pub(super) fn step<M: Message + Packets, A: Message, B: Message>(
        &mut self,
        sim: &Context<impl Stats>,
        (inputs, watch): (&mut [Socket<A, M>], &Watch),
        outputs: &mut [Socket<M, B>],
        stats: &LaneStats,
        (route, arrive): (impl Fn(&M) -> u32, impl Fn(&mut M, u32)),
    ) -> Result<u64, u32> {
        let cycle = sim.cycle();
        let steps = cycle * self.speedup..(cycle + 1) * self.speedup;
        for step in steps.clone() {
            let vacated = step >= self.passed;
            if vacated {
                self.vacate(step);
                watch.set(&self.vacant);
            }
            // A message that arrives in a cycle is present from the first step of the cycle.
            if vacated || step == steps.start {
                watch
                    .arrived(sim)
                    .try_for_each(|index| self.inspect(index, &inputs[index].rx, step, &route))?;
            }
            if step >= self.open {
                self.pass(sim, step, inputs, outputs, stats, &arrive);
            }
        }
        watch.set(&self.vacant);
        // Behind a message that still passes there may be another one.
        Ok(self.open.min(self.passed))
    }

    /// Passes a packet to each output that is free in a step, wanted, and has credit.
    #[inline(always)]
    fn pass<M: Message + Packets, A: Message, B: Message>(
        &mut self,
        sim: &Context<impl Stats>,
        step: u64,
        inputs: &mut [Socket<A, M>],
        outputs: &mut [Socket<M, B>],
        stats: &LaneStats,
        arrive: &impl Fn(&mut M, u32),
    ) {
        let cycle = sim.cycle();
        let (mut open, mut sent) = (u64::MAX, 0);
        for word in 0..self.wanted.words().len() {
            for output in members(word, self.wanted.words()[word]) {
                let (sink, out) = (&mut self.sinks[output], &mut outputs[output].tx);
                if sink.free > step {
                    open = open.min(sink.free);
                    continue;
                }
                // Credit may come at any time.
                if out.credits() == 0 {
                    open = step + 1;
                    continue;
                }
                let Some(index) = sink.wanted.turn(sink.turn) else { continue };
                // A turn behind the last input is that of the first.
                sink.turn = index + 1;
                let source = &mut self.sources[index];
                if source.head < step {
                    stats.conflicts.add(cycle - source.head / self.speedup);
                }
                source.packets -= 1;
                let flits = if source.packets == 0 { source.last } else { source.flits };
                let free = step + 1 + flits;
                sink.free = free;
                sink.channel = sink.channel.max(cycle) + flits;
                sent += flits;
                // The source requests the output again when both are free, which is in the same step.
                source.head = free;
                if source.packets > 0 {
                    open = open.min(free);
                    continue;
                }
                sink.wanted.remove(index);
                if sink.wanted.is_empty() {
                    self.wanted.remove(output);
                } else {
                    open = open.min(free);
                }
                self.passing.insert(index);
                self.passed = self.passed.min(free);
                if let Some(mut message) = inputs[index].rx.try_recv()
                    && let Some(permit) = out.try_reserve()
                {
                    stats.messages.add(1);
                    arrive(&mut message, index as u32);
                    sim.trace(|| {
                        let (sectors, _) = message.sectors();
                        format!("{}: {sectors} sectors from {index} to {output}", self.name)
                    });
                    // The message has arrived when its last flit has.
                    let behind = sink.channel - cycle - 1;
                    let after = if behind > 0 { sim.span(behind) } else { SimTime::ZERO };
                    permit.send_after(after, message);
                }
            }
        }
        self.open = open;
        stats.flits.add(sent);
    }

    /// Inputs whose messages have passed by a step can pass others.
    fn vacate(&mut self, step: u64) {
        self.passed = u64::MAX;
        for word in 0..self.passing.words().len() {
            for input in members(word, self.passing.words()[word]) {
                let free = self.sources[input].head;
                if free > step {
                    self.passed = self.passed.min(free);
                } else {
                    self.passing.remove(input);
                    self.vacant.insert(input);
                }
            }
        }
    }

    /// A message has reached the head of a vacant input.
    #[inline(always)]
    fn inspect<M: Message + Packets>(
        &mut self,
        index: usize,
        input: &In<M>,
        step: u64,
        route: &impl Fn(&M) -> u32,
    ) -> Result<(), u32> {
        if let Some((output, (sectors, carries))) = input.peek(|message| (route(message), message.sectors()))
        {
            let sink = self.sinks.get_mut(output as usize).ok_or(output)?;
            sink.wanted.insert(index);
            self.wanted.insert(output as usize);
            self.vacant.remove(index);
            let source = &mut self.sources[index];
            let Cut { packets, flits, last } = self.cuts[usize::from(carries)][SECTORS.min(sectors as usize)];
            *source = Source { head: step, packets, flits, last };
            self.open = self.open.min(sink.free.max(step));
        }
        Ok(())
    }
}
