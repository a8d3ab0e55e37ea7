//! Times of GeMTC's SuperKernel where SMs are stepped, measured from its writes to the queue, its looks at
//! the lock included: these are the costs of the model of throughput (`src/state_machines/gemtc/costs.rs`).
//!
//! The SuperKernel is launched as an ordinary kernel on a queue that is full before it begins. Its tasks do next
//! to nothing.

use counterpoint::messages::memory::WriteTarget;
use counterpoint::run::RunSummary;
use counterpoint_narrow_tasks::task_entry::{self, BYTES, Demand, FREE, Parameters, SUPER_KERNEL};
use counterpoint_tests::observed::total;
use counterpoint_tests::probe::cycles;

use counterpoint_narrow_tasks::runtimes::resident::GEMTC;

use super::{Launched, amount, block};
use crate::{MODEL, STEPPED};

/// Threads of a block, two warps of it, and bytes that each block of a task reads and writes.
const THREADS: u32 = 64;
const NUMBERS: u32 = 4 * THREADS;
/// Blocks of a task at most.
const MOST: u32 = 4;

/// The work of a task: each thread reads a number, adds one and writes it. Its arguments are the offsets of
/// both from themselves.
const TASK: &str = "{
.reg .b32 %r<4>;
.reg .b64 %rd<7>;
ld.param.u32 %r1, [exchange_task_param_0];
ld.param.u64 %rd1, [exchange_task_param_5];
ld.u64 %rd2, [%rd1];
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd2, %rd4, %rd2;
ld.u32 %r2, [%rd2];
ld.u64 %rd5, [%rd1+8];
add.s64 %rd6, %rd4, %rd5;
add.s32 %r3, %r2, 1;
st.u32 [%rd6], %r3;
ret;
}";

/// One hold of the lock. Times are in cycles, taken at the arrival at the L2.
struct Hold {
    taken: f64,
    released: f64,
    /// The offset of the counter that was written meanwhile, if any was.
    counter: Option<u64>,
    /// When others looked at the lock meanwhile.
    looks: Vec<f64>,
}

const FRONT: Option<u64> = Some(4);
const DONE: Option<u64> = Some(12);

impl Hold {
    fn cycles(&self) -> f64 {
        self.released - self.taken
    }
}

/// A run of a SuperKernel of `blocks` blocks, with `tasks` tasks of `of` blocks each.
fn run(machine: &str, blocks: u32, tasks: u32, of: u32) -> RunSummary {
    run_on(machine, &[], blocks, tasks, of)
}

/// Runs the SuperKernel on a machine with settings.
fn run_on(machine: &str, sets: &[&str], blocks: u32, tasks: u32, of: u32) -> RunSummary {
    // The queue, its tasks, the bytes that each block of a task reads and writes, and the list of finished
    // tasks.
    let numbers = BYTES * u64::from(1 + tasks);
    let results = numbers + u64::from(tasks * MOST * NUMBERS);
    let done = results + u64::from(tasks * MOST * NUMBERS);
    let mut queue = vec![0; (done + BYTES * u64::from(tasks)) as usize];
    queue[8..12].copy_from_slice(&tasks.to_le_bytes());
    let demand = Demand { blocks: of, warps: THREADS / 32, shared: 0, barrier: false };
    for task in 0..tasks {
        let own = BYTES * u64::from(1 + task);
        let at = |first: u64| first + u64::from(task * MOST * NUMBERS) - (own + 32);
        let arguments = [at(numbers), at(results)].into_iter().flat_map(u64::to_le_bytes).collect();
        let bytes = task_entry::bytes(FREE, &Parameters { demand, function: 0, arguments });
        queue[own as usize..(own + BYTES) as usize].copy_from_slice(&bytes);
    }
    let word = |at: u64| format!("{{ buffer: memory, element: {} }}", at / 4);
    Launched {
        code: GEMTC,
        machine,
        sets,
        kernel: SUPER_KERNEL,
        task: TASK,
        memory: &queue,
        blocks,
        threads: THREADS,
        shared: 0,
        arguments: &format!("[memory, {}, {}]", word(BYTES), word(done)),
    }
    .run()
}

fn holds(summary: &RunSummary) -> Vec<Hold> {
    let start = block(summary).start;
    let mut holds: Vec<Hold> = Vec::new();
    let mut held = false;
    for write in
        summary.writes.iter().filter(|write| write.place == WriteTarget::Device && write.time > start)
    {
        let at = cycles(write.time);
        match (write.offset, write.bytes.first(), holds.last_mut()) {
            (0, Some(1), Some(hold)) if held => hold.looks.push(at),
            (0, Some(1), _) => {
                held = true;
                holds.push(Hold { taken: at, released: at, counter: None, looks: Vec::new() });
            }
            (0, _, Some(hold)) => {
                held = false;
                hold.released = at;
            }
            (counter @ (4 | 12), _, Some(hold)) => hold.counter = Some(counter),
            _ => {}
        }
    }
    holds
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    assert!(!values.is_empty());
    values.iter().sum::<f64>() / values.len() as f64
}

/// Asserts that a cost of the model equals the measurement within a relative tolerance.
#[track_caller]
fn costs(name: &str, found: f64, tolerance: f64) {
    super::costs(&format!("gemtc.{name}"), found, tolerance);
}

#[test]
fn the_lock_takes_what_the_model_has() {
    let summary = run(STEPPED, 1, 4, 1);
    let (holds, block) = (holds(&summary), block(&summary));
    let of = |counter| holds.iter().filter(move |hold| hold.counter == counter).map(Hold::cycles);
    costs("begin", holds[0].taken - cycles(block.start), 0.0);
    costs("take", mean(of(FRONT)), 0.01);
    costs("enter", mean(of(DONE)), 0.01);
    costs("empty", mean(of(None)), 0.0);
    let behind = |pair: &[Hold]| (pair[0].counter == DONE).then(|| pair[1].taken - pair[0].released);
    costs("again", mean(holds.windows(2).filter_map(behind)), 0.0);
    costs("end", cycles(block.end) - holds.last().unwrap().released, 0.0);
    // One of two blocks waits.
    let two = self::holds(&run(STEPPED, 2, 4, 1));
    let between = two.iter().flat_map(|hold| hold.looks.windows(2).map(|pair| pair[1] - pair[0]));
    costs("spin", mean(between), 0.01);
}

#[test]
fn what_is_around_a_task_takes_what_the_model_has() {
    let of = |machine: &str, tasks, blocks| cycles(run(machine, 1, tasks, blocks).report.outcome.time());
    for blocks in [1, MOST] {
        let task = |machine| (of(machine, 8, blocks) - of(machine, 4, blocks)) / 4.0;
        let [model, stepped] = [MODEL, STEPPED].map(task);
        assert!((model / stepped - 1.0).abs() < 0.02, "{blocks}: {model} {stepped}");
    }
    let issued = |tasks, blocks| amount(block(&run(STEPPED, 1, tasks, blocks)), "warp_insn");
    let task = |blocks| (issued(8, blocks) - issued(4, blocks)) / 4.0;
    costs("instructions", (task(1) - (task(2) - task(1))) / 2.0, 0.02);
}

#[test]
fn a_look_at_the_lock_has_the_instructions_that_the_model_has() {
    // Sixteen blocks do the same tasks on one SM and on 16 SMs, where they poll the lock more often.
    let [one, many] = [1, 16].map(|sms| {
        let summary = run_on(STEPPED, &[&format!("gpu.sms={sms}")], 16, 32, 1);
        let start = block(&summary).start;
        let looks = summary.writes.iter().filter(|write| {
            (write.place, write.offset) == (WriteTarget::Device, 0)
                && write.time > start
                && write.bytes[0] == 1
        });
        [total(&summary, "gpu/sm", "warp_insn") as f64, looks.count() as f64]
    });
    costs("spin_instructions", (many[0] - one[0]) / (many[1] - one[1]), 0.02);
}

/// Given numbers of blocks take the time that they take on stepped SMs.
fn assert_crowds(crowds: &[u32]) {
    for &blocks in crowds {
        let [model, stepped] =
            [MODEL, STEPPED].map(|machine| cycles(run(machine, blocks, 48, 1).report.outcome.time()));
        assert!((model / stepped - 1.0).abs() < 0.03, "{blocks}: {model} {stepped}");
    }
}

#[test]
fn blocks_that_crowd_round_the_lock_take_what_the_model_has() {
    assert_crowds(&[24, 4 * 24]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn many_blocks_that_crowd_round_the_lock_take_what_the_model_has() {
        assert_crowds(&[8 * 24, 16 * 24]);
    }
}
