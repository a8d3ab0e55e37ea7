//! GeMTC's SuperKernel on the model of throughput, to the cycle: the time of a task, that of the lock, and
//! the final memory.

use std::sync::Arc;

use counterpoint::messages::launch::{Launch, RunCta, SmEvent, ToSm};
use counterpoint::messages::memory::{LINE_BYTES, MemAccess, MemReply, MemRequest};
use counterpoint::ptx::Kernel;
use counterpoint::telemetry::SpanId;
use counterpoint::testing::Probe;
use counterpoint::testing::gpu::{
    ALL, BUFFER, assert_finished, bench_with, kernel, launch, line, read, request,
};
use counterpoint_narrow_tasks::task_entry::{self, Demand, FREE, Parameters, SUPER_KERNEL};
use counterpoint_narrow_tasks::throughput::ThroughputModel;

const PARAMS: &str = "{ state_machines: { gemtc: { begin: 10 cycles, take: 100 cycles, empty: 50 cycles, enter: 80 cycles, again: 5 cycles, \
                      overhead: 200 cycles, block: 20 cycles, end: 7 cycles, spin: 40 cycles } } }";
/// The place of the list of finished tasks.
const DONE: u64 = BUFFER + 0x1000;

/// A SuperKernel of `blocks` blocks of a warp each. The model has its behaviour; it must find the table of
/// task functions, which belongs to a kernel that calls one.
fn super_kernel(blocks: u32) -> Arc<Launch> {
    let source = format!(
        ".version 7.8
.target sm_35
.address_size 64
.func nothing(.param .b32 p0, .param .b32 p1, .param .b32 p2, .param .b32 p3, .param .b64 p4, .param .b64 p5)
{{ ret; }}
.global .align 8 .u64 task_functions[1] = {{nothing}};
.visible .entry {SUPER_KERNEL}(.param .u64 queue, .param .u64 tasks, .param .u64 done)
{{
.reg .b64 %rd<2>;
ld.global.u64 %rd1, [task_functions];
prototype: .callprototype ()_ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, .param .b64 _);
.param .b32 a0;
.param .b32 a1;
.param .b32 a2;
.param .b32 a3;
.param .b64 a4;
.param .b64 a5;
call %rd1, (a0, a1, a2, a3, a4, a5), prototype;
ret;
}}
"
    );
    let compiled =
        Kernel::compile(&source, Some(SUPER_KERNEL)).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let params: Vec<u8> = [BUFFER, BUFFER + 128, DONE].into_iter().flat_map(u64::to_le_bytes).collect();
    let plain = launch(1, &kernel(""), blocks, 32);
    Arc::new(Launch { kernel: Arc::new(compiled), params: params.into(), ..(*plain).clone() })
}

fn block(launch: &Arc<Launch>, index: u32) -> ToSm {
    RunCta { launch: Arc::clone(launch), index, sm: 0, sms: 1, span: SpanId(0) }.into()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn put(tag: u32, line: u64, bytes: &[u8]) -> MemRequest {
    let mut data = [0; LINE_BYTES as usize];
    data[..bytes.len()].copy_from_slice(bytes);
    request(tag, line, MemAccess::Write(ALL, data.into()))
}

struct Run {
    /// When blocks ended, and which.
    ends: Vec<(u64, u32)>,
    /// The counts of the queue, and the list of finished tasks.
    queue: [u32; 4],
    done: [u32; 4],
}

/// `blocks` blocks with a queue of tasks, each with its number of blocks.
fn run(blocks: u32, tasks: &[u32]) -> Run {
    let entry = |&blocks: &u32| {
        let demand = Demand { blocks, warps: 1, shared: 0, barrier: false };
        task_entry::bytes(FREE, &Parameters { demand, function: 0, arguments: Vec::new() })
    };
    let mut requests = vec![(10, put(0, BUFFER, &words(&[0, 0, tasks.len() as u32, 0])))];
    for (tag, task) in (1..).zip(tasks) {
        requests.push((10, put(tag, BUFFER + LINE_BYTES * u64::from(tag), &entry(task))));
    }
    requests.extend([(100_000, read(100, BUFFER, ALL)), (100_000, read(101, DONE, ALL))]);
    let launch = super_kernel(blocks);
    let come = (0..blocks).map(|index| (1000, block(&launch, index))).collect();
    let mut bench = bench_with::<ThroughputModel>(counterpoint_narrow_tasks::register, PARAMS);
    let answers = requests.len();
    let events: Probe<SmEvent> = bench.client("sms", Some(0), come, 1 + blocks as usize);
    let replies = bench.client("copies", None, requests, answers);
    assert_finished(&bench.run());
    let ends = events.take().into_iter().filter_map(|(cycle, event)| match event {
        SmEvent::CtaDone { index, .. } => Some((cycle, index)),
        _ => None,
    });
    let replies: Vec<(u64, MemReply)> = replies.take();
    let first = |tag| {
        let line = line(&replies, tag);
        std::array::from_fn(|at| u32::from_le_bytes(line[4 * at..4 * at + 4].try_into().expect("four bytes")))
    };
    Run { ends: ends.collect(), queue: first(100), done: first(101) }
}

/// The end of a block that finds the queue empty, and the time of a task function that does nothing.
fn known() -> (u64, u64) {
    let empty = run(1, &[]).ends[0].0;
    let one = run(1, &[1]).ends[0].0 - empty;
    (empty, one - (100 + 200 + 20 + 80 + 5))
}

#[test]
fn a_task_takes_what_the_lock_and_its_blocks_take() {
    let (empty, task) = known();
    assert!((1..100).contains(&task), "{task}");
    let end = |tasks: &[u32]| run(1, tasks).ends[0].0 - empty;
    let one = 100 + 200 + 20 + task + 80 + 5;
    assert_eq!(end(&[1, 1, 1]), 3 * one);
    assert_eq!(end(&[3]), one + 2 * (20 + task), "blocks of a task come one after another");
}

#[test]
fn blocks_wait_for_the_lock_and_share_out_the_tasks() {
    let (empty, task) = known();
    let whole = 200 + 20 + task;
    let Run { ends, queue, done } = run(2, &[1, 1, 1]);
    // Block 0 takes a task while block 1 spins and polls every 40 cycles: a poll comes after 20 cycles on average. Block 0 enters
    // its result and takes the third task; block 1 has its own ready meanwhile, and waits 20 cycles behind that. It then finds the
    // queue empty, long before block 0 does.
    let second = (100 + 20 + 100) + whole;
    let third = 100 + whole + 80 + 5 + 100;
    assert!(second < third);
    let empty = empty - (50 + 7);
    // The two warps conflict at a register bank for one cycle in all.
    assert_eq!(ends[0], (empty + third + 20 + 80 + 5 + 50 + 7 + 1, 1));
    assert_eq!(ends[1], (empty + third + whole + 80 + 5 + 50 + 7 + 1, 0));
    assert_eq!(queue, [0, 3, 3, 3], "lock, front, rear, done");
    assert_eq!(done[..3], [0, 1, 2]);
}

#[test]
fn tasks_are_done_once_however_many_blocks_there_are() {
    let Run { ends, queue, mut done } = run(7, &[1, 2, 1, 2]);
    assert_eq!(ends.len(), 7);
    assert_eq!(queue, [0, 4, 4, 4]);
    done.sort_unstable();
    assert_eq!(done, [0, 1, 2, 3]);
}
