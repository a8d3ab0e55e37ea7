//! A DRAM channel: its queues, banks and refreshes, and the commands that go to them.
//!
//! A [`DramScheduler`] chooses an access in each bank. Among the banks whose next command is allowed, column commands go
//! before row commands, then the older access. A bank's choice is kept until an event changes it, so a step examines one
//! access of each bank, and returns the cycle of the next step that can issue a command.

use counterpoint_framework::kernel::members;
use counterpoint_protocols::memory::Label;

use super::bank::{Banks, Command};
use super::queue::{QueuedAccess, Queues};
use super::refresh::RefreshPlan;
use super::row_policy::{RowPolicy, RowState};
use super::scheduler::DramScheduler;
use super::timing::Timing;

/// An access to one row, with the name that its owner has for it.
pub struct Request {
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
    /// Given back with the last of the commands.
    pub payload: u32,
}

/// A command that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The command.
    pub command: Command,
    /// The bank.
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
pub struct Finished {
    /// The cycle in which it was queued.
    pub since: u64,
    /// The cycle after its last data.
    pub end: u64,
    /// Payload that was given with it.
    pub payload: u32,
}

/// Result of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChannelStep {
    /// Refreshes since the last step.
    pub refreshes: u64,
    /// Rows that the row policy has closed since the last step.
    pub closed: u64,
    /// The column command.
    pub column: Option<Issued>,
    /// The row command.
    pub row: Option<Issued>,
    /// The access that the column command ends.
    pub finished: Option<Finished>,
    /// The next cycle in which something can be issued, if nothing is queued until then; `u64::MAX`: never.
    pub next: u64,
}

const NONE: u32 = u32::MAX;
const NEVER: u64 = u64::MAX;
/// Bits of an access's position in the order of arrival; the rank is above them.
const ARRIVAL: u32 = 56;

/// State of the refreshes of a channel.
struct Refreshes {
    plan: RefreshPlan,
    /// Position of the next set of banks.
    turn: usize,
    /// Cycle in which the next refresh is due; `u64::MAX`: never.
    due: u64,
    /// Cycle in which the last refresh was issued.
    last: u64,
}

/// Policies of a channel.
pub struct Policies {
    /// Chooses among queued accesses.
    pub scheduler: Box<dyn DramScheduler>,
    /// Closes rows.
    pub rows: Box<dyn RowPolicy>,
    /// Refreshes, if there are any.
    pub refresh: Option<RefreshPlan>,
}

/// A DRAM channel.
pub struct Channel {
    banks: Banks,
    dual_command_bus: bool,
    scheduler: Box<dyn DramScheduler>,
    /// The policy of rows, unless they stay open.
    rows: Option<Box<dyn RowPolicy>>,
    queues: Queues,
    /// The access that each bank serves.
    chosen: Vec<u32>,
    /// Banks with a chosen access, a bit each.
    wanting: u64,
    /// Cycle in which the row policy closes each bank's row, and the first of these cycles; `u64::MAX`: never.
    closes: Vec<u64>,
    first_close: u64,
    /// Rows closed by the policy, and refreshes, since the last step.
    closed: u64,
    refreshed: u64,
    refreshes: Refreshes,
    /// Cycle in which choices of the scheduler change by time alone.
    elapses: u64,
    /// Cycle before which no command can be issued.
    next: u64,
}

impl Channel {
    /// An idle channel.
    pub fn new(timing: Timing, policies: Policies) -> Self {
        let Policies { scheduler, rows, refresh } = policies;
        let count = timing.banks as usize;
        let due = refresh.as_ref().map_or(NEVER, |plan| plan.interval);
        let plan = refresh.unwrap_or(RefreshPlan { interval: NEVER, duration: 0, sets: vec![0] });
        Channel {
            banks: Banks::new(timing),
            dual_command_bus: timing.dual_command_bus,
            elapses: scheduler.due(),
            scheduler,
            rows: Some(rows).filter(|rows| !rows.keeps_open()),
            queues: Queues::new(timing.banks),
            chosen: vec![NONE; count],
            wanting: 0,
            closes: vec![NEVER; count],
            first_close: NEVER,
            closed: 0,
            refreshed: 0,
            refreshes: Refreshes { plan, turn: 0, due, last: 0 },
            next: 0,
        }
    }

    /// Accesses that are queued.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.len() == 0
    }

    /// Queues an access.
    pub fn push(&mut self, cycle: u64, request: Request) {
        if cycle >= self.first_close {
            self.pass_time(cycle);
        }
        let Request { bank, row, write, columns, label, payload } = request;
        let number = self.queues.push(cycle, QueuedAccess::new(bank, row, write, label, columns, payload));
        let open = self.banks.open_row(bank);
        if open == Some(row) && self.closes[bank] != NEVER {
            self.closes[bank] = NEVER;
            self.first_close = self.closes.iter().copied().min().unwrap_or(NEVER);
        }
        let arrived = self.queues.get(number);
        let chosen = self.chosen[bank];
        if self.scheduler.queued(arrived, cycle) {
            self.choose_all();
            self.next = 0;
        } else if chosen == NONE || self.scheduler.may_prefer(arrived, self.queues.get(chosen), open) {
            self.choose(bank);
            let allowed = if self.wanting >> bank & 1 != 0 { self.banks.allowed(bank) } else { NEVER };
            self.next = self.next.min(allowed).min(self.limit());
        }
    }

    /// Issues the commands that can be issued in this cycle; column commands only if there is `room` for the accesses that they
    /// finish.
    pub fn step(&mut self, cycle: u64, room: bool) -> ChannelStep {
        let mut step = ChannelStep { next: self.next, ..ChannelStep::default() };
        if cycle < self.next {
            return step;
        }
        let mut limit = NEVER;
        let mut resting = 0;
        if cycle >= self.limit() {
            (limit, resting) = self.pass_time(cycle);
        }
        step.refreshes = std::mem::take(&mut self.refreshed);
        step.closed = std::mem::take(&mut self.closed);
        let columns = if room { self.wanting & !resting & self.banks.columns() } else { 0 };
        let column = self.first(columns, cycle).filter(|&column| !self.is_outranked(column, resting, cycle));
        if let Some(bank) = column {
            let (issued, finished) = self.column(bank, cycle);
            (step.column, step.finished) = (Some(issued), finished);
        }
        // After the column command: what the data bus does may forbid the row command.
        if (column.is_none() || self.dual_command_bus)
            && let Some(bank) = self.first(self.wanting & !resting & !self.banks.columns(), cycle)
        {
            let issued = self.issued(bank);
            self.banks.issue(bank, cycle);
            // A row that an access closes or opens is the policy's no longer.
            self.closes[bank] = NEVER;
            // The choice stays: a row is closed for an access of another row only, and opened for the chosen one.
            step.row = Some(issued);
        }
        let limit = if resting == 0 { self.limit() } else { limit };
        step.next = self.earliest(room, self.wanting & !resting, limit, cycle + 1);
        // If there was no room, there may be some at any time.
        self.next = if room { step.next } else { 0 };
        step
    }

    /// The first cycle in which time alone changes something.
    #[inline]
    fn limit(&self) -> u64 {
        self.refreshes.due.min(self.elapses).min(self.first_close)
    }

    /// The bank of `banks` with the first access by rank and age, of those that may issue their command at `cycle`.
    #[inline]
    fn first(&self, mut banks: u64, cycle: u64) -> Option<usize> {
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

    /// Whether the command bus goes to a row command of a lower rank than this bank's column command.
    #[inline]
    fn is_outranked(&self, column: usize, resting: u64, cycle: u64) -> bool {
        let rank = self.banks.order(column) >> ARRIVAL;
        let rows = self.wanting & !resting & !self.banks.columns();
        rank > 0
            && !self.dual_command_bus
            && self.first(rows, cycle).is_some_and(|row| self.banks.order(row) >> ARRIVAL < rank)
    }

    /// The first cycle from `cycle` on in which something may be issued or `limit` is reached; `u64::MAX` if nothing is queued.
    #[inline]
    fn earliest(&self, room: bool, ready: u64, limit: u64, cycle: u64) -> u64 {
        if self.is_empty() {
            return NEVER;
        }
        let mut banks = if room { ready } else { ready & !self.banks.columns() };
        let mut earliest = limit;
        while banks != 0 && earliest > cycle {
            earliest = earliest.min(self.banks.allowed(banks.trailing_zeros() as usize));
            banks &= banks - 1;
        }
        earliest.max(cycle)
    }

    /// The command that a bank's access gets now.
    fn issued(&mut self, bank: usize) -> Issued {
        let command = self.banks.command(bank);
        let access = self.queues.get_mut(self.chosen[bank]);
        let first = !access.begun;
        access.begun = true;
        let issued = Issued { command, bank, row: access.row, first, label: access.label };
        if first && let Some(rows) = &mut self.rows {
            rows.found(
                bank,
                match command {
                    Command::Activate => RowState::Closed,
                    Command::Precharge => RowState::Conflict,
                    Command::Read | Command::Write => RowState::Hit,
                },
            );
        }
        issued
    }

    /// Issues a column command for a bank's access.
    fn column(&mut self, bank: usize, cycle: u64) -> (Issued, Option<Finished>) {
        let number = self.chosen[bank];
        let issued = self.issued(bank);
        let end = self.banks.issue(bank, cycle);
        let access = self.queues.get_mut(number);
        access.columns -= 1;
        if access.columns > 0 {
            return (issued, None);
        }
        let finished = Finished { since: access.since, end, payload: access.payload };
        self.queues.remove(number);
        let all = self.scheduler.served(self.queues.get(number), cycle);
        if self.rows.is_some() {
            self.leave(bank, cycle);
        }
        if all {
            self.chosen[bank] = NONE;
            self.choose_all();
        } else {
            self.choose(bank);
        }
        (issued, Some(finished))
    }

    /// Lets the row policy decide about the open row of a bank whose last access has ended at this cycle.
    fn leave(&mut self, bank: usize, cycle: u64) {
        let wanted = self.queues.of(bank, self.banks.open_row(bank)).oldest_hit().is_some();
        let closes = self.rows.as_mut().filter(|_| !wanted).and_then(|rows| rows.closes_after(bank));
        match closes {
            Some(0) => {
                self.banks.close(bank, cycle);
                self.closed += 1;
            }
            after => {
                self.closes[bank] = after.map_or(NEVER, |after| cycle + after);
                self.first_close = self.first_close.min(self.closes[bank]);
            }
        }
    }

    /// Lets the scheduler choose the access that a bank serves.
    fn choose(&mut self, bank: usize) {
        let queue = self.queues.of(bank, self.banks.open_row(bank));
        let chosen = if self.queues.is_empty(bank) { None } else { self.scheduler.choose(&queue) };
        match chosen {
            Some(access) => {
                self.wanting |= 1 << bank;
                self.chosen[bank] = access.number();
                let order = u64::from(self.scheduler.rank(access)) << ARRIVAL | access.arrival;
                self.banks.want(bank, access.row, access.write, order);
            }
            None => {
                self.wanting &= !(1 << bank);
                self.chosen[bank] = NONE;
            }
        }
    }

    #[cold]
    fn choose_all(&mut self) {
        self.elapses = self.scheduler.due();
        for bank in 0..self.chosen.len() {
            self.choose(bank);
        }
    }

    /// Executes the events that are due by this cycle, in order of time: closes rows, refreshes banks, and notifies the
    /// scheduler. While nothing was queued this was not called: of each set of banks only the first refresh found open rows, and
    /// only the last can still be under way. Returns the next cycle in which time changes something, and the banks that rest
    /// because a refresh waits for their rows.
    #[cold]
    fn pass_time(&mut self, cycle: u64) -> (u64, u64) {
        let (mut count, mut rests, mut resting) = (0, NEVER, 0);
        loop {
            self.close_until(cycle.min(self.refreshes.due));
            let Refreshes { plan, turn, due, last } = &mut self.refreshes;
            let (set, rounds) = (plan.sets[*turn], plan.sets.len() as u64);
            if cycle < *due {
                break;
            }
            let closable = self.banks.closable(set);
            if closable > cycle {
                (rests, resting) = (closable, set);
                break;
            }
            let skipped = if count < rounds { 0 } else { (cycle - *due) / plan.interval / rounds * rounds };
            *due += skipped * plan.interval;
            // A refresh that is late because another waited comes after that one.
            *last = closable.max(*due).max(*last);
            self.banks.refresh(set, *last, plan.duration);
            *due += plan.interval;
            *turn = if *turn + 1 < plan.sets.len() { *turn + 1 } else { 0 };
            count += skipped + 1;
            for bank in members(0, set) {
                self.closes[bank] = NEVER;
                self.choose(bank);
            }
        }
        self.refreshed += count;
        self.close_until(cycle);
        if cycle >= self.elapses {
            self.scheduler.elapsed(cycle);
            self.choose_all();
        }
        let due = if resting == 0 { self.refreshes.due } else { rests };
        (due.min(self.elapses).min(self.first_close), resting)
    }

    /// Closes the rows whose time is over by this cycle.
    fn close_until(&mut self, cycle: u64) {
        for bank in 0..self.closes.len() {
            if self.closes[bank] <= cycle {
                self.banks.close(bank, self.closes[bank]);
                self.closes[bank] = NEVER;
                self.closed += 1;
                self.choose(bank);
            }
        }
        self.first_close = self.closes.iter().copied().min().unwrap_or(NEVER);
    }
}

#[cfg(test)]
mod tests;
