//! Messages between an SM and the MMU, or an authority over pages that replaces it: translations of pages, rights of a
//! launch to pages, and claims of its blocks.

use counterpoint_framework::kernel::{Message, Socket};

use crate::launch::LaunchId;

/// From an SM to the MMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmuRequest {
    /// May this launch access a page?
    Page {
        /// The page's number: its address by its size.
        page: u64,
        /// Bytes of a page in the TLB of the SM.
        bytes: u64,
        /// On whose behalf: a gated launch, or 0 for any other.
        launch: LaunchId,
    },
    /// A block claims a range, or releases it.
    Claim(RangeClaim),
}

/// A block's claim on a range of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RangeClaim {
    /// The launch that the block belongs to or works for.
    pub kernel: LaunchId,
    /// Claim or release.
    pub change: Change,
    /// The first byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
    /// Whether the block may read there.
    pub reads: bool,
    /// Whether the block may write there.
    pub writes: bool,
    /// The SM's name for the request.
    pub tag: u32,
}

/// The change of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A block that has not begun makes it.
    Claim,
    /// A block that has ended gives it up.
    Release,
}

/// From the MMU to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmuReply {
    /// The answer to a question for a page; where access is not granted, another answer grants it in time.
    Page {
        /// The page's number.
        page: u64,
        /// The requester.
        launch: LaunchId,
        /// Whether it may access the page now.
        granted: bool,
    },
    /// A claim has been noted.
    Claimed {
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
