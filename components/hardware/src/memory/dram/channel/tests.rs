//! The channel compared with one that examines every access in every cycle, and its commands checked against the timings
//! themselves.

mod naive;

use counterpoint_framework::model::{Choose, Params};
use counterpoint_framework::testing::params;
use proptest::prelude::*;

use super::*;
use crate::memory::dram::refresh::RefreshPolicy;
use crate::testing::families;
use naive::{naive, stream};

/// An access as tests write it.
#[derive(Clone, Debug)]
struct Plain {
    number: u64,
    bank: usize,
    row: u64,
    write: bool,
    columns: u64,
}

/// A command in a trace: when, what, to which bank and row, for which access.
type Traced = (u64, Command, usize, u64, u64);

/// The commands of a channel, and the accesses that ended with the cycle after their last data.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    trace: Vec<Traced>,
    finished: Vec<(u64, u64)>,
}

/// Policies as a machine file names them.
#[derive(Clone, Debug, Params)]
struct Named {
    /// The order of accesses.
    #[param(default = "fr-fcfs")]
    scheduler: Choose<dyn DramScheduler>,
    /// When rows are closed.
    #[param(default = "open")]
    rows: Choose<dyn RowPolicy>,
    /// Which banks are refreshed.
    #[param(default = "all-bank")]
    refresh: Choose<dyn RefreshPolicy>,
}

fn policies(text: &str, timing: &Timing) -> Policies {
    let named: Named = params(&families(), text);
    let plan = named.refresh.build().plan(timing);
    // A standard without refresh timings is not refreshed.
    Policies { scheduler: named.scheduler.build(), rows: named.rows.build(), refresh: plan.unwrap_or(None) }
}

fn timing(text: &str) -> Timing {
    Timing::new(&params(&families(), text)).unwrap()
}

/// A channel of GDDR5 or the like with FR-FCFS and open rows.
fn channel(text: &str) -> Channel {
    let timing = timing(text);
    Channel::new(timing, policies("{}", &timing))
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
        "hbm2, tREFI: 0",
        "gddr5, dual_command_bus: on",
        "gddr5, tREFI: 160, tRFC: 30, tRFCpb: 10",
        "hbm2, tREFI: 400, tRFC: 20, tRFCpb: 20, dual_command_bus: off",
        "gddr3, tCCD: 9, tRTP: 20, tRRD: 1",
        "hbm2-pc",
        "hbm2e, tREFI: 900, tRFC: 60, tRFCpb: 60",
        "hbm3, tFAW: 90",
        "gddr6, tFAW: 60",
        "gddr6x",
        "ddr4-3200",
        "ddr5-4800",
    ]);
    standard.prop_map(|name| timing(&format!("{{ standard: {name} }}")))
}

/// The channel's behaviour with the traffic, asked only when it says so or something arrives.
fn jumping(timing: Timing, policies: Policies, traffic: &[(u64, Plain)]) -> Outcome {
    let mut channel = Channel::new(timing, policies);
    let mut outcome = Outcome::default();
    let (mut place, mut cycle, mut next) = (0, 0, u64::MAX);
    loop {
        while traffic.get(place).is_some_and(|(arrival, _)| *arrival == cycle) {
            let Plain { number, bank, row, write, columns } = traffic[place].1.clone();
            let label = Label { kernel: number as u32, stream: stream(number), ..Label::default() };
            channel.push(cycle, Request { bank, row, write, columns, label, payload: number as u32 });
            place += 1;
        }
        if next <= cycle || traffic.get(place.wrapping_sub(1)).is_some_and(|last| last.0 == cycle) {
            let step = channel.step(cycle, true);
            for issued in step.column.iter().chain(&step.row) {
                let number = issued.label.kernel.into();
                outcome.trace.push((cycle, issued.command, issued.bank, issued.row, number));
            }
            outcome.finished.extend(step.finished.map(|finished| (finished.payload.into(), finished.end)));
            assert!(step.next > cycle, "time must pass");
            next = step.next;
        }
        let arrival = traffic.get(place).map_or(u64::MAX, |(arrival, _)| *arrival);
        cycle = next.min(arrival);
        if cycle == u64::MAX {
            assert!(channel.is_empty(), "{} are left", channel.len());
            return outcome;
        }
    }
}

/// The pseudo channel of a bank.
fn pseudo_channel(timing: &Timing, bank: u32) -> u32 {
    timing.group(bank) / (timing.groups / timing.pseudo_channels)
}

/// The smallest number of cycles between two commands, by the standard's definitions alone; nothing if there is none.
fn distance(t: &Timing, first: &Traced, second: &Traced) -> u64 {
    use Command::{Activate, Precharge, Read, Write};
    let (one, two) = (first.2 as u32, second.2 as u32);
    if pseudo_channel(t, one) != pseudo_channel(t, two) {
        return 0;
    }
    let (same_bank, same_group) = (one == two, t.group(one) == t.group(two));
    let when = |condition: bool, cycles: u64| if condition { cycles } else { 0 };
    let columns = t.tCCD.max(when(same_group, t.tCCDL));
    match (first.1, second.1) {
        (Activate, Activate) => t.tRRD.max(when(same_group, t.tRRDL)).max(when(same_bank, t.tRC)),
        (Activate, Read) => when(same_bank, t.tRCD),
        (Activate, Write) => when(same_bank, t.tRCDWR),
        (Activate, Precharge) => when(same_bank, t.tRAS),
        (Precharge, Activate) => when(same_bank, t.tRP),
        (Read, Read) | (Write, Write) => columns,
        (Read, Write) => columns.max((t.tCL + t.burst_cycles + 2).saturating_sub(t.tWL)),
        (Write, Read) => columns.max(t.tWL + t.burst_cycles + t.tCDLR.max(when(same_group, t.tWTRL))),
        (Read, Precharge) => when(same_bank, t.tRTP).max(when(same_group, t.tRTPL)),
        (Write, Precharge) => when(same_bank, t.tWL + t.burst_cycles + t.tWR),
        // A row is opened after it has been closed, and closed after it has been opened.
        (Precharge | Read | Write, _) => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn it_decides_as_the_naive_one(
        timing in timings(), scheduler in naive::schedulers(), rows in naive::rows(), refresh in naive::refreshes(),
        traffic in traffic(),
    ) {
        let text = format!("{{ scheduler: {}, rows: {}, refresh: {} }}", scheduler.text(), rows.text(), refresh);
        let policies = policies(&text, &timing);
        let plan = policies.refresh.clone();
        let found = jumping(timing, policies, &traffic);
        prop_assert_eq!(found, naive(timing, scheduler, rows, plan, &traffic), "{}", text);
    }

    #[test]
    fn no_command_comes_too_early_and_columns_find_their_row_open(
        timing in timings(), scheduler in naive::schedulers(), rows in naive::rows(), traffic in traffic(),
    ) {
        let text = format!("{{ scheduler: {}, rows: {} }}", scheduler.text(), rows.text());
        let Outcome { trace, .. } = jumping(timing, policies(&text, &timing), &traffic);
        let mut open = vec![None; timing.banks as usize];
        let mut activates = vec![Vec::new(); timing.pseudo_channels as usize];
        for (place, second) in trace.iter().enumerate() {
            for first in &trace[..place] {
                let least = distance(&timing, first, second);
                prop_assert!(second.0 - first.0 >= least, "{first:?} {second:?}: {least}");
            }
            let &(cycle, command, bank, row, _) = second;
            match command {
                Command::Activate => {
                    open[bank] = Some(row);
                    activates[pseudo_channel(&timing, bank as u32) as usize].push(cycle);
                }
                Command::Precharge => open[bank] = None,
                Command::Read | Command::Write => prop_assert_eq!(open[bank], Some(row)),
            }
        }
        for window in activates.iter().flat_map(|cycles| cycles.windows(5)) {
            prop_assert!(window[4] - window[0] >= timing.tFAW, "{window:?}");
        }
    }
}

fn request(bank: usize, row: u64) -> Request {
    Request { bank, row, write: false, columns: 1, label: Label::default(), payload: 0 }
}

#[test]
fn an_idle_channel_is_refreshed_all_the_same() {
    let mut channel = channel("{ standard: gddr5, tREFI: 1000, tRFC: 100 }");
    channel.push(5, request(0, 7));
    assert_eq!(channel.step(5, true).next, 17, "tRCD");
    let step = channel.step(17, true);
    assert!(step.finished.is_some() && step.next == u64::MAX, "nobody needs to look at it any more");
    // Five refreshes later the row is closed; the last was due at 5000.
    channel.push(5050, request(0, 7));
    let step = channel.step(5050, true);
    assert_eq!((step.refreshes, step.row, step.next), (5, None, 5100));
    assert_eq!(channel.step(5100, true).row.map(|issued| issued.command), Some(Command::Activate));
}

#[test]
fn a_refresh_waits_for_a_row_that_must_stay_open_and_holds_what_comes_meanwhile() {
    let mut channel = channel("{ standard: gddr5, tREFI: 1000, tRFC: 100 }");
    channel.push(990, request(0, 7));
    assert_eq!(channel.step(990, true).next, 1000);
    // Opened at 990, the row stays until tRAS is over; tRCD is over before, but nothing is issued any more.
    assert_eq!(channel.step(1000, true), ChannelStep { next: 1018, ..ChannelStep::default() });
    let step = channel.step(1018, true);
    assert_eq!((step.refreshes, step.next), (1, 1018 + 12 + 100), "tRP and tRFC");
}

#[test]
fn one_bank_is_refreshed_while_another_serves() {
    let timing = timing("{ standard: gddr5, tREFI: 1600, tRFCpb: 60 }");
    let mut channel = Channel::new(timing, policies("{ refresh: per-bank }", &timing));
    channel.push(100, request(0, 7));
    channel.push(100, request(1, 7));
    // Bank 0 is due at 100, and closed.
    let step = channel.step(100, true);
    assert_eq!((step.refreshes, step.row.map(|issued| issued.bank)), (1, Some(1)));
    assert_eq!(channel.step(112, true).finished.map(|finished| finished.end), Some(112 + 12 + 2));
    assert_eq!(channel.step(160, true).row.map(|issued| issued.bank), Some(0), "tRFCpb");
}

#[test]
fn without_room_for_replies_no_data_moves() {
    let mut channel = channel("{}");
    channel.push(5, request(0, 7));
    channel.push(5, request(4, 7));
    assert!(channel.step(5, false).row.is_some());
    assert!(channel.step(11, false).row.is_some());
    assert_eq!(channel.step(17, false), ChannelStep { next: u64::MAX, ..ChannelStep::default() });
    assert!(channel.step(18, true).finished.is_some());
}

#[test]
fn a_row_that_nobody_wants_is_closed_in_time() {
    let timing = timing("{}");
    let next = |rows: &str, again: u64| {
        let mut channel = Channel::new(timing, policies(&format!("{{ rows: {rows} }}"), &timing));
        channel.push(0, request(0, 7));
        channel.step(0, true);
        channel.step(12, true);
        channel.push(again, request(0, 8));
        channel.step(again, true).row.map(|issued| issued.command)
    };
    assert_eq!(next("open", 100), Some(Command::Precharge));
    assert_eq!(next("closed", 40), Some(Command::Activate), "closed at 28, after tRAS, and tRP later");
    assert_eq!(next("closed", 39), None);
    assert_eq!(next("{ timeout: { after: 50 cycles } }", 61), Some(Command::Precharge));
    assert_eq!(next("{ timeout: { after: 50 cycles } }", 62), None, "closed at 62");
    assert_eq!(next("{ timeout: { after: 50 cycles } }", 74), Some(Command::Activate));
}

#[test]
fn what_cannot_be_refreshed_is_refused() {
    let plan = |timing_text: &str, refresh: &str| {
        let named: Named = params(&families(), &format!("{{ refresh: {refresh} }}"));
        named.refresh.build().plan(&timing(timing_text))
    };
    let refused = plan("{}", "all-bank").unwrap_err();
    assert_eq!(refused, "refresh needs tRFC, and a tREFI of more than 100 cycles: here are 0 and 0");
    let refused = plan("{ standard: ddr4-3200 }", "per-bank").unwrap_err();
    assert!(refused.starts_with("refresh needs tRFCpb"), "{refused}");
    assert_eq!(plan("{}", "none"), Ok(None));
    let sets = plan("{ standard: ddr5-4800 }", "same-bank").unwrap().unwrap().sets;
    assert_eq!(sets[1], 0xff00, "bank 1 of each of eight groups");
}
