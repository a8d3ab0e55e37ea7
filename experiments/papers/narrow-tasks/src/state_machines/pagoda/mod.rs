//! Pagoda's MasterKernel (Yeh et al., PPoPP 2017) as state machines: the actions of its scheduler and
//! executor warps on the TaskTable, and their times.
//!
//! Entries come by DMA. The scheduler warp of a column sweeps over its rows (`column`); it is a warp on its
//! SM like any other, so its sweep is slower where other warps compete for the same issue slots; executors
//! without work poll, which is most of their demand. A task is executed functionally when it is scheduled;
//! its warps go to the slots that [`warp_table`] chooses and take the time of the task and of the executor's
//! own instructions. The last warp frees the entry in device memory, where the host's copy finds it. The time
//! of the warps' own work is measured (`costs`).
//!
//! [`device_table`], [`warp_table`] and [`buddy`] know no time.

pub mod buddy;
mod column;
mod costs;
pub mod device_table;
pub mod warp_table;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint::component::{Distribution, Equipped, Site, Stats};
use counterpoint::kernel::Fault;
use counterpoint::messages::launch::{Launch, LaunchId, RunCta};
use counterpoint::messages::memory::line_of;

use super::task::Tasks;
use crate::task_entry::{self, MASTER_KERNEL, MASTER_KERNEL_BY_LANES, PRESENT, Shape, State, TaskId};
use crate::throughput::state_machine::{Demands, Device, Ended, StateMachine, Warp, Work};
use column::{Column, Doing, Row, Target};
use costs::{MasterCosts, MasterParams};
use device_table::DeviceTable;
use warp_table::MasterBlock;

struct Master {
    tasks: Tasks,
    table: u64,
    stop: u64,
    shape: Shape,
    pool: u32,
    states: DeviceTable,
    /// The number of its first column among all.
    first: usize,
    /// For each entry, the entry whose task waits for this entry's task.
    followers: BTreeMap<usize, usize>,
}

/// Statistics of a device's MasterKernels.
#[derive(Default, Stats)]
pub(super) struct MasterStats {
    /// Cycles of a task from when its scheduler warp finds that it may run until its entry is free.
    #[stat(unit = "cycles")]
    task_cycles: Distribution,
}

/// The MasterKernels of a device.
pub(super) struct Masters {
    costs: MasterCosts,
    stats: Rc<MasterStats>,
    all: BTreeMap<LaunchId, Master>,
    /// The columns of all, those that have ended included.
    columns: Vec<(LaunchId, Column)>,
}

impl Equipped<dyn StateMachine> for Masters {
    const NAME: &'static str = "pagoda";
    const DOC: &'static str = "Pagoda's MasterKernel: scheduler warps that look at the TaskTable, and executor warps that wait for tasks.";
    type Params = MasterParams;
    type Ports = ();
    type Stats = MasterStats;

    fn build(params: &MasterParams, site: Site<'_, (), MasterStats>) -> Result<Box<dyn StateMachine>, Fault> {
        let (costs, stats) = (MasterCosts::new(params), site.stats);
        Ok(Box::new(Masters { costs, stats, all: BTreeMap::new(), columns: Vec::new() }))
    }
}

/// Role of a column's warp on its SM.
enum WarpRole {
    /// The scheduler warp of a column.
    Scheduler(u32),
    /// The executor warp of a column and a slot.
    Executor(u32, u32),
}

impl WarpRole {
    /// The column in the upper half; in the lower one nothing for the scheduler, or the slot counted from 1.
    fn work(self) -> Work {
        let (column, warp) = match self {
            WarpRole::Scheduler(column) => (column, 0),
            WarpRole::Executor(column, slot) => (column, slot + 1),
        };
        Work(u64::from(column) << 32 | u64::from(warp))
    }

    fn of(Work(number): Work) -> Self {
        let column = (number >> 32) as u32;
        match (number as u32).checked_sub(1) {
            None => WarpRole::Scheduler(column),
            Some(slot) => WarpRole::Executor(column, slot),
        }
    }
}

impl Master {
    fn new(launch: &Arc<Launch>, first: usize) -> Result<Self, Fault> {
        let tasks = Tasks::new(launch);
        let word = |at| tasks.parameter(at);
        let (table, rows, stop, pool) = (word(0)?, word(1)? as u32, word(2)?, word(3)? as u32);
        let shape = Shape { columns: launch.grid[0], rows };
        Ok(Master {
            tasks,
            table,
            stop,
            shape,
            pool,
            states: DeviceTable::new(shape),
            first,
            followers: BTreeMap::new(),
        })
    }

    /// Takes the entries that are there when it begins.
    fn read(&mut self, device: &mut Device<'_>) -> Result<(), String> {
        for place in 0..self.shape.entries() {
            self.arrived(place, device)?;
        }
        Ok(())
    }

    /// An entry has come.
    fn arrived(&mut self, place: usize, device: &mut Device<'_>) -> Result<(), String> {
        let state = task_entry::state(&device.bytes::<8>(self.address(place)));
        self.states.arrive(self.shape.at(place), state)?;
        if let Ok(before) = self.shape.position(TaskId(state.ready)) {
            self.followers.insert(before, place);
        }
        Ok(())
    }

    fn address(&self, place: usize) -> u64 {
        self.table + place as u64 * task_entry::BYTES
    }

    /// Index of the entry in a line of memory, if the line holds one.
    fn entry(&self, line: u64) -> Option<usize> {
        let place = (line.checked_sub(self.table)? / task_entry::BYTES) as usize;
        (place < self.shape.entries()).then_some(place)
    }

    /// The work of a column's row for its scheduler warp.
    fn row(&self, column: u32, row: u32) -> Row {
        let states = self.states.states();
        let state = states[(row * self.shape.columns + column) as usize];
        match state {
            State { ready: 2.., .. } => match self.shape.position(TaskId(state.ready)) {
                Ok(before) if states[before] == PRESENT => Row::Finds(state),
                _ => Row::Waits,
            },
            State { sched: 0, .. } => Row::Nothing,
            _ => Row::Finds(state),
        }
    }

    /// Writes the state of an entry to memory.
    fn write(&self, place: usize, device: &mut Device<'_>) {
        let State { ready, sched } = self.states.states()[place];
        let [ready, sched] = [ready, sched].map(i32::to_le_bytes);
        device.put(self.address(place), &[ready, sched].concat());
    }
}

impl StateMachine for Masters {
    fn serves(&self, kernel: &str) -> bool {
        [MASTER_KERNEL, MASTER_KERNEL_BY_LANES].contains(&kernel)
    }

    fn begin(&mut self, message: RunCta, device: &mut Device<'_>) -> Result<(), Fault> {
        let RunCta { launch, index, sm, .. } = message;
        let first = self.columns.len();
        let master = match self.all.entry(launch.id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut master = Master::new(&launch, first)?;
                master.read(device).map_err(Fault::new)?;
                new.insert(master)
            }
        };
        if master.first + index as usize != first {
            return Err(Fault::new("the blocks of a MasterKernel came in another order than theirs"));
        }
        let slots = launch.threads() / 32 - 1;
        let block =
            MasterBlock::new(slots as usize, master.shape.rows as usize, master.pool).map_err(Fault::new)?;
        let by_lanes = launch.kernel.name() == MASTER_KERNEL_BY_LANES;
        let column = Column::new(sm as usize, (index, by_lanes), block, master.shape.rows, device.cycle());
        device.poll(sm as usize, column.pollers(), &self.costs.polling);
        self.columns.push((launch.id, column));
        self.sweep(first, device);
        Ok(())
    }

    fn done(&mut self, work: Work, device: &mut Device<'_>) -> Result<Option<Ended>, Fault> {
        match WarpRole::of(work) {
            WarpRole::Scheduler(column) => self.scheduler_done(column, device),
            WarpRole::Executor(column, slot) => self.executor_done(column, slot, device).map(|()| None),
        }
    }

    fn written(&mut self, line: u64, device: &mut Device<'_>) -> Result<(), Fault> {
        let ids: Vec<LaunchId> = self.all.keys().copied().collect();
        for id in ids {
            let Some(master) = self.all.get_mut(&id) else { continue };
            if line == line_of(master.stop) {
                let columns = master.first..master.first + master.shape.columns as usize;
                columns.for_each(|column| self.look_again(column, device));
            } else if let Some(place) = master.entry(line) {
                master.arrived(place, device).map_err(Fault::new)?;
                self.changed(id, place, device);
            }
        }
        Ok(())
    }
}

impl Masters {
    /// An entry has changed: the new work for its scheduler warp, and for that of the task behind it.
    fn changed(&mut self, id: LaunchId, place: usize, device: &mut Device<'_>) {
        let Some(Master { first, shape, followers, .. }) = self.all.get(&id) else { return };
        let columns = shape.columns as usize;
        let of = [Some(place), followers.get(&place).copied()];
        let of: Vec<usize> = of.into_iter().flatten().map(|place| first + place % columns).collect();
        of.into_iter().for_each(|column| self.look_again(column, device));
    }

    /// The table has changed since a sweep was planned.
    fn look_again(&mut self, number: usize, device: &mut Device<'_>) {
        let Some((_, column)) = self.columns.get_mut(number) else { return };
        let Doing::Sweep { planned, .. } = column.doing else { return };
        // Finished work is announced in this cycle, and the next sweep is planned then.
        if let Some(left) = device.stop(column.sm, WarpRole::Scheduler(number as u32).work()) {
            column.walk(planned - left);
            self.sweep(number, device);
        }
    }

    /// Plans a sweep from where the scheduler warp is.
    fn sweep(&mut self, number: usize, device: &mut Device<'_>) {
        let Some((id, column)) = self.columns.get_mut(number) else { return };
        let Some(master) = self.all.get(id) else { return };
        let rows: Vec<Row> = (0..master.shape.rows).map(|row| master.row(column.number, row)).collect();
        let stops = device.bytes::<4>(master.stop) != [0; 4];
        let work = column.plan(&rows, stops, &self.costs);
        put_to_work(column.sm, number, work, &self.costs, device);
    }

    /// A scheduler warp has finished its work. Gives the block if it has ended.
    fn scheduler_done(&mut self, number: u32, device: &mut Device<'_>) -> Result<Option<Ended>, Fault> {
        let number = number as usize;
        let (id, column) = &mut self.columns[number];
        let id = *id;
        match column.doing {
            Doing::Sweep { target: Target::Row(row), .. } => self.inspect(number, row, device)?,
            Doing::Sweep { target: Target::Stop, .. } => {
                column.doing = Doing::Stop;
                put_to_work(column.sm, number, self.costs.poll, &self.costs, device);
            }
            Doing::Sweep { planned, .. } => {
                column.walk(planned);
                self.sweep(number, device);
            }
            Doing::Enable(row) => {
                column.continue_behind(row);
                self.sweep(number, device);
            }
            Doing::Schedule(row) => {
                self.schedule(number, row, device)?;
                self.place((number, row), 0.0, device);
            }
            Doing::Place(_) => {}
            Doing::Stop => {
                device.poll(column.sm, -column.pollers(), &self.costs.polling);
                let (index, counts, since) = (column.number, column.counts, column.since);
                return Ok(Some(Ended { launch: id, index, counts, cycles: device.cycle() - since }));
            }
        }
        Ok(None)
    }

    /// The scheduler warp looks at a row in which it finds something.
    fn inspect(&mut self, number: usize, row: u32, device: &mut Device<'_>) -> Result<(), Fault> {
        let (id, column) = &mut self.columns[number];
        let id = *id;
        let Some(master) = self.all.get_mut(&id) else { return Ok(()) };
        let task = master.shape.id(column.number, row);
        let place = (row * master.shape.columns + column.number) as usize;
        let unknown = |error: task_entry::UnknownTask| Fault::new(error.to_string());
        let inspected = master.states.inspect(task).map_err(unknown)?;
        master.write(place, device);
        if inspected.scheduled {
            column.doing = Doing::Schedule(row);
            column.found[row as usize] = device.cycle();
            let demand = task_entry::parameters(
                &device.bytes::<{ task_entry::BYTES as usize }>(master.address(place)),
            )
            .demand;
            put_to_work(column.sm, number, self.costs.schedule(&demand), &self.costs, device);
            return Ok(());
        }
        column.doing = Doing::Enable(row);
        put_to_work(column.sm, number, self.costs.enable, &self.costs, device);
        if let Some(before) = inspected.enabled {
            let before = master.shape.position(before).map_err(unknown)?;
            master.write(before, device);
            master.followers.remove(&before);
            self.changed(id, before, device);
            self.changed(id, place, device);
        }
        Ok(())
    }

    /// Executes the task of a row.
    fn schedule(&mut self, number: usize, row: u32, device: &mut Device<'_>) -> Result<(), Fault> {
        let (id, column) = &mut self.columns[number];
        let Some(master) = self.all.get_mut(id) else { return Ok(()) };
        let place = (row * master.shape.columns + column.number) as usize;
        let (demand, warps) = master.tasks.execute(master.address(place), device)?;
        column.warps[row as usize] = warps.concat();
        column.block.begin(row, demand);
        Ok(())
    }

    /// Starts warps that have been placed, and continues the sweep if all warps of the task are placed. A
    /// warp that waited for an executor begins later: the scheduler warp sees in its next round that one is
    /// free.
    fn place(&mut self, (number, row): (usize, u32), late: f64, device: &mut Device<'_>) {
        let (_, column) = &mut self.columns[number];
        let before = column.pollers();
        for slot in 0..column.busy.len() {
            let Some(placed) = column.block.slots()[slot].filter(|_| !column.busy[slot]) else { continue };
            column.busy[slot] = true;
            let warp = &column.warps[placed.row as usize][placed.warp as usize];
            let (cycles, rates) = executor(warp, late, &self.costs);
            device.begin(column.sm, WarpRole::Executor(number as u32, slot as u32).work(), cycles, rates);
            column.counts.warp_insn += warp.instructions;
            column.counts.thread_insn += warp.threads;
        }
        let is_free = column.block.is_free();
        column.doing = if is_free { Doing::Enable(row) } else { Doing::Place(row) };
        device.poll(column.sm, column.pollers() - before, &self.costs.polling);
        if is_free {
            column.continue_behind(row);
            self.sweep(number, device);
        }
    }

    /// An executor warp has finished its work.
    fn executor_done(&mut self, number: u32, slot: u32, device: &mut Device<'_>) -> Result<(), Fault> {
        let (id, column) = &mut self.columns[number as usize];
        let Some(master) = self.all.get_mut(id) else { return Ok(()) };
        column.busy[slot as usize] = false;
        device.poll(column.sm, 1, &self.costs.polling);
        if let Some(row) = column.block.finish(slot as usize) {
            column.warps[row as usize].clear();
            self.stats.task_cycles.record(device.cycle() - column.found[row as usize]);
            let task = master.shape.id(column.number, row);
            master.states.finish(task).map_err(|error| Fault::new(error.to_string()))?;
            master.write((row * master.shape.columns + column.number) as usize, device);
        }
        if let Doing::Place(row) = column.doing {
            column.block.advance();
            let late = self.costs.place;
            self.place((number as usize, row), late, device);
        }
        Ok(())
    }
}

/// An executor's work for a warp of a task: until it is placed, and on average half a poll longer, it polls;
/// then come its own work and the task.
fn executor(warp: &Warp, late: f64, costs: &MasterCosts) -> (f64, Demands) {
    let polls = late + costs.poll / 2.0;
    let cycles = polls + costs.begin + warp.cycles as f64 + costs.end;
    let demands = warp.demands.clone().with(&costs.polling, polls).with(&costs.executor, 1.0);
    (cycles, demands.rates(cycles))
}

/// Puts a scheduler warp to work.
fn put_to_work(sm: usize, column: usize, cycles: f64, costs: &MasterCosts, device: &mut Device<'_>) {
    device.begin(sm, WarpRole::Scheduler(column as u32).work(), cycles, costs.looking.clone());
}
