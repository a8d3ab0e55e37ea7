//! CRCS and PPCS, to the cycle: when the MMU grants pages, and which kernel an idle SM takes.

use std::ops::Range;
use std::sync::Arc;

use counterpoint::gpu::cta_scheduler::CtaScheduler;
use counterpoint::gpu::mmu::Mmu;
use counterpoint::messages::bus::{Copy, Direction};
use counterpoint::messages::extra::{Extra, LineTag, Note};
use counterpoint::messages::launch::{
    CtaCounts, Launch, LaunchEvent, LaunchId, Precedence, RunCta, SmEvent, SmResources, SmServer,
    ToScheduler, ToSm,
};
use counterpoint::messages::memory::{ByteMask, LINE_BYTES, MemAccess, MemReply, MemRequest, MemResult};
use counterpoint::messages::pages::{PageCommand, PageEvent};
use counterpoint::messages::translation::{Change, MmuReply, MmuRequest, RangeClaim};
use counterpoint::testing::gpu::{assert_finished, bench_with, fault};
use counterpoint::testing::{BenchReport, Probe, gpu};
use counterpoint_crcs::messages::{Irregular, PageMoved, Progress};

fn tracked(id: u32, precedence: Precedence, source: &str, grid: u32) -> Arc<Launch> {
    let launch = gpu::launch(id, source, grid, 32);
    Arc::new(Launch { precedence, ..Launch::clone(&launch) })
}

fn kernel(id: u32, grid: u32) -> Arc<Launch> {
    tracked(id, Precedence::Gated, &gpu::kernel("st.shared.u32 [scratch], %r1;"), grid)
}

fn note(progress: Progress) -> ToScheduler {
    ToScheduler::Note(Note::new(progress))
}

/// Blocks given to an SM: launch and block, with the cycle.
type Given = Vec<(u64, (u32, u32))>;

/// Runs kernels under a policy on SMs for two blocks each. `ends` gives the cycle in which a block ends, and
/// pages move as given.
fn schedule(
    policy: &str,
    sms: usize,
    script: Vec<(u64, ToScheduler)>,
    pages: Vec<(u64, PageMoved)>,
    ends: fn(u32, u32) -> u64,
) -> (Vec<Given>, BenchReport) {
    let mut bench = bench_with::<CtaScheduler>(
        counterpoint_crcs::register,
        &format!("{{ policy: {policy}, concurrent_kernels: 64 }}"),
    );
    let launches = script.iter().filter(|(_, it)| matches!(it, ToScheduler::Start(_))).count();
    bench.client::<ToScheduler, LaunchEvent>("launches", None, script, launches + 1);
    bench.drive("pages", None, pages);
    let offer = SmResources { threads: 2048, ctas: 2, registers: 1 << 20, shared: 1 << 20 };
    let mut logs = Vec::new();
    for index in 0..sms {
        let log: Probe<(u32, u32)> = Probe::default();
        logs.push(log.clone());
        bench.script("sms", Some(index as u32), true, move |socket, process| {
            let SmServer { mut tx, mut rx } = socket;
            async move {
                tx.send(SmEvent::Resources(offer)).await;
                let mut running: Vec<(u64, LaunchId, u32)> = Vec::new();
                loop {
                    running.sort();
                    match running.first().copied() {
                        Some((end, launch, index)) if end <= process.cycle() => {
                            let counts = CtaCounts::default();
                            tx.send(SmEvent::CtaDone { launch, index, counts }).await;
                            running.remove(0);
                        }
                        _ => {
                            if let Some(RunCta { launch, index, .. }) = rx.try_recv().and_then(ToSm::run) {
                                log.log(process.cycle() - 1, (launch.id.0, index));
                                running.push((ends(launch.id.0, index), launch.id, index));
                            }
                            process.tick().await;
                        }
                    }
                }
            }
        });
    }
    let report = bench.run();
    (logs.iter().map(Probe::take).collect(), report)
}

/// Kernels 1 to 4, as the paper's 0 to 3, at the start.
fn figure_8() -> Vec<(u64, ToScheduler)> {
    (1..=4).map(|id| (5, ToScheduler::Start(kernel(id, 6)))).collect()
}

fn moved(kernel: u32) -> PageMoved {
    PageMoved { from: None, to: Some(LaunchId(kernel)), appears: true }
}

/// Figure 8(c): block 0 of kernel 0 ends at t1, block 1 at t2, and with them pages 0 and 1 go to kernel 1.
fn ends_of_figure_8(launch: u32, index: u32) -> u64 {
    match (launch, index) {
        (1, 0) => 100,
        (1, 1) => 200,
        _ => 1000 + 10 * u64::from(launch * 8 + index),
    }
}

#[test]
fn an_idle_sm_takes_the_kernel_that_owns_the_pages() {
    let pages = vec![(100, moved(2)), (200, moved(2))];
    let (given, _) = schedule("ppcs", 2, figure_8(), pages, ends_of_figure_8);
    let early =
        |sm: usize| -> Given { given[sm].iter().copied().filter(|(cycle, _)| *cycle < 900).collect() };
    // Kernel 0 has both SMs from the start: its first two blocks are on SM 0, the next two on SM 1. At t1 nothing is placed;
    // at t2 the differences are 0 - 1/2 for kernel 0 and 1 - 0 for kernel 1.
    assert_eq!(early(0), [(5, (1, 0)), (6, (1, 1)), (201, (2, 0)), (202, (2, 1))]);
    assert_eq!(early(1), [(6, (1, 2)), (7, (1, 3))]);
}

#[test]
fn crcs_fifo_places_the_oldest_kernels_blocks_as_room_becomes_free() {
    let (given, _) = schedule("crcs-fifo", 2, figure_8(), vec![], ends_of_figure_8);
    let early =
        |sm: usize| -> Given { given[sm].iter().copied().filter(|(cycle, _)| *cycle < 900).collect() };
    // Blocks are spread; as in Figure 8(b), block 4 of kernel 0 takes the place at t1, and block 5 at t2.
    assert_eq!(early(0), [(5, (1, 0)), (6, (1, 2)), (101, (1, 4))]);
    assert_eq!(early(1), [(5, (1, 1)), (6, (1, 3)), (201, (1, 5))]);
}

#[test]
fn ppcs_fills_empty_sms_only_and_refills_when_the_prelude_has_ended() {
    let mut script = figure_8();
    script.push((150, note(Progress::PreludeEnded)));
    let (given, _) = schedule("ppcs", 2, script, vec![], ends_of_figure_8);
    let early: Given = given[0].iter().copied().filter(|(cycle, _)| *cycle < 900).collect();
    // The place that became free at t1 is filled when the prelude ends, that of t2 at t2.
    assert_eq!(early, [(5, (1, 0)), (6, (1, 1)), (150, (1, 4)), (201, (1, 5))]);
}

#[test]
fn a_single_kernel_is_placed_as_under_fifo() {
    let script = vec![(5, ToScheduler::Start(kernel(1, 6))), (6, note(Progress::EndOfLaunches))];
    let (given, _) = schedule("ppcs", 2, script, vec![], ends_of_figure_8);
    assert!(given[0].contains(&(101, (1, 4))), "{given:?}");
}

#[test]
fn no_sm_holds_blocks_of_two_kernels() {
    for policy in ["crcs-fifo", "ppcs"] {
        let pages = vec![(100, moved(2)), (200, moved(2)), (300, moved(3))];
        let (given, _) = schedule(policy, 2, figure_8(), pages, ends_of_figure_8);
        for blocks in given {
            for (cycle, (launch, _)) in &blocks {
                // Anything given before that is not of this launch has ended.
                let others = blocks.iter().filter(|(at, (other, _))| at < cycle && other != launch);
                for (_, (other, index)) in others {
                    assert!(ends_of_figure_8(*other, *index) < *cycle, "{policy}: {blocks:?}");
                }
            }
        }
    }
}

/// The kernel that an SM takes when a younger kernel owns all pages and the oldest runs nowhere.
fn last_idle(policy: &str) -> (Given, u64) {
    // Three blocks of kernel 1 on one SM: two run, one is left when both have ended.
    let script = (1..=2).map(|id| (5, ToScheduler::Start(kernel(id, 3)))).collect();
    let pages = vec![(20, moved(2))];
    let (given, report) =
        schedule(policy, 1, script, pages, |launch, index| 100 + 10 * u64::from(launch + index));
    (given[0].clone(), report.count("guarded"))
}

#[test]
fn the_guard_keeps_the_last_sm_for_the_oldest_kernel() {
    let (guarded, times) = last_idle("ppcs");
    assert_eq!((guarded[2].1, times), ((1, 2), 1), "{guarded:?}");
    let (unguarded, times) = last_idle("{ ppcs: { guard: off } }");
    assert_eq!((unguarded[2].1, times), ((2, 0), 0), "{unguarded:?}");
}

#[test]
fn a_kernel_waits_for_its_pre_profiler_and_an_irregular_one_for_all_before_it() {
    let profiler = tracked(1, Precedence::Helper(LaunchId(2)), &gpu::kernel(""), 2);
    let irregular =
        Arc::new(Launch { extra: Extra::new(Irregular, LineTag::NONE), ..Launch::clone(&kernel(3, 1)) });
    let all = [profiler, kernel(2, 2), irregular, kernel(4, 1)];
    let script = all.into_iter().map(|launch| (5, ToScheduler::Start(launch))).collect();
    let (given, _) = schedule("crcs-fifo", 4, script, vec![], |launch, _| u64::from(launch) * 100);
    let mut order: Given = given.into_iter().flatten().collect();
    order.sort();
    // An end is heard of a cycle later.
    let own = [(101, (2, 0)), (101, (2, 1))];
    assert_eq!(order, [[(5, (1, 0)), (5, (1, 1))], own, [(201, (3, 0)), (301, (4, 0))]].concat());
}

#[test]
fn a_pre_profiler_of_another_grid_is_a_fault() {
    let profiler = tracked(1, Precedence::Helper(LaunchId(2)), &gpu::kernel(""), 3);
    let script = [profiler, kernel(2, 4)].map(|launch| (5, ToScheduler::Start(launch))).into();
    let (_, report) = schedule("crcs-fifo", 1, script, vec![], |_, _| 100);
    let message = "k#1 counts the blocks of k#2 in a grid of [3, 1, 1], and k#2 has one of [4, 1, 1]";
    assert_eq!(fault(&report), message);
}

const PAGE: u64 = 4096;

fn count(change: Change, kernel: u32, pages: Range<u64>, tag: u32) -> MmuRequest {
    let (start, end) = (pages.start * PAGE, pages.end * PAGE);
    MmuRequest::Claim(RangeClaim {
        kernel: LaunchId(kernel),
        change,
        start,
        end,
        reads: true,
        writes: true,
        tag,
    })
}

fn ask(page: u64, kernel: u32) -> MmuRequest {
    MmuRequest::Page { page, bytes: PAGE, launch: LaunchId(kernel) }
}

fn page(page: u64, kernel: u32, granted: bool) -> MmuReply {
    MmuReply::Page { page, launch: LaunchId(kernel), granted }
}

/// Cycles from a request to device memory to its answer.
const MEMORY: u64 = 50;

/// The messages of an MMU to two SMs, the scheduler and the command processor.
struct Said {
    sms: [Vec<(u64, MmuReply)>; 2],
    moved: Vec<(u64, PageMoved)>,
    events: Vec<(u64, PageEvent)>,
    requests: Vec<(u64, MemRequest)>,
}

fn mmu(params: &str, sms: [Vec<(u64, MmuRequest)>; 2], commands: Vec<(u64, PageCommand)>, last: u64) -> Said {
    let mut bench = bench_with::<Mmu>(
        counterpoint_crcs::register,
        &format!("{{ memory: 1 GiB, latency: 10 cycles, authority: owners{params} }}"),
    );
    let mut probes = Vec::new();
    for (index, script) in sms.into_iter().enumerate() {
        probes.push(bench.client::<MmuRequest, MmuReply>("sms", Some(index as u32), script, 3 + index));
    }
    let events = bench.client::<PageCommand, PageEvent>("control", None, commands, 3);
    let moved = bench.probe::<PageMoved>("owners", None);
    let requests = bench.server("memory", None, |request: MemRequest| {
        let result = match &request.access {
            MemAccess::Read(mask) => MemResult::Line(*mask, [0; LINE_BYTES as usize].into()),
            MemAccess::Write(..) => MemResult::Written(1),
            MemAccess::Atomic(_) => panic!("the MMU has no atomics"),
        };
        Some((
            MEMORY,
            MemReply { line: request.line, tag: request.tag, client: request.client, result, far: 0 },
        ))
    });
    bench.lasts(last);
    let report = bench.run();
    assert_finished(&report);
    let sms = [probes[0].take(), probes[1].take()];
    Said { sms, moved: moved.take(), events: events.take(), requests: requests.take() }
}

fn launched(launch: u32) -> PageCommand {
    PageCommand::Launched(kernel(launch, 1))
}

/// Two kernels that use page 3, one after the other; SM 0 runs the first, SM 1 the second.
fn handover(params: &str) -> Said {
    let output = Copy {
        direction: Direction::DeviceToHost,
        host: 0x9000,
        device: 3 * PAGE,
        bytes: 100,
        tag: LineTag::NONE,
    };
    let commands = vec![
        (1, PageCommand::Overlap(output)),
        (2, launched(1)),
        (3, launched(2)),
        (100, PageCommand::HelperEnded(LaunchId(1))),
        (101, PageCommand::HelperEnded(LaunchId(2))),
        (102, PageCommand::Note(Note::new(Progress::EndOfLaunches))),
    ];
    let first = vec![
        (10, count(Change::Claim, 1, 3..4, 7)),
        (120, ask(3, 1)),
        (500, count(Change::Release, 1, 3..4, 8)),
    ];
    let second = vec![
        (10, count(Change::Claim, 2, 3..4, 0)),
        (120, ask(3, 2)),
        (800, count(Change::Release, 2, 3..4, 0)),
    ];
    mmu(params, [first, second], commands, 1000)
}

#[test]
fn a_page_passes_to_the_next_kernel_and_then_to_the_host_in_the_cycle_of_the_release() {
    let Said { sms: [first, second], moved, events, requests } = handover("");
    let walk = 2 * (1 + MEMORY);
    // A count takes the latency, and its line's way from memory the first time; later the cycle of its change.
    let counted = |asked: u64, line: u64| asked + 10 + line;
    assert_eq!(first[0], (counted(10, MEMORY + 1), MmuReply::Claimed { tag: 7 }));
    assert_eq!(first[1], (130 + walk, page(3, 1, true)));
    assert_eq!(first[2], (counted(500, MEMORY + 1), MmuReply::Claimed { tag: 8 }));
    assert_eq!(second[3], (counted(800, 1), MmuReply::Claimed { tag: 0 }));
    assert_eq!(second[1], (130 + walk, page(3, 2, false)), "known, and not its own");
    assert_eq!(second[2], (510, page(3, 2, true)), "in the cycle in which the counts change");
    let to = |from: Option<u32>, to: Option<u32>, appears| PageMoved {
        from: from.map(LaunchId),
        to: to.map(LaunchId),
        appears,
    };
    assert_eq!(moved, [(510, to(None, Some(2), true)), (810, to(Some(2), None, false))]);
    let leaves: Vec<_> =
        events.into_iter().filter(|(_, event)| matches!(event, PageEvent::Copy(_))).collect();
    let left = Copy {
        direction: Direction::DeviceToHost,
        host: 0x9000,
        device: 3 * PAGE,
        bytes: 100,
        tag: LineTag::NONE,
    };
    assert_eq!(leaves, [(810, PageEvent::Copy(left))]);
    // Sets are in the page's list, releases of owners in its entry of the page tables; each line is read once.
    let whole = requests.iter().filter(|(_, it)| matches!(it.access, MemAccess::Read(ByteMask::MAX)));
    let lines: Vec<u64> = whole.map(|(_, request)| request.line).collect();
    let leaf = (1 << 30) + 4096;
    assert_eq!(lines, [leaf + (2 << 20), leaf]);
}

#[test]
fn the_scheduler_hears_of_an_owner_no_later_than_the_sm_of_its_release() {
    for notification in [0, 30, 100] {
        let Said { sms: [first, second], moved, .. } =
            handover(&format!(", notification: {notification} cycles"));
        let granted = second.iter().find(|(_, reply)| *reply == page(3, 2, true)).unwrap().0;
        let acknowledged = first.iter().rfind(|(_, it)| *it == MmuReply::Claimed { tag: 8 }).unwrap().0;
        assert_eq!((granted, moved[0].0), (510 + notification, 510 + notification));
        assert!(moved[0].0 <= acknowledged);
    }
}
