//! The host's side of Pagoda: taskSpawn, the flush of the last task, wait and waitAll (PPoPP 2017, sections 3 and 4.2).
//!
//! Each of the host's threads copies a task's inputs and waits for them, as the paper's example does with `cudaMemcpy` (Fig. 1a), then
//! spawns it: one thread at a time writes an entry of the CPU's table and sends it, so that entries leave in the order in which they
//! name each other. All copies of the table are on one stream: a table copied back includes every entry that was sent before, and no
//! entry is written while the table is being copied back. Results are copied when a task is known to be done, on a third stream.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::task_entry::{self, Parameters, State, TaskId, UnknownTask};
use counterpoint::host::Driver;
use counterpoint::host::program::Task;
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::{CommandId, Direction};
use counterpoint::telemetry::{Level, SpanId};
use counterpoint::time::SimTime;

use super::super::narrow::{Copies, Key};
use super::entry;
use super::prepare::Master;
use super::task_table::HostTable;
use super::{INPUTS, PagodaParams, PagodaStats, RESULTS, TABLE, Waiting, part};

/// A task whose inputs a thread of the host is copying.
struct Copying {
    task: usize,
    /// The last of the copies, if there are any.
    last: Option<CommandId>,
}

/// A task in the table.
#[derive(Clone, Copy)]
struct Spawned {
    task: usize,
    since: SimTime,
    span: Option<SpanId>,
}

/// The link to a MasterKernel.
pub(super) struct Spawner {
    master: Master,
    stats: Rc<PagodaStats>,
    kernel: CommandId,
    parent: SpanId,
    copies: Copies,
    idle: SimTime,
    timeout: SimTime,
    waiting: Waiting,
    /// Where the next question is asked (`check`).
    asked: usize,
    table: HostTable,
    /// Copy in progress of each host thread.
    threads: Vec<Option<Copying>>,
    /// Task of each entry that is not known to be done.
    spawned: Vec<Option<Spawned>>,
    /// When a task was spawned last, or it was looked whether the last one can be scheduled.
    spawned_at: SimTime,
    /// When a task was spawned or entries were copied back last.
    since: SimTime,
    /// Copies of results under way.
    results: VecDeque<CommandId>,
}

impl Spawner {
    /// Clears the table, and launches a MasterKernel.
    pub(super) async fn start(
        driver: &mut Driver<'_>,
        master: Master,
        (params, stats): (&PagodaParams, &Rc<PagodaStats>),
        parent: SpanId,
    ) -> Result<Self, Fault> {
        let step = master.launch(params);
        let application = driver.application();
        // All entries of the CPU's table are free: none has been written, or all their tasks are done.
        driver.write_part(application.whole(master.stop), vec![0; 4]).await?;
        for buffer in [master.table, master.stop] {
            let whole = application.whole(buffer);
            let copy = driver.copy_part(Direction::HostToDevice, whole, TABLE, Some(parent)).await?;
            driver.wait(copy).await?;
        }
        let kernel = driver.launch(&step, super::MASTER, Some(parent)).await?;
        Ok(Spawner {
            stats: Rc::clone(stats),
            kernel,
            parent,
            copies: params.copies,
            idle: params.idle,
            timeout: params.timeout,
            waiting: params.waiting,
            asked: 0,
            table: HostTable::new(master.shape, params.protocol),
            threads: (0..params.spawners).map(|_| None).collect(),
            spawned: vec![None; master.shape.entries()],
            spawned_at: driver.now(),
            since: driver.now(),
            results: VecDeque::new(),
            master,
        })
    }

    /// Whether it speaks with the MasterKernel of a module.
    pub(super) fn is_of(&self, key: &Key) -> bool {
        self.master.key == *key
    }

    /// Ends the MasterKernel, which has no tasks any more.
    pub(super) async fn stop(self, driver: &mut Driver<'_>) -> Result<(), Fault> {
        let stop = driver.application().whole(self.master.stop);
        driver.write_part(stop, 1_u32.to_le_bytes().into()).await?;
        driver.copy_part(Direction::HostToDevice, stop, TABLE, Some(self.parent)).await?;
        driver.wait(self.kernel).await
    }

    /// Spawns tasks, and waits for all of them (`waitAll`) or for one after another (`wait`).
    pub(super) async fn run(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        let span = driver.begin(Some(self.parent), Level::Phases, "tasks");
        let mut coming = 0..tasks.len();
        loop {
            for thread in 0..self.threads.len() {
                if self.threads[thread].is_none()
                    && let Some(task) = coming.next()
                {
                    self.threads[thread] = Some(self.copy_in(driver, thread, tasks, task).await?);
                }
            }
            let arrived = self.threads.iter().position(|thread| {
                thread.as_ref().is_some_and(|it| it.last.is_none_or(|last| driver.is_done(last)))
            });
            if let Some(thread) = arrived {
                if let Some(Copying { task, .. }) = self.threads[thread].take() {
                    self.spawn(driver, tasks, task).await?;
                }
                continue;
            }
            let copying = self.threads.iter().any(Option::is_some);
            let waiting = self.spawned.iter().any(Option::is_some);
            if !copying && !waiting {
                break;
            }
            // Threads that have nothing left to spawn wait for tasks.
            let waits = !copying && coming.is_empty();
            let has_last = self.table.last().is_some();
            let flush = if has_last { self.spawned_at + self.idle } else { SimTime::MAX };
            let back = if waiting && (waits || !has_last) { self.since + self.timeout } else { SimTime::MAX };
            if driver.now() < flush.min(back) {
                driver.event_until(flush.min(back)).await?;
            } else if flush <= back {
                self.flush(driver, tasks).await?;
            } else {
                self.copy_back(driver, tasks).await?;
            }
        }
        driver.end(span);
        while let Some(copy) = self.results.pop_front() {
            driver.wait(copy).await?;
        }
        Ok(())
    }

    /// A thread of the host begins to copy a task's inputs.
    async fn copy_in(
        &self,
        driver: &mut Driver<'_>,
        thread: usize,
        tasks: &[Task],
        task: usize,
    ) -> Result<Copying, Fault> {
        let mut last = None;
        if self.copies == Copies::Beside {
            for &range in &tasks[task].copy_in {
                let stream = INPUTS + thread as u32;
                let copy =
                    driver.copy_part(Direction::HostToDevice, range, stream, Some(self.parent)).await?;
                last = Some(copy);
            }
        }
        Ok(Copying { task, last })
    }

    /// `taskSpawn`: finds an entry, writes it and sends it. While there is none, the whole table is copied back.
    async fn spawn(&mut self, driver: &mut Driver<'_>, tasks: &[Task], task: usize) -> Result<(), Fault> {
        let (id, state) = loop {
            if let Some(spawned) = self.table.spawn() {
                break spawned;
            }
            self.stats.tables_copied_back.add(1);
            let last = self.table.shape().entries() - 1;
            self.copy_entries_back(driver, tasks, 0..=last).await?;
            // A table of few entries may be full of tasks that wait for the last one.
            if driver.now() >= self.spawned_at + self.idle {
                self.enable_last(driver, tasks).await?;
            }
        };
        let place = self.place(id)?;
        let span = driver.begin_task(self.parent, tasks[task].launch.kernel.name(), place);
        self.spawned[place] = Some(Spawned { task, since: driver.now(), span });
        driver.count_task();
        self.send_entry(driver, tasks, id, state).await?;
        self.spawned_at = driver.now();
        self.since = self.spawned_at;
        Ok(())
    }

    /// Writes an entry into the CPU's table and sends it to the GPU.
    async fn send_entry(
        &self,
        driver: &mut Driver<'_>,
        tasks: &[Task],
        id: TaskId,
        state: State,
    ) -> Result<(), Fault> {
        let place = self.place(id)?;
        let Some(Spawned { task, .. }) = self.spawned[place] else { return Ok(()) };
        let launch = &tasks[task].launch;
        let wrong = |error| Fault::new(format!("task {task}: {error}"));
        let parameters = Parameters {
            demand: entry::demand(&tasks[task]).map_err(wrong)?,
            function: entry::function(&self.master.kernel, launch.kernel.name()).map_err(wrong)?,
            arguments: driver.params_of(launch),
        };
        let range = part(self.master.table, place as u64 * task_entry::BYTES, task_entry::BYTES);
        driver.write_part(range, task_entry::bytes(state, &parameters)).await?;
        driver.copy_part(Direction::HostToDevice, range, TABLE, Some(self.parent)).await?;
        self.stats.entries_sent.add(1);
        Ok(())
    }

    /// No task has come for a while: the last task is checked, and enabled when its parameters have arrived.
    async fn flush(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        let Some(last) = self.table.last() else { return Ok(()) };
        let place = self.place(last)?;
        self.copy_entries_back(driver, tasks, place..=place).await?;
        self.enable_last(driver, tasks).await?;
        self.spawned_at = driver.now();
        self.since = self.spawned_at;
        Ok(())
    }

    async fn enable_last(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        if let Some((id, state)) = self.table.flush() {
            self.stats.flushes.add(1);
            self.send_entry(driver, tasks, id, state).await?;
        }
        Ok(())
    }

    /// The wait has timed out: copies the awaited entries back.
    async fn copy_back(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        let mut waiting =
            self.spawned.iter().enumerate().filter_map(|(place, it)| Some((place, it.as_ref()?.task)));
        let first_and_last = match self.waiting {
            Waiting::All => waiting.clone().next().zip(waiting.next_back()),
            Waiting::Each => waiting.min_by_key(|&(_, task)| task).map(|first| (first, first)),
            Waiting::Check => {
                let next = waiting.clone().find(|&(place, _)| place >= self.asked).or_else(|| waiting.next());
                next.map(|next| (next, next))
            }
        };
        if let Some(((first, _), (last, _))) = first_and_last {
            self.copy_entries_back(driver, tasks, first..=last).await?;
            if self.waiting == Waiting::Check {
                self.asked = first + 1;
                let id = self.table.shape().at(first);
                self.stats.checks.add(1);
                self.stats.checks_true.add(u64::from(self.table.check(id).map_err(unknown)?));
            }
        }
        self.since = driver.now();
        Ok(())
    }

    /// Copies entries from the GPU's table to the CPU's, and has the results copied of the tasks that have ended.
    async fn copy_entries_back(
        &mut self,
        driver: &mut Driver<'_>,
        tasks: &[Task],
        places: std::ops::RangeInclusive<usize>,
    ) -> Result<(), Fault> {
        let (first, count) = (*places.start(), places.end() - places.start() + 1);
        let range =
            part(self.master.table, first as u64 * task_entry::BYTES, count as u64 * task_entry::BYTES);
        let copy = driver.copy_part(Direction::DeviceToHost, range, TABLE, Some(self.parent)).await?;
        driver.wait(copy).await?;
        self.stats.entries_copied_back.add(count as u64);
        let bytes = driver.read_part(range).await?;
        for (place, bytes) in (first..).zip(bytes.chunks_exact(task_entry::BYTES as usize)) {
            let id = self.table.shape().at(place);
            let ended = self.table.copied_back(id, task_entry::state(bytes)).map_err(unknown)?;
            if ended && let Some(Spawned { task, since, span }) = self.spawned[place].take() {
                driver.task_done(since, span);
                if self.copies == Copies::Beside {
                    for &range in &tasks[task].copy_out {
                        let copy = driver
                            .copy_part(Direction::DeviceToHost, range, RESULTS, Some(self.parent))
                            .await?;
                        self.results.push_back(copy);
                    }
                }
            }
        }
        while self.results.front().is_some_and(|&copy| driver.is_done(copy)) {
            self.results.pop_front();
        }
        Ok(())
    }

    fn place(&self, id: TaskId) -> Result<usize, Fault> {
        self.table.shape().position(id).map_err(unknown)
    }
}

fn unknown(unknown: UnknownTask) -> Fault {
    Fault::new(unknown.to_string())
}
