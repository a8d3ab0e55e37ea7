//! Pagoda's MasterKernel (Yeh et al., PPoPP 2017) as state machines: what its scheduler and executor warps do to the TaskTable, and when.
//!
//! Entries come by DMA. The scheduler warp of a column sweeps over its rows (`column`); it is work on its SM like any warp, so its sweep is
//! slower where others want the same turns, and executors without work poll, which is most of what they want. A task is
//! executed when it is scheduled; its warps go to slots as [`warp_table`] has it and take what the task takes and what the executor does around it. The last
//! one frees the entry in device memory, where the host's copy finds it. What the warps' own work takes is measured (`costs`).
//!
//! [`device_table`], [`warp_table`] and [`buddy`] know no time.

pub mod buddy;
mod column;
mod costs;
pub mod device_table;
pub mod warp_table;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::launch::{Launch, LaunchId, RunCta};
use counterpoint_protocols::memory::line_of;
use counterpoint_protocols::pagoda::{self, PRESENT, Shape, State, TaskId};

use super::blocks::Ended;
use super::demands::Demands;
use super::isolated::{Warp, rates};
use super::sm::Worker;
use super::task::Tasks;
use super::{Around, memory::DeviceMemory};
use column::{Column, Doing, Row, Target};
pub(super) use costs::{MasterCosts, MasterParams};
use device_table::DeviceTable;
use warp_table::MasterBlock;

/// A MasterKernel.
struct Master {
    tasks: Tasks,
    table: u64,
    stop: u64,
    shape: Shape,
    pool: u32,
    states: DeviceTable,
    /// The number of its first column among all.
    first: usize,
    /// By entry, the one whose task waits for this one's.
    followers: BTreeMap<usize, usize>,
}

/// The MasterKernels of a device.
#[derive(Default)]
pub(super) struct Masters {
    all: BTreeMap<LaunchId, Master>,
    /// The columns of all, those that have ended included.
    columns: Vec<(LaunchId, Column)>,
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
    fn read(&mut self, memory: &mut DeviceMemory) -> Result<(), String> {
        for place in 0..self.shape.entries() {
            self.arrived(place, memory)?;
        }
        Ok(())
    }

    /// An entry has come.
    fn arrived(&mut self, place: usize, memory: &mut DeviceMemory) -> Result<(), String> {
        let state = pagoda::state(&memory.bytes::<8>(self.address(place)));
        self.states.arrive(self.shape.at(place), state)?;
        if let Ok(before) = self.shape.position(TaskId(state.ready)) {
            self.followers.insert(before, place);
        }
        Ok(())
    }

    fn address(&self, place: usize) -> u64 {
        self.table + place as u64 * pagoda::BYTES
    }

    /// The entry that a line of memory is, if it is one.
    fn entry(&self, line: u64) -> Option<usize> {
        let place = (line.checked_sub(self.table)? / pagoda::BYTES) as usize;
        (place < self.shape.entries()).then_some(place)
    }

    /// What a row of a column has for its scheduler warp.
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
    fn write(&self, place: usize, memory: &mut DeviceMemory) {
        let State { ready, sched } = self.states.states()[place];
        let [ready, sched] = [ready, sched].map(i32::to_le_bytes);
        memory.put(self.address(place), &[ready, sched].concat());
    }
}

impl Masters {
    /// A block of a MasterKernel comes to an SM.
    pub(super) fn begin(&mut self, message: RunCta, around: &mut Around<'_>) -> Result<(), Fault> {
        let RunCta { launch, index, sm, .. } = message;
        let first = self.columns.len();
        let master = match self.all.entry(launch.id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut master = Master::new(&launch, first)?;
                master.read(around.memory).map_err(Fault::new)?;
                new.insert(master)
            }
        };
        if master.first + index as usize != first {
            return Err(Fault::new("the blocks of a MasterKernel came in another order than theirs"));
        }
        let slots = launch.threads() / 32 - 1;
        let block =
            MasterBlock::new(slots as usize, master.shape.rows as usize, master.pool).map_err(Fault::new)?;
        let by_lanes = launch.kernel.name() == pagoda::MASTER_KERNEL_BY_LANES;
        let column = Column::new(sm as usize, (index, by_lanes), block, master.shape.rows, around.cycle);
        around.sms[sm as usize].poll(column.pollers(), &around.master.polling);
        self.columns.push((launch.id, column));
        self.sweep(first, around);
        Ok(())
    }

    /// The copy engine has written a line.
    pub(super) fn written(&mut self, line: u64, around: &mut Around<'_>) -> Result<(), Fault> {
        let ids: Vec<LaunchId> = self.all.keys().copied().collect();
        for id in ids {
            let Some(master) = self.all.get_mut(&id) else { continue };
            if line == line_of(master.stop) {
                let columns = master.first..master.first + master.shape.columns as usize;
                columns.for_each(|column| self.look_again(column, around));
            } else if let Some(place) = master.entry(line) {
                master.arrived(place, around.memory).map_err(Fault::new)?;
                self.changed(id, place, around);
            }
        }
        Ok(())
    }

    /// An entry has changed: what its scheduler warp finds, and that of the task behind it.
    fn changed(&mut self, id: LaunchId, place: usize, around: &mut Around<'_>) {
        let Some(Master { first, shape, followers, .. }) = self.all.get(&id) else { return };
        let columns = shape.columns as usize;
        let of = [Some(place), followers.get(&place).copied()];
        let of: Vec<usize> = of.into_iter().flatten().map(|place| first + place % columns).collect();
        of.into_iter().for_each(|column| self.look_again(column, around));
    }

    /// The table is not what it was when a sweep was planned.
    fn look_again(&mut self, number: usize, around: &mut Around<'_>) {
        let Some((_, column)) = self.columns.get_mut(number) else { return };
        let Doing::Sweep { planned, .. } = column.doing else { return };
        let sm = &mut around.sms[column.sm];
        sm.advance(around.cycle);
        // What is done is told in this cycle, and the next sweep is planned then.
        if let Some(left) = sm.stop(Worker::Scheduler(number as u32)) {
            column.walk(planned - left);
            self.sweep(number, around);
        }
    }

    /// Plans a sweep from where the scheduler warp is.
    fn sweep(&mut self, number: usize, around: &mut Around<'_>) {
        let Some((id, column)) = self.columns.get_mut(number) else { return };
        let Some(master) = self.all.get(id) else { return };
        let rows: Vec<Row> = (0..master.shape.rows).map(|row| master.row(column.number, row)).collect();
        let stops = around.memory.bytes::<4>(master.stop) != [0; 4];
        let work = column.plan(&rows, stops, around.master);
        around.work(column.sm, number, work);
    }

    /// A scheduler warp has done what it was at. Gives the block if it has ended.
    pub(super) fn scheduler_done(
        &mut self,
        number: u32,
        around: &mut Around<'_>,
    ) -> Result<Option<Ended>, Fault> {
        let number = number as usize;
        let (id, column) = &mut self.columns[number];
        let id = *id;
        match column.doing {
            Doing::Sweep { target: Target::Row(row), .. } => self.look(number, row, around)?,
            Doing::Sweep { target: Target::Stop, .. } => {
                column.doing = Doing::Stop;
                around.work(column.sm, number, around.master.poll);
            }
            Doing::Sweep { planned, .. } => {
                column.walk(planned);
                self.sweep(number, around);
            }
            Doing::Enable(row) => {
                column.go_on_behind(row);
                self.sweep(number, around);
            }
            Doing::Schedule(row) => {
                self.schedule(number, row, around)?;
                self.place((number, row), 0.0, around);
            }
            Doing::Place(_) => {}
            Doing::Stop => {
                around.sms[column.sm].poll(-column.pollers(), &around.master.polling);
                let (index, counts, since) = (column.number, column.counts, column.since);
                return Ok(Some(Ended { launch: id, index, counts, cycles: around.cycle - since }));
            }
        }
        Ok(None)
    }

    /// The scheduler warp looks at a row in which it finds something.
    fn look(&mut self, number: usize, row: u32, around: &mut Around<'_>) -> Result<(), Fault> {
        let (id, column) = &mut self.columns[number];
        let id = *id;
        let Some(master) = self.all.get_mut(&id) else { return Ok(()) };
        let task = master.shape.id(column.number, row);
        let place = (row * master.shape.columns + column.number) as usize;
        let unknown = |error: pagoda::UnknownTask| Fault::new(error.to_string());
        let looked = master.states.look(task).map_err(unknown)?;
        master.write(place, around.memory);
        if looked.scheduled {
            column.doing = Doing::Schedule(row);
            column.found[row as usize] = around.cycle;
            let demand =
                pagoda::parameters(&around.memory.bytes::<{ pagoda::BYTES as usize }>(master.address(place)))
                    .demand;
            around.work(column.sm, number, around.master.schedule(&demand));
            return Ok(());
        }
        column.doing = Doing::Enable(row);
        around.work(column.sm, number, around.master.enable);
        if let Some(before) = looked.enabled {
            let before = master.shape.position(before).map_err(unknown)?;
            master.write(before, around.memory);
            master.followers.remove(&before);
            self.changed(id, before, around);
            self.changed(id, place, around);
        }
        Ok(())
    }

    /// Executes the task of a row.
    fn schedule(&mut self, number: usize, row: u32, around: &mut Around<'_>) -> Result<(), Fault> {
        let (id, column) = &mut self.columns[number];
        let Some(master) = self.all.get_mut(id) else { return Ok(()) };
        let place = (row * master.shape.columns + column.number) as usize;
        let (demand, warps) = master.tasks.execute(master.address(place), around)?;
        column.warps[row as usize] = warps.concat();
        column.block.begin(row, demand);
        Ok(())
    }

    /// Puts warps that have been placed to work, and goes on with the sweep if all of a task are. What waited for an executor begins later:
    /// the scheduler warp sees in its next round that one is free.
    fn place(&mut self, (number, row): (usize, u32), late: f64, around: &mut Around<'_>) {
        let (_, column) = &mut self.columns[number];
        let sm = &mut around.sms[column.sm];
        let before = column.pollers();
        for slot in 0..column.busy.len() {
            let Some(placed) = column.block.slots()[slot].filter(|_| !column.busy[slot]) else { continue };
            column.busy[slot] = true;
            let warp = &column.warps[placed.row as usize][placed.warp as usize];
            let (cycles, rates) = executor(warp, late, around.master);
            sm.begin(Worker::Executor(number as u32, slot as u32), cycles, rates);
            column.counts.warp_insn += warp.instructions;
            column.counts.thread_insn += warp.threads;
        }
        let is_free = column.block.is_free();
        column.doing = if is_free { Doing::Enable(row) } else { Doing::Place(row) };
        sm.poll(column.pollers() - before, &around.master.polling);
        if is_free {
            column.go_on_behind(row);
            self.sweep(number, around);
        }
    }

    /// An executor warp has ended what it was given. Gives how long its task was on the device, if that has ended.
    pub(super) fn executor_done(
        &mut self,
        number: u32,
        slot: u32,
        around: &mut Around<'_>,
    ) -> Result<Option<u64>, Fault> {
        let (id, column) = &mut self.columns[number as usize];
        let Some(master) = self.all.get_mut(id) else { return Ok(None) };
        let mut ended = None;
        column.busy[slot as usize] = false;
        around.sms[column.sm].poll(1, &around.master.polling);
        if let Some(row) = column.block.finish(slot as usize) {
            column.warps[row as usize].clear();
            ended = Some(around.cycle - column.found[row as usize]);
            let task = master.shape.id(column.number, row);
            master.states.finish(task).map_err(|error| Fault::new(error.to_string()))?;
            master.write((row * master.shape.columns + column.number) as usize, around.memory);
        }
        if let Doing::Place(row) = column.doing {
            column.block.advance();
            let late = around.master.place;
            self.place((number as usize, row), late, around);
        }
        Ok(ended)
    }
}

/// What an executor does with a warp of a task: until it is placed, and on average half a poll longer, it polls; then come its own work and
/// the task.
fn executor(warp: &Warp, late: f64, costs: &MasterCosts) -> (f64, Demands) {
    let polls = late + costs.poll / 2.0;
    let cycles = polls + costs.begin + warp.cycles as f64 + costs.end;
    let demands = warp.demands.clone().with(&costs.polling, polls).with(&costs.around, 1.0);
    (cycles, rates(&demands, cycles))
}

impl Around<'_> {
    /// Puts a scheduler warp to work.
    fn work(&mut self, sm: usize, number: usize, cycles: f64) {
        self.sms[sm].advance(self.cycle);
        self.sms[sm].begin(Worker::Scheduler(number as u32), cycles, self.master.looking.clone());
    }
}
