//! The scheduler beside one that looks at every access in every cycle, and its commands against the timings themselves.

use counterpoint_framework::model::Families;
use counterpoint_framework::testing::params;
use proptest::prelude::*;

use super::*;

/// An access as the naive scheduler keeps it.
#[derive(Clone, Debug)]
struct Plain {
    number: u64,
    bank: usize,
    row: u64,
    write: bool,
    columns: u64,
}

/// FR-FCFS from its description: every cycle, every access.
struct Naive {
    banks: Banks,
    timing: Timing,
    overtaking: u32,
    /// In the order of their arrival.
    queue: Vec<Plain>,
    passed: Vec<u32>,
    due: u64,
}

/// A command in a trace: when, what, to which bank and row, for which access.
type Traced = (u64, Command, usize, u64, u64);

impl Naive {
    fn new(timing: Timing, overtaking: u32) -> Self {
        let passed = vec![0; timing.banks as usize];
        let due = if timing.refresh { timing.tREFI } else { u64::MAX };
        Naive { banks: Banks::new(timing), timing, overtaking, queue: Vec::new(), passed, due }
    }

    /// Where the access lies in the queue that a bank wants.
    fn wanted(&self, bank: usize) -> Option<usize> {
        let of_bank = || self.queue.iter().enumerate().filter(|(_, access)| access.bank == bank);
        let (oldest, _) = of_bank().next()?;
        let hit = of_bank().find(|(_, access)| self.banks.open_row(bank) == Some(access.row));
        match hit {
            Some((hit, _)) if self.passed[bank] < self.overtaking => Some(hit),
            _ => Some(oldest),
        }
    }

    /// The oldest wanted access whose next command is of this kind and allowed.
    fn best(&self, cycle: u64, column: bool) -> Option<(usize, Command)> {
        let wanted = (0..self.passed.len()).filter_map(|bank| self.wanted(bank));
        let allowed = wanted.filter_map(|place| {
            let access = &self.queue[place];
            let mut banks = self.banks.clone();
            banks.want(access.bank, access.row, access.write, access.number);
            let (command, allowed) = (banks.command(access.bank), banks.allowed(access.bank));
            (command.is_column() == column && allowed <= cycle).then_some((place, command))
        });
        allowed.min_by_key(|&(place, _)| place)
    }

    fn cycle(&mut self, cycle: u64, trace: &mut Vec<Traced>, finished: &mut Vec<(u64, u64)>) {
        if cycle >= self.due {
            if self.banks.all_closable() > cycle {
                return;
            }
            self.banks.refresh(cycle);
            self.due += self.timing.tREFI;
        }
        let column = self.best(cycle, true);
        if let Some((place, command)) = column {
            let access = &mut self.queue[place];
            access.columns -= 1;
            let (bank, row) = (access.bank, access.row);
            trace.push((cycle, command, bank, row, access.number));
            self.banks.want(bank, row, access.write, access.number);
            let end = self.banks.issue(bank, cycle);
            if self.queue[place].columns == 0 {
                let first = self.queue.iter().position(|access| access.bank == bank);
                self.passed[bank] = if first == Some(place) { 0 } else { self.passed[bank] + 1 };
                finished.push((self.queue.remove(place).number, end));
            }
        }
        if (column.is_none() || self.timing.dual_command_bus)
            && let Some((place, command)) = self.best(cycle, false)
        {
            let Plain { bank, row, write, number, .. } = self.queue[place];
            trace.push((cycle, command, bank, row, number));
            self.banks.want(bank, row, write, number);
            self.banks.issue(bank, cycle);
        }
    }
}

/// Accesses with the cycle of their arrival, in order.
fn traffic() -> impl Strategy<Value = Vec<(u64, Plain)>> {
    let gap = prop_oneof![6 => 0_u64..3, 3 => 0_u64..40, 1 => 0_u64..2000];
    let one = (gap, 0_usize..8, 0_u64..4, any::<bool>(), 1_u64..5);
    prop::collection::vec(one, 1..120).prop_map(|list| {
        let mut cycle = 0;
        let with_time = list.into_iter().enumerate().map(|(number, (gap, bank, row, write, columns))| {
            cycle += gap;
            (cycle, Plain { number: number as u64, bank, row, write, columns })
        });
        with_time.collect()
    })
}

fn timings() -> impl Strategy<Value = Timing> {
    let standard = prop::sample::select(vec![
        "gddr5",
        "gddr5-1502",
        "gddr3",
        "hbm2",
        "hbm2, refresh: off",
        "gddr5, dual_command_bus: on",
        "gddr5, refresh: on, tREFI: 160, tRFC: 30",
        "hbm2, tREFI: 400, tRFC: 20, dual_command_bus: off",
        "gddr3, tCCD: 9, tRTP: 20, tRRD: 1",
    ]);
    standard.prop_map(|name| {
        let text = format!("{{ standard: {name} }}");
        Timing::new(&params(&Families::default(), &text)).unwrap()
    })
}

/// The scheduler's behaviour with the traffic, asked only when it says so or something arrives.
fn jumping(timing: Timing, overtaking: u32, traffic: &[(u64, Plain)]) -> (Vec<Traced>, Vec<(u64, u64)>, u64) {
    let mut scheduler = Scheduler::new(timing, overtaking);
    let (mut trace, mut finished, mut refreshes) = (Vec::new(), Vec::new(), 0);
    let (mut place, mut cycle, mut next) = (0, 0, u64::MAX);
    loop {
        while traffic.get(place).is_some_and(|(arrival, _)| *arrival == cycle) {
            let Plain { number, bank, row, write, columns } = traffic[place].1.clone();
            let label = Label { kernel: number as u32, ..Label::default() };
            scheduler.push(cycle, Request { bank, row, write, columns, label, payload: number });
            place += 1;
        }
        if next <= cycle || traffic.get(place.wrapping_sub(1)).is_some_and(|last| last.0 == cycle) {
            let step = scheduler.step(cycle, true);
            refreshes += step.refreshes;
            for issued in step.column.iter().chain(&step.row) {
                let number = issued.label.kernel.into();
                trace.push((cycle, issued.command, issued.bank, issued.row, number));
            }
            finished.extend(step.finished.map(|finished| (finished.payload, finished.end)));
            assert!(step.next > cycle, "time must pass");
            next = step.next;
        }
        let arrival = traffic.get(place).map_or(u64::MAX, |(arrival, _)| *arrival);
        cycle = next.min(arrival);
        if cycle == u64::MAX {
            assert!(scheduler.is_empty(), "{} are left", scheduler.len());
            return (trace, finished, refreshes);
        }
    }
}

fn naive(timing: Timing, overtaking: u32, traffic: &[(u64, Plain)]) -> (Vec<Traced>, Vec<(u64, u64)>) {
    let mut scheduler = Naive::new(timing, overtaking);
    let (mut trace, mut finished) = (Vec::new(), Vec::new());
    let mut cycle = 0;
    while finished.len() < traffic.len() {
        let arrived = traffic.iter().filter(|(arrival, _)| *arrival == cycle);
        scheduler.queue.extend(arrived.map(|(_, access)| access.clone()));
        scheduler.cycle(cycle, &mut trace, &mut finished);
        cycle += 1;
    }
    (trace, finished)
}

/// The smallest number of cycles between two commands, by the standard's definitions alone; nothing if there is none.
fn distance(t: &Timing, first: &Traced, second: &Traced) -> u64 {
    use Command::{Activate, Precharge, Read, Write};
    let (one, two) = (first.2 as u32, second.2 as u32);
    let (same_bank, same_group) = (one == two, t.group(one) == t.group(two));
    let when = |condition: bool, cycles: u64| if condition { cycles } else { 0 };
    let columns = t.tCCD.max(when(same_group, t.tCCDL));
    match (first.1, second.1) {
        (Activate, Activate) => t.tRRD.max(when(same_bank, t.tRC)),
        (Activate, Read) => when(same_bank, t.tRCD),
        (Activate, Write) => when(same_bank, t.tRCDWR),
        (Activate, Precharge) => when(same_bank, t.tRAS),
        (Precharge, Activate) => when(same_bank, t.tRP),
        (Read, Read) | (Write, Write) => columns,
        (Read, Write) => columns.max((t.tCL + t.burst_cycles + 2).saturating_sub(t.tWL)),
        (Write, Read) => columns.max(t.tWL + t.burst_cycles + t.tCDLR),
        (Read, Precharge) => when(same_bank, t.tRTP).max(when(same_group, t.tRTPL)),
        (Write, Precharge) => when(same_bank, t.tWL + t.burst_cycles + t.tWR),
        // A row is opened after it has been closed, and closed after it has been opened.
        (Precharge | Read | Write, _) => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn it_decides_as_the_naive_one(
        timing in timings(), overtaking in prop_oneof![0_u32..4, Just(64)], traffic in traffic(),
    ) {
        let (trace, finished, _) = jumping(timing, overtaking, &traffic);
        prop_assert_eq!((trace, finished), naive(timing, overtaking, &traffic));
    }

    #[test]
    fn no_command_comes_too_early_and_columns_find_their_row_open(timing in timings(), traffic in traffic()) {
        let (trace, ..) = jumping(timing, 64, &traffic);
        let mut open = vec![None; timing.banks as usize];
        for (place, second) in trace.iter().enumerate() {
            for first in &trace[..place] {
                let least = distance(&timing, first, second);
                prop_assert!(second.0 - first.0 >= least, "{first:?} {second:?}: {least}");
            }
            let &(_, command, bank, row, _) = second;
            match command {
                Command::Activate => open[bank] = Some(row),
                Command::Precharge => open[bank] = None,
                Command::Read | Command::Write => prop_assert_eq!(open[bank], Some(row)),
            }
        }
    }
}

fn request(bank: usize, row: u64) -> Request<()> {
    Request { bank, row, write: false, columns: 1, label: Label::default(), payload: () }
}

fn timing(text: &str) -> Timing {
    Timing::new(&params(&Families::default(), text)).unwrap()
}

#[test]
fn an_idle_channel_is_refreshed_all_the_same() {
    let timing = timing("{ standard: gddr5, refresh: on, tREFI: 1000, tRFC: 100 }");
    let mut scheduler = Scheduler::new(timing, 64);
    scheduler.push(5, request(0, 7));
    assert_eq!(scheduler.step(5, true).next, 17, "tRCD");
    let step = scheduler.step(17, true);
    assert!(step.finished.is_some() && step.next == u64::MAX, "nobody needs to look at it any more");
    // Five refreshes later the row is closed; the last was due at 5000.
    scheduler.push(5050, request(0, 7));
    let step = scheduler.step(5050, true);
    assert_eq!((step.refreshes, step.row, step.next), (5, None, 5100));
    assert_eq!(scheduler.step(5100, true).row.map(|issued| issued.command), Some(Command::Activate));
}

#[test]
fn a_refresh_waits_for_a_row_that_must_stay_open_and_holds_what_comes_meanwhile() {
    let timing = timing("{ standard: gddr5, refresh: on, tREFI: 1000, tRFC: 100 }");
    let mut scheduler = Scheduler::new(timing, 64);
    scheduler.push(990, request(0, 7));
    assert_eq!(scheduler.step(990, true).next, 1000);
    // Opened at 990, the row stays until tRAS is over; tRCD is over before, but nothing is issued any more.
    assert_eq!(
        scheduler.step(1000, true),
        SchedulerStep { refreshes: 0, column: None, row: None, finished: None, next: 1018 }
    );
    let step = scheduler.step(1018, true);
    assert_eq!((step.refreshes, step.next), (1, 1018 + 12 + 100), "tRP and tRFC");
}

#[test]
fn without_room_for_replies_no_data_moves() {
    let mut scheduler = Scheduler::new(timing("{}"), 64);
    scheduler.push(5, request(0, 7));
    scheduler.push(5, request(4, 7));
    assert!(scheduler.step(5, false).row.is_some());
    assert!(scheduler.step(11, false).row.is_some());
    assert_eq!(
        scheduler.step(17, false),
        SchedulerStep { refreshes: 0, column: None, row: None, finished: None, next: u64::MAX }
    );
    assert!(scheduler.step(18, true).finished.is_some());
}
