//! Kernel consolidation (Ravi et al., HPDC 2011), the paper's BASE: whole kernels in the order of their arrival, each on a stream of its
//! own. The next kernel gets the room that the previous kernel leaves on the SMs, which exists only after the previous kernel's last
//! block is placed.

use counterpoint::component::Params;
use counterpoint::host::{Driver, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::SpanId;

use super::executor::{Decision, Scheduler};
use super::program::Program;
use super::queue::{Instance, QueueParams};
use super::queued::{Policy, Queued};

/// Parameters.
#[derive(Clone, Debug, Params)]
pub(super) struct ConsolidationParams {
    /// The arrivals, and their times.
    queue: QueueParams,
}

/// The runtime `consolidation`.
pub(super) type Consolidation = Queued<ConsolidationParams>;

#[async_trait(?Send)]
impl Policy for ConsolidationParams {
    const NAME: &'static str = "consolidation";
    const DOC: &'static str =
        "A queue of kernels, each whole and on a stream of its own, in the order of arrival.";

    fn queue(&self) -> &QueueParams {
        &self.queue
    }

    async fn scheduler(
        &self,
        _driver: &mut Driver<'_>,
        _programs: &[Program],
        _run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault> {
        Ok(Box::new(InOrder))
    }
}

struct InOrder;

impl Scheduler for InOrder {
    fn decide(&mut self, pending: &[Instance], _random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        Ok(Decision { waits: false, ..Decision::whole(0, &pending[0]) })
    }
}
