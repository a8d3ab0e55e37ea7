//! Between an SM and the MMU: where pages lie, who may access them, and what a kernel says of its own accesses.

use counterpoint_framework::kernel::{Message, Socket};

use crate::launch::LaunchId;

/// From an SM to the MMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmuRequest {
    /// May this launch access a page?
    Page {
        /// The page's number: its address by its size.
        page: u64,
        /// Bytes of a page, as whoever asks has it.
        bytes: u64,
        /// Who asks: a launch that tracks its pages, or 0 for any other.
        launch: LaunchId,
    },
    /// A block will access a range, or will not any more.
    Count(RangeCount),
}

/// A change of the reference counts of the pages of a range: one block of a kernel more, or one less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RangeCount {
    /// The kernel whose blocks are counted.
    pub kernel: LaunchId,
    /// More or less.
    pub change: Change,
    /// The first byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
    /// The block may read there.
    pub reads: bool,
    /// The block may write there.
    pub writes: bool,
    /// The SM's name for the request.
    pub tag: u32,
}

/// Which way a reference count changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A block that has not begun: the kernel's pre-profiler says so.
    Set,
    /// A block that has ended: its post-profiler says so.
    Release,
}

/// From the MMU to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmuReply {
    /// The answer to a question for a page; where access is not granted, another answer grants it in time.
    Page {
        /// The page's number.
        page: u64,
        /// Who asked.
        launch: LaunchId,
        /// Whether it may access the page: its values are there, and no older kernel will touch it again.
        granted: bool,
    },
    /// All counts of a range have been changed.
    Counted {
        /// The SM's name for the request.
        tag: u32,
    },
}

impl Message for MmuRequest {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for MmuReply {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// An SM's side.
pub type TranslationClient = Socket<MmuRequest, MmuReply>;
/// The MMU's side.
pub type TranslationServer = Socket<MmuReply, MmuRequest>;
