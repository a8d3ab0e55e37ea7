//! DRAM schedulers: the choice of the queued access that each bank serves, and of the bank that goes first.
//!
//! A scheduler is one file and one line in the list. [`Channel`](super::channel::Channel) asks it for a choice in each
//! bank when an access arrives or leaves, and issues the commands that the choices need as soon as the timings allow them.

counterpoint_framework::variants! {
    /// Registers the schedulers of this folder.
    pub(crate) fn register, of dyn DramScheduler;

    pub mod fr_fcfs::FrFcfs;
    mod fcfs::Fcfs;
    mod write_drain::WriteDrain;
    mod bliss::Bliss;
}

use super::queue::{BankQueue, QueuedAccess};

/// Chooses among the queued accesses of a DRAM channel.
pub trait DramScheduler {
    /// The access that a bank serves next, one of its queue, which is not empty; `None` if the bank rests.
    fn choose<'q>(&mut self, queue: &BankQueue<'q>) -> Option<&'q QueuedAccess>;

    /// Whether a bank that serves `chosen` might serve `arrived`, an access that has just joined its queue, instead. If
    /// not, [`choose`](Self::choose) is not asked.
    fn may_prefer(&self, _arrived: &QueuedAccess, _chosen: &QueuedAccess, _open_row: Option<u64>) -> bool {
        true
    }

    /// The rank of a chosen access: commands of a lower rank go first. Among equals, column commands go before row
    /// commands, and then the older access.
    fn rank(&self, _access: &QueuedAccess) -> u8 {
        0
    }

    /// Notes an access that has been queued at this cycle. Returns whether all banks have to choose again.
    fn queued(&mut self, _access: &QueuedAccess, _cycle: u64) -> bool {
        false
    }

    /// Notes an access that had its last column command at this cycle. Its bank chooses again; the result is whether all
    /// other banks must choose again as well.
    fn served(&mut self, _access: &QueuedAccess, _cycle: u64) -> bool {
        false
    }

    /// The cycle from which on choices are different because of the time alone; `u64::MAX`: never.
    fn due(&self) -> u64 {
        u64::MAX
    }

    /// Notes that the cycle [`due`](Self::due) has been reached. All banks choose again.
    fn elapsed(&mut self, _cycle: u64) {}
}
