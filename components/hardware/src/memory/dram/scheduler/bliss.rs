//! The blacklisting memory scheduler (Subramanian et al., ICCD 2014): a stream whose accesses are served many times in a row
//! goes behind all others for a while.

use std::collections::BTreeSet;

use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::time::Cycles;

use super::DramScheduler;
use crate::memory::dram::queue::{BankQueue, QueuedAccess};

/// Threshold and duration of blacklisting.
#[derive(Clone, Debug, Params)]
pub(super) struct BlissParams {
    /// Accesses of one stream that are served in a row before it is blacklisted: the paper's threshold.
    #[param(default = "4", min = "1")]
    streak: u32,
    /// Cycles of the DRAM clock after which the blacklist is cleared: the paper's clearing interval.
    #[param(default = "10000 cycles", min = "1 cycle")]
    clear: Cycles,
}

/// The scheduler `bliss`.
pub(super) struct Bliss {
    params: BlissParams,
    /// Streams that go last. They are few.
    blacklist: BTreeSet<u32>,
    last: Option<u32>,
    streak: u32,
    due: u64,
}

impl Variant<dyn DramScheduler> for Bliss {
    const NAME: &'static str = "bliss";
    const DOC: &'static str = "Blacklisting: streams that were served many times in a row go last; then accesses to open rows, then the oldest.";
    type Params = BlissParams;

    fn build(params: &BlissParams) -> Result<Box<dyn DramScheduler>, String> {
        let due = params.clear.get();
        Ok(Box::new(Bliss { params: params.clone(), blacklist: BTreeSet::new(), last: None, streak: 0, due }))
    }
}

impl DramScheduler for Bliss {
    fn choose<'q>(&mut self, queue: &BankQueue<'q>) -> Option<&'q QueuedAccess> {
        queue
            .iter()
            .min_by_key(|access| (self.rank(access), queue.open_row() != Some(access.row), access.arrival))
    }

    fn rank(&self, access: &QueuedAccess) -> u8 {
        u8::from(self.blacklist.contains(&access.label.stream))
    }

    fn served(&mut self, access: &QueuedAccess, _cycle: u64) -> bool {
        let stream = access.label.stream;
        self.streak = if self.last == Some(stream) { self.streak + 1 } else { 1 };
        self.last = Some(stream);
        if self.streak < self.params.streak {
            return false;
        }
        self.streak = 0;
        self.blacklist.insert(stream)
    }

    fn due(&self) -> u64 {
        self.due
    }

    fn elapsed(&mut self, cycle: u64) {
        let interval = self.params.clear.get();
        self.due = (cycle / interval + 1) * interval;
        self.blacklist.clear();
    }
}
