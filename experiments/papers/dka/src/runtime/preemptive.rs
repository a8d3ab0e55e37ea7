//! Task pipelines in steps of two kernels, as Fermi and Kepler run them: the second gets the SMs that the
//! first leaves over (Mu et al., IEICE 2013, section 4). Nothing is ever preempted; the name is the paper's.
//! The CTA scheduler's policy for it is `leftover`.

use counterpoint::component::{Params, Variant};
use counterpoint::host::program::Application;
use counterpoint::host::{Driver, Runtime, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::SpanId;

use super::pipelined::{self, Plan};
use super::schedule::Width;

/// Parameters of the left-over execution of pipelines.
#[derive(Clone, Debug, Params)]
pub(super) struct PreemptiveParams {
    /// Whether a step waits for the whole one before it, as those of DKA do, and not for its own batches alone.
    #[param(default = "on")]
    barriers: bool,
}

/// The runtime `preemptive`.
pub(super) struct Preemptive {
    plan: Plan,
}

impl Variant<dyn Runtime> for Preemptive {
    const NAME: &'static str = "preemptive";
    const DOC: &'static str = "Task pipelines in steps of two neighbouring kernels on two batches, on what the older one leaves \
                               over; for the policy `leftover`.";
    type Params = PreemptiveParams;

    fn build(params: &PreemptiveParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Preemptive {
            plan: Plan { width: Width::Pair, alone: false, barriers: params.barriers },
        }))
    }
}

#[async_trait(?Send)]
impl Runtime for Preemptive {
    fn remark(&self, application: &Application) -> Option<String> {
        pipelined::remark(application)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        pipelined::run(driver, run, self.plan).await
    }
}
