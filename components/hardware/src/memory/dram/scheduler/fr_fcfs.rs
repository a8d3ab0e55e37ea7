//! First ready, first come, first served (FR-FCFS), after GPGPU-Sim's `frfcfs_scheduler`: accesses to the open row go first.

use counterpoint_framework::model::{Params, Variant};

use super::DramScheduler;
use crate::memory::dram::queue::{BankQueue, QueuedAccess};

/// Limit of reordering.
#[derive(Clone, Debug, Params)]
pub struct FrFcfsParams {
    /// Accesses to an open row that may overtake a bank's oldest access to another row before the oldest is served.
    #[param(default = "64")]
    overtaking: u32,
}

/// The scheduler `fr-fcfs`.
pub struct FrFcfs {
    overtaking: u32,
    banks: Vec<Overtaken>,
}

/// The accesses of a bank that have overtaken its oldest.
#[derive(Clone, Copy, Default)]
struct Overtaken {
    count: u32,
    /// Whether the bank serves its oldest access.
    serves_oldest: bool,
}

impl Variant<dyn DramScheduler> for FrFcfs {
    const NAME: &'static str = "fr-fcfs";
    const DOC: &'static str = "First ready, first come, first served: a bank's oldest access to the open row, otherwise its oldest.";
    type Params = FrFcfsParams;

    fn build(params: &FrFcfsParams) -> Result<Box<dyn DramScheduler>, String> {
        Ok(Box::new(FrFcfs { overtaking: params.overtaking, banks: Vec::new() }))
    }
}

impl DramScheduler for FrFcfs {
    fn choose<'q>(&mut self, queue: &BankQueue<'q>) -> Option<&'q QueuedAccess> {
        let oldest = queue.oldest()?;
        if queue.bank() >= self.banks.len() {
            self.banks.resize(queue.bank() + 1, Overtaken::default());
        }
        let bank = &mut self.banks[queue.bank()];
        let hit = if bank.count < self.overtaking { queue.oldest_hit() } else { None };
        let chosen = hit.unwrap_or(oldest);
        bank.serves_oldest = chosen.arrival == oldest.arrival;
        Some(chosen)
    }

    fn may_prefer(&self, arrived: &QueuedAccess, chosen: &QueuedAccess, open_row: Option<u64>) -> bool {
        open_row == Some(arrived.row) && chosen.row != arrived.row
    }

    fn served(&mut self, access: &QueuedAccess, _cycle: u64) -> bool {
        let bank = &mut self.banks[access.bank];
        bank.count = if bank.serves_oldest { 0 } else { bank.count + 1 };
        false
    }
}
