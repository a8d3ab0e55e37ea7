//! Task pipelines in steps of two kernels, for the dynamic kernel allocator (Mu et al., IEICE 2013, section 3.1).
//!
//! The first batch goes through all kernels alone, so that the allocator knows the time of each on all SMs; from then on two
//! batches are under way. The policy `dka` of the CTA scheduler splits the SMs between them.

use counterpoint::component::{Choice, Params, Variant};
use counterpoint::host::program::Application;
use counterpoint::host::{Driver, Runtime, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::SpanId;

use super::pipelined::{self, Plan};
use super::schedule::Width;

/// Number of kernels that run together.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoRun {
    /// Two.
    Pair,
    /// All of the pipeline, for a policy that can do with more than two.
    All,
}

/// Parameters of the pair schedule.
#[derive(Clone, Debug, Params)]
#[params(moved("together", "it is now `co_run`"))]
pub(super) struct PairParams {
    /// Number of kernels that run together.
    #[param(default = "pair")]
    co_run: CoRun,
    /// Whether the first batch goes through all kernels alone.
    #[param(default = "on")]
    alone_first: bool,
}

/// The runtime `dka`.
pub(super) struct Pairs {
    plan: Plan,
}

impl Variant<dyn Runtime> for Pairs {
    const NAME: &'static str = "dka";
    const DOC: &'static str = "Task pipelines in steps of two neighbouring kernels on two batches, the first batch alone; for \
                               the policy `dka`.";
    type Params = PairParams;

    fn build(params: &PairParams) -> Result<Box<dyn Runtime>, String> {
        let width = match params.co_run {
            CoRun::Pair => Width::Pair,
            CoRun::All => Width::All,
        };
        Ok(Box::new(Pairs { plan: Plan { width, alone: params.alone_first, barriers: true } }))
    }
}

#[async_trait(?Send)]
impl Runtime for Pairs {
    fn remark(&self, application: &Application) -> Option<String> {
        pipelined::remark(application)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        pipelined::run(driver, run, self.plan).await
    }
}
