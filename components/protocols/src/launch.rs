//! Kernel launches: from the command processor to the CTA scheduler, and thread blocks on to the SMs.

mod counts;
mod issue_slots;

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, Message, Socket};
use counterpoint_framework::telemetry::SpanId;
use counterpoint_ptx::texture::Textures;
use counterpoint_ptx::{Allocations, Failure, FaultKind, Kernel, StackSize, VariableBases};

pub use self::counts::{CtaCounts, CtaStats};
pub use self::issue_slots::{IssueSlot, IssueSlots, SlotCounts};
use crate::extra::{Extra, Note, Payload};
use crate::local::{Capacity, LocalMemory};
use crate::memory::Label;

/// Names a launch within a run, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchId(pub u32);

/// Predecessors and successors of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precedence {
    /// The launch begins when everything before it on its stream has ended, and holds everything behind it.
    #[default]
    Stream,
    /// The launch works for a later launch of the same device. It holds only copies behind it.
    Helper(LaunchId),
    /// The authority over pages knows it before it begins, and grants it each page before an access to global memory is issued.
    /// It holds only copies behind it.
    Gated,
}

impl Precedence {
    /// Whether accesses of the launch to global memory wait for their pages.
    #[inline]
    pub fn is_gated(self) -> bool {
        self == Precedence::Gated
    }
}

/// A kernel launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Identifier of the launch in this run.
    pub id: LaunchId,
    /// The stream that it belongs to.
    pub stream: u32,
    /// Predecessors and successors of the launch.
    pub precedence: Precedence,
    /// The addition of an extension.
    pub extra: Extra,
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Address of its instructions, [`Kernel::INSTRUCTION_BYTES`] each.
    pub code: u64,
    /// Addresses of the `.global` and `.const` variables of its module.
    pub variables: VariableBases,
    /// Offset added to the addresses of its accesses to global and constant memory: from the program's addresses to those on the
    /// device.
    pub shift: u64,
    /// The textures from which the launch may fetch.
    pub textures: Arc<Textures>,
    /// Local memory of the device's threads.
    pub local: LocalMemory,
    /// Thread blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// The stack of each thread. If a kernel of the device needs a stack, the stack is part of its local memory, so that launches that
    /// differ in the stack have different hashes.
    pub stack: StackSize,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// The values of the kernel's parameters, laid out as PTX declares them.
    pub params: Arc<[u8]>,
    /// Their address for constant caches.
    pub parameters: u64,
    /// Count of copies to constant memory of its device before this launch; constant caches drop lines of an older count.
    pub constant_writes: u32,
    /// The device memory that the kernel may touch.
    pub memory: Arc<Allocations>,
    /// The span of which the launch is a part.
    pub span: Option<SpanId>,
}

/// The fault of a launch, given by its name, whose kernel has failed; with the remedy that its application has, where there is one.
#[cold]
pub fn fault_of(launch: impl fmt::Display, failure: &Failure) -> Fault {
    let fault = Fault::new(format!("{launch}, {failure}"));
    match failure.error.kind {
        FaultKind::StackOverflow => {
            fault.with_help("give the application a larger `stack:`, such as `stack: 64 KiB`")
        }
        _ => fault,
    }
}

/// The name of a launch: its kernel and its number, `step#3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaunchName {
    id: LaunchId,
    kernel: String,
}

impl LaunchName {
    /// The name of a launch of this kernel.
    pub fn new(id: LaunchId, kernel: impl Into<String>) -> Self {
        LaunchName { id, kernel: kernel.into() }
    }

    /// The launch.
    pub fn id(&self) -> LaunchId {
        self.id
    }
}

impl fmt::Display for LaunchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.kernel, self.id.0)
    }
}

impl Launch {
    /// On whose behalf its accesses happen.
    #[inline]
    pub fn label(&self) -> Label {
        Label { kernel: self.id.0, stream: self.stream, tag: self.extra.tag }
    }

    /// The launch's name in records, statistics and messages.
    pub fn name(&self) -> LaunchName {
        LaunchName::new(self.id, self.kernel.name())
    }

    /// Thread blocks of the launch.
    pub fn ctas(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The coordinates of a block, whose index counts x first.
    pub fn ctaid(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [index % x, index / x % y, index / x / y]
    }
}

impl Hash for Launch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kernel.name().hash(state);
        (self.id, self.stream, self.grid, self.block, self.dynamic_shared, self.registers).hash(state);
        (self.precedence, &self.extra).hash(state);
        self.params.hash(state);
        self.textures.hash(state);
        (self.code, self.parameters, self.variables.globals, self.variables.constants, self.local)
            .hash(state);
        // A launch that finds the module's own constants is the launch that it always was.
        if self.constant_writes > 0 {
            self.constant_writes.hash(state);
        }
        if self.shift > 0 {
            self.shift.hash(state);
        }
    }
}

/// Messages to the CTA scheduler.
#[derive(Clone, Debug, Hash)]
pub enum ToScheduler {
    /// A launch whose turn it is in its stream.
    Start(Arc<Launch>),
    /// From the host, for a policy that knows its type.
    Note(Note),
}

/// From the CTA scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LaunchEvent {
    /// Sent once, at the start: the capacity of the SMs, and the least resources of any of them.
    Capacity(Capacity, SmResources),
    /// Every block of the launch has ended and its stores are visible.
    Done(LaunchId),
    /// A launch that is [`Counted`] is done, with the sum over its blocks.
    Counted(LaunchId, Box<CtaCounts>),
}

impl Message for ToScheduler {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for LaunchEvent {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// The command processor's side.
pub type LaunchClient = Socket<ToScheduler, LaunchEvent>;
/// The CTA scheduler's side.
pub type LaunchServer = Socket<LaunchEvent, ToScheduler>;

/// A thread block for an SM.
#[derive(Clone, Debug)]
pub struct RunCta {
    /// Its launch.
    pub launch: Arc<Launch>,
    /// Index of the block, counting x first.
    pub index: u32,
    /// The number of the SM that runs it (`%smid`).
    pub sm: u32,
    /// Number of SMs (`%nsmid`).
    pub sms: u32,
    /// The launch's span. Nothing that happens depends on it, so it has no part in hashes.
    pub span: SpanId,
}

impl Hash for RunCta {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.launch, self.index, self.sm, self.sms).hash(state);
    }
}

/// How a block leaves its SM before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preemption {
    /// The block is dropped, and begins anew when it is placed again. Only a block that has not written to global memory can be.
    Flush,
    /// The registers and the shared memory of the block are saved, and restored when it is placed again.
    Switch,
}

/// The saved state of a block, in a form that only SMs read.
#[derive(Clone, Debug)]
pub struct BlockContext(pub Arc<dyn Any + Send + Sync>);

impl PartialEq for BlockContext {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for BlockContext {}

/// Message to an SM.
#[derive(Clone, Debug)]
pub enum ToSm {
    /// Run a thread block.
    Run(RunCta),
    /// Run a thread block on, whose context was saved.
    Resume(RunCta, BlockContext),
    /// Take a block of a launch off. An SM that has not, because its end is under way, ignores this.
    Preempt(LaunchId, u32, Preemption),
    /// Report the counts of each launch after every such number of cycles, from now on.
    Sample(u64),
}

impl ToSm {
    /// The block that is to be run from its start.
    pub fn run(self) -> Option<RunCta> {
        match self {
            ToSm::Run(block) => Some(block),
            ToSm::Resume(..) | ToSm::Preempt(..) | ToSm::Sample(_) => None,
        }
    }
}

impl Hash for ToSm {
    /// A block that begins has the hash of its [`RunCta`].
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            ToSm::Run(block) => block.hash(state),
            ToSm::Resume(block, _) => (1_u8, block).hash(state),
            ToSm::Preempt(launch, index, how) => (2_u8, launch, index, how).hash(state),
            ToSm::Sample(cycles) => (3_u8, cycles).hash(state),
        }
    }
}

impl From<RunCta> for ToSm {
    fn from(block: RunCta) -> Self {
        ToSm::Run(block)
    }
}

/// From an SM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmEvent {
    /// Sent once, at the start: the resources of the SM.
    Resources(SmResources),
    /// A block has ended and its stores are visible.
    CtaDone {
        /// Its launch.
        launch: LaunchId,
        /// Index of the block.
        index: u32,
        /// Its counts.
        counts: CtaCounts,
    },
    /// A block has left before its end.
    Preempted {
        /// Its launch.
        launch: LaunchId,
        /// Index of the block.
        index: u32,
        /// Its counts since it was placed.
        counts: CtaCounts,
        /// Its state, unless it was flushed.
        context: Option<BlockContext>,
    },
    /// A block stays that was to leave: the SM cannot save all of its state, or it has written to global memory and cannot be flushed.
    Kept {
        /// Its launch.
        launch: LaunchId,
        /// Index of the block.
        index: u32,
    },
    /// Counts of a launch since the last sample.
    Sample {
        /// The launch.
        launch: LaunchId,
        /// Counts of its blocks on the SM, but for those of whole blocks (`warp_cycles`, `warp_slots`).
        counts: CtaCounts,
    },
}

impl Hash for SmEvent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            SmEvent::Resources(resources) => resources.hash(state),
            SmEvent::CtaDone { launch, index, counts } => (launch, index, counts).hash(state),
            SmEvent::Preempted { launch, index, counts, context } => {
                (launch, index, counts, context.is_some()).hash(state);
            }
            SmEvent::Kept { launch, index } => (launch, index).hash(state),
            SmEvent::Sample { launch, counts } => (launch, counts).hash(state),
        }
    }
}

/// Addition to a launch: its end reports the sum of its blocks' counts, as a profiler reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted;

impl Payload for Counted {
    fn feed(&self, state: &mut dyn Hasher) {
        state.write_u8(1);
    }
}

/// Resources of an SM for thread blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SmResources {
    /// Threads, in whole warps.
    pub threads: u32,
    /// Thread blocks.
    pub ctas: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared: u32,
}

impl Message for ToSm {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for SmEvent {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// The CTA scheduler's side.
pub type SmClient = Socket<ToSm, SmEvent>;
/// The SM's side.
pub type SmServer = Socket<SmEvent, ToSm>;
