//! The GPU's copy of the TaskTable (Pagoda, PPoPP 2017, section 4.2): the pure twin of the actions of the
//! scheduler and executor warps of `cuda/pagoda` on the entries in device memory.
//!
//! Corrections of the printed Algorithm 1: an entry names a predecessor if its ready field is above 1, not above 0, because a task
//! that runs has 1; and behind the predecessor's state the scheduler writes its own entry's, -1, as the text says.

use crate::task_entry::{ENABLED, FREE, PRESENT, Shape, State, TaskId, UnknownTask};

/// The action of a column's scheduler warp at an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// The predecessor's task, which may be scheduled from now on.
    pub enabled: Option<TaskId>,
    /// Whether the entry's own task is to be scheduled.
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

    /// An entry arrives from the CPU.
    ///
    /// # Errors
    /// If the CPU may not write the entry: only a free entry, and one that waits for its flush, may be written.
    pub fn arrive(&mut self, id: TaskId, state: State) -> Result<(), String> {
        let place = self.shape.position(id).map_err(|unknown| unknown.to_string())?;
        let own = self.states[place];
        if own != FREE && (own, state) != (PRESENT, ENABLED) {
            return Err(format!("entry {} is {own:?} and not the CPU's, which writes {state:?}", id.0));
        }
        self.states[place] = state;
        Ok(())
    }

    /// The scheduler warp of an entry's column inspects the entry.
    ///
    /// # Errors
    /// If the entry does not exist, or its state names an entry that does not exist.
    pub fn inspect(&mut self, id: TaskId) -> Result<Inspected, UnknownTask> {
        let place = self.shape.position(id)?;
        let mut inspected = Inspected::default();
        let ready = self.states[place].ready;
        if ready > 1 {
            let before = self.shape.position(TaskId(ready))?;
            if self.states[before].ready != -1 {
                return Ok(inspected);
            }
            self.states[before] = ENABLED;
            self.states[place].ready = -1;
            inspected.enabled = Some(TaskId(ready));
        }
        if self.states[place].sched == 1 {
            self.states[place].sched = 0;
            inspected.scheduled = true;
        }
        Ok(inspected)
    }

    /// Notes that the last warp of an entry's task has ended.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn finish(&mut self, id: TaskId) -> Result<(), UnknownTask> {
        let place = self.shape.position(id)?;
        self.states[place].ready = 0;
        Ok(())
    }
}
