//! The command processor: streams, hardware queues and events.

use std::sync::Arc;

use counterpoint_hardware::gpu::command_processor::CommandProcessor;
use counterpoint_protocols::bus::{
    BusMessage, Command, CommandId, Copy, Description, Direction, FromCopyEngine, Move, RowSource, RowTarget,
    Rows, ToCopyEngine, Work,
};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::launch::{CtaCounts, Launch, LaunchEvent, LaunchId, SmResources, ToScheduler};
use counterpoint_protocols::local::Capacity;

use super::programs::{kernel, launch};
use super::*;

/// Numbers, each with the cycle in which it was sent.
type Numbers = Vec<(u64, u32)>;

fn simple(id: u32, grid: u32, block: u32) -> Arc<Launch> {
    launch(id, &kernel("st.shared.u32 [scratch], %r1;"), grid, block)
}

fn command(id: u32, stream: u32, work: Work) -> BusMessage {
    BusMessage::Command(Command { id: CommandId(id), stream, work, title: None })
}

fn copy(bytes: u64) -> Work {
    Work::Copy(Copy { direction: Direction::HostToDevice, host: 0, device: 0, bytes, tag: LineTag::NONE })
}

/// Runs commands, a copy taking 100 cycles and a launch 30. Returns the messages to the copy engine, to the
/// scheduler and to the host: cycle and number of the command (of the launch).
fn commands(params: &str, script: Vec<(u64, BusMessage)>) -> (Numbers, Numbers, Vec<(u64, BusMessage)>) {
    let mut bench = bench::<CommandProcessor>(params);
    let count = script.len();
    let told = bench.client::<BusMessage, BusMessage>("bus", None, script, count);
    let copies = bench.server::<FromCopyEngine, ToCopyEngine>("copies", None, |message| match message {
        ToCopyEngine::Copy { id, .. } | ToCopyEngine::Move { id, .. } => {
            Some((100, FromCopyEngine::Copied(id)))
        }
        ToCopyEngine::Page(_) | ToCopyEngine::Bus(_) => None,
    });
    let launches = bench.server::<LaunchEvent, ToScheduler>("launches", None, |message| {
        let ToScheduler::Start(launch) = message else { return None };
        Some((30, LaunchEvent::Done(launch.id)))
    });
    assert_finished(&bench.run());
    let copies = copies.take().into_iter().map(|(cycle, message)| match message {
        ToCopyEngine::Copy { id, .. } | ToCopyEngine::Move { id, .. } => (cycle, id.0),
        ToCopyEngine::Page(_) | ToCopyEngine::Bus(_) => panic!("nothing came from the host"),
    });
    let launches = launches.take().into_iter().filter_map(|(cycle, message)| match message {
        ToScheduler::Start(launch) => Some((cycle, launch.id.0)),
        _ => None,
    });
    (copies.collect(), launches.collect(), told.take())
}

fn done(told: &[(u64, BusMessage)]) -> Numbers {
    let id = |(cycle, message): &(u64, BusMessage)| match message {
        BusMessage::Done(id) => Some((*cycle, id.0)),
        _ => None,
    };
    told.iter().filter_map(id).collect()
}

#[test]
fn commands_of_a_stream_wait_for_each_other() {
    let script = vec![
        (5, command(1, 0, copy(4))),
        (5, command(2, 0, Work::Launch(simple(7, 1, 32)))),
        (6, command(3, 0, copy(4))),
    ];
    let (copies, launches, told) = commands("{}", script);
    // A cycle to the other side, and the answer as given.
    assert_eq!(copies, [(5, 1), (106 + 31, 3)]);
    assert_eq!(launches, [(106, 7)]);
    assert_eq!(done(&told), [(106, 1), (137, 2), (137 + 101, 3)]);
}

#[test]
fn streams_do_not_wait_for_each_other() {
    let script = vec![
        (5, command(1, 0, copy(4))),
        (6, command(2, 1, Work::Launch(simple(7, 1, 32)))),
        (7, command(3, 2, copy(4))),
    ];
    let (copies, launches, told) = commands("{}", script);
    assert_eq!((copies, launches), (vec![(5, 1), (7, 3)], vec![(6, 7)]));
    assert_eq!(done(&told), [(6 + 31, 2), (106, 1), (108, 3)]);
}

#[test]
fn a_launch_takes_its_latency() {
    let (_, launches, _) =
        commands("{ launch_latency: 50 cycles }", vec![(5, command(1, 0, Work::Launch(simple(7, 1, 32))))]);
    assert_eq!(launches, [(55, 7)]);
}

#[test]
fn what_needs_no_engine_is_answered_in_its_turn() {
    let script = vec![(8, command(2, 0, copy(4))), (9, command(3, 0, copy(0)))];
    let (copies, _, told) = commands("{}", script);
    assert_eq!(copies, [(8, 2)], "an empty copy is no work for the engine");
    assert_eq!(done(&told), [(109, 2), (110, 3)]);
}

#[test]
fn a_device_describes_itself_as_soon_as_it_knows_its_sms() {
    let capacity = Capacity { sms: 15, warps: 48 };
    let sm = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 48 << 10 };
    // The question comes in cycle 5: it waits, or what it asks for is there.
    for (introduced, answered) in [(3, 5), (20, 20)] {
        let mut bench = bench::<CommandProcessor>("{ memory: 64 MiB }");
        let told =
            bench.client::<BusMessage, BusMessage>("bus", None, vec![(5, command(1, 0, Work::Describe))], 1);
        bench.client::<FromCopyEngine, ToCopyEngine>("copies", None, vec![], 0);
        let event = LaunchEvent::Capacity(capacity, sm);
        bench.client::<LaunchEvent, ToScheduler>("launches", None, vec![(introduced, event)], 0);
        assert_finished(&bench.run());
        let told = told.take();
        let [(cycle, BusMessage::Description(CommandId(1), description))] = &told[..] else {
            panic!("one answer: {told:?}")
        };
        assert_eq!(*description, Description { memory: 64 << 20, capacity, sm, path: String::new() });
        assert_eq!(*cycle, answered);
    }
}

#[test]
fn the_counts_of_a_launch_go_to_the_host_with_its_end() {
    let mut bench = bench::<CommandProcessor>("{}");
    let script = vec![(5, command(7, 1, Work::Launch(simple(3, 1, 32))))];
    let told = bench.client::<BusMessage, BusMessage>("bus", None, script, 1);
    bench.client::<FromCopyEngine, ToCopyEngine>("copies", None, vec![], 0);
    let counts = CtaCounts { warp_insn: 12, global_requests: 4, ..CtaCounts::default() };
    bench.server::<LaunchEvent, ToScheduler>("launches", None, move |message| {
        let ToScheduler::Start(launch) = message else { return None };
        Some((30, LaunchEvent::Counted(launch.id, Box::new(counts))))
    });
    assert_finished(&bench.run());
    let told = told.take();
    let [(_, BusMessage::Counted(CommandId(7), found))] = &told[..] else { panic!("one answer: {told:?}") };
    assert_eq!(**found, counts);
}

#[test]
fn a_launch_that_is_not_under_way_cannot_end() {
    let mut bench = bench::<CommandProcessor>("{}");
    bench.client::<BusMessage, BusMessage>("bus", None, vec![], 1);
    bench.client::<FromCopyEngine, ToCopyEngine>("copies", None, vec![], 0);
    bench.client::<LaunchEvent, ToScheduler>("launches", None, vec![(5, LaunchEvent::Done(LaunchId(9)))], 0);
    assert_eq!(fault(&bench.run()), "launch 9 is not under way");
}

/// Launches with the number of the command as their own, each a cycle after the one before, by stream. Gives when each
/// went to the scheduler.
fn launched(params: &str, streams: &[u32]) -> Numbers {
    let script = streams
        .iter()
        .zip(1..)
        .map(|(&stream, id)| (4 + u64::from(id), command(id, stream, Work::Launch(simple(id, 1, 32)))));
    commands(params, script.collect()).1
}

/// Three streams of two kernels each, filled one after another.
const DEPTH_FIRST: [u32; 6] = [1, 1, 2, 2, 3, 3];

#[test]
fn with_one_queue_only_neighbours_overlap() {
    // A stream's second kernel holds up all that stands behind it; when it may go, the next stream's first goes with it.
    let found = launched("{ queues: 1 }", &DEPTH_FIRST);
    assert_eq!(found, [(5, 1), (36, 2), (37, 3), (68, 4), (69, 5), (100, 6)]);
}

#[test]
fn with_a_queue_for_each_stream_all_of_them_overlap() {
    let found = launched("{ queues: 32 }", &DEPTH_FIRST);
    assert_eq!(found, [(5, 1), (7, 3), (9, 5), (36, 2), (38, 4), (40, 6)]);
    assert_eq!(found, launched("{}", &DEPTH_FIRST), "Hyper-Q is the default");
}

#[test]
fn one_queue_is_enough_for_streams_that_are_filled_in_turn() {
    let found = launched("{ queues: 1 }", &[1, 2, 3, 1, 2, 3]);
    assert_eq!(found, [(5, 1), (6, 2), (7, 3), (36, 4), (37, 5), (38, 6)]);
}

#[test]
fn streams_share_queues_by_their_number() {
    // With two queues streams 1 and 3 are in one, stream 2 has the other.
    let found = launched("{ queues: 2 }", &DEPTH_FIRST);
    assert_eq!(found, [(5, 1), (7, 3), (36, 2), (37, 5), (38, 4), (68, 6)]);
}

#[test]
fn copies_may_have_queues_of_their_own() {
    // Two streams, each a copy to the device, a kernel and a copy to the host, filled one after another.
    let back = || {
        Work::Copy(Copy {
            direction: Direction::DeviceToHost,
            host: 0,
            device: 0,
            bytes: 4,
            tag: LineTag::NONE,
        })
    };
    let run = |copy_queues: u32| {
        let mut script = Vec::new();
        for (stream, first) in [(1, 1), (2, 4)] {
            let works = [copy(4), Work::Launch(simple(first + 1, 1, 32)), back()];
            script.extend(
                works
                    .into_iter()
                    .zip(first..)
                    .map(|(work, id)| (4 + u64::from(id), command(id, stream, work))),
            );
        }
        let (copies, launches, _) = commands(&format!("{{ queues: 1, copy_queues: {copy_queues} }}"), script);
        (copies, launches)
    };
    // The second stream's copy waits for the first one's kernel, and cannot get in front of it.
    let behind = (vec![(5, 1), (137, 3), (138, 4), (270, 6)], vec![(106, 2), (239, 5)]);
    assert_eq!(run(0), behind);
    // In the one queue for copies it is behind the copy that waits for that kernel.
    assert_eq!(run(1), behind);
    // With a queue each way nothing is before it.
    assert_eq!(run(2), (vec![(5, 1), (8, 4), (137, 3), (140, 6)], vec![(106, 2), (109, 5)]));
}

#[test]
fn a_fill_waits_where_copies_to_the_device_do() {
    let fill = |bytes| {
        let to = RowTarget::Device(Rows { first: 0, pitch: 0 });
        Work::Move(Box::new(Move { from: RowSource::Value([0; 8]), to, bytes, rows: 1 }))
    };
    let out = Copy { direction: Direction::DeviceToHost, host: 0, device: 0, bytes: 4, tag: LineTag::NONE };
    let run = |copy_queues: u32| {
        let script = vec![
            (5, command(1, 1, Work::Launch(simple(1, 1, 32)))),
            (6, command(2, 1, Work::Copy(out))),
            (7, command(3, 2, fill(64))),
            (8, command(4, 3, fill(0))),
        ];
        let (copies, _, told) = commands(&format!("{{ queues: 3, copy_queues: {copy_queues} }}"), script);
        (copies, done(&told))
    };
    // In the one queue for copies it is behind the copy that waits for the kernel; a fill of nothing is done when it is taken.
    assert_eq!(run(1), (vec![(36, 2), (37, 3)], vec![(36, 1), (37, 4), (137, 2), (138, 3)]));
    assert_eq!(run(2), (vec![(7, 3), (36, 2)], vec![(8, 4), (36, 1), (108, 3), (137, 2)]));
}

#[test]
fn a_stream_stands_until_the_event_that_it_waits_for() {
    let run = |id| Work::Launch(simple(id, 1, 32));
    let script = vec![
        (5, command(1, 1, run(1))),
        (6, command(2, 1, Work::Record)),
        (7, command(3, 1, run(3))),
        (8, command(4, 2, Work::Wait(CommandId(2)))),
        (9, command(5, 2, run(5))),
        (50, command(6, 3, Work::Wait(CommandId(2)))),
        (51, command(7, 3, run(7))),
    ];
    let (_, launches, told) = commands("{}", script.clone());
    // The event is recorded when the first kernel is done, and does not wait for the second one.
    assert_eq!(launches, [(5, 1), (36, 3), (37, 5), (51, 7)]);
    assert_eq!(done(&told), [(36, 1), (37, 2), (38, 4), (50, 6), (67, 3), (68, 5), (82, 7)]);
    // In one queue the wait is behind what it waits for, and behind the second kernel.
    let (_, launches, _) = commands("{ queues: 1 }", script);
    assert_eq!(launches, [(5, 1), (36, 3), (37, 5), (51, 7)]);
}
