//! What the MMU must know of copies and kernels to tell when a page may be accessed, and what it says of pages.

use counterpoint_framework::kernel::{Message, Socket};

use crate::bus::Copy;
use crate::launch::LaunchId;

/// From the command processor to the MMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageCommand {
    /// A copy goes page by page. To the device: its pages are not ready before they have come. To the host: a page goes
    /// when no kernel will touch it again.
    Overlap(Copy),
    /// Part of such a copy to the device has been made.
    Arrived(Copy),
    /// A kernel that tracks its pages has been launched; those that were named before are older.
    Launched {
        /// The launch.
        launch: LaunchId,
        /// Nobody can tell which pages it will touch.
        irregular: bool,
    },
    /// The blocks of a kernel have all been counted: its pre-profiler is done.
    Profiled(LaunchId),
    /// All blocks of a kernel have ended.
    Ended(LaunchId),
    /// No kernel will be launched any more.
    EndOfLaunches,
}

/// From the MMU to the command processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageEvent {
    /// The launch of a kernel is known: its blocks may begin.
    Known(LaunchId),
    /// A page, or the part of it that is to go, goes to the host now.
    Copy(Copy),
}

/// From the MMU to the CTA scheduler: an available page has another owner. Pages are available when what the host copies has
/// come, and if the host copies nothing there, when their first owner has handed them over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageMoved {
    /// Whose it was; nobody's, if it has become available now.
    pub from: Option<LaunchId>,
    /// Whose it is; nobody's, if no kernel will touch it any more.
    pub to: Option<LaunchId>,
    /// It has become available.
    pub appears: bool,
}

impl Message for PageCommand {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for PageEvent {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for PageMoved {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// The command processor's side.
pub type PageClient = Socket<PageCommand, PageEvent>;
/// The MMU's side.
pub type PageServer = Socket<PageEvent, PageCommand>;
