//! The TaskTable, of which the CPU has a copy and the GPU has one (Pagoda, PPoPP 2017, section 4.2).
//!
//! An entry's state is (ready, sched): (0, 0) free; (id, 0) just copied, where `id` names the task spawned before, whose parameters
//! are surely there; (-1, 0) the parameters are there; (1, 1) may be scheduled; (1, 0) is scheduled or runs. The CPU writes entries
//! whose ready field is 0 in its own copy, and the GPU those whose ready field is not 0 in its. The copies may disagree, and nothing
//! is compared or changed atomically across the bus: the CPU learns what the GPU has done when it copies entries back.
//!
//! [`HostTable`] is what the runtime `pagoda` works with. [`DeviceTable`] is the pure twin of what the scheduler and executor warps of
//! `experiments/applications/pagoda.h` do to the entries in device memory.
//!
//! Why it takes two entries to start a task is shown by what does without ([`Protocol::SingleCopy`]): of an entry that starts its own
//! task the state may be there before the parameters are.
//!
//! Corrections of the printed Algorithm 1: an entry names a predecessor if its ready field is above 1, not above 0, because a task
//! that runs has 1; and behind the predecessor's state the scheduler writes its own entry's, -1, as the text says.

use std::collections::BTreeSet;

use counterpoint_framework::model::Choice;

/// Names an entry: 2 for the first, so that it is none of the other values of a ready field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub i32);

/// Columns, one for each block of the MasterKernel, and rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the MasterKernel.
    pub columns: u32,
    /// Entries of each.
    pub rows: u32,
}

impl Shape {
    /// All entries.
    pub fn entries(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// The entry of a column and a row. Those of a row lie one behind the other, so that tasks which are spawned one after another do.
    pub fn id(&self, column: u32, row: u32) -> TaskId {
        self.at((row * self.columns + column) as usize)
    }

    /// The entry at a position among all.
    pub fn at(&self, position: usize) -> TaskId {
        TaskId(position as i32 + 2)
    }

    /// Its position among all entries.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn position(&self, id: TaskId) -> Result<usize, UnknownTask> {
        let position = usize::try_from(id.0 - 2).ok().filter(|&position| position < self.entries());
        position.ok_or(UnknownTask(id))
    }
}

/// A task that nobody has spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownTask(pub TaskId);

impl std::fmt::Display for UnknownTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no task has the id {}: it cannot be waited for", self.0.0)
    }
}

/// The two fields of an entry that tell its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// 0, 1, -1, or the id of the task spawned before.
    pub ready: i32,
    /// Whether it may be scheduled.
    pub sched: i32,
}

/// Nothing is in the entry.
pub const FREE: State = State { ready: 0, sched: 0 };
/// Its parameters are there.
pub const PRESENT: State = State { ready: -1, sched: 0 };
/// It may be scheduled.
pub const ENABLED: State = State { ready: 1, sched: 1 };
/// It is scheduled or runs.
pub const RUNNING: State = State { ready: 1, sched: 0 };

impl State {
    /// What an entry becomes whose task is spawned behind another one.
    pub fn behind(last: Option<TaskId>) -> State {
        last.map_or(PRESENT, |id| State { ready: id.0, sched: 0 })
    }
}

/// When the entry of a task says that it may be scheduled.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// When that of the next task has come, which names it: its parameters are there then, whatever the order in which the bytes of a
    /// copy arrive.
    Pipelined,
    /// With its parameters, in one copy. That is right only where a copy's first bytes never arrive before its last ones.
    SingleCopy,
}

/// The CPU's copy.
#[derive(Clone, Debug)]
pub struct HostTable {
    shape: Shape,
    protocol: Protocol,
    states: Vec<State>,
    /// Entries that have been used.
    known: BTreeSet<TaskId>,
    /// The task spawned last, unless it has been flushed.
    last: Option<TaskId>,
    /// The column whose turn it is.
    column: u32,
}

impl HostTable {
    /// A table without tasks.
    pub fn new(shape: Shape, protocol: Protocol) -> Self {
        let states = vec![FREE; shape.entries()];
        HostTable { shape, protocol, states, known: BTreeSet::new(), last: None, column: 0 }
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The states of all entries.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The state of an entry.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn state(&self, id: TaskId) -> Result<State, UnknownTask> {
        Ok(self.states[self.shape.position(id)?])
    }

    /// Whether the task that was spawned last into an entry is done, as far as the CPU knows (`check`).
    ///
    /// # Errors
    /// If none has been.
    pub fn check(&self, id: TaskId) -> Result<bool, UnknownTask> {
        let state = self.state(id)?;
        if self.known.contains(&id) { Ok(state == FREE) } else { Err(UnknownTask(id)) }
    }

    /// Puts a task into a free entry: of the column whose turn it is, or the next that has one. Gives nothing if the table is full;
    /// then all of it must be copied back. The paper does not say which column a task goes to.
    pub fn spawn(&mut self) -> Option<(TaskId, State)> {
        let Shape { columns, rows } = self.shape;
        let ids = (0..columns).map(|turn| (self.column + turn) % columns).flat_map(|column| {
            let shape = self.shape;
            (0..rows).map(move |row| (column, shape.id(column, row)))
        });
        let is_free = |&(_, id): &(u32, TaskId)| self.state(id) == Ok(FREE);
        let (column, id) = { ids }.find(is_free)?;
        let (state, last) = match self.protocol {
            Protocol::Pipelined => (State::behind(self.last), Some(id)),
            Protocol::SingleCopy => (ENABLED, None),
        };
        self.states[self.shape.position(id).ok()?] = state;
        self.known.insert(id);
        self.column = (column + 1) % columns;
        self.last = last;
        Some((id, state))
    }

    /// The task spawned last, if it waits for another one to be spawned: the entry to copy back when no task comes.
    pub fn last(&self) -> Option<TaskId> {
        self.last
    }

    /// An entry has been copied back. Gives whether its task has ended since.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn copied_back(&mut self, id: TaskId, state: State) -> Result<bool, UnknownTask> {
        let place = &mut self.states[self.shape.position(id)?];
        let ended = *place != FREE && state == FREE;
        *place = state;
        Ok(ended)
    }

    /// No task has come for a while, and the last entry has been copied back: if its parameters are there, and only then, it is set to be
    /// scheduled, and must be copied to the GPU. The next task is spawned as the first one was: nobody waits at -1 any more.
    pub fn flush(&mut self) -> Option<(TaskId, State)> {
        let id = self.last?;
        let place = self.shape.position(id).ok()?;
        if self.states[place] != PRESENT {
            return None;
        }
        self.states[place] = ENABLED;
        self.last = None;
        Some((id, ENABLED))
    }
}

/// What the scheduler warp of a column does at an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The task before it that may be scheduled from now on.
    pub enabled: Option<TaskId>,
    /// The entry's own task is to be scheduled.
    pub scheduled: bool,
}

/// The GPU's copy.
#[derive(Clone, Debug)]
pub struct DeviceTable {
    shape: Shape,
    states: Vec<State>,
}

impl DeviceTable {
    /// A table without tasks.
    pub fn new(shape: Shape) -> Self {
        DeviceTable { shape, states: vec![FREE; shape.entries()] }
    }

    /// The states of all entries.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// An entry of the CPU's arrives.
    ///
    /// # Errors
    /// If the entry is not the CPU's to write: only a free one is, and one that waits for its flush.
    pub fn arrive(&mut self, id: TaskId, state: State) -> Result<(), String> {
        let place = self.shape.position(id).map_err(|unknown| unknown.to_string())?;
        let own = self.states[place];
        if own != FREE && (own, state) != (PRESENT, ENABLED) {
            return Err(format!("entry {} is {own:?} and not the CPU's, which writes {state:?}", id.0));
        }
        self.states[place] = state;
        Ok(())
    }

    /// The scheduler warp of an entry's column looks at it.
    ///
    /// # Errors
    /// If there is no such entry, or its state names none.
    pub fn look(&mut self, id: TaskId) -> Result<Looked, UnknownTask> {
        let place = self.shape.position(id)?;
        let mut looked = Looked::default();
        let ready = self.states[place].ready;
        if ready > 1 {
            let before = self.shape.position(TaskId(ready))?;
            if self.states[before].ready != -1 {
                return Ok(looked);
            }
            self.states[before] = ENABLED;
            self.states[place].ready = -1;
            looked.enabled = Some(TaskId(ready));
        }
        if self.states[place].sched == 1 {
            self.states[place].sched = 0;
            looked.scheduled = true;
        }
        Ok(looked)
    }

    /// The last warp of an entry's task has ended.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn finish(&mut self, id: TaskId) -> Result<(), UnknownTask> {
        let place = self.shape.position(id)?;
        self.states[place].ready = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
