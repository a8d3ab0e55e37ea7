//! Narrow tasks in batches of one launch each: the inputs of a batch are copied to the GPU, the kernel does
//! the tasks, and their results are copied back. The next batch is sent only after that. The runtime `serial`
//! does everything else.
//!
//! The end of a task is known only when the whole batch has ended: the latency of each task is that of its
//! batch.

use counterpoint::host::program::{BufferId, DEFAULT_STREAM, LaunchStep, Range, Step, Task};
use counterpoint::host::{Driver, Sender, Sends, Walks, async_trait, phases};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Direction;
use counterpoint::telemetry::{Level, SpanId};

use super::narrow::{self, Copies, Key, copied, copy_all};

/// The arguments and the launch of a batch's kernel.
pub(super) struct Batch {
    /// The place of its tasks.
    pub(super) queue: BufferId,
    /// Their contents.
    pub(super) bytes: Vec<u8>,
    pub(super) launch: LaunchStep,
}

/// A runtime whose kernel does tasks in batches.
#[async_trait(?Send)]
pub(super) trait DoesBatches {
    /// Number of tasks of a step in a batch; 0 means all.
    fn size(&self, step: &[Task]) -> u32;

    /// The times at which inputs and results of tasks are copied.
    fn copies(&self) -> Copies;

    fn batch(&self, driver: &Driver<'_>, key: &Key, step: &[Task], tasks: &[Task]) -> Result<Batch, Fault>;

    /// Looks at the memory that the kernel of a batch has left, besides the results of tasks.
    async fn check(
        &self,
        _driver: &mut Driver<'_>,
        _key: &Key,
        _tasks: usize,
        _parent: SpanId,
    ) -> Result<(), Fault> {
        Ok(())
    }
}

/// The tasks of a step as batches of `size`; 0 means all of them.
pub(super) fn divided(tasks: &[Task], size: u32) -> impl Iterator<Item = &[Task]> {
    tasks.chunks(if size == 0 { tasks.len().max(1) } else { size as usize })
}

/// Runs an application whose tasks are done in batches.
pub(super) async fn run(
    runtime: &dyn DoesBatches,
    driver: &mut Driver<'_>,
    run: SpanId,
) -> Result<(), Fault> {
    let sender = |parent| Batches { runtime, others: Sender::in_one_stream(parent), parent };
    phases(driver, run, sender).await
}

/// Sends tasks in batches, and everything else as the runtime `serial` does.
struct Batches<'a> {
    runtime: &'a dyn DoesBatches,
    others: Sender,
    parent: SpanId,
}

impl Batches<'_> {
    async fn batch(
        &self,
        driver: &mut Driver<'_>,
        key: &Key,
        step: &[Task],
        tasks: &[Task],
    ) -> Result<(), Fault> {
        let span = driver.begin(Some(self.parent), Level::Phases, "batch");
        let since = driver.now();
        let begin = |(place, task): (usize, &Task)| driver.begin_task(span, task.launch.kernel.name(), place);
        let spans: Vec<Option<SpanId>> = tasks.iter().enumerate().map(begin).collect();
        self.copies(driver, Copies::Beside, tasks, Direction::HostToDevice).await?;

        let Batch { queue, bytes, launch } = self.runtime.batch(driver, key, step, tasks)?;
        let queue = Range { buffer: queue, offset: 0, bytes: bytes.len() as u64 };
        driver.write_part(queue, bytes).await?;
        copied(driver, Direction::HostToDevice, queue, self.parent).await?;
        let kernel = driver.launch(&launch, DEFAULT_STREAM, Some(self.parent)).await?;
        driver.wait(kernel).await?;
        self.runtime.check(driver, key, tasks.len(), self.parent).await?;

        self.copies(driver, Copies::Beside, tasks, Direction::DeviceToHost).await?;
        for span in spans {
            driver.count_task();
            driver.task_done(since, span);
        }
        driver.end(span);
        Ok(())
    }

    /// Copies inputs or results of tasks, if they are copied now.
    async fn copies(
        &self,
        driver: &mut Driver<'_>,
        now: Copies,
        tasks: &[Task],
        direction: Direction,
    ) -> Result<(), Fault> {
        if self.runtime.copies() == now {
            let default = DEFAULT_STREAM..DEFAULT_STREAM + 1;
            copy_all(driver, tasks, direction, default, self.parent).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Walks for Batches<'_> {
    fn sends(&mut self) -> &mut dyn Sends {
        &mut self.others
    }

    async fn group(&mut self, driver: &mut Driver<'_>, group: &Step) -> Result<bool, Fault> {
        let Step::Tasks(tasks) = group else { return Ok(false) };
        let Some(key) = narrow::key_of(tasks)? else { return Ok(false) };
        driver.drain().await?;
        self.copies(driver, Copies::Apart, tasks, Direction::HostToDevice).await?;
        let span = driver.begin(Some(self.parent), Level::Phases, "tasks");
        for batch in divided(tasks, self.runtime.size(tasks)) {
            self.batch(driver, &key, tasks, batch).await?;
        }
        driver.end(span);
        self.copies(driver, Copies::Apart, tasks, Direction::DeviceToHost).await?;
        Ok(true)
    }
}
