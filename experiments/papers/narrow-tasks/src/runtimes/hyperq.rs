//! A kernel for each narrow task, over as many streams as the GPU has hardware queues: the way of a CUDA
//! program with Hyper-Q (the baseline of Yeh et al., PPoPP 2017, section 6.1).
//!
//! Each task's copies and its kernel go into one stream, streams take turns, and the host waits for nothing before the end of
//! the step. Everything else is done as the runtime `serial` does it.

use counterpoint::component::{Params, Variant};
use counterpoint::host::program::{Application, Range, Step};
use counterpoint::host::{Driver, Runtime, Sender, Sends, Walks, async_trait, phases};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Direction;
use counterpoint::telemetry::{Level, SpanId};

use super::narrow::{self, Copies, copy_all};

/// Parameters.
#[derive(Clone, Debug, Params)]
pub(super) struct HyperQParams {
    /// Streams. The GPU's command processor has a hardware queue for each (`queues`).
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
    fn remark(&self, application: &Application) -> Option<String> {
        narrow::remark(application)
    }

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
    /// Sends each task's copies in one direction, in its stream.
    async fn copies(
        &self,
        driver: &mut Driver<'_>,
        direction: Direction,
        stream: u32,
        parts: &[Range],
    ) -> Result<(), Fault> {
        for &part in parts {
            driver.copy_part(direction, part, stream, Some(self.parent)).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Walks for Tasks<'_> {
    fn sends(&mut self) -> &mut dyn Sends {
        &mut self.others
    }

    async fn group(&mut self, driver: &mut Driver<'_>, group: &Step) -> Result<bool, Fault> {
        let Step::Tasks(tasks) = group else { return Ok(false) };
        // Stream 0 is the default stream, for which all others wait. Earlier commands are on stream 0.
        driver.drain().await?;
        let (streams, parent) = (1..self.params.streams + 1, self.parent);
        if self.params.copies == Copies::Apart {
            copy_all(driver, tasks, Direction::HostToDevice, streams.clone(), parent).await?;
        }
        let span = driver.begin(Some(parent), Level::Phases, "tasks");
        for (task, stream) in tasks.iter().zip(streams.clone().cycle()) {
            if self.params.copies == Copies::Beside {
                self.copies(driver, Direction::HostToDevice, stream, &task.copy_in).await?;
            }
            driver.launch(&task.launch, stream, Some(parent)).await?;
            if self.params.copies == Copies::Beside {
                self.copies(driver, Direction::DeviceToHost, stream, &task.copy_out).await?;
            }
        }
        driver.drain().await?;
        driver.end(span);
        if self.params.copies == Copies::Apart {
            copy_all(driver, tasks, Direction::DeviceToHost, streams, parent).await?;
        }
        Ok(true)
    }
}
