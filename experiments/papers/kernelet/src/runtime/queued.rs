//! The common part of all runtimes of queues: kernels that run slices, and a run from prelude to postlude. A
//! runtime has parameters, from which it makes a scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint::component::{Params, Variant};
use counterpoint::host::program::Application;
use counterpoint::host::{Driver, Runtime, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::SpanId;

use super::executor::{Scheduler, run};
use super::program::{Program, programs, with_slices};
use super::queue::QueueParams;

/// The parameters of a runtime.
#[async_trait(?Send)]
pub(super) trait Policy: Params + Clone + Send + Sync + 'static {
    /// The runtime's name.
    const NAME: &'static str;
    const DOC: &'static str;

    /// Refuses parameters that contradict each other.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// The reason why it cannot run these kernels.
    fn accept(&self, _programs: &[Program], _devices: &BTreeMap<u32, Description>) -> Result<(), Fault> {
        Ok(())
    }

    /// The arrivals, and their times.
    fn queue(&self) -> &QueueParams;

    /// The scheduler of these kernels, on an idle device. Its actions there are part of the span `run`.
    async fn scheduler(
        &self,
        driver: &mut Driver<'_>,
        programs: &[Program],
        run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault>;
}

/// The runtime with these parameters.
pub(super) struct Queued<P>(P);

impl<P: Policy> Variant<dyn Runtime> for Queued<P> {
    const NAME: &'static str = P::NAME;
    const DOC: &'static str = P::DOC;
    type Params = P;

    fn build(params: &P) -> Result<Box<dyn Runtime>, String> {
        params.check()?;
        Ok(Box::new(Queued(params.clone())))
    }
}

#[async_trait(?Send)]
impl<P: Policy> Runtime for Queued<P> {
    fn prepare(
        &self,
        application: &Arc<Application>,
        devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        let application = with_slices(application)?;
        self.0.accept(&programs(&application)?, devices)?;
        Ok(Arc::new(application))
    }

    async fn run(&self, driver: &mut Driver<'_>, span: SpanId) -> Result<(), Fault> {
        run(driver, &self.0, span).await
    }
}
