//! The CPU's copy of the TaskTable (Pagoda, PPoPP 2017, section 4.2), for the runtime `pagoda`. Entries and
//! their states are described in `task_entry`.
//!
//! [`Protocol::SingleCopy`] shows why two entries are needed to start a task: the state of an entry that starts its own task may arrive
//! before the parameters do.

use std::collections::BTreeSet;

use crate::task_entry::{ENABLED, FREE, PRESENT, Shape, State, TaskId, UnknownTask};
use counterpoint::component::Choice;

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
    column: u32,
}

impl HostTable {
    /// A table without tasks.
    pub fn new(shape: Shape, protocol: Protocol) -> Self {
        let states = vec![FREE; shape.entries()];
        HostTable { shape, protocol, states, known: BTreeSet::new(), last: None, column: 0 }
    }

    /// Shape of the table.
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
    /// If no task has been spawned into the entry.
    pub fn check(&self, id: TaskId) -> Result<bool, UnknownTask> {
        let state = self.state(id)?;
        if self.known.contains(&id) { Ok(state == FREE) } else { Err(UnknownTask(id)) }
    }

    /// Puts a task into a free entry: of the column whose turn it is, or of the next column that has one. Returns `None` if the table is
    /// full; the whole table must then be copied back. The paper does not say which column a task goes to.
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

    /// No task has come for a while, and the last entry has been copied back: only if its parameters have arrived, it is enabled, and
    /// must be copied to the GPU. The next task is spawned like the first one: no entry waits at -1 any more.
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
