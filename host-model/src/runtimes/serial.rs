//! Nothing overlaps: prelude, copies in, kernels in order, copies out, postlude.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Variant;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_protocols::bus::{CommandId, Direction};

use super::Runtime;
use crate::driver::Driver;
use crate::program::{BufferId, Step};

/// The runtime `serial`.
pub(super) struct Serial;

impl Variant<dyn Runtime> for Serial {
    const NAME: &'static str = "serial";
    const DOC: &'static str = "Nothing overlaps: prelude, copies in, kernels in the order of one stream, copies out, \
                               postlude.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Serial))
    }
}

/// The stream that everything uses.
const STREAM: u32 = 0;

#[async_trait(?Send)]
impl Runtime for Serial {
    async fn run(&self, driver: &mut Driver<'_>) -> Result<(), Fault> {
        let application = driver.application();
        let run = Some(driver.begin(None, Level::Phases, format!("run {}", application.name)));

        let prelude = driver.begin(run, Level::Phases, "prelude");
        for &transfer in &application.prelude {
            driver.read_file(transfer, Some(prelude)).await?;
        }
        driver.end(prelude);

        copies(driver, "H2D", Direction::HostToDevice, &application.copy_in, run).await?;

        let kernels = driver.begin(run, Level::Phases, "kernels");
        let mut launched = Vec::new();
        launch_all(driver, &application.steps, Some(kernels), &mut launched).await?;
        for id in launched {
            driver.wait(id).await?;
        }
        driver.end(kernels);

        copies(driver, "D2H", Direction::DeviceToHost, &application.copy_out, run).await?;

        let postlude = driver.begin(run, Level::Phases, "postlude");
        for &transfer in &application.postlude {
            driver.write_file(transfer, Some(postlude)).await?;
        }
        driver.end(postlude);
        run.into_iter().for_each(|run| driver.end(run));
        Ok(())
    }
}

/// Copies buffers one after another.
async fn copies(
    driver: &mut Driver<'_>,
    name: &str,
    direction: Direction,
    buffers: &[BufferId],
    run: Option<SpanId>,
) -> Result<(), Fault> {
    let phase = driver.begin(run, Level::Phases, name);
    for &buffer in buffers {
        let id = driver.copy(direction, buffer, STREAM, Some(phase)).await?;
        driver.wait(id).await?;
    }
    driver.end(phase);
    Ok(())
}

/// Sends every launch; the device keeps their order. Only a loop that the device ends has to wait for it.
async fn launch_all(
    driver: &mut Driver<'_>,
    steps: &[Step],
    parent: Option<SpanId>,
    launched: &mut Vec<CommandId>,
) -> Result<(), Fault> {
    for step in steps {
        match step {
            Step::Launch(launch) => launched.push(driver.launch(launch, STREAM, parent).await?),
            Step::Swap(a, b) => driver.swap(*a, *b),
            Step::Free(name) => driver.free(*name)?,
            Step::Repeat(times, steps) => {
                for _ in 0..*times {
                    Box::pin(launch_all(driver, steps, parent, launched)).await?;
                }
            }
            Step::Loop { until, most, steps } => {
                let mut rounds = 0;
                loop {
                    Box::pin(launch_all(driver, steps, parent, launched)).await?;
                    rounds += 1;
                    if driver.is_fulfilled(until, STREAM, parent).await? {
                        break;
                    }
                    if rounds == *most {
                        return Err(Fault::new(until.never(*most)));
                    }
                }
            }
        }
    }
    Ok(())
}
