//! A DRAM scheduler: reads go before writes.

use counterpoint::component::Variant;
use counterpoint::memory::dram::{BankQueue, DramScheduler, QueuedAccess};

/// The scheduler `reads-first`.
pub struct ReadsFirst;

impl Variant<dyn DramScheduler> for ReadsFirst {
    const NAME: &'static str = "reads-first";
    const DOC: &'static str = "Reads before writes, accesses to the open row before others, then the oldest.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn DramScheduler>, String> {
        Ok(Box::new(ReadsFirst))
    }
}

impl DramScheduler for ReadsFirst {
    fn choose<'q>(&mut self, queue: &BankQueue<'q>) -> Option<&'q QueuedAccess> {
        let open = queue.open_row();
        queue.iter().min_by_key(|access| (access.write, open != Some(access.row), access.arrival))
    }

    /// Reads of one bank go before writes of all others as well.
    fn rank(&self, access: &QueuedAccess) -> u8 {
        access.write.into()
    }
}
