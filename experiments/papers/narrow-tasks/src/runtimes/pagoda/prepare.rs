//! An application that has MasterKernels: their code, their tables and stop words, and errors in its tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::task_entry::{self, LARGEST_POOL, LEAF, Shape};
use counterpoint::host::program::{Application, Argument, Buffer, BufferId, BufferPlace, LaunchStep, Task};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::messages::launch::SmResources;
use counterpoint::ptx::Kernel;

use super::super::narrow::{self, Key};
use super::super::resident::PAGODA;
use super::{PagodaParams, entry};

/// A MasterKernel and its memory.
#[derive(Clone, Debug)]
pub(super) struct Master {
    pub(super) key: Key,
    pub(super) kernel: Arc<Kernel>,
    /// Bytes of task memory of a block.
    pool: u32,
    pub(super) shape: Shape,
    pub(super) table: BufferId,
    pub(super) stop: BufferId,
}

impl Master {
    pub(super) fn launch(&self, params: &PagodaParams) -> LaunchStep {
        let word = |word: u32| Argument::Value(word.to_le_bytes().into());
        let pool = self.pool;
        LaunchStep {
            kernel: Arc::clone(&self.kernel),
            code: Arc::clone(&self.key.0),
            grid: [self.shape.columns, 1, 1],
            block: [params.threads, 1, 1],
            shared: pool,
            registers: params.registers,
            arguments: vec![
                Argument::Buffer(self.table, 0),
                word(self.shape.rows),
                Argument::Buffer(self.stop, 0),
                word(pool),
            ],
            device: self.key.1,
            stream: super::MASTER,
        }
    }
}

/// The names of a module's table and stop word: no buffer of an application has a space in its name.
fn names((code, device): &Key) -> [String; 2] {
    [format!("TaskTable of {code} on device {device}"), format!("stop word of {code} on device {device}")]
}

/// The application with a MasterKernel in each module that has tasks, and its memory behind the buffers.
pub(super) fn with_masters(
    application: &Application,
    devices: &BTreeMap<u32, Description>,
    params: &PagodaParams,
) -> Result<Application, Fault> {
    let mut changed = application.clone();
    for (key, tasks) in &narrow::tasks(application)? {
        let master = PAGODA.with(tasks, params.scan.kernel(), params.loads)?;
        let Description { capacity, sm, .. } = devices.get(&key.1).cloned().unwrap_or_default();
        let pool = pool(tasks, &master, sm, params);
        for task in tasks {
            check(task, &master, params, pool)
                .map_err(|error| Fault::new(format!("task `{}`: {error}", task.launch.kernel.name())))?;
        }
        narrow::add_kernel(&mut changed, key, &master);
        // All blocks must be resident at once: no warp polls the column of a block that waits for an SM.
        let PagodaParams { threads, registers, blocks, .. } = *params;
        let columns = capacity.sms * narrow::blocks(&master, sm, threads, registers, pool, blocks)?;
        let [table, stop] = names(key);
        let device = key.1;
        let bytes = u64::from(columns * params.rows) * task_entry::BYTES;
        changed.buffers.push(Buffer { name: table, bytes, device, place: BufferPlace::Anywhere });
        changed.buffers.push(Buffer { name: stop, bytes: 4, device, place: BufferPlace::Anywhere });
    }
    Ok(changed)
}

/// Bytes of task memory of a block: the given number, or else the most that does not keep other blocks off an
/// SM, and that tasks fit into.
fn pool(tasks: &[&Task], master: &Kernel, sm: SmResources, params: &PagodaParams) -> u32 {
    let PagodaParams { threads, registers, blocks, ref pool, .. } = *params;
    if pool.get() > 0 {
        return pool.get() as u32;
    }
    let held = |pool: u32| narrow::most_blocks(master, sm, threads, registers, pool);
    let wanted = if blocks == 0 { held(LEAF) } else { blocks };
    let demanded = tasks.iter().map(|task| task.launch.shared).max().unwrap_or(0);
    let half = |pool: &u32| Some(pool / 2).filter(|&half| half >= LEAF.max(demanded));
    let sizes = std::iter::successors(Some(LARGEST_POOL), half);
    sizes.clone().find(|&pool| held(pool) >= wanted).or(sizes.last()).unwrap_or(LARGEST_POOL)
}

/// MasterKernels of an application that has been prepared.
///
/// # Errors
/// If the application has not been prepared.
pub(super) fn masters(
    application: &Application,
    devices: &BTreeMap<u32, Description>,
    params: &PagodaParams,
) -> Result<BTreeMap<Key, Master>, Fault> {
    let master = |(key, tasks): (Key, Vec<&Task>)| {
        let (kernel, [table, stop]) = narrow::find(application, &key, params.scan.kernel(), names(&key))?;
        let sm = devices.get(&key.1).map_or_else(SmResources::default, |device| device.sm);
        let pool = pool(&tasks, &kernel, sm, params);
        let columns = (application.whole(table).bytes / task_entry::BYTES) as u32 / params.rows;
        let shape = Shape { columns, rows: params.rows };
        Ok((key.clone(), Master { key, kernel, pool, shape, table, stop }))
    };
    narrow::tasks(application)?.into_iter().map(master).collect()
}

/// Refuses an unsuitable task, for blocks of the MasterKernel with `pool` bytes of task memory.
fn check(task: &Task, master: &Kernel, params: &PagodaParams, pool: u32) -> Result<(), String> {
    entry::demand(task)?.check(params.threads / 32 - 1, pool)?;
    entry::function(master, task.launch.kernel.name())?;
    entry::check_arguments(task)
}
