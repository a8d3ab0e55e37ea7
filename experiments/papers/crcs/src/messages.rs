//! Messages between the parts of CRCS, beyond the generic ones.

use std::hash::{Hash, Hasher};

use counterpoint::kernel::Message;
use counterpoint::messages::extra::Payload;
use counterpoint::messages::launch::{Launch, LaunchId};

/// From the MMU to the CTA scheduler: an available page has another owner. A page becomes available when the
/// host's copies to it have arrived; a page that the host does not copy to becomes available when its first
/// owner hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageMoved {
    /// Previous owner; `None` if the page becomes available with this message.
    pub from: Option<LaunchId>,
    /// The owner now; nobody, if no kernel will touch it any more.
    pub to: Option<LaunchId>,
    /// The page has become available with this message.
    pub appears: bool,
}

impl Message for PageMoved {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// The progress of the host, to MMU and CTA scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// No kernel whose pages are tracked will be launched any more.
    EndOfLaunches,
    /// The host has written all that kernels read.
    PreludeEnded,
}

impl Payload for Progress {
    fn feed(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }
}

/// Tag of a gated launch whose accessed pages cannot be determined. The launch runs alone among the kernels
/// whose pages are tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Irregular;

impl Irregular {
    /// Whether a launch is irregular.
    pub fn is(launch: &Launch) -> bool {
        launch.extra.get::<Irregular>().is_some()
    }
}

impl Payload for Irregular {
    fn feed(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }
}
