//! Messages of the bus between host and device: commands, completions, and the device's accesses to host
//! memory.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use counterpoint_framework::kernel::{Message, Socket};
use counterpoint_framework::telemetry::SpanId;

use crate::extra::{LineTag, Note};
use crate::flip;
use crate::launch::{CtaCounts, Launch, SmResources};
use crate::local::Capacity;
use crate::memory::Tag;

/// Names a command within a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

/// From host to device: something to do.
#[derive(Clone, Debug, Hash)]
pub struct Command {
    /// Identifier of the command.
    pub id: CommandId,
    /// Commands of one stream are done one after another; streams are independent of each other.
    pub stream: u32,
    /// The work.
    pub work: Work,
    /// The recording of a copy.
    pub title: Option<Title>,
}

/// The span of a copy, which the copy engine opens when it begins. Nothing that happens depends on it, so it has no part
/// in the hash of a message.
#[derive(Clone, Debug)]
pub struct Title {
    /// Name of the span.
    pub name: Arc<str>,
    /// The span that it is part of.
    pub parent: Option<SpanId>,
}

impl Hash for Title {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

/// The work of a command.
#[derive(Clone, Debug, Hash)]
pub enum Work {
    /// Asks for the device's description.
    Describe,
    /// Copies between host and device memory.
    Copy(Copy),
    /// Launches a kernel.
    Launch(Arc<Launch>),
    /// Records an event, whose name is that of the command: it is done when the commands before it on its stream are.
    Record,
    /// Holds its stream until the event that an earlier command records has been recorded.
    Wait(CommandId),
    /// Prepares a copy that goes page by page: to the device as [`BusMessage::Page`] says, to the host as the authority over pages
    /// says ([`PageEvent::Copy`](crate::pages::PageEvent::Copy)).
    Overlap(Copy),
    /// For the CTA scheduler's policy and, if `pages` says so, the authority over pages.
    Note {
        /// The message.
        note: Note,
        /// Whether the authority over pages gets it, too.
        pages: bool,
    },
    /// Moves rows of bytes, or fills rows with a value.
    Move(Box<Move>),
}

/// A copy between host and device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copy {
    /// The direction.
    pub direction: Direction,
    /// Address in host memory.
    pub host: u64,
    /// Address in device memory.
    pub device: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The extension's mark on requests to device memory.
    pub tag: LineTag,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Host memory to device memory.
    HostToDevice,
    /// Device memory to host memory.
    DeviceToHost,
}

/// Rows of bytes of one length that are copied or filled in one command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    /// Their origin.
    pub from: RowSource,
    /// Their destination.
    pub to: RowTarget,
    /// Length of a row in bytes.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
}

impl Move {
    /// Bytes of all rows.
    pub fn total(&self) -> u64 {
        self.bytes * self.rows
    }

    /// The way on which an engine for one direction takes it: what stays on the device goes with copies to the device.
    pub fn direction(&self) -> Direction {
        match self.to {
            RowTarget::Host(_) => Direction::DeviceToHost,
            RowTarget::Device(_) => Direction::HostToDevice,
        }
    }
}

/// Places of rows: each begins `pitch` bytes behind the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// Address of the first.
    pub first: u64,
    /// Bytes from the beginning of one to that of the next.
    pub pitch: u64,
}

/// The origin of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowSource {
    /// Host memory.
    Host(Rows),
    /// Memory of the device.
    Device(Rows),
    /// The eight bytes, repeated from the beginning of each row.
    Value([u8; 8]),
}

/// The destination of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowTarget {
    /// Host memory.
    Host(Rows),
    /// Memory of the device.
    Device(Rows),
}

/// A device's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Description {
    /// Bytes of device memory.
    pub memory: u64,
    /// Maximum number of resident warps.
    pub capacity: Capacity,
    /// The least resources that any of its SMs offers to thread blocks.
    pub sm: SmResources,
    /// The prefix of the paths of the device's parts, such as `gpu[0]`; empty if it is the whole machine.
    pub path: String,
}

/// A message on the bus.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BusMessage {
    /// Host to device.
    Command(Command),
    /// Host to device: a page of a copy that was prepared is complete in host memory and is to be fetched.
    Page(Copy),
    /// Device to host: a page of a prepared copy has reached host memory.
    PageCopied(Copy),
    /// Device to host: a command is done.
    Done(CommandId),
    /// Device to host: a launch that is [`Counted`](crate::launch::Counted) is done, with the sum of its blocks.
    Counted(CommandId, Box<CtaCounts>),
    /// Device to host: the answer to [`Work::Describe`].
    Description(CommandId, Description),
    /// Device to host: read host memory.
    Read {
        /// Names the access to the device.
        tag: Tag,
        /// The address.
        address: u64,
        /// Number of bytes.
        bytes: u32,
    },
    /// Device to host: write host memory.
    Write {
        /// Names the access to the device.
        tag: Tag,
        /// The address.
        address: u64,
        /// The values.
        data: Box<[u8]>,
    },
    /// Host to device: the values read.
    Values {
        /// The device's name for the access.
        tag: Tag,
        /// The values.
        data: Box<[u8]>,
    },
    /// Host to device: the write is visible to the host.
    Written {
        /// The device's name for the access.
        tag: Tag,
    },
}

impl BusMessage {
    /// Bytes of data that the message carries; packet headers are the link's business.
    pub fn payload_bytes(&self) -> u64 {
        match self {
            BusMessage::Write { data, .. } | BusMessage::Values { data, .. } => data.len() as u64,
            // A command is a descriptor of a few words, written to a queue.
            BusMessage::Command(_) => 64,
            BusMessage::Page(_) | BusMessage::Done(_) | BusMessage::Description(..) => 16,
            BusMessage::PageCopied(_) => 16,
            // The number of words that a profiler reads.
            BusMessage::Counted(..) => 128,
            BusMessage::Read { .. } | BusMessage::Written { .. } => 0,
        }
    }
}

impl Hash for BusMessage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            BusMessage::Command(command) => command.hash(state),
            BusMessage::Page(copy) | BusMessage::PageCopied(copy) => copy.hash(state),
            BusMessage::Done(id) => id.hash(state),
            BusMessage::Counted(id, counts) => (id, counts).hash(state),
            BusMessage::Description(id, description) => (id, description).hash(state),
            BusMessage::Read { tag, address, bytes } => (tag, address, bytes).hash(state),
            BusMessage::Write { tag, address, data } => (tag, address, data).hash(state),
            BusMessage::Values { tag, data } => (tag, data).hash(state),
            BusMessage::Written { tag } => tag.hash(state),
        }
    }
}

impl Message for BusMessage {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|message, bits| match message {
        BusMessage::Write { data, .. } | BusMessage::Values { data, .. } => flip(data, bits),
        _ => false,
    });

    fn wire_bytes(&self) -> u64 {
        self.payload_bytes()
    }
}

/// An end of the bus; both ends are alike.
pub type BusSocket = Socket<BusMessage, BusMessage>;

/// Messages to the copy engine: work, and the host's answers to it.
#[derive(Clone, Debug, Hash)]
pub enum ToCopyEngine {
    /// A copy to be made.
    Copy {
        /// The command.
        id: CommandId,
        /// Its stream.
        stream: u32,
        /// The copy.
        copy: Copy,
        /// Its recording.
        title: Option<Title>,
    },
    /// A page of a copy that goes page by page.
    Page(Copy),
    /// From the host: values or an acknowledgement.
    Bus(BusMessage),
    /// Rows to be moved or filled.
    Move {
        /// The command.
        id: CommandId,
        /// Its stream.
        stream: u32,
        /// The rows.
        rows: Box<Move>,
        /// Its recording.
        title: Option<Title>,
    },
}

/// From the copy engine.
#[derive(Clone, Debug, Hash)]
pub enum FromCopyEngine {
    /// The copy is made and visible.
    Copied(CommandId),
    /// The page is copied and visible.
    PageCopied(Copy),
    /// To the host: an access to its memory.
    Bus(BusMessage),
}

impl Message for ToCopyEngine {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|message, bits| match message {
        ToCopyEngine::Copy { .. } | ToCopyEngine::Page(_) | ToCopyEngine::Move { .. } => false,
        ToCopyEngine::Bus(message) => BusMessage::CORRUPT.is_some_and(|corrupt| corrupt(message, bits)),
    });
}

impl Message for FromCopyEngine {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|message, bits| match message {
        FromCopyEngine::Copied(_) | FromCopyEngine::PageCopied(_) => false,
        FromCopyEngine::Bus(message) => BusMessage::CORRUPT.is_some_and(|corrupt| corrupt(message, bits)),
    });
}

/// The command processor's side.
pub type CopyClient = Socket<ToCopyEngine, FromCopyEngine>;
/// The copy engine's side.
pub type CopyServer = Socket<FromCopyEngine, ToCopyEngine>;
