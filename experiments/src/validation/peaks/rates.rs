//! Rates that programs see: the additional work of a launch of twice the length, over its additional time.

use std::path::Path;
use std::sync::Arc;

use counterpoint_framework::model::Registry;
use counterpoint_framework::topology::{Instance, Machine};
use counterpoint_simulation::roles;
use counterpoint_simulation::run::RunErrors;

use super::super::{request, verified};
use super::Extent;

/// A measured quantity.
#[derive(Debug)]
pub struct Quantity {
    /// Name in the file of stated values.
    pub name: &'static str,
    /// Unit of the quantity.
    pub unit: &'static str,
    pub(super) measured: &'static str,
}

impl Quantity {
    /// Whether it is one of `probe-rates`, and not a latency of other probes.
    pub(super) fn is_rate(&self) -> bool {
        self.unit != "cycles"
    }
}

const fn quantity(name: &'static str, unit: &'static str) -> Quantity {
    Quantity { name, unit, measured: name }
}

const fn latency(name: &'static str, measured: &'static str) -> Quantity {
    Quantity { name, unit: "cycles", measured }
}

/// Measured quantities, in the order in which they are shown: first the kernels of `probe-rates` in the order
/// of their launches.
pub static QUANTITIES: [Quantity; 24] = [
    quantity("dram read", "GB/s"),
    quantity("dram write", "GB/s"),
    quantity("dram copy", "GB/s"),
    quantity("l2 read", "GB/s"),
    quantity("l1 read", "B/cycle/SM"),
    quantity("shared read", "B/cycle/SM"),
    quantity("fp32 fma", "/cycle/SM"),
    quantity("fp64 fma", "/cycle/SM"),
    quantity("int add", "/cycle/SM"),
    quantity("int mad", "/cycle/SM"),
    quantity("sfu", "/cycle/SM"),
    quantity("atomics on one word", "/cycle"),
    quantity("atomics on one line", "/cycle"),
    quantity("atomics on own lines", "/cycle"),
    quantity("shared atomics on one word", "/cycle/SM"),
    quantity("shared atomics on own words", "/cycle/SM"),
    latency("latency int add", "add.s32"),
    latency("latency int mad", "mad.lo.s32"),
    latency("latency fp32 fma", "fma.f32"),
    latency("latency fp64 fma", "fma.f64"),
    latency("latency shared", "ld.shared"),
    latency("latency l1", "chase L1"),
    latency("latency l2", "chase L2"),
    latency("latency dram", "chase DRAM"),
];

/// Launches of a kernel: one that fills its resource, one of a length, and one of twice that.
const TURNS: usize = 3;
/// Threads of a block where the whole GPU is kept busy.
const THREADS: u64 = 256;
/// Bytes of a stream at least: the dirty data in the L2 at the end of a launch differs by some of its
/// capacity.
const STREAM: u64 = 8 << 20;
/// Bytes that such a block reads in a round of a stream.
const ROUND: u64 = 16 * 1024;

struct Sizes {
    blocks: u64,
    threads: u64,
    stream: u64,
    cached: u64,
    rounds: u64,
    atomics: u64,
}

impl Sizes {
    /// Blocks for all SMs, and streams that no L2 holds.
    fn of(machine: &Machine, extent: Extent) -> Self {
        let of = |role: &'static str| machine.instances.iter().filter(move |one| one.role == role);
        let sms = of(roles::SM).count().max(1) as u64;
        let held: u64 = of(roles::L2).map(|slice| bytes(slice, "cache.capacity")).sum();
        let blocks = if extent == Extent::All { 4 * sms } else { 4 };
        let round = blocks * ROUND;
        let stream = (2 * held).max(STREAM).div_ceil(round) * round;
        let stream = if extent == Extent::All { stream } else { round };
        Sizes { blocks, threads: 1024, stream, cached: 8, rounds: 16, atomics: 4 }
    }

    fn settings(&self) -> Vec<String> {
        let Sizes { blocks, threads, stream, cached, rounds, atomics } = self;
        [
            ("blocks", blocks),
            ("threads", threads),
            ("stream", stream),
            ("cached", cached),
            ("rounds", rounds),
            ("atomics", atomics),
        ]
        .map(|(name, value)| format!("app.{name}={value}"))
        .to_vec()
    }

    /// The additional work of the longest launch of a kernel over the one before it: bytes, lanes of
    /// instructions, or atomics.
    fn more(&self, kernel: &str) -> u64 {
        let (many, one) = (self.blocks * THREADS, self.threads);
        match kernel {
            "dram read" | "dram write" => self.stream,
            "dram copy" => 2 * self.stream,
            "l2 read" => many * self.cached * 64,
            "l1 read" | "shared read" => one * self.rounds * 64,
            "atomics on one word" | "atomics on one line" | "atomics on own lines" => many * self.atomics,
            "shared atomics on one word" | "shared atomics on own words" => one * self.atomics,
            _ => one * self.rounds * 128,
        }
    }
}

/// A parameter that is a size, in bytes; 0 if there is none.
fn bytes(instance: &Instance, path: &str) -> u64 {
    let node = path.split('.').try_fold(&*instance.params, |node, key| node.get(key));
    let text = node.and_then(|node| node.as_scalar()).unwrap_or_default();
    text.parse::<counterpoint_framework::time::Bytes>().map_or(0, counterpoint_framework::time::Bytes::get)
}

/// Rates of a machine by name, each in its quantity's unit.
///
/// # Errors
/// When the run cannot begin, fails, or computes something wrong.
pub(super) fn rates(
    machine: &Machine,
    name: &str,
    extent: Extent,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Vec<(&'static str, f64)>, RunErrors> {
    let sizes = Sizes::of(machine, extent);
    let summary = verified(&request(name, "probe-rates", &sizes.settings(), folder), registry)?;
    let scheduler = machine.instances.iter().find(|one| one.role == roles::CTA_SCHEDULER);
    let hertz = scheduler.map_or(1, |scheduler| scheduler.clock.get()) as f64;
    let mut rates = Vec::new();
    for (place, quantity) in QUANTITIES.iter().filter(|one| one.is_rate()).enumerate() {
        let kernel = quantity.name;
        let is_stream =
            kernel.starts_with("dram") || kernel.starts_with("l2") || kernel.starts_with("atomics");
        let turns = summary.launches.get(place * TURNS + 1..place * TURNS + TURNS);
        let Some([short, long]) = turns else { continue };
        if extent == Extent::Units && is_stream || long.active <= short.active {
            continue;
        }
        let seconds = (long.active - short.active).as_secs_f64();
        let more = sizes.more(kernel) as f64;
        rates.push((
            kernel,
            if quantity.unit == "GB/s" { more / seconds / 1e9 } else { more / (seconds * hertz) },
        ));
    }
    Ok(rates)
}
