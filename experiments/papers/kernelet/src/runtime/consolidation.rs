//! Kernel consolidation (Ravi et al., HPDC 2011), the paper's BASE: whole kernels in the order of their arrival, each on a stream of its
//! own. The next one gets what the one before leaves over of the SMs, which is something only when that one has placed its last
//! block.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::telemetry::SpanId;
use counterpoint_host_model::Driver;
use counterpoint_host_model::program::Application;
use counterpoint_host_model::runtimes::Runtime;
use counterpoint_protocols::bus::Description;

use super::executor::{self, Decision, Prepares, Scheduler};
use super::program::{Program, with_slices};
use super::queue::{Instance, QueueParams};

/// What comes.
#[derive(Clone, Debug, Params)]
pub(super) struct ConsolidationParams {
    /// What comes, and when.
    queue: QueueParams,
}

/// The runtime `consolidation`.
pub(super) struct Consolidation {
    params: ConsolidationParams,
}

impl Variant<dyn Runtime> for Consolidation {
    const NAME: &'static str = "consolidation";
    const DOC: &'static str = "A queue of kernels, each whole and on a stream of its own, in the order of arrival.";
    type Params = ConsolidationParams;

    fn build(params: &ConsolidationParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Consolidation { params: params.clone() }))
    }
}

#[async_trait(?Send)]
impl Runtime for Consolidation {
    fn prepare(
        &self,
        application: &Arc<Application>,
        _devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        with_slices(application).map(Arc::new)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        executor::run(driver, &self.params.queue, self, run).await
    }
}

#[async_trait(?Send)]
impl Prepares for Consolidation {
    async fn prepare(
        &self,
        _driver: &mut Driver<'_>,
        _programs: &[Program],
        _run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault> {
        Ok(Box::new(InOrder))
    }
}

/// What decides.
struct InOrder;

impl Scheduler for InOrder {
    fn decide(
        &mut self,
        pending: &[Instance],
        _random: &mut dyn FnMut() -> u64,
    ) -> Result<Decision, Fault> {
        Ok(Decision { waits: false, ..Decision::whole(0, &pending[0]) })
    }
}
