//! Mistakes after which the run could continue.

use std::fmt;

use counterpoint_framework::time::SimTime;
use counterpoint_ptx::functional::{Conflict, Finding};

/// A mistake after which the run continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A finding in a kernel.
    InKernel {
        /// The kernel, and the number of the launch that made it first.
        launch: String,
        /// The first occurrence in full, and the number of occurrences in all launches of the kernel.
        finding: Finding,
    },
    /// A race of two commands, launches or copies, that nothing orders, be it of streams or of tasks.
    BetweenStreams(StreamRace),
    /// A race of two gated launches, of a run with time.
    BetweenKernels(KernelRace),
}

/// A launch that touched a page before an older one was done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRace {
    /// The launch that came too early, and the older one: `laplace#3`.
    pub launches: [String; 2],
    /// Name of the memory at the beginning of the page.
    pub memory: String,
    /// Address of the page on the device.
    pub address: u64,
    /// Time at which the page was touched.
    pub time: SimTime,
    /// The block of the older launch that may touch the page and ended last.
    pub block: u32,
    /// Time at which this block ended, if it did.
    pub ended: Option<SimTime>,
    /// Number of pages that the launch touched before this older one was done with them; the first is
    /// described.
    pub pages: u64,
}

/// Two commands of different streams, or of different tasks of a step, that touch the same bytes in no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRace {
    /// Kind of the unordered parts: `streams` or `tasks`.
    pub between: &'static str,
    /// The commands as they were sent, with their streams or tasks: ``vecadd#1 on stream `s` ``.
    pub commands: [String; 2],
    /// Name of the memory that they touch.
    pub memory: String,
    /// Its address on the device.
    pub address: Option<u64>,
    /// Position of the conflict, and the access of either command.
    pub conflict: Conflict,
    /// Number of such conflicts between commands of the same names in the same memory.
    pub count: u64,
}

impl Found {
    /// The finding in one line: kind, position and number of occurrences.
    pub fn brief(&self) -> String {
        match self {
            Found::InKernel { launch, finding: Finding { check, first, count, .. } } => {
                format!("{check}: {launch}, {} ({})", first.place, times(*count))
            }
            Found::BetweenStreams(StreamRace { between, commands: [one, other], memory, count, .. }) => {
                format!("race between {between}: {one} and {other}, {memory} ({})", times(*count))
            }
            Found::BetweenKernels(KernelRace { launches: [late, early], pages, .. }) => {
                format!("race between kernels: {late} and {early} ({})", of_pages(*pages))
            }
        }
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times in all") }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::InKernel { launch, finding: Finding { check, first, count, .. } } => {
                write!(f, "{check}: {launch}, {first} ({})", times(*count))
            }
            Found::BetweenStreams(race) => race.fmt(f),
            Found::BetweenKernels(race) => race.fmt(f),
        }
    }
}

fn of_pages(count: u64) -> String {
    if count == 1 { "one page".to_owned() } else { format!("{count} pages in all") }
}

impl fmt::Display for KernelRace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelRace { launches: [late, early], memory, address, time, block, ended, pages } = self;
        write!(
            f,
            "race between kernels: {late} touches the page at {address:#x} of {memory} at {time}, and block {block} of \
             {early}, which may touch it too, "
        )?;
        match ended {
            Some(ended) => write!(f, "ends at {ended}")?,
            None => write!(f, "has not ended")?,
        }
        write!(f, " ({})", of_pages(*pages))
    }
}

impl fmt::Display for StreamRace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamRace { between, commands: [one, other], memory, address, conflict, count } = self;
        let Conflict { first, bytes, did: [does, and_does] } = conflict;
        write!(
            f,
            "race between {between}: {one} {does} what {other} {and_does}, in no order: byte {first:#x}"
        )?;
        if let Some(address) = address {
            write!(f, " ({:#x})", address + first)?;
        }
        match bytes {
            1 => write!(f, " of {memory}")?,
            _ => write!(f, " of {memory} and {} more", bytes - 1)?,
        }
        write!(f, " ({})", times(*count))
    }
}
