//! Streams as in a CUDA program: the host sends commands without waiting for them.
//!
//! Copies and kernels of different streams overlap as far as the device allows, and events hold streams
//! there; the host blocks only where the application synchronises or a loop checks a value on the device. Commands
//! that name no stream are on the default stream of its device, copies in and copies out too. The default stream is the legacy one (CUDA C
//! Programming Guide, "Default Stream"): it waits for all streams of the device, and they wait for it, except for those that the
//! application declares non-blocking. Input files are read before all commands, and output files are written after them.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_protocols::bus::Direction;

use super::steps::Sender;
use super::walk::Walks;
use super::{Runtime, postlude, prelude};
use crate::driver::Driver;

/// Parameters of the host's own behaviour.
#[derive(Clone, Debug, Params)]
pub(super) struct StreamsParams {
    /// Whether applications that co-run are repeated until every application has completed its first round; if not, each runs once.
    #[param(default = "on")]
    repeat: bool,
}

/// The runtime `streams`.
pub(super) struct Streams {
    repeat: bool,
}

impl Variant<dyn Runtime> for Streams {
    const NAME: &'static str = "streams";
    const DOC: &'static str = "Copies and kernels overlap as the application's streams and events allow; the host submits them \
                               asynchronously.";
    type Params = StreamsParams;

    fn build(params: &StreamsParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Streams { repeat: params.repeat }))
    }
}

#[async_trait(?Send)]
impl Runtime for Streams {
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let application = driver.application();
        prelude(driver, run).await?;
        // Copies and kernels are not phases of their own here.
        let device = driver.begin(Some(run), Level::Phases, "device");
        let mut sender = Sender::in_streams(device).repeating(self.repeat);
        sender.copies(driver, Direction::HostToDevice, &application.copy_in).await?;
        sender.walk(driver, &application.steps).await?;
        sender.copies(driver, Direction::DeviceToHost, &application.copy_out).await?;
        driver.drain().await?;
        driver.end(device);
        postlude(driver, run).await
    }
}
