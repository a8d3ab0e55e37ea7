//! A small catalogue of kinds for the tests of configuration: names, parameters and ports, and nothing behind them.

// Nothing behind these kinds would use a parameter that was read.
#![allow(dead_code)]

use std::collections::BTreeMap;

use counterpoint_framework::kernel::Message;
use counterpoint_framework::model::ports::{MessageType, PortInfo, PortShape};
use counterpoint_framework::model::{
    Catalogue, Choice, Choose, Fields, KindInfo, Node, Parameter, Params, ReadParams, Reader, Variant,
};
use counterpoint_framework::time::{Bytes, BytesPerSecond, Cycles, Latency};
use counterpoint_framework::topology::{Loaded, load};

#[derive(Clone, Hash)]
struct Launch;
#[derive(Hash)]
struct Request;
#[derive(Hash)]
struct Reply;

impl Message for Launch {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}
impl Message for Request {}
impl Message for Reply {}

/// The order of service.
pub(crate) trait Policy {}

struct Fifo;

impl Policy for Fifo {}

impl Variant<dyn Policy> for Fifo {
    const NAME: &'static str = "fifo";
    const DOC: &'static str = "First come, first served.";
    type Params = ();

    fn build(_params: &()) -> Result<Box<dyn Policy>, String> {
        Ok(Box::new(Fifo))
    }
}

/// Parameters of the paged policy.
#[derive(Params)]
#[params(moved("ahead", "write `slots`, the number of pages ahead"))]
pub(crate) struct PaceParams {
    /// Whether the guard is active.
    #[param(default = true)]
    guard: bool,
    /// How far to look ahead.
    #[param(default = 4, max = 64)]
    slots: u32,
}

struct Pace;

impl Policy for Pace {}

impl Variant<dyn Policy> for Pace {
    const NAME: &'static str = "pace";
    const DOC: &'static str = "Places blocks where their pages are.";
    type Params = PaceParams;

    fn build(params: &PaceParams) -> Result<Box<dyn Policy>, String> {
        match (params.guard, params.slots) {
            (true, 0) => Err("a guard needs slots".to_owned()),
            _ => Ok(Box::new(Pace)),
        }
    }
}

/// The victim.
#[derive(Choice)]
pub(crate) enum Replacement {
    /// The line that was not used for the longest time.
    LeastRecent,
    /// Any line.
    Random,
}

/// A first-level cache.
#[derive(Params)]
#[params(moved("size", "write `capacity`, which holds data alone"))]
pub(crate) struct L1Params {
    /// Data capacity.
    #[param(default = "16 KiB", min = "1 KiB", max = "1 MiB")]
    capacity: Bytes,
    /// Ways of a set.
    #[param(default = 4, min = 1)]
    ways: u32,
    /// The victim.
    #[param(default = "least-recent")]
    replacement: Replacement,
}

/// Parameters of a core.
#[derive(Params)]
#[params(moved("warps", "write `threads`, 32 for each warp"), moved("l1", "the cache is `l1d`"))]
pub(crate) struct CoreParams {
    /// Threads that fit.
    #[param(default = 1024, min = 32)]
    threads: u32,
    /// The cache.
    #[param(default = "{}")]
    l1d: L1Params,
}

/// Parameters of a scheduler.
#[derive(Params)]
pub(crate) struct SchedulerParams {
    /// The order of service.
    #[param(default = "fifo")]
    policy: Choose<dyn Policy>,
}

/// Parameters of a memory.
#[derive(Params)]
pub(crate) struct MemoryParams {
    /// How much it holds.
    capacity: Bytes,
    /// From request to reply.
    #[param(default = "34 cycles")]
    hit_latency: Cycles,
    /// Bytes per second.
    bandwidth: Option<BytesPerSecond>,
    /// Delay of each step.
    #[param(default = "[]")]
    steps: Vec<Latency>,
}

fn input<T: Message>(name: &'static str, array: bool) -> PortInfo {
    PortInfo {
        name,
        doc: "What comes in.",
        shape: PortShape::In(MessageType::of::<T>()),
        array,
        optional: false,
    }
}

fn output<T: Message>(name: &'static str, array: bool) -> PortInfo {
    PortInfo {
        name,
        doc: "What goes out.",
        shape: PortShape::Out(MessageType::of::<T>()),
        array,
        optional: false,
    }
}

fn client(name: &'static str, array: bool) -> PortInfo {
    let (sends, receives) = (MessageType::of::<Request>(), MessageType::of::<Reply>());
    let shape = PortShape::Socket { sends, receives };
    PortInfo { name, doc: "Requests out, replies in.", shape, array, optional: false }
}

fn server(name: &'static str, array: bool) -> PortInfo {
    let (sends, receives) = (MessageType::of::<Reply>(), MessageType::of::<Request>());
    let shape = PortShape::Socket { sends, receives };
    PortInfo { name, doc: "Requests in, replies out.", shape, array, optional: false }
}

/// Reads parameters of which nothing is built.
fn read<P: Params>(node: &Node, mut reader: Reader<'_>) -> Option<ReadParams> {
    P::from_node(node, &mut reader);
    None
}

fn kind<P: Params>(name: &'static str, doc: &'static str, ports: fn() -> Vec<PortInfo>) -> KindInfo {
    KindInfo {
        name,
        doc,
        role: "",
        fields: Fields::new(P::fields),
        moved: P::moved(),
        read: read::<P>,
        ports,
    }
}

/// The kinds of the tests.
pub(crate) fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.families.add::<dyn Policy, Fifo>();
    catalogue.families.add::<dyn Policy, Pace>();
    catalogue.add(kind::<()>("test/host", "Launches. And waits.", || {
        let done = PortInfo { optional: true, ..input::<Reply>("done", false) };
        vec![output::<Launch>("launches", false), done]
    }));
    catalogue.add(kind::<SchedulerParams>("test/scheduler", "Spreads launches over cores.", || {
        vec![input::<Launch>("launches", false), output::<Launch>("cores", true)]
    }));
    catalogue.add(kind::<CoreParams>("test/core", "Runs launches.", || {
        vec![input::<Launch>("work", false), client("memory", false)]
    }));
    catalogue.add(kind::<MemoryParams>("test/memory", "Answers requests.", || vec![server("clients", true)]));
    catalogue.add(kind::<()>("test/source", "Sends launches.", || vec![output::<Launch>("out", false)]));
    catalogue.add(kind::<()>("test/sink", "Takes launches.", || vec![input::<Launch>("in", false)]));
    catalogue.add(kind::<()>("test/tile", "A tile of a mesh.", || {
        let ends = [("east", false), ("west", true)];
        let port = |(name, input_port): (&'static str, bool)| {
            let port = if input_port { input::<Launch> } else { output::<Launch> };
            PortInfo { optional: true, ..port(name, false) }
        };
        ends.map(port).into()
    }));
    catalogue.add(kind::<()>("test/switch", "An output per input.", || {
        vec![input::<Launch>("in", true), output::<Launch>("out", true)]
    }));
    catalogue
}

/// Loads a machine from a table of files; an error is the plain text of the report.
pub(crate) fn load_text(
    path: &str,
    overlays: &[String],
    sets: &[String],
    files: &BTreeMap<String, String>,
) -> Result<Loaded, String> {
    load(path, overlays, sets, &catalogue(), files).map_err(|report| report.render())
}
