//! GeMTC (Krieder et al., HPDC 2014) as Pagoda was compared with it (Yeh et al., PPoPP 2017, section 6.1): batches of narrow tasks
//! in one queue, from which the blocks of a SuperKernel take them.
//!
//! The SuperKernel (`experiments/applications/gemtc.h`) is part of the application's module. Of each batch the inputs and the queue
//! are copied to the GPU, the SuperKernel runs until the queue is empty, and the list of what is done and the results are copied
//! back: a batch takes as long as its longest task, and nothing of the next one is sent before. Everything else is done as the runtime
//! `serial` does it.
//!
//! How many tasks a batch has is not said in either paper. GeMTC's host collects 100 before it sends them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_protocols::bus::{Description, Direction};
use counterpoint_protocols::launch::Tracking;
use counterpoint_protocols::pagoda::{self, FREE, Parameters, SUPER_KERNEL};
use counterpoint_ptx::Program;

use super::Runtime;
use super::narrow::{self, Copies, Key, Loads, copy_all};
use super::pagoda::entry;
use super::serial::phases;
use super::steps::Sender;
use super::walk::{Sends, Walks};
use crate::driver::Driver;
use crate::program::{Application, Argument, Buffer, BufferId, DEFAULT_STREAM, LaunchStep, Range, Task};

/// Bytes before the tasks of a queue: the lock and the counts.
const HEADER: u64 = 128;
/// Where the list of what is done is counted.
const DONE: u64 = 12;
/// Bytes of a task's number in that list.
const NUMBER: u64 = 4;

/// What can be set of GeMTC.
#[derive(Clone, Debug, Params)]
pub(super) struct GemtcParams {
    /// Tasks of a batch.
    #[param(default = "100", min = "1", max = "65536")]
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
        for (key, tasks) in &narrow::tasks(application) {
            let kernel = narrow::resident(tasks, SUPER_KERNEL, "gemtc.h", Loads::AsWritten)?;
            for task in tasks {
                check(task, &kernel)
                    .map_err(|error| Fault::new(format!("task `{}`: {error}", task.launch.kernel.name())))?;
            }
            let threads = tasks.iter().map(|task| task.launch.block[0]).max().unwrap_or_default();
            let sm = devices.get(&key.1).map(|device| device.sm).unwrap_or_default();
            narrow::blocks(&kernel, sm, threads, self.params.registers, 0, self.params.blocks)?;
            narrow::add_kernel(&mut changed, key, &kernel);
            let batch = u64::from(self.params.batch);
            for (name, bytes) in names(key).into_iter().zip([HEADER + batch * pagoda::BYTES, batch * NUMBER])
            {
                changed.buffers.push(Buffer { name, bytes, device: key.1 });
            }
        }
        Ok(Arc::new(changed))
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let sender = |parent| Batches { params: &self.params, others: Sender::in_one_stream(parent), parent };
        phases(driver, run, sender).await
    }
}

/// The names of a module's queue and of its list of what is done: no buffer of an application has a space in its name.
fn names((code, device): &Key) -> [String; 2] {
    [format!("queue of {code} on device {device}"), format!("done of {code} on device {device}")]
}

/// What is wrong with a task.
fn check(task: &Task, kernel: &Program) -> Result<(), String> {
    let demand = entry::demand(task)?;
    entry::function(kernel, task.launch.kernel.name())?;
    entry::check_arguments(task)?;
    if demand.shared > 0 {
        return Err(format!(
            "its blocks have {} bytes of shared memory, which GeMTC has none of for tasks",
            demand.shared
        ));
    }
    Ok(())
}

/// Sends tasks in batches, and everything else as the runtime `serial` does.
struct Batches<'a> {
    params: &'a GemtcParams,
    others: Sender,
    parent: SpanId,
}

/// A SuperKernel and its memory.
struct Super {
    kernel: Arc<Program>,
    key: Key,
    queue: BufferId,
    done: BufferId,
    blocks: u32,
    threads: u32,
}

impl Super {
    /// The SuperKernel of a module, for these tasks.
    fn find(driver: &Driver<'_>, key: Key, tasks: &[Task], params: &GemtcParams) -> Result<Self, Fault> {
        let unknown = || Fault::new(format!("`{}` has no `{SUPER_KERNEL}`", key.0));
        let application = driver.application();
        let module =
            application.modules.iter().find(|module| *module.name == *key.0 && module.device == key.1);
        let mut kernels = module.ok_or_else(unknown)?.kernels.iter();
        let kernel = Arc::clone(kernels.find(|kernel| kernel.name() == SUPER_KERNEL).ok_or_else(unknown)?);
        let place = |name: String| application.buffers.iter().position(|buffer| buffer.name == name);
        let [Some(queue), Some(done)] = names(&key).map(place) else { return Err(unknown()) };
        let threads = tasks.iter().map(|task| task.launch.block[0]).max().unwrap_or_default();
        let Description { capacity, sm, .. } = driver.devices().get(&key.1).cloned().unwrap_or_default();
        let blocks = capacity.sms * narrow::blocks(&kernel, sm, threads, params.registers, 0, params.blocks)?;
        let (queue, done) = (BufferId(queue as u32), BufferId(done as u32));
        Ok(Super { kernel, key, queue, done, blocks, threads })
    }

    fn launch(&self, registers: u32) -> LaunchStep {
        LaunchStep {
            kernel: Arc::clone(&self.kernel),
            code: Arc::clone(&self.key.0),
            grid: [self.blocks, 1, 1],
            block: [self.threads, 1, 1],
            shared: 0,
            registers,
            arguments: vec![
                Argument::Buffer(self.queue, 0),
                Argument::Buffer(self.queue, HEADER),
                Argument::Buffer(self.done, 0),
            ],
            device: self.key.1,
            stream: DEFAULT_STREAM,
        }
    }

    /// The queue with these tasks, as it lies in memory.
    fn bytes(&self, driver: &Driver<'_>, tasks: &[Task]) -> Result<Vec<u8>, String> {
        let counts = [0, 0, tasks.len() as u32, 0];
        let mut bytes: Vec<u8> = counts.iter().flat_map(|count: &u32| count.to_le_bytes()).collect();
        bytes.resize(HEADER as usize, 0);
        for task in tasks {
            let parameters = Parameters {
                demand: entry::demand(task)?,
                function: entry::function(&self.kernel, task.launch.kernel.name())?,
                arguments: driver.params_of(&task.launch),
            };
            bytes.extend(pagoda::bytes(FREE, &parameters));
        }
        Ok(bytes)
    }
}

impl Batches<'_> {
    /// Copies a part of a buffer and waits for it.
    async fn copied(&self, driver: &mut Driver<'_>, way: Direction, part: Range) -> Result<(), Fault> {
        let copy = driver.copy_part(way, part, DEFAULT_STREAM, Some(self.parent)).await?;
        driver.wait(copy).await
    }

    /// Does the tasks of a batch.
    async fn batch(&self, driver: &mut Driver<'_>, kernel: &Super, tasks: &[Task]) -> Result<(), Fault> {
        let span = driver.begin(Some(self.parent), Level::Phases, "batch");
        let since = driver.now();
        let begin = |(place, task): (usize, &Task)| driver.begin_task(span, task.launch.kernel.name(), place);
        let spans: Vec<Option<SpanId>> = tasks.iter().enumerate().map(begin).collect();
        let default = DEFAULT_STREAM..DEFAULT_STREAM + 1;
        if self.params.copies == Copies::Beside {
            copy_all(driver, tasks, Direction::HostToDevice, default.clone(), self.parent).await?;
        }
        let bytes = kernel.bytes(driver, tasks).map_err(Fault::new)?;
        let queue = Range { buffer: kernel.queue, offset: 0, bytes: bytes.len() as u64 };
        driver.write_part(queue, bytes).await?;
        self.copied(driver, Direction::HostToDevice, queue).await?;
        let launch = kernel.launch(self.params.registers);
        let run = driver.launch(&launch, DEFAULT_STREAM, Tracking::None, Some(self.parent)).await?;
        driver.wait(run).await?;

        let counts = Range { bytes: HEADER, ..queue };
        let list = Range { buffer: kernel.done, offset: 0, bytes: tasks.len() as u64 * NUMBER };
        for part in [counts, list] {
            self.copied(driver, Direction::DeviceToHost, part).await?;
        }
        self.check_done(driver, Range { offset: DONE, bytes: NUMBER, ..queue }, list).await?;
        if self.params.copies == Copies::Beside {
            copy_all(driver, tasks, Direction::DeviceToHost, default, self.parent).await?;
        }
        for span in spans {
            driver.stats().tasks.add(1);
            driver.task_done(since, span);
        }
        driver.end(span);
        Ok(())
    }

    /// All tasks are in the list of what is done, each once.
    async fn check_done(&self, driver: &mut Driver<'_>, count: Range, list: Range) -> Result<(), Fault> {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let count = word(&driver.read_part(count).await?);
        let list = driver.read_part(list).await?;
        let mut numbers: Vec<u64> = list.chunks_exact(NUMBER as usize).map(word).collect();
        numbers.sort_unstable();
        let tasks = numbers.len() as u64;
        if count == tasks && numbers.iter().copied().eq(0..tasks) {
            return Ok(());
        }
        Err(Fault::new(format!(
            "a batch of {tasks} tasks has ended with {count} in the list of what is done"
        )))
    }
}

#[async_trait(?Send)]
impl Walks for Batches<'_> {
    fn sends(&mut self) -> &mut dyn Sends {
        &mut self.others
    }

    async fn tasks(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        let Some(key) = narrow::key_of(tasks)? else { return Ok(()) };
        let kernel = Super::find(driver, key, tasks, self.params)?;
        driver.drain().await?;
        let default = DEFAULT_STREAM..DEFAULT_STREAM + 1;
        if self.params.copies == Copies::Apart {
            copy_all(driver, tasks, Direction::HostToDevice, default.clone(), self.parent).await?;
        }
        let span = driver.begin(Some(self.parent), Level::Phases, "tasks");
        for batch in tasks.chunks(self.params.batch as usize) {
            self.batch(driver, &kernel, batch).await?;
        }
        driver.end(span);
        if self.params.copies == Copies::Apart {
            copy_all(driver, tasks, Direction::DeviceToHost, default, self.parent).await?;
        }
        Ok(())
    }
}
