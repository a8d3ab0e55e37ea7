//! First ready, first come, first served (FR-FCFS), after GPGPU-Sim's `frfcfs_scheduler`.
//!
//! Each bank has a queue and wants one access at a time: the oldest to its open row, or the oldest of all
//! where none is or where the limit of overtaking accesses is reached. Among the banks whose next command is
//! allowed, column commands go before row commands, then the older access. A bank's choice is kept until
//! something changes it, so a step looks at one access a bank, and returns the cycle of the next step that
//! can issue something.

use counterpoint_protocols::memory::Label;

use super::bank::{Banks, Command};
use super::timing::Timing;

/// An access to one row, with what its owner needs to know when it is done.
pub struct Request<T> {
    /// The bank.
    pub bank: usize,
    /// The row.
    pub row: u64,
    /// Whether it writes.
    pub write: bool,
    /// Column commands that it takes.
    pub columns: u64,
    /// On whose behalf.
    pub label: Label,
    /// Given back with the last of them.
    pub payload: T,
}

/// A command that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The command.
    pub command: Command,
    /// To this bank.
    pub bank: usize,
    /// For an access to this row.
    pub row: u64,
    /// Whether it is the first command for its access.
    pub first: bool,
    /// On whose behalf.
    pub label: Label,
}

/// An access that has had its last column command.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished<T> {
    /// The cycle in which it was queued.
    pub since: u64,
    /// The cycle after its last data.
    pub end: u64,
    /// Payload that was given with it.
    pub payload: T,
}

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub struct SchedulerStep<T> {
    /// Refreshes since the last step.
    pub refreshes: u64,
    /// The column command.
    pub column: Option<Issued>,
    /// The row command.
    pub row: Option<Issued>,
    /// The access that the column command ends.
    pub finished: Option<Finished<T>>,
    /// The next cycle in which something can be issued, if nothing is queued until then; `u64::MAX`: never.
    pub next: u64,
}

const NONE: u32 = u32::MAX;

struct Slot<T> {
    row: u64,
    order: u64,
    since: u64,
    columns: u64,
    label: Label,
    write: bool,
    begun: bool,
    /// Neighbours in the bank's queue.
    older: u32,
    younger: u32,
    payload: Option<T>,
}

/// A bank's queue, and the access that it wants.
#[derive(Clone, Copy)]
struct Queue {
    oldest: u32,
    youngest: u32,
    /// Accesses that have overtaken the oldest.
    passed: u32,
    wanted: u32,
    /// Row of the wanted access.
    row: u64,
}

/// The scheduler of a channel.
pub struct Scheduler<T> {
    banks: Banks,
    timing: Timing,
    overtaking: u32,
    queues: Vec<Queue>,
    /// Banks whose queues are not empty, a bit each.
    waiting: u64,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    arrivals: u64,
    /// When the next refresh is due.
    due: u64,
    /// Nothing can be issued before this cycle.
    next: u64,
}

impl<T> Scheduler<T> {
    /// A scheduler that lets at most `overtaking` accesses go before a bank's oldest.
    pub fn new(timing: Timing, overtaking: u32) -> Self {
        let queue = Queue { oldest: NONE, youngest: NONE, passed: 0, wanted: NONE, row: 0 };
        Scheduler {
            banks: Banks::new(timing),
            timing,
            overtaking,
            queues: vec![queue; timing.banks as usize],
            waiting: 0,
            slots: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
            due: if timing.refresh { timing.tREFI } else { u64::MAX },
            next: 0,
        }
    }

    /// Accesses that are queued.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Queues an access.
    pub fn push(&mut self, cycle: u64, request: Request<T>) {
        let Request { bank, row, write, columns, label, payload } = request;
        let order = self.arrivals;
        self.arrivals += 1;
        let older = self.queues[bank].youngest;
        let slot = Slot {
            row,
            order,
            since: cycle,
            columns,
            label,
            write,
            begun: false,
            older,
            younger: NONE,
            payload: Some(payload),
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.queues[bank].youngest = number;
        match older {
            NONE => self.queues[bank].oldest = number,
            older => self.slots[older as usize].younger = number,
        }
        self.waiting |= 1 << bank;
        // The youngest changes the choice only if it is the first to the open row.
        let queue = &self.queues[bank];
        let open = self.banks.open_row(bank);
        if older == NONE || open == Some(row) && queue.row != row {
            self.choose(bank);
            self.next = self.next.min(self.banks.allowed(bank)).min(self.due);
        }
    }

    /// Issues what can be issued in this cycle; column commands only if there is room for what they finish.
    pub fn step(&mut self, cycle: u64, room: bool) -> SchedulerStep<T> {
        let mut step =
            SchedulerStep { refreshes: 0, column: None, row: None, finished: None, next: self.next };
        if cycle < self.next {
            return step;
        }
        if cycle >= self.due {
            let closable = self.banks.all_closable();
            if closable > cycle {
                // Nothing is issued any more until all rows can be closed.
                step.next = closable;
                return step;
            }
            step.refreshes = self.refresh(cycle);
        }
        let columns = if room { self.waiting & self.banks.columns() } else { 0 };
        if let Some(bank) = self.oldest(columns, cycle) {
            let (issued, finished) = self.column(bank, cycle);
            (step.column, step.finished) = (Some(issued), finished);
        }
        // After the column command: what the data bus does may forbid the row command.
        if (step.column.is_none() || self.timing.dual_command_bus)
            && let Some(bank) = self.oldest(self.waiting & !self.banks.columns(), cycle)
        {
            let issued = self.issued(bank);
            self.banks.issue(bank, cycle);
            // The choice stays: a row is closed for the oldest access only, and opened for the one that is chosen.
            step.row = Some(issued);
        }
        step.next = self.earliest(room, cycle + 1);
        // Where there was no room, there may be some at any time.
        self.next = if room { step.next } else { 0 };
        step
    }

    /// The bank of `banks` with the oldest access, of those that may issue their command at `cycle`.
    #[inline]
    fn oldest(&self, mut banks: u64, cycle: u64) -> Option<usize> {
        let (mut best, mut found) = (u64::MAX, None);
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            let order = self.banks.order(bank);
            if self.banks.allowed(bank) <= cycle && order < best {
                (best, found) = (order, Some(bank));
            }
        }
        found
    }

    /// The first cycle from `cycle` on in which something may be issued; `u64::MAX` if nothing is queued.
    #[inline]
    fn earliest(&self, room: bool, cycle: u64) -> u64 {
        if self.is_empty() {
            return u64::MAX;
        }
        let mut banks = if room { self.waiting } else { self.waiting & !self.banks.columns() };
        let mut earliest = self.due;
        while banks != 0 && earliest > cycle {
            earliest = earliest.min(self.banks.allowed(banks.trailing_zeros() as usize));
            banks &= banks - 1;
        }
        earliest.max(cycle)
    }

    /// The command that a bank's access gets now.
    fn issued(&mut self, bank: usize) -> Issued {
        let slot = &mut self.slots[self.queues[bank].wanted as usize];
        let (command, first) = (self.banks.command(bank), !slot.begun);
        let issued = Issued { command, bank, row: slot.row, first, label: slot.label };
        slot.begun = true;
        issued
    }

    /// Issues a column command for a bank's access.
    fn column(&mut self, bank: usize, cycle: u64) -> (Issued, Option<Finished<T>>) {
        let number = self.queues[bank].wanted;
        let issued = self.issued(bank);
        let end = self.banks.issue(bank, cycle);
        let slot = &mut self.slots[number as usize];
        slot.columns -= 1;
        if slot.columns > 0 {
            return (issued, None);
        }
        let finished = slot.payload.take().map(|payload| Finished { since: slot.since, end, payload });
        self.unlink(bank, number);
        (issued, finished)
    }

    /// Takes an access out of its bank's queue.
    fn unlink(&mut self, bank: usize, number: u32) {
        let Slot { older, younger, .. } = self.slots[number as usize];
        let queue = &mut self.queues[bank];
        queue.passed = if queue.oldest == number { 0 } else { queue.passed + 1 };
        match older {
            NONE => queue.oldest = younger,
            older => self.slots[older as usize].younger = younger,
        }
        match younger {
            NONE => queue.youngest = older,
            younger => self.slots[younger as usize].older = older,
        }
        self.free.push(number);
        if queue.oldest == NONE {
            self.waiting &= !(1 << bank);
        } else {
            self.choose(bank);
        }
    }

    /// Finds the access that a bank wants; its queue is not empty.
    fn choose(&mut self, bank: usize) {
        let queue = &mut self.queues[bank];
        queue.wanted = queue.oldest;
        if let Some(open) = self.banks.open_row(bank)
            && queue.passed < self.overtaking
        {
            let mut next = queue.oldest;
            while next != NONE && self.slots[next as usize].row != open {
                next = self.slots[next as usize].younger;
            }
            if next != NONE {
                queue.wanted = next;
            }
        }
        let slot = &self.slots[queue.wanted as usize];
        queue.row = slot.row;
        self.banks.want(bank, slot.row, slot.write, slot.order);
    }

    /// Does the refreshes that are due, and says how many. While nothing was queued nobody asked: only the first of
    /// those found open rows, and only the last can still be under way.
    fn refresh(&mut self, cycle: u64) -> u64 {
        let interval = self.timing.tREFI;
        let mut count = 0;
        while cycle >= self.due {
            let skipped = if count == 0 { 0 } else { (cycle - self.due) / interval };
            self.due += skipped * interval;
            self.banks.refresh(self.due.max(self.banks.all_closable()));
            self.due += interval;
            count += skipped + 1;
        }
        for bank in 0..self.queues.len() {
            if self.waiting >> bank & 1 != 0 {
                self.choose(bank);
            }
        }
        count
    }
}

#[cfg(test)]
mod tests;
