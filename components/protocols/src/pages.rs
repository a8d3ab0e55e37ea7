//! Messages between the command processor and an authority over pages: announcements of copies and launches, and
//! answers about pages.
//!
//! An authority is a component that replaces the MMU and decides when a launch may access a page.

use std::sync::Arc;

use counterpoint_framework::kernel::{Message, Socket};

use crate::bus::Copy;
use crate::extra::Note;
use crate::launch::{Launch, LaunchId};

/// Messages to the authority.
#[derive(Clone, Debug, Hash)]
pub enum PageCommand {
    /// A copy goes page by page. To the device: its pages are not ready before they have come. To the host: the authority says
    /// when a page goes ([`PageEvent::Copy`]).
    Overlap(Copy),
    /// Part of such a copy to the device has been made.
    Arrived(Copy),
    /// A launch that is gated has been launched, and begins when the authority knows it; those that were named before are older.
    Launched(Arc<Launch>),
    /// All blocks of the helper of a launch have ended.
    HelperEnded(LaunchId),
    /// All blocks of a gated launch have ended.
    Ended(LaunchId),
    /// From the host, for an authority that knows its type.
    Note(Note),
}

/// From the authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageEvent {
    /// A launch is known: its blocks may begin.
    Known(LaunchId),
    /// The part of a copy to the host that is made now.
    Copy(Copy),
}

impl Message for PageCommand {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for PageEvent {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// The command processor's side.
pub type PageClient = Socket<PageCommand, PageEvent>;
/// The authority's side.
pub type PageServer = Socket<PageEvent, PageCommand>;
