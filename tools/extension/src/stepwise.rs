//! The host waits for every kernel before it goes on, as if each launch were followed by `cudaDeviceSynchronize`.
use counterpoint::component::Variant;
use counterpoint::host::program::{Condition, Elementary};
use counterpoint::host::{Driver, Runtime, Sender, Sends, Walks, async_trait, phases};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::SpanId;

type Done = Result<(), Fault>;
/// The runtime.
pub struct Stepwise;

impl Variant<dyn Runtime> for Stepwise {
    const NAME: &'static str = "stepwise";
    const DOC: &'static str = "One thing after another, and the host waits for every kernel.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Stepwise))
    }
}

#[async_trait(?Send)]
impl Runtime for Stepwise {
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Done {
        phases(driver, run, |parent| Waiting(Sender::in_one_stream(parent))).await
    }
}

/// Sends as the runtime `serial` does, and waits.
struct Waiting(Sender);

#[async_trait(?Send)]
impl Sends for Waiting {
    async fn send(&mut self, driver: &mut Driver<'_>, step: Elementary<'_>) -> Done {
        self.0.send(driver, step).await?;
        match step {
            Elementary::Launch(_) => driver.drain().await,
            _ => Ok(()),
        }
    }

    async fn inspect(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault> {
        self.0.inspect(driver, until).await
    }
}

impl Walks for Waiting {
    fn sends(&mut self) -> &mut dyn Sends {
        self
    }
}
