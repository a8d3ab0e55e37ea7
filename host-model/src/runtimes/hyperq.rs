//! A kernel for each narrow task, over as many streams as the GPU has hardware queues: what a CUDA program does where Hyper-Q is
//! (the baseline of Yeh et al., PPoPP 2017, section 6.1).
//!
//! Each task's copies and its kernel go into one stream, streams take turns, and the host waits for nothing before the end of
//! the step. Everything else is done as the runtime `serial` does it.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Choice, Params, Variant};
use counterpoint_framework::telemetry::SpanId;
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::launch::Tracking;

use super::Runtime;
use super::serial::phases;
use super::steps::Sender;
use super::walk::Sends;
use crate::driver::Driver;
use crate::program::{Condition, LaunchStep, Range, Step, Task};

/// When inputs and results of tasks are copied.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// In the stream of their task, before and behind its kernel.
    Beside,
    /// All inputs before the first kernel, all results behind the last one: what lies between is what the kernels take alone.
    Apart,
}

/// What can be set of it.
#[derive(Clone, Debug, Params)]
pub(super) struct HyperQParams {
    /// Streams. The GPU's command processor has hardware queues for so many (`queues`).
    #[param(default = "32", min = "1", max = "1024")]
    streams: u32,
    /// When inputs and results of tasks are copied.
    #[param(default = "beside")]
    copies: Copies,
}

/// The runtime `hyperq`.
pub(super) struct HyperQ {
    params: HyperQParams,
}

impl Variant<dyn Runtime> for HyperQ {
    const NAME: &'static str = "hyperq";
    const DOC: &'static str = "Each narrow task is a kernel with its copies in a stream, of which there are as many as hardware \
                               queues; all else as under `serial`.";
    type Params = HyperQParams;

    fn build(params: &HyperQParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(HyperQ { params: params.clone() }))
    }
}

#[async_trait(?Send)]
impl Runtime for HyperQ {
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let sender = |parent| Tasks { params: &self.params, others: Sender::in_one_stream(parent), parent };
        phases(driver, run, sender).await
    }
}

/// Sends tasks in streams, and everything else in one.
struct Tasks<'a> {
    params: &'a HyperQParams,
    others: Sender,
    parent: SpanId,
}

impl Tasks<'_> {
    /// Sends what each task copies one way, in its stream.
    async fn copies<'t>(
        &self,
        driver: &mut Driver<'_>,
        direction: Direction,
        stream: u32,
        parts: impl IntoIterator<Item = &'t Range>,
    ) -> Result<(), Fault> {
        for &part in parts {
            driver.copy_part(direction, part, stream, Some(self.parent)).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Sends for Tasks<'_> {
    async fn launch(&mut self, driver: &mut Driver<'_>, launch: &LaunchStep) -> Result<(), Fault> {
        self.others.launch(driver, launch).await
    }

    async fn copy(
        &mut self,
        driver: &mut Driver<'_>,
        direction: Direction,
        part: Range,
        stream: u32,
    ) -> Result<(), Fault> {
        self.others.copy(driver, direction, part, stream).await
    }

    async fn send(&mut self, driver: &mut Driver<'_>, step: &Step) -> Result<(), Fault> {
        self.others.send(driver, step).await
    }

    async fn look(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault> {
        self.others.look(driver, until).await
    }

    async fn tasks(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        // Stream 0 is the default one, for which all others wait.
        let in_streams = || tasks.iter().zip((1..=self.params.streams).cycle());
        // What was sent before is on another stream.
        driver.drain().await?;
        if self.params.copies == Copies::Apart {
            for (task, stream) in in_streams() {
                self.copies(driver, Direction::HostToDevice, stream, &task.copy_in).await?;
            }
            driver.drain().await?;
        }
        for (task, stream) in in_streams() {
            if self.params.copies == Copies::Beside {
                self.copies(driver, Direction::HostToDevice, stream, &task.copy_in).await?;
            }
            driver.launch(&task.launch, stream, Tracking::None, Some(self.parent)).await?;
            if self.params.copies == Copies::Beside {
                self.copies(driver, Direction::DeviceToHost, stream, &task.copy_out).await?;
            }
        }
        driver.drain().await?;
        if self.params.copies == Copies::Apart {
            for (task, stream) in in_streams() {
                self.copies(driver, Direction::DeviceToHost, stream, &task.copy_out).await?;
            }
            driver.drain().await?;
        }
        Ok(())
    }
}
