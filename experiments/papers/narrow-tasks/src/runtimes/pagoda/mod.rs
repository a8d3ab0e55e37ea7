//! Pagoda (Yeh et al., PPoPP 2017): a kernel that owns the GPU and takes narrow tasks from a table.
//!
//! Tasks of an application's step `tasks` go to the table; the runtime `serial` does all other steps. The MasterKernel (`cuda/pagoda`) is
//! linked with the application's module. It is launched before the first task on a stream of its own, and stays until another kernel is to be
//! launched or the application ends: then the host writes the stop word. The paper's MasterKernel ends with the process. `spawner.rs` is
//! the host's side: taskSpawn, the flush of the last task, and waitAll.
//!
//! Polling warps issue instructions: they take issue slots from tasks on their SM, and an idle MasterKernel costs the simulator nearly as
//! much as a busy GPU.
//!
//! The pure parts know no time and no bus: [`task_table`] is the CPU's table, [`entry`] says which tasks fit
//! into it. The twins of the MasterKernel's actions on its table, and of its state in shared memory, are in
//! [`crate::state_machines::pagoda`].

pub mod entry;
mod prepare;
mod spawner;
pub mod task_table;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::task_entry::{MASTER_KERNEL, MASTER_KERNEL_BY_LANES, check_pool};
use counterpoint::component::{Choice, Counter, Equipped, Params, Site, Stats};
use counterpoint::host::program::{Application, BufferId, Condition, Elementary, Range, Step};
use counterpoint::host::{Driver, Runtime, Sender, Sends, Walks, async_trait, phases};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::{Description, Direction};
use counterpoint::telemetry::SpanId;
use counterpoint::time::{Bytes, SimTime};

use super::narrow::{self, Copies, copy_all, key_of};
use super::resident::Loads;
use prepare::{Master, masters};
use spawner::Spawner;
use task_table::Protocol;

/// Parameters of Pagoda.
#[derive(Clone, Debug, Params)]
pub(super) struct PagodaParams {
    /// Threads of a block of the MasterKernel, whole warps. One warp schedules, the others execute tasks.
    #[param(default = "1024", min = "64", max = "1024")]
    threads: u32,
    /// Blocks of the MasterKernel on an SM; 0 are as many as it holds.
    #[param(default = "0", max = "32")]
    blocks: u32,
    /// Shared memory of such a block for tasks: a power of two of 512 B to 32 KiB; 0 is the most with which an SM holds no fewer blocks and
    /// that tasks fit into. That is what the paper has: 32 KiB on the Titan X, and 16 KiB on a K40.
    #[param(default = "0 B", max = "32 KiB")]
    pool: Bytes,
    /// Rows of the TaskTable: entries of each block of the MasterKernel.
    #[param(default = "32", min = "1", max = "32")]
    rows: u32,
    /// How a scheduler warp looks at its rows.
    #[param(default = "rows")]
    scan: Scan,
    /// 32-bit registers of a thread: the cap under which the paper compiles MasterKernel and tasks.
    #[param(default = "32", min = "16", max = "255")]
    registers: u32,
    /// Where loads of the MasterKernel and of tasks look that do not say it themselves. Tasks may read what others have left, and nothing
    /// empties the L1 of an SM while a kernel stays: where it keeps global memory, loads as written give old values.
    #[param(default = "l2")]
    loads: Loads,
    /// When the entry of a task says that it may be scheduled.
    #[param(default = "pipelined")]
    protocol: Protocol,
    /// Threads of the host that copy inputs of tasks and spawn them. The paper's example has two (Fig. 1a).
    #[param(default = "2", min = "1", max = "32")]
    spawners: u32,
    /// Time without a spawned task after which the last one is set to be scheduled. The paper gives no number.
    #[param(default = "20 us", min = "1 ns")]
    idle: SimTime,
    /// A wait for tasks has their entries copied back when nothing has been spawned or copied back for this
    /// time, the last one's, too, before it is set to be scheduled. The paper gives no number.
    #[param(default = "20 us", min = "1 ns")]
    timeout: SimTime,
    /// How the program waits for its tasks.
    #[param(default = "all")]
    waiting: Waiting,
    /// Tasks that are spawned before all of them must have ended (the paper's Pagoda-Batching, section 6.6); 0 is all.
    #[param(default = "0", max = "1048576")]
    batch: u32,
    /// When inputs and results of tasks are copied.
    #[param(default = "beside")]
    copies: Copies,
}

/// How a scheduler warp looks for something to do.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// At the rows of its column one after another, as the paper's Algorithm 1 has it.
    Rows,
    /// At all rows at once, a lane at each. The paper does not have it; it shows what looking at one after another costs.
    Lanes,
}

impl Scan {
    fn kernel(self) -> &'static str {
        match self {
            Scan::Rows => MASTER_KERNEL,
            Scan::Lanes => MASTER_KERNEL_BY_LANES,
        }
    }
}

/// How the program waits for tasks that it has spawned.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// For all of them (`waitAll`): on each time-out the entries of all that are not known to be done are copied back together.
    All,
    /// For one after another (`wait`), in their order: on each time-out the entry of that one is copied back.
    Each,
    /// For none: it asks of one task after another whether it has ended (`check`), round after round. On each time-out the entry of the
    /// next one is copied back, and the answer is that of the CPU's table.
    Check,
}

/// The host's statistics of a TaskTable.
#[derive(Default, Stats)]
pub(super) struct PagodaStats {
    /// Entries sent to devices.
    #[stat(unit = "entries")]
    entries_sent: Counter,
    /// Entries copied back.
    #[stat(unit = "entries")]
    entries_copied_back: Counter,
    /// Times that all of the table was copied back because it was full.
    #[stat(unit = "copies")]
    tables_copied_back: Counter,
    /// Times that the last task was set to be scheduled because no other one came.
    #[stat(unit = "flushes")]
    flushes: Counter,
    /// Questions whether a task has ended.
    #[stat(unit = "checks")]
    checks: Counter,
    /// Such questions that were answered with yes.
    #[stat(unit = "checks")]
    checks_true: Counter,
}

/// The runtime `pagoda`.
pub(super) struct Pagoda {
    params: PagodaParams,
    stats: Rc<PagodaStats>,
}

impl Equipped<dyn Runtime> for Pagoda {
    const NAME: &'static str = "pagoda";
    const DOC: &'static str = "Narrow tasks go to a table in device memory, from which a kernel that owns the GPU takes them \
                               (Pagoda); all else as under `serial`.";
    type Params = PagodaParams;
    type Ports = ();
    type Stats = PagodaStats;

    fn check(params: &PagodaParams) -> Result<(), String> {
        if !params.threads.is_multiple_of(32) {
            return Err(format!("threads: {} are not whole warps of 32", params.threads));
        }
        if params.pool.get() > 0 {
            check_pool(params.pool.get() as u32).map_err(|error| format!("pool: {error}"))?;
        }
        Ok(())
    }

    fn build(params: &PagodaParams, site: Site<'_, (), PagodaStats>) -> Result<Box<dyn Runtime>, Fault> {
        Ok(Box::new(Pagoda { params: params.clone(), stats: site.stats }))
    }
}

#[async_trait(?Send)]
impl Runtime for Pagoda {
    fn prepare(
        &self,
        application: &Arc<Application>,
        devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        prepare::with_masters(application, devices, &self.params).map(Arc::new)
    }

    fn launches_tasks(&self) -> bool {
        false
    }

    fn remark(&self, application: &Application) -> Option<String> {
        narrow::remark(application)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let masters = masters(&driver.application(), driver.devices(), &self.params)?;
        let sender = |parent| Tasks {
            params: &self.params,
            stats: &self.stats,
            others: Sender::in_one_stream(parent),
            parent,
            masters,
            spawner: None,
        };
        phases(driver, run, sender).await
    }
}

/// Sends tasks to the MasterKernel, and everything else as the runtime `serial` does.
struct Tasks<'a> {
    params: &'a PagodaParams,
    stats: &'a Rc<PagodaStats>,
    others: Sender,
    parent: SpanId,
    /// MasterKernels by module and device.
    masters: BTreeMap<(Arc<str>, u32), Master>,
    /// The link to the MasterKernel that runs.
    spawner: Option<Spawner>,
}

impl Tasks<'_> {
    /// Ends the MasterKernel, if one runs.
    async fn stop(&mut self, driver: &mut Driver<'_>) -> Result<(), Fault> {
        match self.spawner.take() {
            Some(spawner) => spawner.stop(driver).await,
            None => Ok(()),
        }
    }
}

#[async_trait(?Send)]
impl Sends for Tasks<'_> {
    async fn send(&mut self, driver: &mut Driver<'_>, step: Elementary<'_>) -> Result<(), Fault> {
        match step {
            Elementary::Launch(_) => self.stop(driver).await?,
            // Tasks have ended when their step has: there is nothing to wait for while the MasterKernel runs, which never ends.
            Elementary::Synchronize(_) if self.spawner.is_some() => return Ok(()),
            _ => {}
        }
        self.others.send(driver, step).await
    }

    async fn inspect(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault> {
        self.others.inspect(driver, until).await
    }
}

#[async_trait(?Send)]
impl Walks for Tasks<'_> {
    fn sends(&mut self) -> &mut dyn Sends {
        self
    }

    async fn group(&mut self, driver: &mut Driver<'_>, group: &Step) -> Result<bool, Fault> {
        let Step::Tasks(tasks) = group else { return Ok(false) };
        let Some(key) = key_of(tasks)? else { return Ok(false) };
        let unknown = || Fault::new(format!("`{}` has no MasterKernel", key.0));
        let mut spawner = match self.spawner.take() {
            Some(spawner) if spawner.is_of(&key) => spawner,
            other => {
                if let Some(other) = other {
                    other.stop(driver).await?;
                }
                driver.drain().await?;
                let master = self.masters.get(&key).ok_or_else(unknown)?.clone();
                Spawner::start(driver, master, (self.params, self.stats), self.parent).await?
            }
        };
        let (parent, is_apart) = (self.parent, self.params.copies == Copies::Apart);
        if is_apart {
            copy_all(driver, tasks, Direction::HostToDevice, INPUTS..INPUTS + 1, parent).await?;
        }
        let batch = if self.params.batch == 0 { tasks.len() } else { self.params.batch as usize };
        for batch in tasks.chunks(batch) {
            spawner.run(driver, batch).await?;
        }
        if is_apart {
            copy_all(driver, tasks, Direction::DeviceToHost, RESULTS..RESULTS + 1, parent).await?;
        }
        self.spawner = Some(spawner);
        Ok(true)
    }

    async fn finish(&mut self, driver: &mut Driver<'_>) -> Result<(), Fault> {
        self.stop(driver).await
    }
}

/// The stream of the MasterKernel, that of the table's copies, that of results, and the first of those of the spawners' inputs.
const MASTER: u32 = 1;
const TABLE: u32 = 2;
const RESULTS: u32 = 3;
const INPUTS: u32 = 4;

fn part(buffer: BufferId, offset: u64, bytes: u64) -> Range {
    Range { buffer, offset, bytes }
}
