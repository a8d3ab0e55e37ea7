//! GeMTC (Krieder et al., HPDC 2014) as Pagoda was compared with it (Yeh et al., PPoPP 2017, section 6.1): batches of narrow tasks
//! in one queue, from which the blocks of a SuperKernel take them.
//!
//! The SuperKernel (`cuda/gemtc`) is linked with the application's module. Of each batch the inputs and the
//! queue are copied to the GPU, the SuperKernel runs until the queue is empty, and the list of finished tasks
//! and the results are copied back: a batch takes as long as its longest task.
//!
//! Neither paper says how many tasks a batch has. GeMTC's own host collects 100 before it sends them; Pagoda's paper says that a batch has
//! a fixed number of threads in all (section 6.3), and its tasks have 128. Fig. 6 of that paper, where times grow with the number of tasks
//! from 128 on, shows no larger batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::task_entry::{self, SUPER_KERNEL};
use counterpoint::component::{Params, Variant};
use counterpoint::host::program::{
    Application, Argument, Buffer, BufferId, BufferPlace, DEFAULT_STREAM, LaunchStep, Range, Task,
};
use counterpoint::host::{Driver, Runtime, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::{Description, Direction};
use counterpoint::ptx::Kernel;
use counterpoint::telemetry::SpanId;

use super::batches::{self, Batch, DoesBatches};
use super::narrow::{self, Copies, Key, copied};
use super::pagoda::entry;
use super::resident::{GEMTC, Loads};

/// Bytes before the tasks of a queue: the lock and the counts.
const HEADER: u64 = 128;
/// The counter of the list of finished tasks.
const DONE: u64 = 12;
/// Bytes of a task's number in that list.
const NUMBER: u64 = 4;
/// Threads of all tasks of a batch.
const BATCH_THREADS: u32 = 100 * 128;
/// Threads of a block of the SuperKernel at least: with 32, as GeMTC's had at first, the blocks of an SM would be half of its threads
/// (PPoPP 2017, section 6.1).
const FEWEST_THREADS: u32 = 64;

/// Parameters of GeMTC.
#[derive(Clone, Debug, Params)]
pub(super) struct GemtcParams {
    /// Tasks of a batch; 0 are as many as have 12,800 threads in all.
    #[param(default = "0", max = "65536")]
    batch: u32,
    /// Blocks of the SuperKernel on an SM; 0 are as many as it holds.
    #[param(default = "0", max = "32")]
    blocks: u32,
    /// 32-bit registers of a thread.
    #[param(default = "32", min = "16", max = "255")]
    registers: u32,
    /// When inputs and results of tasks are copied.
    #[param(default = "beside")]
    copies: Copies,
}

impl GemtcParams {
    /// Threads of a block of the SuperKernel: as many as one of its tasks has at most.
    fn threads<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> u32 {
        tasks.into_iter().map(|task| task.launch.block[0]).fold(FEWEST_THREADS, u32::max)
    }

    /// Blocks of the SuperKernel on a device, with `threads` threads each.
    fn blocks(&self, kernel: &Kernel, device: &Description, threads: u32) -> Result<u32, Fault> {
        let each = narrow::blocks(kernel, device.sm, threads, self.registers, 0, self.blocks)?;
        Ok(device.capacity.sms * each)
    }

    fn size<'a>(&self, step: impl IntoIterator<Item = &'a Task>) -> u32 {
        let threads = step.into_iter().map(|task| task.launch.block[0]).max().unwrap_or(1);
        if self.batch == 0 { (BATCH_THREADS / threads).max(1) } else { self.batch }
    }
}

/// The runtime `gemtc`.
pub(super) struct Gemtc {
    params: GemtcParams,
}

impl Variant<dyn Runtime> for Gemtc {
    const NAME: &'static str = "gemtc";
    const DOC: &'static str = "Batches of narrow tasks in one queue, from which the blocks of a SuperKernel take them (GeMTC); \
                               all else as under `serial`.";
    type Params = GemtcParams;

    fn build(params: &GemtcParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Gemtc { params: params.clone() }))
    }
}

#[async_trait(?Send)]
impl Runtime for Gemtc {
    fn prepare(
        &self,
        application: &Arc<Application>,
        devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        let mut changed = (**application).clone();
        for (key, tasks) in &narrow::tasks(application)? {
            let kernel = GEMTC.with(tasks, SUPER_KERNEL, Loads::AsWritten)?;
            for task in tasks {
                check(task)
                    .map_err(|error| Fault::new(format!("task `{}`: {error}", task.launch.kernel.name())))?;
                narrow::check(task, &kernel)?;
            }
            let device = devices.get(&key.1).cloned().unwrap_or_default();
            self.params.blocks(&kernel, &device, GemtcParams::threads(tasks.iter().copied()))?;
            narrow::add_kernel(&mut changed, key, &kernel);
            // The largest batch is of the step whose tasks have the fewest threads.
            let most = tasks.iter().map(|task| self.params.size([*task])).max().unwrap_or_default();
            let batch = u64::from(most);
            for (name, bytes) in
                names(key).into_iter().zip([HEADER + batch * task_entry::BYTES, batch * NUMBER])
            {
                changed.buffers.push(Buffer { name, bytes, device: key.1, place: BufferPlace::Anywhere });
            }
        }
        Ok(Arc::new(changed))
    }

    fn launches_tasks(&self) -> bool {
        false
    }

    fn remark(&self, application: &Application) -> Option<String> {
        narrow::remark(application)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        batches::run(self, driver, run).await
    }
}

/// The names of a module's queue and of its list of finished tasks: no buffer of an application has a space
/// in its name.
fn names((code, device): &Key) -> [String; 2] {
    [format!("queue of {code} on device {device}"), format!("done of {code} on device {device}")]
}

/// Refuses an unsuitable task.
fn check(task: &Task) -> Result<(), String> {
    match entry::demand(task)?.shared {
        0 => Ok(()),
        shared => {
            Err(format!("its blocks have {shared} bytes of shared memory, which GeMTC has none of for tasks"))
        }
    }
}

#[async_trait(?Send)]
impl DoesBatches for Gemtc {
    fn size(&self, step: &[Task]) -> u32 {
        self.params.size(step)
    }

    fn copies(&self) -> Copies {
        self.params.copies
    }

    /// The SuperKernel with as many threads as a task of the step has at most, and the queue with the tasks of the batch.
    fn batch(&self, driver: &Driver<'_>, key: &Key, step: &[Task], tasks: &[Task]) -> Result<Batch, Fault> {
        let (kernel, [queue, done]) = narrow::find(&driver.application(), key, SUPER_KERNEL, names(key))?;
        let device = driver.devices().get(&key.1).cloned().unwrap_or_default();
        let threads = GemtcParams::threads(step);
        let blocks = self.params.blocks(&kernel, &device, threads)?;
        let counts = [0, 0, tasks.len() as u32, 0];
        let mut bytes: Vec<u8> = counts.iter().flat_map(|count: &u32| count.to_le_bytes()).collect();
        bytes.resize(HEADER as usize, 0);
        for task in tasks {
            let demand = entry::demand(task).map_err(Fault::new)?;
            bytes.extend(narrow::queued(driver, &kernel, &task.launch, demand)?);
        }
        let launch = LaunchStep {
            kernel,
            code: Arc::clone(&key.0),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
            registers: self.params.registers,
            arguments: vec![
                Argument::Buffer(queue, 0),
                Argument::Buffer(queue, HEADER),
                Argument::Buffer(done, 0),
            ],
            device: key.1,
            stream: DEFAULT_STREAM,
        };
        Ok(Batch { queue, bytes, launch })
    }

    /// Checks that the list of finished tasks has every task once.
    async fn check(
        &self,
        driver: &mut Driver<'_>,
        key: &Key,
        tasks: usize,
        parent: SpanId,
    ) -> Result<(), Fault> {
        let (_, [queue, done]): (_, [BufferId; 2]) =
            narrow::find(&driver.application(), key, SUPER_KERNEL, names(key))?;
        let counts = Range { buffer: queue, offset: 0, bytes: HEADER };
        let list = Range { buffer: done, offset: 0, bytes: tasks as u64 * NUMBER };
        for part in [counts, list] {
            copied(driver, Direction::DeviceToHost, part, parent).await?;
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let count = word(&driver.read_part(Range { offset: DONE, bytes: NUMBER, ..counts }).await?);
        let list = driver.read_part(list).await?;
        let mut numbers: Vec<u64> = list.chunks_exact(NUMBER as usize).map(word).collect();
        numbers.sort_unstable();
        let tasks = tasks as u64;
        if count == tasks && numbers.iter().copied().eq(0..tasks) {
            return Ok(());
        }
        Err(Fault::new(format!(
            "a batch of {tasks} tasks has ended with {count} in the list of what is done"
        )))
    }
}
