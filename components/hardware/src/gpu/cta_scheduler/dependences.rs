//! Kernels that track their pages, as the scheduler knows them: which may run, and who owns the pages that are available.

use std::collections::{BTreeMap, BTreeSet};

use counterpoint_protocols::launch::{Launch, LaunchId, Tracking};
use counterpoint_protocols::pages::PageMoved;

/// What is known of kernels that track their pages.
#[derive(Debug, Default)]
pub struct Dependences {
    /// Kernels whose pre-profilers have not ended.
    unprofiled: BTreeSet<LaunchId>,
    /// Kernels that have not ended.
    kernels: BTreeSet<LaunchId>,
    /// Of these, those that may touch any page.
    irregular: BTreeSet<LaunchId>,
    /// The oldest kernel of all.
    first: Option<LaunchId>,
    /// How many there have been.
    launched: u32,
    /// One of them was irregular.
    serialises: bool,
    /// No more will come.
    pub(super) is_complete: bool,
    /// The host has written all that they read.
    pub(super) prelude_has_ended: bool,
    available: u64,
    owned: BTreeMap<LaunchId, u64>,
}

impl Dependences {
    /// A launch has come.
    pub(super) fn arrived(&mut self, launch: &Launch) {
        match launch.tracking {
            Tracking::None => {}
            Tracking::Profiler(kernel) => {
                self.unprofiled.insert(kernel);
            }
            Tracking::Regular | Tracking::Irregular => {
                self.first.get_or_insert(launch.id);
                self.launched += 1;
                self.kernels.insert(launch.id);
                if launch.tracking == Tracking::Irregular {
                    self.serialises = true;
                    self.irregular.insert(launch.id);
                }
            }
        }
    }

    /// All blocks of a launch have ended.
    pub(super) fn ended(&mut self, launch: &Launch) {
        match launch.tracking {
            Tracking::None => {}
            Tracking::Profiler(kernel) => {
                self.unprofiled.remove(&kernel);
            }
            Tracking::Regular | Tracking::Irregular => {
                self.kernels.remove(&launch.id);
                self.irregular.remove(&launch.id);
            }
        }
    }

    /// A page has another owner.
    pub(super) fn moved(&mut self, moved: PageMoved) {
        self.available += u64::from(moved.appears);
        if let Some(pages) = moved.from.and_then(|from| self.owned.get_mut(&from)) {
            *pages -= 1;
        }
        if let Some(to) = moved.to {
            *self.owned.entry(to).or_default() += 1;
        }
    }

    /// Whether blocks of a launch may run: no kernel up to it waits for its pre-profiler, without which nobody could tell whose
    /// pages are. An irregular kernel runs when it is the oldest, and nothing younger runs before it has ended.
    pub fn may_run(&self, launch: &Launch) -> bool {
        let before = |set: &BTreeSet<LaunchId>| set.first().is_some_and(|first| *first <= launch.id);
        match launch.tracking {
            Tracking::None | Tracking::Profiler(_) => true,
            Tracking::Regular => !before(&self.unprofiled) && !before(&self.irregular),
            Tracking::Irregular => !before(&self.unprofiled) && self.kernels.first() == Some(&launch.id),
        }
    }

    /// Whether kernels that track their pages run beside the host's prelude and can run beside each other: the time for a
    /// scheduler that looks at pages. A program with an irregular kernel is serialised as without CRCS.
    pub fn is_pipelined(&self) -> bool {
        let single = self.is_complete && self.launched == 1;
        self.launched > 0 && !self.prelude_has_ended && !single && !self.serialises
    }

    /// The oldest kernel of all.
    pub fn first(&self) -> Option<LaunchId> {
        self.first
    }

    /// Pages that are available, and those of them that a kernel owns.
    pub fn pages(&self, kernel: LaunchId) -> (u64, u64) {
        (self.available, self.owned.get(&kernel).copied().unwrap_or(0))
    }
}
