//! Sends task pipelines in steps: kernels on different batches together, each batch on a stream of its own.
//!
//! Everything is sent ahead. On the device, events hold each launch until the whole step before it has ended, so that the faster of
//! two kernels waits for the slower one.

use counterpoint::host::program::{Application, LaunchStep, Step};
use counterpoint::host::{Driver, Sender, Sends, Walks, as_serial, async_trait, phases};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::CommandId;
use counterpoint::messages::extra::Extra;
use counterpoint::telemetry::SpanId;

use super::schedule::{self, Width};

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Number of kernels that run together.
    pub(super) width: Width,
    /// Whether the first batch goes through all kernels alone.
    pub(super) alone: bool,
    /// Whether a step waits for the whole one before it, and not for its own batches alone.
    pub(super) barriers: bool,
}

/// Remark on an application without task pipelines.
pub(super) fn remark(application: &Application) -> Option<String> {
    as_serial(application, "task pipeline", |step| matches!(step, Step::Pipeline { .. }))
}

/// Sends steps outside of pipelines as the runtime `serial` does.
struct Pipelined {
    others: Sender,
    plan: Plan,
    parent: SpanId,
}

pub(super) async fn run(driver: &mut Driver<'_>, run: SpanId, plan: Plan) -> Result<(), Fault> {
    let sender = |parent| Pipelined { others: Sender::in_one_stream(parent), plan, parent };
    phases(driver, run, sender).await
}

#[async_trait(?Send)]
impl Walks for Pipelined {
    fn sends(&mut self) -> &mut dyn Sends {
        &mut self.others
    }

    async fn group(&mut self, driver: &mut Driver<'_>, group: &Step) -> Result<bool, Fault> {
        let &Step::Pipeline { kernels, ref launches } = group else { return Ok(false) };
        let launches: Vec<&LaunchStep> = Step::launches(launches);
        let Some(device) = launches.first().map(|launch| launch.device) else { return Ok(false) };
        driver.drain().await?;
        let Plan { width, alone, barriers } = self.plan;
        let streams = if width == Width::All { kernels } else { 2 };
        let steps = schedule::steps(kernels, launches.len() as u32 / kernels, width, alone);
        // Last command of each stream in the last step.
        let mut ends: Vec<(u32, CommandId)> = Vec::new();
        for members in steps {
            // The host names streams from 1: 0 is the default stream.
            let stream = |batch: u32| 1 + batch % streams;
            for task in &members {
                let own = stream(task.batch);
                // A batch that begins follows the one that is a kernel ahead, barriers or not.
                for &(_, end) in
                    ends.iter().filter(|(other, _)| *other != own && (barriers || task.kernel == 0))
                {
                    driver.hold(device, own, end).await;
                }
                let launch = launches[(task.batch * kernels + task.kernel) as usize];
                let extra = Extra::new(*task, task.label().into());
                driver.launch_with(launch, own, extra, Some(self.parent)).await?;
            }
            ends.clear();
            for task in &members {
                let own = stream(task.batch);
                ends.push((own, driver.record(device, own).await));
            }
        }
        driver.drain().await?;
        Ok(true)
    }
}
