//! A channel from the descriptions of its policies: every cycle, every access.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Outcome, Plain};
use crate::memory::dram::bank::{Banks, Command};
use crate::memory::dram::refresh::RefreshPlan;
use crate::memory::dram::timing::Timing;

/// The stream of an access.
pub(super) fn stream(number: u64) -> u32 {
    (number / 3 % 3) as u32
}

/// Schedulers by their descriptions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scheduler {
    FrFcfs { overtaking: u32 },
    Fcfs,
    WriteDrain { overtaking: u32, high: usize, low: usize },
    Bliss { streak: u32, clear: u64 },
}

impl Scheduler {
    /// As a machine file writes it.
    pub(super) fn text(self) -> String {
        match self {
            Scheduler::FrFcfs { overtaking } => format!("{{ fr-fcfs: {{ overtaking: {overtaking} }} }}"),
            Scheduler::Fcfs => "fcfs".to_owned(),
            Scheduler::WriteDrain { overtaking, high, low } => {
                let limits = format!("overtaking: {overtaking}, high: {high}, low: {low}");
                format!("{{ fr-fcfs-write-drain: {{ {limits} }} }}")
            }
            Scheduler::Bliss { streak, clear } => {
                format!("{{ bliss: {{ streak: {streak}, clear: {clear} cycles }} }}")
            }
        }
    }
}

pub(super) fn schedulers() -> impl Strategy<Value = Scheduler> {
    let overtaking = || prop_oneof![0_u32..4, Just(64)];
    prop_oneof![
        overtaking().prop_map(|overtaking| Scheduler::FrFcfs { overtaking }),
        Just(Scheduler::Fcfs),
        (overtaking(), 1_usize..6, 0_usize..6).prop_map(|(overtaking, above, low)| Scheduler::WriteDrain {
            overtaking,
            high: low + above,
            low
        }),
        (1_u32..5, 50_u64..600).prop_map(|(streak, clear)| Scheduler::Bliss { streak, clear }),
    ]
}

/// Row policies by their descriptions: the cycles for which a row stays open, if it is closed at all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows(Option<u64>);

impl Rows {
    /// As a machine file writes it.
    pub(super) fn text(self) -> String {
        match self.0 {
            None => "open".to_owned(),
            Some(0) => "closed".to_owned(),
            Some(after) => format!("{{ timeout: {{ after: {after} cycles }} }}"),
        }
    }
}

pub(super) fn rows() -> impl Strategy<Value = Rows> {
    prop_oneof![Just(Rows(None)), Just(Rows(Some(0))), (1_u64..80).prop_map(|after| Rows(Some(after)))]
}

pub(super) fn refreshes() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["none", "all-bank", "per-bank", "same-bank"])
}

struct Naive {
    banks: Banks,
    timing: Timing,
    scheduler: Scheduler,
    rows: Rows,
    plan: Option<RefreshPlan>,
    due: u64,
    turn: usize,
    /// In the order of their arrival.
    queue: Vec<Plain>,
    /// For reads and writes of each bank, the accesses that have overtaken the oldest.
    passed: Vec<[u32; 2]>,
    drains: bool,
    blacklist: BTreeSet<u32>,
    last: Option<u32>,
    streak: u32,
    /// When each bank's row is closed.
    closes: Vec<Option<u64>>,
}

impl Naive {
    /// The kind of an access as far as the scheduler counts it for itself.
    fn kind(&self, access: &Plain) -> usize {
        usize::from(access.write && matches!(self.scheduler, Scheduler::WriteDrain { .. }))
    }

    fn is_blacklisted(&self, access: &Plain) -> bool {
        self.blacklist.contains(&stream(access.number))
    }

    /// Where the access lies in the queue that a bank wants.
    fn wanted(&self, bank: usize) -> Option<usize> {
        let drains = matches!(self.scheduler, Scheduler::WriteDrain { .. }).then_some(self.drains);
        let of_bank = || {
            let all = self.queue.iter().enumerate();
            all.filter(move |(_, access)| {
                access.bank == bank && drains.is_none_or(|drains| access.write == drains)
            })
        };
        let (oldest, first) = of_bank().next()?;
        let is_hit = |access: &Plain| self.banks.open_row(bank) == Some(access.row);
        match self.scheduler {
            Scheduler::Fcfs => (oldest == 0).then_some(oldest),
            Scheduler::Bliss { .. } => {
                let best = of_bank().min_by_key(|(_, access)| (self.is_blacklisted(access), !is_hit(access)));
                best.map(|(place, _)| place)
            }
            Scheduler::FrFcfs { overtaking } | Scheduler::WriteDrain { overtaking, .. } => {
                match of_bank().find(|(_, access)| is_hit(access)) {
                    Some((hit, _)) if self.passed[bank][self.kind(first)] < overtaking => Some(hit),
                    _ => Some(oldest),
                }
            }
        }
    }

    /// The first wanted access by rank and age whose next command is of this kind and allowed.
    fn best(&self, cycle: u64, column: bool, resting: u64) -> Option<(usize, Command)> {
        let banks = (0..self.passed.len()).filter(|bank| resting >> bank & 1 == 0);
        let allowed = banks.filter_map(|bank| self.wanted(bank)).filter_map(|place| {
            let access = &self.queue[place];
            let mut banks = self.banks.clone();
            banks.want(access.bank, access.row, access.write, access.number);
            let (command, allowed) = (banks.command(access.bank), banks.allowed(access.bank));
            (command.is_column() == column && allowed <= cycle).then_some((place, command))
        });
        allowed.min_by_key(|&(place, _)| (self.is_blacklisted(&self.queue[place]), place))
    }

    /// Closes the rows whose time has come, and refreshes.
    fn pass(&mut self, cycle: u64) -> u64 {
        for bank in 0..self.closes.len() {
            if self.closes[bank] == Some(cycle) {
                self.banks.close(bank, cycle);
                self.closes[bank] = None;
            }
        }
        while let Some(plan) = &self.plan
            && cycle >= self.due
        {
            let set = plan.sets[self.turn];
            if self.banks.closable(set) > cycle {
                return set;
            }
            self.banks.refresh(set, cycle, plan.duration);
            self.due += plan.interval;
            self.turn = (self.turn + 1) % plan.sets.len();
            for (bank, closes) in self.closes.iter_mut().enumerate() {
                *closes = closes.filter(|_| set >> bank & 1 == 0);
            }
        }
        0
    }

    /// Decides between reads and writes.
    fn turn_round(&mut self) {
        let Scheduler::WriteDrain { high, low, .. } = self.scheduler else { return };
        let writes = self.queue.iter().filter(|access| access.write).count();
        let reads = self.queue.len() - writes;
        if self.drains && (writes == 0 || writes <= low && reads > 0) {
            self.drains = false;
        } else if !self.drains && writes > 0 && (writes >= high || reads == 0) {
            self.drains = true;
        }
    }

    fn arrive(&mut self, access: Plain) {
        if self.banks.open_row(access.bank) == Some(access.row) {
            self.closes[access.bank] = None;
        }
        self.queue.push(access);
        self.turn_round();
    }

    /// Issues a command for an access.
    fn issue(&mut self, place: usize, command: Command, cycle: u64, outcome: &mut Outcome) -> u64 {
        let Plain { number, bank, row, write, .. } = self.queue[place];
        outcome.trace.push((cycle, command, bank, row, number));
        self.banks.want(bank, row, write, number);
        self.banks.issue(bank, cycle)
    }

    /// Ends an access: what the scheduler and the row policy make of it.
    fn end(&mut self, place: usize, cycle: u64) {
        let access = self.queue[place].clone();
        let (bank, kind) = (access.bank, self.kind(&access));
        let mut alike = self.queue.iter().filter(|other| other.bank == bank && self.kind(other) == kind);
        let is_oldest = alike.next().is_some_and(|first| first.number == access.number);
        self.passed[bank][kind] = if is_oldest { 0 } else { self.passed[bank][kind] + 1 };
        self.queue.remove(place);
        if let Scheduler::Bliss { streak, .. } = self.scheduler {
            let stream = stream(access.number);
            self.streak = if self.last == Some(stream) { self.streak + 1 } else { 1 };
            self.last = Some(stream);
            if self.streak == streak {
                self.streak = 0;
                self.blacklist.insert(stream);
            }
        }
        self.turn_round();
        let wanted = self.queue.iter().any(|other| other.bank == bank && other.row == access.row);
        match self.rows.0 {
            Some(0) if !wanted => self.banks.close(bank, cycle),
            Some(after) if !wanted => self.closes[bank] = Some(cycle + after),
            _ => {}
        }
    }

    fn cycle(&mut self, cycle: u64, resting: u64, outcome: &mut Outcome) {
        let (mut column, row) = (self.best(cycle, true, resting), self.best(cycle, false, resting));
        if let (Some((one, _)), Some((other, _)), false) = (column, row, self.timing.dual_command_bus)
            && self.is_blacklisted(&self.queue[one])
            && !self.is_blacklisted(&self.queue[other])
        {
            column = None;
        }
        if let Some((place, command)) = column {
            let end = self.issue(place, command, cycle, outcome);
            self.queue[place].columns -= 1;
            if self.queue[place].columns == 0 {
                outcome.finished.push((self.queue[place].number, end));
                self.end(place, cycle);
            }
        }
        if (column.is_none() || self.timing.dual_command_bus)
            && let Some((place, command)) = self.best(cycle, false, resting)
        {
            self.issue(place, command, cycle, outcome);
            self.closes[self.queue[place].bank] = None;
        }
    }
}

/// The commands of a channel with these policies.
pub(super) fn naive(
    timing: Timing,
    scheduler: Scheduler,
    rows: Rows,
    plan: Option<RefreshPlan>,
    traffic: &[(u64, Plain)],
) -> Outcome {
    let banks = timing.banks as usize;
    let mut channel = Naive {
        banks: Banks::new(timing),
        timing,
        scheduler,
        rows,
        due: plan.as_ref().map_or(u64::MAX, |plan| plan.interval),
        plan,
        turn: 0,
        queue: Vec::new(),
        passed: vec![[0; 2]; banks],
        drains: false,
        blacklist: BTreeSet::new(),
        last: None,
        streak: 0,
        closes: vec![None; banks],
    };
    let mut outcome = Outcome::default();
    let mut cycle = 0;
    while outcome.finished.len() < traffic.len() {
        if let Scheduler::Bliss { clear, .. } = scheduler
            && cycle % clear == 0
        {
            channel.blacklist.clear();
        }
        let resting = channel.pass(cycle);
        for (_, access) in traffic.iter().filter(|(arrival, _)| *arrival == cycle) {
            channel.arrive(access.clone());
        }
        channel.cycle(cycle, resting, &mut outcome);
        cycle += 1;
    }
    outcome
}
