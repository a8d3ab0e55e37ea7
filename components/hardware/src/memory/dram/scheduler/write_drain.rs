//! FR-FCFS that serves reads first and collects writes, which it then drains in a burst, so that the bus turns round seldom.

use counterpoint_framework::model::{Params, Variant};

use super::DramScheduler;
use crate::memory::dram::queue::{BankQueue, QueuedAccess};

/// Limits of reordering, and the levels of queued writes between which they drain.
#[derive(Clone, Debug, Params)]
pub(super) struct WriteDrainParams {
    /// Accesses to an open row that may overtake a bank's oldest access of the same kind to another row.
    #[param(default = "64")]
    overtaking: u32,
    /// Queued writes at which a drain begins. It also begins when no read is queued.
    #[param(default = "32", min = "1")]
    high: u32,
    /// Queued writes at which a drain ends if reads are queued.
    #[param(default = "16")]
    low: u32,
}

/// The scheduler `fr-fcfs-write-drain`.
pub(super) struct WriteDrain {
    params: WriteDrainParams,
    drains: bool,
    /// Queued reads and writes.
    queued: [u32; 2],
    banks: Vec<Served>,
}

/// For reads and for writes of a bank, the accesses that have overtaken the oldest; and whether the chosen one is the oldest.
#[derive(Clone, Copy, Default)]
struct Served {
    overtaken: [u32; 2],
    serves_oldest: bool,
}

impl WriteDrain {
    /// Decides between reads and writes. Returns whether the decision has changed.
    fn turn(&mut self) -> bool {
        let [reads, writes] = self.queued;
        let drains = match self.drains {
            true => writes > 0 && (writes > self.params.low || reads == 0),
            false => writes >= self.params.high || reads == 0 && writes > 0,
        };
        std::mem::replace(&mut self.drains, drains) != drains
    }
}

impl Variant<dyn DramScheduler> for WriteDrain {
    const NAME: &'static str = "fr-fcfs-write-drain";
    const DOC: &'static str = "FR-FCFS among reads until enough writes or no reads are queued, then among writes until few are queued.";
    type Params = WriteDrainParams;

    fn build(params: &WriteDrainParams) -> Result<Box<dyn DramScheduler>, String> {
        if params.low >= params.high {
            return Err(format!("low must be below high, and {} is not below {}", params.low, params.high));
        }
        let params = params.clone();
        Ok(Box::new(WriteDrain { params, drains: false, queued: [0; 2], banks: Vec::new() }))
    }
}

impl DramScheduler for WriteDrain {
    fn choose<'q>(&mut self, queue: &BankQueue<'q>) -> Option<&'q QueuedAccess> {
        let kind = || queue.iter().filter(|access| access.write == self.drains);
        let oldest = kind().next()?;
        if queue.bank() >= self.banks.len() {
            self.banks.resize(queue.bank() + 1, Served::default());
        }
        let bank = &mut self.banks[queue.bank()];
        let may_overtake = bank.overtaken[usize::from(self.drains)] < self.params.overtaking;
        let hit = kind().find(|access| may_overtake && queue.open_row() == Some(access.row));
        let chosen = hit.unwrap_or(oldest);
        bank.serves_oldest = chosen.arrival == oldest.arrival;
        Some(chosen)
    }

    fn queued(&mut self, access: &QueuedAccess, _cycle: u64) -> bool {
        self.queued[usize::from(access.write)] += 1;
        self.turn()
    }

    fn served(&mut self, access: &QueuedAccess, _cycle: u64) -> bool {
        let kind = usize::from(access.write);
        let bank = &mut self.banks[access.bank];
        bank.overtaken[kind] = if bank.serves_oldest { 0 } else { bank.overtaken[kind] + 1 };
        self.queued[kind] -= 1;
        self.turn()
    }
}
