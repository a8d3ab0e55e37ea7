//! What hands out work: the CTA scheduler with the policy `fifo`, and the command processor.

use std::sync::Arc;

use counterpoint_framework::kernel::Socket;
use counterpoint_framework::testing::Probe;
use counterpoint_hardware::gpu::command_processor::CommandProcessor;
use counterpoint_hardware::gpu::cta_scheduler::{CtaScheduler, demand};
use counterpoint_protocols::bus::{
    BusMessage, Command, CommandId, Copy, Description, Direction, FromCopyEngine, ToCopyEngine, Work,
};
use counterpoint_protocols::launch::{Launch, LaunchDone, LaunchId, RunCta, SmEvent, SmResources, Start};

use super::programs::{kernel, launch};
use super::*;

const PLENTY: SmResources = SmResources { threads: 2048, ctas: 32, registers: 1 << 20, shared: 1 << 20 };

/// A block that an SM was given: launch and index.
type Given = (u32, u32);
/// Numbers, each with the cycle in which it was sent.
type Numbers = Vec<(u64, u32)>;

/// Runs launches on SMs that offer the given resources and end a block `duration` cycles after it was sent. Gives what
/// each SM was given and when, and when launches were done.
fn schedule(
    sms: &[SmResources],
    duration: u64,
    launches: Vec<(u64, Arc<Launch>)>,
) -> (Vec<Vec<(u64, Given)>>, Numbers) {
    let mut bench = bench::<CtaScheduler>("{ policy: fifo }");
    let count = launches.len();
    let script = launches.into_iter().map(|(cycle, launch)| (cycle, Start(launch))).collect();
    let done = bench.client::<Start, LaunchDone>("launches", None, script, count);
    let mut logs = Vec::new();
    for (index, &resources) in sms.iter().enumerate() {
        let log: Probe<Given> = Probe::default();
        logs.push(log.clone());
        bench.script("sms", Some(index as u32), true, move |socket, process| {
            let Socket { mut tx, mut rx } = socket;
            async move {
                tx.send(SmEvent::Resources(resources)).await;
                loop {
                    let RunCta { launch, index, .. } = rx.recv().await;
                    log.log(process.cycle() - 1, (launch.id.0, index));
                    let event = SmEvent::CtaDone { launch: launch.id, index };
                    tx.send_after(process.span(duration), event).await;
                }
            }
        });
    }
    assert_finished(&bench.run());
    let done = done.take().into_iter().map(|(cycle, done)| (cycle, done.0.0)).collect();
    (logs.iter().map(Probe::take).collect(), done)
}

fn simple(id: u32, grid: u32, block: u32) -> Arc<Launch> {
    launch(id, &kernel("st.shared.u32 [scratch], %r1;"), grid, block)
}

#[test]
fn a_small_grid_is_spread_and_placed_at_once() {
    let (logs, done) = schedule(&[PLENTY; 4], 100, vec![(5, simple(1, 6, 32))]);
    let expected = [
        vec![(5, (1, 0)), (6, (1, 4))],
        vec![(5, (1, 1)), (6, (1, 5))],
        vec![(5, (1, 2))],
        vec![(5, (1, 3))],
    ];
    assert_eq!(logs, expected);
    // The SM's script hears of it a cycle later, and its answer takes another.
    assert_eq!(done, [(6 + 1 + 100 + 1, 1)]);
}

/// Blocks that one SM holds at a time.
fn resident(offer: SmResources, block: u32) -> usize {
    let (logs, _) = schedule(&[offer], 1000, vec![(5, simple(1, 40, block))]);
    logs[0].iter().filter(|(cycle, _)| *cycle < 1000).count()
}

#[test]
fn each_resource_limits_how_many_blocks_fit() {
    let need = demand(&simple(1, 1, 33));
    assert_eq!((need.threads, need.ctas, need.shared), (64, 1, 8192), "33 threads are two warps");
    assert!(
        need.registers > 0 && need.registers.is_multiple_of(64 * 4),
        "registers come in fours for whole warps"
    );
    assert_eq!(resident(PLENTY, 33), 32);
    assert_eq!(resident(SmResources { threads: 64 * 5 + 63, ..PLENTY }, 33), 5);
    assert_eq!(resident(SmResources { ctas: 3, ..PLENTY }, 33), 3);
    assert_eq!(resident(SmResources { registers: need.registers * 7 - 1, ..PLENTY }, 33), 6);
    assert_eq!(resident(SmResources { shared: 8192 * 4, ..PLENTY }, 33), 4);
}

#[test]
fn an_end_makes_room_in_the_same_cycle() {
    let one = SmResources { ctas: 1, ..PLENTY };
    let (logs, done) = schedule(&[one], 10, vec![(5, simple(1, 3, 32))]);
    assert_eq!(logs[0], [(5, (1, 0)), (17, (1, 1)), (29, (1, 2))]);
    assert_eq!(done, [(41, 1)]);
}

#[test]
fn kernels_run_strictly_one_after_another() {
    // The second kernel is there from the start and would fit; it begins when the first one's last block has ended.
    let launches = vec![(5, simple(1, 5, 32)), (6, simple(2, 2, 32))];
    let two = SmResources { ctas: 2, ..PLENTY };
    let (logs, done) = schedule(&[two, two], 100, launches);
    let all: Vec<(u64, Given)> = logs.into_iter().flatten().collect();
    let last = all.iter().filter(|(_, given)| given.0 == 1).map(|(cycle, _)| *cycle).max().unwrap();
    let first = all.iter().filter(|(_, given)| given.0 == 2).map(|(cycle, _)| *cycle).min().unwrap();
    assert_eq!((last, first), (107, 107 + 102));
    assert_eq!(done, [(209, 1), (311, 2)]);
}

#[test]
fn a_block_that_fits_nowhere_is_a_fault() {
    let mut bench = bench::<CtaScheduler>("{}");
    bench.client::<Start, LaunchDone>("launches", None, vec![(5, Start(simple(1, 1, 96)))], 1);
    let offer = SmResources { threads: 64, ..PLENTY };
    bench.client::<SmEvent, RunCta>("sms", Some(0), vec![(1, SmEvent::Resources(offer))], 0);
    assert!(fault(&bench.run()).starts_with("a block of k needs 96 threads"));
}

fn command(id: u32, stream: u32, work: Work) -> BusMessage {
    BusMessage::Command(Command { id: CommandId(id), stream, work })
}

fn copy(bytes: u64) -> Work {
    Work::Copy(Copy { direction: Direction::HostToDevice, host: 0, device: 0, bytes })
}

/// Runs commands, a copy taking 100 cycles and a launch 30. Gives what the copy engine and the scheduler were sent, and
/// what the host was told: cycle and number of the command (of the launch).
fn commands(params: &str, script: Vec<(u64, BusMessage)>) -> (Numbers, Numbers, Vec<(u64, BusMessage)>) {
    let mut bench = bench::<CommandProcessor>(params);
    let count = script.len();
    let told = bench.client::<BusMessage, BusMessage>("bus", None, script, count);
    let copies = bench.server::<FromCopyEngine, ToCopyEngine>("copies", None, |message| match message {
        ToCopyEngine::Copy(id, _) => Some((100, FromCopyEngine::Copied(id))),
        ToCopyEngine::Bus(_) => None,
    });
    let launches = bench
        .server::<LaunchDone, Start>("launches", None, |Start(launch)| Some((30, LaunchDone(launch.id))));
    assert_finished(&bench.run());
    let copies = copies.take().into_iter().map(|(cycle, message)| match message {
        ToCopyEngine::Copy(id, _) => (cycle, id.0),
        ToCopyEngine::Bus(_) => panic!("nothing came from the host"),
    });
    let launches = launches.take().into_iter().map(|(cycle, Start(launch))| (cycle, launch.id.0));
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
    let script =
        vec![(5, command(1, 0, Work::Describe)), (8, command(2, 0, copy(4))), (9, command(3, 0, copy(0)))];
    let (copies, _, told) = commands("{ memory: 64 MiB }", script);
    assert_eq!(copies, [(8, 2)], "an empty copy is no work for the engine");
    let description = matches!(
        &told[0],
        (5, BusMessage::Description(CommandId(1), Description { memory, path })) if *memory == 64 << 20 && path.is_empty()
    );
    assert!(description, "{:?}", told[0]);
    assert_eq!(done(&told), [(109, 2), (110, 3)]);
}

#[test]
fn a_launch_that_is_not_under_way_cannot_end() {
    let mut bench = bench::<CommandProcessor>("{}");
    bench.client::<BusMessage, BusMessage>("bus", None, vec![], 1);
    bench.client::<FromCopyEngine, ToCopyEngine>("copies", None, vec![], 0);
    bench.client::<LaunchDone, Start>("launches", None, vec![(5, LaunchDone(LaunchId(9)))], 0);
    assert_eq!(fault(&bench.run()), "launch 9 is not under way");
}
