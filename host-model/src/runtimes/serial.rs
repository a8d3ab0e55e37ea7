//! Nothing overlaps: prelude, copies in, kernels in order, copies out, postlude.
//!
//! All streams of an application are one stream here, and the host waits for every copy. Launches are sent one after
//! another, and the device keeps their order.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Variant;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_protocols::bus::Direction;

use super::steps::Sender;
use super::walk::Walks;
use super::{Runtime, postlude, prelude};
use crate::driver::Driver;
use crate::program::BufferId;

/// The runtime `serial`.
pub(crate) struct Serial;

impl Variant<dyn Runtime> for Serial {
    const NAME: &'static str = "serial";
    const DOC: &'static str = "Nothing overlaps: prelude, copies in, kernels in the order of one stream, copies out, \
                               postlude.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Serial))
    }
}

#[async_trait(?Send)]
impl Runtime for Serial {
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        phases(driver, run, Sender::in_one_stream).await
    }
}

/// Executes everything from prelude to postlude, phase by phase; `sender` makes the sender of the steps for their span.
pub async fn phases<S: Walks>(
    driver: &mut Driver<'_>,
    run: SpanId,
    sender: impl FnOnce(SpanId) -> S,
) -> Result<(), Fault> {
    let application = driver.application();
    prelude(driver, run).await?;
    copies(driver, "H2D", Direction::HostToDevice, &application.copy_in, run).await?;

    let kernels = driver.begin(Some(run), Level::Phases, "kernels");
    let mut sender = sender(kernels);
    sender.walk(driver, &application.steps).await?;
    sender.finish(driver).await?;
    driver.drain().await?;
    driver.end(kernels);

    copies(driver, "D2H", Direction::DeviceToHost, &application.copy_out, run).await?;
    postlude(driver, run).await
}

/// Copies buffers one after another.
async fn copies(
    driver: &mut Driver<'_>,
    name: &str,
    direction: Direction,
    buffers: &[BufferId],
    run: SpanId,
) -> Result<(), Fault> {
    let phase = driver.begin(Some(run), Level::Phases, name);
    let mut sender = Sender::in_one_stream(phase);
    sender.copies(driver, direction, buffers).await?;
    driver.end(phase);
    Ok(())
}
