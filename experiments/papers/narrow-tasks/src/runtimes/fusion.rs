//! Static fusion (Yeh et al., PPoPP 2017, section 6.3): many narrow tasks are one kernel, each of whose
//! blocks is a task.
//!
//! The kernel (`cuda/fusion`) is linked with the application's module. All blocks have the threads, registers and shared memory that
//! the largest task needs: a small task leaves the rest of its block idle. The kernel ends with its longest task, so a task's
//! latency is the kernel's, however short it is itself.
//!
//! A block executes a task with all its threads, as the paper's sub-tasks of 256 threads do: a task written for any number of
//! threads and blocks then does its work in one block. With `threads: 0` each block of a task is a block of the kernel, with the
//! task's own number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::task_entry::{self, Demand};
use counterpoint::component::{Params, Variant};
use counterpoint::host::program::{
    Application, Argument, Buffer, BufferPlace, DEFAULT_STREAM, LaunchStep, Task,
};
use counterpoint::host::{Driver, Runtime, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::SpanId;

use super::batches::{self, Batch, DoesBatches, divided};
use super::narrow::{self, Copies, Key};
use super::pagoda::entry;
use super::resident::{FUSION, Loads};

/// The kernel's name in the module.
const FUSED_KERNEL: &str = "fused_kernel";
/// The offset in an entry of the block's index in its task.
const BLOCK: std::ops::Range<usize> = 28..32;

/// Parameters of static fusion.
#[derive(Clone, Debug, Params)]
pub(super) struct FusionParams {
    /// Threads of a block, whole warps, with which it executes a task; 0 are those, and as many blocks, as each task has itself.
    #[param(default = "256", max = "1024")]
    threads: u32,
    /// Tasks of a kernel; 0 are all tasks of a step.
    #[param(default = "0", max = "1048576")]
    batch: u32,
    /// When inputs and results of tasks are copied.
    #[param(default = "beside")]
    copies: Copies,
}

/// The runtime `fusion`.
pub(super) struct Fusion {
    params: FusionParams,
}

impl Variant<dyn Runtime> for Fusion {
    const NAME: &'static str = "fusion";
    const DOC: &'static str = "Narrow tasks are the blocks of one kernel, alike in threads, registers and shared memory (static \
                               fusion); all else as under `serial`.";
    type Params = FusionParams;

    fn build(params: &FusionParams) -> Result<Box<dyn Runtime>, String> {
        if !params.threads.is_multiple_of(32) {
            return Err(format!("threads: {} are not whole warps of 32", params.threads));
        }
        Ok(Box::new(Fusion { params: params.clone() }))
    }
}

/// Shape and number of a kernel's blocks.
struct Shape {
    blocks: u32,
    threads: u32,
    shared: u32,
    registers: u32,
}

impl Fusion {
    fn demand(&self, task: &Task) -> Result<Demand, Fault> {
        let own = entry::demand(task)
            .map_err(|error| Fault::new(format!("task `{}`: {error}", task.launch.kernel.name())))?;
        Ok(match self.params.threads {
            0 => own,
            threads => Demand { blocks: 1, warps: threads / 32, ..own },
        })
    }

    /// The kernel of a batch.
    fn shape(&self, tasks: &[Task]) -> Result<Shape, Fault> {
        let mut shape = Shape { blocks: 0, threads: 0, shared: 0, registers: 0 };
        for task in tasks {
            let Demand { blocks, warps, shared, .. } = self.demand(task)?;
            shape.blocks += blocks;
            shape.threads = shape.threads.max(warps * 32);
            shape.shared = shape.shared.max(shared);
            shape.registers = shape.registers.max(task.launch.registers);
        }
        Ok(shape)
    }
}

#[async_trait(?Send)]
impl Runtime for Fusion {
    fn prepare(
        &self,
        application: &Arc<Application>,
        devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        let mut changed = (**application).clone();
        for (key, steps) in &narrow::steps(application)? {
            let tasks: Vec<&Task> = steps.iter().copied().flatten().collect();
            let kernel = FUSION.with(&tasks, FUSED_KERNEL, Loads::AsWritten)?;
            tasks.iter().try_for_each(|task| narrow::check(task, &kernel))?;
            let sm = devices.get(&key.1).map(|device| device.sm).unwrap_or_default();
            let mut most = 0;
            for batch in steps.iter().flat_map(|step| divided(step, self.params.batch)) {
                let Shape { blocks, threads, shared, registers } = self.shape(batch)?;
                narrow::blocks(&kernel, sm, threads, registers, shared, 0)?;
                most = most.max(blocks);
            }
            narrow::add_kernel(&mut changed, key, &kernel);
            let bytes = u64::from(most) * task_entry::BYTES;
            changed.buffers.push(Buffer {
                name: name(key),
                bytes,
                device: key.1,
                place: BufferPlace::Anywhere,
            });
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

/// The name of a module's array of tasks: no buffer of an application has a space in its name.
fn name((code, device): &Key) -> String {
    format!("tasks of {code} on device {device}")
}

#[async_trait(?Send)]
impl DoesBatches for Fusion {
    fn size(&self, _step: &[Task]) -> u32 {
        self.params.batch
    }

    fn copies(&self) -> Copies {
        self.params.copies
    }

    /// The kernel with a block for each block of a task.
    fn batch(&self, driver: &Driver<'_>, key: &Key, _step: &[Task], tasks: &[Task]) -> Result<Batch, Fault> {
        let (kernel, [queue]) = narrow::find(&driver.application(), key, FUSED_KERNEL, [name(key)])?;
        let mut bytes = Vec::new();
        for task in tasks {
            let demand = self.demand(task)?;
            let mut entry = narrow::queued(driver, &kernel, &task.launch, demand)?;
            for block in 0..demand.blocks {
                entry[BLOCK].copy_from_slice(&block.to_le_bytes());
                bytes.extend_from_slice(&entry);
            }
        }
        let Shape { blocks, threads, shared, registers } = self.shape(tasks)?;
        let launch = LaunchStep {
            kernel,
            code: Arc::clone(&key.0),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared,
            registers,
            arguments: vec![Argument::Buffer(queue, 0)],
            device: key.1,
            stream: DEFAULT_STREAM,
        };
        Ok(Batch { queue, bytes, launch })
    }
}
