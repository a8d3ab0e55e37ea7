//! An application that has MasterKernels: their code, their tables and stop words, and what is wrong with its tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::Description;
use counterpoint_protocols::pagoda::{self, MASTER_KERNEL, Shape};
use counterpoint_ptx::Program;

use super::super::narrow::{self, Key};
use super::{PagodaParams, entry};
use crate::program::{Application, Argument, Buffer, BufferId, LaunchStep, Task};

/// A MasterKernel and its memory.
#[derive(Clone, Debug)]
pub(super) struct Master {
    pub(super) key: Key,
    pub(super) kernel: Arc<Program>,
    pub(super) shape: Shape,
    pub(super) table: BufferId,
    pub(super) stop: BufferId,
}

impl Master {
    /// How it is launched.
    pub(super) fn launch(&self, params: &PagodaParams) -> LaunchStep {
        let word = |word: u32| Argument::Value(word.to_le_bytes().into());
        let pool = params.pool.get() as u32;
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
        let master = narrow::resident(tasks, MASTER_KERNEL, "pagoda.h", params.loads)?;
        for task in tasks {
            check(task, &master, params)
                .map_err(|error| Fault::new(format!("task `{}`: {error}", task.launch.kernel.name())))?;
        }
        narrow::add_kernel(&mut changed, key, &master);
        let Description { capacity, sm, .. } = devices.get(&key.1).cloned().unwrap_or_default();
        // All blocks must be there at once: a column of the table whose block waits is never looked at.
        let PagodaParams { threads, registers, ref pool, blocks, .. } = *params;
        let columns =
            capacity.sms * narrow::blocks(&master, sm, threads, registers, pool.get() as u32, blocks)?;
        let [table, stop] = names(key);
        let device = key.1;
        let bytes = u64::from(columns * params.rows) * pagoda::BYTES;
        changed.buffers.push(Buffer { name: table, bytes, device });
        changed.buffers.push(Buffer { name: stop, bytes: 4, device });
    }
    Ok(changed)
}

/// The MasterKernels of an application that has been given them.
pub(super) fn masters(application: &Application, params: &PagodaParams) -> BTreeMap<Key, Master> {
    let find = |wanted: &str| {
        let position = application.buffers.iter().position(|buffer| buffer.name == wanted)?;
        Some((BufferId(position as u32), application.buffers[position].bytes))
    };
    let master = |module: &crate::modules::Module| {
        let kernel = module.kernels.iter().find(|kernel| kernel.name() == MASTER_KERNEL)?;
        let key = (Arc::clone(&module.name), module.device);
        let [table, stop] = names(&key);
        let ((table, bytes), (stop, _)) = (find(&table)?, find(&stop)?);
        let columns = (bytes / pagoda::BYTES) as u32 / params.rows;
        let shape = Shape { columns, rows: params.rows };
        Some((key.clone(), Master { key, kernel: Arc::clone(kernel), shape, table, stop }))
    };
    application.modules.iter().filter_map(master).collect()
}

/// What is wrong with a task.
fn check(task: &Task, master: &Program, params: &PagodaParams) -> Result<(), String> {
    entry::demand(task)?.check(params.threads / 32 - 1, params.pool.get() as u32)?;
    entry::function(master, task.launch.kernel.name())?;
    entry::check_arguments(task)
}
