//! First come, first served: one access at a time, in the order of arrival.

use std::collections::VecDeque;

use counterpoint_framework::model::Variant;

use super::DramScheduler;
use crate::memory::dram::queue::{BankQueue, QueuedAccess};

/// The scheduler `fcfs`.
#[derive(Default)]
pub(super) struct Fcfs {
    /// Arrivals of queued accesses, the oldest first.
    arrivals: VecDeque<u64>,
}

impl Variant<dyn DramScheduler> for Fcfs {
    const NAME: &'static str = "fcfs";
    const DOC: &'static str = "First come, first served: the channel serves its oldest access only, while the other banks are idle.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn DramScheduler>, String> {
        Ok(Box::new(Fcfs::default()))
    }
}

impl DramScheduler for Fcfs {
    fn choose<'q>(&mut self, queue: &BankQueue<'q>) -> Option<&'q QueuedAccess> {
        queue.oldest().filter(|access| self.arrivals.front() == Some(&access.arrival))
    }

    fn may_prefer(&self, _arrived: &QueuedAccess, _chosen: &QueuedAccess, _open_row: Option<u64>) -> bool {
        false
    }

    fn queued(&mut self, access: &QueuedAccess, _cycle: u64) -> bool {
        self.arrivals.push_back(access.arrival);
        false
    }

    fn served(&mut self, _access: &QueuedAccess, _cycle: u64) -> bool {
        self.arrivals.pop_front();
        true
    }
}
