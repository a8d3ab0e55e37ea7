//! Synthetic traffic of a pattern at an offered load, and its measurement: the generator and its sinks.
//!
//! Each source makes messages at random, one in a cycle at most (a Bernoulli process), and keeps them in a queue without limit until
//! the network takes them. Sinks take everything at once and answer nothing. Messages count that are made, or taken, in the measured
//! cycles; messages made before and after only load the network.
//!
//! A message is a store of `flits` sectors, for networks with packets of `{ flit: 32 B, header: 0 B, packet: 128 B }`, and its line is that of
//! the destination in a map with an interleave of 128 B.

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Fault, Watch};
use counterpoint_framework::model::{
    Choice, Component, Context, Counter, Distribution, Invalid, Params, Ports, Setting, Stats,
};
use counterpoint_framework::time::Cycles;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, MemAccess, MemRequest, MemoryClient, MemoryServer, SECTOR_BYTES, Tag,
};
use counterpoint_protocols::values::Values;

/// Destinations of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Pattern {
    /// Every message has a destination of its own, drawn at random among all.
    Uniform,
    /// Source (x, y) of a square sends to (y, x).
    Transpose,
    /// The first source sends to the last sink, the second to the last but one: bit-complement for powers of two.
    Complement,
    /// A source sends to the sink almost half the number of sources ahead.
    Tornado,
    /// A source sends to the next sink.
    Neighbour,
}

impl Pattern {
    /// The destination of a source, one of `ends` with a random number.
    ///
    /// # Errors
    /// If there is no such pattern for this number of ends.
    fn destination(self, source: u64, ends: u64, random: u64) -> Result<u64, Fault> {
        Ok(match self {
            Pattern::Uniform => random % ends,
            Pattern::Transpose => {
                let side = ends.isqrt();
                if side * side != ends {
                    return Err(Fault::new(format!("`transpose` needs a square of sinks, not {ends}")));
                }
                source % side * side + source / side
            }
            Pattern::Complement => ends - 1 - source,
            Pattern::Tornado => (source + ends.div_ceil(2) - 1) % ends,
            Pattern::Neighbour => (source + 1) % ends,
        })
    }
}

/// Load, pattern and time.
#[derive(Clone, Debug, Params)]
pub struct TrafficParams {
    /// Flits that a source makes per cycle, on average.
    #[param(default = "0.1", min = "0", max = "1")]
    load: f64,
    /// Destinations.
    #[param(default = "uniform")]
    pattern: Pattern,
    /// Flits of a message.
    #[param(default = "1", min = "1", max = "4")]
    flits: u64,
    /// Cycles before the first measured one.
    #[param(default = "2000 cycles")]
    warmup: Cycles,
    /// Cycles that are measured.
    #[param(default = "5000 cycles", min = "1 cycle")]
    measured: Cycles,
    /// Cycles of traffic after these, in which measured messages still arrive.
    #[param(default = "2000 cycles")]
    drain: Cycles,
}

/// The ports of a generator.
#[derive(Ports)]
pub struct TrafficPorts {
    /// Sources of messages.
    sources: Vec<MemoryClient>,
    /// Sinks of messages, by slice.
    sinks: Vec<MemoryServer>,
}

/// Statistics of a generator.
#[derive(Default, Stats)]
pub struct TrafficStats {
    /// Flits that were made in the measured cycles.
    #[stat(unit = "flits")]
    offered: Counter,
    /// Flits that sinks took in the measured cycles.
    #[stat(unit = "flits")]
    accepted: Counter,
    /// Accepted flits of the source with the fewest.
    #[stat(unit = "flits")]
    accepted_least: Setting,
    /// Accepted flits of the source with the most.
    #[stat(unit = "flits")]
    accepted_most: Setting,
    /// Latency of a message generated in the measured cycles, from its generation to its arrival at the sink.
    #[stat(unit = "cycles")]
    latency: Distribution,
    /// Messages that were made in the measured cycles and not taken before the end.
    #[stat(unit = "messages")]
    missing: Setting,
}

/// A generator of traffic.
pub struct Traffic(TrafficParams);

impl Component for Traffic {
    const KIND: &'static str = "interconnect/traffic";
    const DOC: &'static str = "Synthetic traffic of a pattern at an offered load, with the accepted load and the latency of the network.";
    type Params = TrafficParams;
    type Ports = TrafficPorts;
    type Stats = TrafficStats;

    fn new(params: TrafficParams) -> Result<Self, Invalid> {
        Ok(Traffic(params))
    }

    async fn run(&mut self, io: &mut TrafficPorts, sim: &Context<TrafficStats>) -> Result<(), Fault> {
        let TrafficParams { load, pattern, flits, warmup, measured, drain } = self.0;
        let (sources, sinks) = (io.sources.len(), io.sinks.len());
        if sinks == 0 || pattern != Pattern::Uniform && sources != sinks {
            return Err(Fault::new(format!(
                "{pattern:?} from {sources} sources to {sinks} sinks has no destinations"
            )));
        }
        // The share of all random numbers that make a message.
        let chance = (load / flits as f64 * 2_f64.powi(64)) as u64;
        let window = warmup.get()..warmup.get() + measured.get();
        let end = window.end + drain.get();
        let mask = ByteMask::MAX >> (LINE_BYTES - flits * SECTOR_BYTES);
        let values = Values::zero();
        let mut queues: Vec<VecDeque<u64>> = vec![VecDeque::new(); sources];
        let (mut accepted, mut made) = (vec![0; sources], 0_u64);
        let arriving = Watch::new(io.sinks.iter().map(|sink| &sink.rx));
        let first = sim.cycle();
        loop {
            let cycle = sim.cycle() - first;
            if cycle >= end {
                break;
            }
            let is_measured = window.contains(&cycle);
            for (source, queue) in queues.iter_mut().enumerate() {
                if sim.random() < chance {
                    queue.push_back(cycle);
                    if is_measured {
                        made += 1;
                        sim.stats.offered.add(flits);
                    }
                }
                let Some(&since) = queue.front() else { continue };
                let Some(permit) = io.sources[source].tx.try_reserve() else { continue };
                queue.pop_front();
                let slice = pattern.destination(source as u64, sinks as u64, sim.random())?;
                permit.send(MemRequest {
                    line: slice * LINE_BYTES,
                    tag: Tag(since as u32),
                    client: 0,
                    label: Label::default(),
                    fresh: 0,
                    access: MemAccess::Write(mask, values.clone()),
                });
            }
            for sink in arriving.arrived(sim) {
                while let Some(request) = io.sinks[sink].rx.try_recv() {
                    let (since, source) = (u64::from(request.tag.0), request.client as usize);
                    if is_measured {
                        sim.stats.accepted.add(flits);
                        accepted[source] += flits;
                    }
                    if window.contains(&since) {
                        sim.stats.latency.record(cycle - since);
                        made -= 1;
                    }
                }
            }
            sim.tick().await;
        }
        sim.stats.accepted_least.set(accepted.iter().copied().min().unwrap_or(0));
        sim.stats.accepted_most.set(accepted.iter().copied().max().unwrap_or(0));
        sim.stats.missing.set(made);
        Ok(())
    }
}
