//! Refresh of a DRAM channel: the banks that are refreshed together, the interval and the duration.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    /// Registers the refresh policies of this folder.
    pub(crate) fn register, of dyn RefreshPolicy;

    mod none::NoRefresh;
    pub(super) mod all_bank::AllBank;
    mod per_bank::PerBank;
    mod same_bank::SameBank;
}

use super::timing::Timing;

/// Plans the refreshes of a channel.
pub trait RefreshPolicy {
    /// The refreshes of a channel with these timings; `None` if it has none.
    ///
    /// # Errors
    /// A sentence about the timings that do not allow it.
    fn plan(&self, timing: &Timing) -> Result<Option<RefreshPlan>, String>;
}

/// Refresh commands at equal distances. Each takes the next set of banks in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshPlan {
    /// Cycles from one refresh command to the next.
    pub interval: u64,
    /// Cycles for which the banks of a command are refreshed, once their rows are closed: tRFC or the like.
    pub duration: u64,
    /// The sets of banks, a bit each. There is one at least, and none is empty.
    pub sets: Vec<u64>,
}

impl RefreshPlan {
    /// The plan, if its refreshes leave time for accesses.
    ///
    /// # Errors
    /// A sentence that names the smallest interval between refreshes of a bank.
    fn checked(self, timing: &Timing, duration: &str) -> Result<Option<RefreshPlan>, String> {
        let least = timing.longest_close() + self.duration;
        let rounds = self.sets.len() as u64;
        if self.interval * rounds > least && self.interval > 0 && self.duration > 0 {
            return Ok(Some(self));
        }
        Err(format!(
            "refresh needs {duration}, and a tREFI of more than {least} cycles: here are {} and {}",
            self.duration, timing.tREFI
        ))
    }
}
