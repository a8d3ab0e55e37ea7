//! The scheduler's record of kernels that track their pages: the kernels that may run, and the owners of the available pages.

use std::collections::{BTreeMap, BTreeSet};

use counterpoint::messages::launch::{Launch, LaunchId, LaunchName, Precedence};

use crate::messages::{Irregular, PageMoved, Progress};

/// Kernels that track their pages.
#[derive(Debug, Default)]
pub(super) struct Dependences {
    /// Kernels whose pre-profilers have not ended.
    unprofiled: BTreeSet<LaunchId>,
    /// Pre-profilers whose kernels have not come, by the kernel, with their grids.
    ahead: BTreeMap<LaunchId, (LaunchName, [u32; 3])>,
    /// Kernels that have not ended.
    kernels: BTreeSet<LaunchId>,
    /// Running launches that may touch any page.
    irregular: BTreeSet<LaunchId>,
    /// The oldest kernel of all.
    first: Option<LaunchId>,
    /// Number of launches so far.
    launched: u32,
    serialises: bool,
    /// No more will come.
    is_complete: bool,
    /// Whether the host has written all that they read.
    prelude_has_ended: bool,
    available: u64,
    owned: BTreeMap<LaunchId, u64>,
}

impl Dependences {
    /// A launch has come.
    ///
    /// # Errors
    /// If it is not of the same grid as its pre-profiler: blocks that were counted would never end, or end uncounted.
    pub(super) fn arrived(&mut self, launch: &Launch) -> Result<(), String> {
        match launch.precedence {
            Precedence::Stream => {}
            Precedence::Helper(kernel) => {
                self.unprofiled.insert(kernel);
                self.ahead.insert(kernel, (launch.name(), launch.grid));
            }
            Precedence::Gated => {
                if let Some((profiler, grid)) = self.ahead.remove(&launch.id)
                    && grid != launch.grid
                {
                    let (kernel, own) = (launch.name(), launch.grid);
                    return Err(format!(
                        "{profiler} counts the blocks of {kernel} in a grid of {grid:?}, and {kernel} has one of {own:?}"
                    ));
                }
                self.first.get_or_insert(launch.id);
                self.launched += 1;
                self.kernels.insert(launch.id);
                if Irregular::is(launch) {
                    self.serialises = true;
                    self.irregular.insert(launch.id);
                }
            }
        }
        Ok(())
    }

    /// Notes that all blocks of a launch have ended.
    pub(super) fn ended(&mut self, launch: &Launch) {
        match launch.precedence {
            Precedence::Stream => {}
            Precedence::Helper(kernel) => {
                self.unprofiled.remove(&kernel);
            }
            Precedence::Gated => {
                self.kernels.remove(&launch.id);
                self.irregular.remove(&launch.id);
            }
        }
    }

    /// The host is further.
    pub(super) fn noted(&mut self, progress: Progress) {
        match progress {
            Progress::EndOfLaunches => self.is_complete = true,
            Progress::PreludeEnded => self.prelude_has_ended = true,
        }
    }

    pub(super) fn moved(&mut self, moved: PageMoved) {
        self.available += u64::from(moved.appears);
        if let Some(pages) = moved.from.and_then(|from| self.owned.get_mut(&from)) {
            *pages -= 1;
        }
        if let Some(to) = moved.to {
            *self.owned.entry(to).or_default() += 1;
        }
    }

    /// Whether blocks of a launch may run: neither this kernel nor an older one waits for its pre-profiler, without which page
    /// owners are unknown. An irregular kernel runs when it is the oldest, and nothing younger runs before it has ended.
    pub(super) fn may_run(&self, launch: &Launch) -> bool {
        let before = |set: &BTreeSet<LaunchId>| set.first().is_some_and(|first| *first <= launch.id);
        match launch.precedence {
            Precedence::Stream | Precedence::Helper(_) => true,
            Precedence::Gated if Irregular::is(launch) => {
                !before(&self.unprofiled) && self.kernels.first() == Some(&launch.id)
            }
            Precedence::Gated => !before(&self.unprofiled) && !before(&self.irregular),
        }
    }

    /// Whether kernels that track their pages run beside the host's prelude and can run beside each other: the time for a
    /// scheduler that looks at pages. A program with an irregular kernel is serialised as without CRCS.
    pub(super) fn is_pipelined(&self) -> bool {
        let single = self.is_complete && self.launched == 1;
        self.launched > 0 && !self.prelude_has_ended && !single && !self.serialises
    }

    /// The oldest kernel of all.
    pub(super) fn first(&self) -> Option<LaunchId> {
        self.first
    }

    /// Pages that are available, and those of them that a kernel owns.
    pub(super) fn pages(&self, kernel: LaunchId) -> (u64, u64) {
        (self.available, self.owned.get(&kernel).copied().unwrap_or(0))
    }
}
