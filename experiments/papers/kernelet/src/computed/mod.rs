//! Runtimes that run nothing: they compute from the measured rates of a card, so that figures which the paper has from whole queues are
//! studies of the command.
//!
//! | runtime | computes |
//! | --- | --- |
//! | `replay` | the time of a queue under a policy |
//! | `predict` | IPC of a kernel, or of two in slices, by the model and as measured |
//! | `prune` | whether thresholds prune pairs, and how many |
//!
//! Each takes an application without steps (`kernelet-rates`). The results are attributes of a span, which values of studies read.

use std::collections::BTreeMap;

use counterpoint::component::{Params, Variant};
use counterpoint::host::{Driver, Runtime, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::{Attributes, Level, SpanId};

counterpoint::component::variants! {
    pub(crate) fn register, of dyn Runtime;

    mod predict::Predict;
    mod prune::Prune;
    mod replay::Replay;
}

/// The span of a computation.
pub(crate) const COMPUTED: &str = "computed";

/// The parameters of a computation.
trait Computation: Params + Clone + Send + Sync + 'static {
    /// The runtime's name.
    const NAME: &'static str;
    const DOC: &'static str;

    /// The results for these devices, as attributes.
    fn compute(&self, devices: &BTreeMap<u32, Description>) -> Result<Attributes, Fault>;
}

/// The runtime with these parameters.
struct Computed<P>(P);

impl<P: Computation> Variant<dyn Runtime> for Computed<P> {
    const NAME: &'static str = P::NAME;
    const DOC: &'static str = P::DOC;
    type Params = P;

    fn build(params: &P) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Computed(params.clone())))
    }
}

#[async_trait(?Send)]
impl<P: Computation> Runtime for Computed<P> {
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let application = driver.application();
        if !application.steps.is_empty() {
            return Err(Fault::new(format!(
                "`{}` runs no kernel, and `{}` has some: `kernelet-rates` has none",
                P::NAME,
                application.name
            )));
        }
        let span = driver.begin(Some(run), Level::Phases, COMPUTED);
        let results = self.0.compute(driver.devices())?;
        driver.end_with(span, results);
        Ok(())
    }
}
