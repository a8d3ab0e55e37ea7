//! A column of the TaskTable and the block of the MasterKernel that owns it: the position of the scheduler
//! warp in its sweep, and the work of its executor warps.

use counterpoint::messages::launch::CtaCounts;

use super::costs::MasterCosts;
use super::warp_table::MasterBlock;
use crate::task_entry::State;
use crate::throughput::state_machine::{ENDLESS, Warp};

/// The state of a scheduler warp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Doing {
    /// The scheduler warp sweeps over its rows, with `planned` cycles of work up to a row in which it finds
    /// something.
    Sweep { planned: f64, target: Target },
    /// The scheduler warp has enabled the task of an entry, and continues after a row.
    Enable(u32),
    /// The scheduler warp schedules the task of a row.
    Schedule(u32),
    /// The scheduler warp waits for free executors until the task of a row is placed.
    Place(u32),
    /// The scheduler warp has seen the stop word, and ends its executors.
    Stop,
}

/// The row in which a sweep finds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Row(u32),
    /// The stop word, before the first row.
    Stop,
    /// No row: the sweep finds nothing in the table's current state.
    Nowhere,
}

/// The work of a row for the scheduler warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Nothing,
    Waits,
    /// A row on which the scheduler warp can act.
    Finds(State),
}

pub(super) struct Column {
    pub(super) sm: usize,
    /// Number of the column in its MasterKernel.
    pub(super) number: u32,
    /// Whether lanes look at all rows at once.
    by_lanes: bool,
    pub(super) block: MasterBlock,
    pub(super) doing: Doing,
    /// The row that the scheduler warp inspects, and the work done on it. After the last row comes the stop
    /// word.
    row: u32,
    within: f64,
    /// The time of each row when the sweep was planned, and that of the stop word behind them.
    takes: Vec<f64>,
    /// Warps of the scheduled task of each row.
    pub(super) warps: Vec<Vec<Warp>>,
    /// Time at which the scheduler warp found that the task of each row may run.
    pub(super) found: Vec<u64>,
    /// Whether the executor of each slot is at work.
    pub(super) busy: Vec<bool>,
    pub(super) since: u64,
    pub(super) counts: CtaCounts,
}

impl Column {
    pub(super) fn new(
        sm: usize,
        (number, by_lanes): (u32, bool),
        block: MasterBlock,
        rows: u32,
        since: u64,
    ) -> Self {
        let slots = block.slots().len();
        Column {
            sm,
            number,
            by_lanes,
            block,
            doing: Doing::Sweep { planned: 0.0, target: Target::Nowhere },
            // The sweep begins with the stop word.
            row: rows,
            within: 0.0,
            takes: Vec::new(),
            warps: vec![Vec::new(); rows as usize],
            found: vec![0; rows as usize],
            busy: vec![false; slots],
            since,
            counts: CtaCounts::default(),
        }
    }

    /// Polling warps: executors without work, and a scheduler warp that waits for an executor.
    pub(super) fn pollers(&self) -> i32 {
        let idle = self.busy.iter().filter(|busy| !**busy).count() as i32;
        idle + i32::from(matches!(self.doing, Doing::Place(_)))
    }

    /// Goes on with the sweep behind a row.
    pub(super) fn continue_behind(&mut self, row: u32) {
        (self.row, self.within) = (row + 1, 0.0);
    }

    /// `done` cycles of the planned sweep are over.
    pub(super) fn walk(&mut self, done: f64) {
        let whole: f64 = self.takes.iter().sum();
        let mut rest = self.within + done;
        // Whole sweeps return to their start.
        if whole > 0.0 {
            let before: f64 = self.takes[..self.row as usize].iter().sum();
            rest = (before + rest) % whole;
            self.row = 0;
        }
        while (self.row as usize) < self.takes.len() - 1 && rest >= self.takes[self.row as usize] {
            rest -= self.takes[self.row as usize];
            self.row += 1;
        }
        self.within = rest;
    }

    /// Plans the sweep from here, over rows as they are now; gives its work.
    pub(super) fn plan(&mut self, rows: &[Row], stops: bool, costs: &MasterCosts) -> f64 {
        let waits = |row: &Row| !matches!(row, Row::Nothing | Row::Finds(State { ready: ..=1, .. }));
        let wait = |is_so: bool| if is_so { costs.wait } else { 0.0 };
        self.takes.clear();
        if self.by_lanes {
            // One inspection covers all rows, before the first row; its findings are processed row by row.
            self.takes.resize(rows.len(), 0.0);
            self.takes.push(costs.lanes + wait(rows.iter().any(waits)));
        } else {
            self.takes.extend(rows.iter().map(|row| costs.look + wait(waits(row))));
            self.takes.push(costs.sweep);
        }
        let (mut work, mut target) = (-self.within, Target::Nowhere);
        for step in 0..=self.takes.len() {
            let at = (self.row as usize + step) % self.takes.len();
            // An entry is read at the middle of the look, and the one before it behind the look, when its
            // number is known; a later entry is seen in the next sweep.
            let read =
                if matches!(rows.get(at), Some(Row::Finds(State { ready: 2.., .. }))) { 1.0 } else { 0.5 };
            let seen = step > 0 || self.within <= costs.look * read;
            let found = match rows.get(at) {
                Some(Row::Finds(_)) => Some(Target::Row(at as u32)),
                None if stops => Some(Target::Stop),
                _ => None,
            };
            work += self.takes[at];
            if seen && let Some(found) = found {
                target = found;
                break;
            }
        }
        let planned = if target == Target::Nowhere { ENDLESS } else { work };
        self.doing = Doing::Sweep { planned, target };
        planned
    }
}
