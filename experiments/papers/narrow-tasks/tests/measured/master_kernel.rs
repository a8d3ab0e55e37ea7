//! Times of Pagoda's MasterKernel where SMs are stepped, measured from its writes to the TaskTable: these are
//! the costs of the model of throughput (`src/state_machines/pagoda/costs.rs`).
//!
//! The MasterKernel is launched as an ordinary kernel, one block on one SM, on a table that is full before it begins. Its tasks read
//! the clock when they begin and when they store it; the last one writes the stop word.

use std::collections::BTreeMap;

use counterpoint::messages::memory::WriteTarget;
use counterpoint::run::RunSummary;
use counterpoint::telemetry::Level;
use counterpoint_narrow_tasks::task_entry::{
    self, BYTES, Demand, ENABLED, MASTER_KERNEL, MASTER_KERNEL_BY_LANES, PRESENT, Parameters, Shape, State,
};
use counterpoint_tests::observed::total;
use counterpoint_tests::probe::{Configured, cycles};

use counterpoint_narrow_tasks::runtimes::resident::PAGODA;

use super::{Launched, amount, block};
use crate::{MODEL, STEPPED, registry};

/// The work of a task: each warp keeps its clock at the beginning and at its store. The arguments are the offsets of the clocks and of the
/// stop word or 0, relative to the arguments.
const TASK: &str = "{
.reg .pred %p<4>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
mov.u32 %r1, %clock;
ld.param.u32 %r2, [exchange_task_param_0];
ld.param.u64 %rd1, [exchange_task_param_5];
ld.u64 %rd2, [%rd1];
ld.u32 %r4, [%rd1+8];
add.s64 %rd3, %rd1, %rd2;
shr.u32 %r5, %r2, 5;
mul.wide.u32 %rd4, %r5, 128;
add.s64 %rd5, %rd3, %rd4;
setp.eq.s32 %p2, %r4, 0;
@%p2 bra KEEP;
cvt.u64.u32 %rd6, %r4;
add.s64 %rd6, %rd1, %rd6;
st.u32 [%rd6], %r1;
KEEP:
and.b32 %r6, %r2, 31;
setp.ne.s32 %p3, %r6, 0;
@%p3 bra END;
mov.u32 %r7, %clock;
st.v2.u32 [%rd5], {%r1, %r7};
END:
ret;
}";
/// Instructions of a warp that does not write the stop word, counted in the lines above: the jump skips the `st` after it.
const TASK_INSTRUCTIONS: f64 = 17.0;

#[derive(Clone, Copy)]
struct Entry {
    state: State,
    demand: Demand,
    stops: bool,
}

const ONE: Demand = Demand { blocks: 1, warps: 1, shared: 0, barrier: false };

fn task(demand: Demand) -> Entry {
    Entry { state: ENABLED, demand, stops: false }
}

/// An entry in a given state.
fn in_state(state: State) -> Entry {
    Entry { state, ..task(ONE) }
}

/// Observations of a MasterKernel. Times are in cycles, of the arrival of a store at the L2.
struct Seen {
    /// Times at which the scheduler warp took the task of each row, and at which its entry was freed.
    taken: BTreeMap<u32, f64>,
    freed: BTreeMap<u32, f64>,
    /// Time at which the task of each row was enabled.
    enabled: BTreeMap<u32, f64>,
    /// Clock of each warp, by row and warp of the task: at its beginning, at its store, and at the arrival of the store.
    ran: BTreeMap<(u32, u32), [f64; 3]>,
    /// Instructions of the scheduler warp, and of the first executor warp.
    scheduler: f64,
    executor: f64,
    /// Accesses to shared memory, of all warps.
    shared_accesses: f64,
    /// Cycles that the block was there.
    cycles: f64,
}

/// Warps of a task at most.
const WARPS: u64 = 64;

/// Runs a MasterKernel of one block with `executors` executor warps and `rows` rows. The last row has the
/// task that ends it, and may be scheduled if the entries do not say otherwise.
fn run(executors: u32, rows: u32, entries: &[(u32, Entry)]) -> Seen {
    run_kernel(MASTER_KERNEL, executors, rows, entries)
}

/// Runs entries on either MasterKernel.
fn run_kernel(kernel: &str, executors: u32, rows: u32, entries: &[(u32, Entry)]) -> Seen {
    let (shape, pool) = (Shape { columns: 1, rows }, 32 << 10);
    let last = (rows - 1, Entry { stops: true, ..task(ONE) });
    let clocks = u64::from(rows) * BYTES;
    let stop = clocks + u64::from(rows) * WARPS * BYTES;
    let mut table = vec![0; (stop + BYTES) as usize];
    let has_last = entries.iter().any(|(row, _)| *row == last.0);
    for (row, entry) in entries.iter().chain((!has_last).then_some(&last)) {
        let arguments = u64::from(*row) * BYTES + 32;
        let to_clocks = clocks + u64::from(*row) * WARPS * BYTES - arguments;
        let to_stop = if entry.stops { (stop - arguments) as u32 } else { 0 };
        let words = [to_clocks as u32, 0, to_stop, 0];
        let parameters = Parameters {
            demand: entry.demand,
            function: 0,
            arguments: words.into_iter().flat_map(u32::to_le_bytes).collect(),
        };
        let place = u64::from(*row) * BYTES;
        table[place as usize..(place + BYTES) as usize]
            .copy_from_slice(&task_entry::bytes(entry.state, &parameters));
    }
    let arguments = format!("[memory, {rows}, {{ buffer: memory, element: {} }}, {pool}]", stop / 4);
    let launch = Launched {
        code: PAGODA,
        machine: STEPPED,
        sets: &["gpu.sms=1"],
        kernel,
        task: TASK,
        memory: &table,
        blocks: 1,
        threads: 32 * (executors + 1),
        shared: pool,
        arguments: &arguments,
    };
    seen(&launch.run(), shape, clocks, stop)
}

fn seen(summary: &RunSummary, shape: Shape, clocks: u64, stop: u64) -> Seen {
    let spans = &summary.report.trace.spans;
    let block = block(summary);
    let warp = |name: &str| {
        let span = spans.iter().find(|span| span.level == Level::Warps && span.name == name).unwrap();
        amount(span, "warp_insn")
    };
    let mut seen = Seen {
        taken: BTreeMap::new(),
        freed: BTreeMap::new(),
        enabled: BTreeMap::new(),
        ran: BTreeMap::new(),
        scheduler: warp("warp 0"),
        executor: warp("warp 1"),
        shared_accesses: total(summary, "gpu/sm", "shared_accesses") as f64,
        cycles: amount(block, "cycles"),
    };
    let of_kernel =
        summary.writes.iter().filter(|write| write.place == WriteTarget::Device && write.time > block.start);
    for write in of_kernel {
        let at = cycles(write.time);
        let words: Vec<i32> =
            write.bytes.as_chunks::<4>().0.iter().map(|word| i32::from_le_bytes(*word)).collect();
        let (row, within) = ((write.offset / BYTES) as u32, write.offset % BYTES);
        if write.offset >= stop {
            continue;
        }
        if write.offset >= clocks {
            let (row, warp) =
                ((write.offset - clocks) / (WARPS * BYTES), (write.offset - clocks) / BYTES % WARPS);
            seen.ran.insert((row as u32, warp as u32), [words[0].into(), words[1].into(), at]);
            continue;
        }
        assert!(row < shape.rows);
        match (within, words.as_slice()) {
            (4, [0]) => seen.taken.insert(row, at),
            (0, [0]) => seen.freed.insert(row, at),
            (0, [1, 1]) => seen.enabled.insert(row, at),
            (0, [-1, 0]) => None,
            other => panic!("row {row}: {other:?} is written"),
        };
    }
    seen
}

impl Seen {
    /// Time from the scheduler warp's store that takes the task of one row to its store for another row.
    fn gap(&self, from: u32, to: u32) -> f64 {
        self.taken[&to] - self.taken[&from]
    }
}

/// Executor warps of the measured blocks: few, so that their polls hardly take issue slots from the scheduler warp; and, where tasks
/// follow each other, the number that the tasks keep busy.
const FEW: u32 = 4;
const ENOUGH: u32 = 8;
/// The places of consecutive tasks; the first of them waits for bytes that no cache holds yet.
const ROW: u32 = 9;

/// A task that waits for the one of an entry.
fn behind(row: u32) -> Entry {
    in_state(State { ready: Shape { columns: 1, rows: 32 }.id(0, row).0, sched: 0 })
}

/// Cycles from taking a task to taking the one in the next row.
fn between(demand: Demand) -> f64 {
    let tasks: Vec<_> = (ROW - 1..ROW + 3).map(|row| (row, task(demand))).collect();
    run(ENOUGH, 32, &tasks).gap(ROW, ROW + 1)
}

/// Asserts that a cost of the model equals the measurement within a relative tolerance.
#[track_caller]
fn costs(name: &str, found: f64, tolerance: f64) {
    super::costs(&format!("pagoda.{name}"), found, tolerance);
}

/// Time of inspecting a row, and of scheduling the task of a row, in a block with `executors` executors.
fn look_and_one(executors: u32) -> [f64; 2] {
    let seen = run(executors, 32, &[8, ROW, ROW + 1, 20].map(|row| (row, task(ONE))));
    let one = seen.gap(ROW, ROW + 1);
    let look = (seen.gap(ROW + 1, 20) - one) / f64::from(20 - ROW - 2);
    [look, one - look]
}

/// Cycles and instructions of one polling round of an idle executor. The scheduler warp polls waiting rows, and does not access shared
/// memory.
fn poll() -> [f64; 2] {
    let [few, many] = [2, 30].map(|waiting| {
        let rows: Vec<_> = (0..waiting).map(|row| (row, behind(30))).collect();
        run(1, 32, &rows)
    });
    let turns = many.shared_accesses - few.shared_accesses;
    [(many.cycles - few.cycles) / turns, (many.executor - few.executor) / turns]
}

#[test]
fn a_sweep_takes_what_the_model_has() {
    let [look, one] = look_and_one(FEW);
    costs("look", look, 0.01);
    // Every sweep of the larger table has 16 rows more, and both kernels end in the same sweep.
    let [many, few] = [32, 16].map(|rows| run(FEW, rows, &[]).scheduler);
    costs("look_instructions", (many - few) / 16.0, 0.01);
    let waits =
        run(FEW, 32, &[(2, task(ONE)), (3, behind(30)), (4, behind(30)), (5, behind(30)), (6, task(ONE))]);
    let wait = (waits.gap(2, 6) - one - 4.0 * look) / 3.0;
    costs("wait", wait, 0.02);
    let enables = run(FEW, 32, &[(2, task(ONE)), (3, behind(18)), (6, task(ONE)), (18, in_state(PRESENT))]);
    costs("enable", enables.gap(2, 6) - one - 4.0 * look - wait, 0.05);
    // The task of row 4 may be scheduled when the sweep has passed it.
    let next = run(FEW, 32, &[(4, in_state(PRESENT)), (8, behind(4))]);
    assert!(next.enabled[&4] < next.taken[&31]);
    costs("sweep", next.gap(31, 4) - one - 5.0 * look, 0.05);
}

#[test]
fn a_sweep_by_lanes_takes_what_the_model_has() {
    // Each sweep enables one task, and schedules the task that the previous sweep enabled.
    let chain = |row: u32| if row == 0 { in_state(PRESENT) } else { behind(row - 1) };
    let mut rows: Vec<_> = (0..12).map(|row| (row, chain(row))).collect();
    rows.extend([(31, Entry { stops: true, ..behind(11) }), (30, behind(31))]);
    let seen = run_kernel(MASTER_KERNEL_BY_LANES, FEW, 32, &rows);
    let known = |name: &str| super::cost_of(&format!("pagoda.{name}"));
    let [schedule, place, wait, enable] = ["schedule", "place", "wait", "enable"].map(known);
    // Between the first two nothing is scheduled.
    let sweep = seen.enabled[&1] - seen.enabled[&0];
    costs("lanes", sweep - wait - enable, 0.02);
    let link = (seen.enabled[&9] - seen.enabled[&3]) / 6.0;
    assert!((link / (sweep + schedule + place) - 1.0).abs() < 0.07, "{link} {sweep}");
}

#[test]
fn scheduling_takes_what_the_model_has() {
    let [look, one] = look_and_one(ENOUGH);
    let of = |blocks, shared, barrier| between(Demand { blocks, shared, barrier, ..ONE }) - look;
    // A block with a barrier takes that and a counter; work that is not done for each block is done for the
    // task.
    let (single, double) = (of(1, 0, true), of(2, 0, true));
    let block = double - single;
    let schedule = single - block;
    let place = one - schedule;
    let take = (block - place) / 2.0;
    costs("schedule", schedule, 0.05);
    costs("place", place, 0.05);
    costs("take", take, 0.05);
    // Tasks of the benchmarks have some KiB. Memory of the task before has come back; smaller pieces, deeper in the tree, take longer.
    let memory = (of(2, 8 << 10, false) - schedule) / 2.0 - take - place;
    costs("memory", memory, 0.05);
    // With both, memory and barrier are allocated for each block in turn.
    let both = of(2, 8 << 10, true);
    assert!((both / (schedule + 2.0 * (memory + 2.0 * take + place)) - 1.0).abs() < 0.05, "{both}");
    // All four warps of a block are placed at once.
    let wide = between(Demand { warps: 4, ..ONE }) - look;
    assert!((wide / one - 1.0).abs() < 0.02, "{wide} {one}");
}

#[test]
fn executors_take_what_the_model_has() {
    let [poll, instructions] = poll();
    costs("poll", poll, 0.02);
    costs("poll_instructions", instructions, 0.02);
    let [_, one] = look_and_one(ENOUGH);
    let rows: Vec<u32> = (1..30).step_by(2).collect();
    let tasks: Vec<_> = rows.iter().map(|&row| (row, task(ONE))).collect();
    let seen = run(ENOUGH, 32, &tasks);
    let mean =
        |of: &dyn Fn(u32) -> f64| rows[1..].iter().map(|&row| of(row)).sum::<f64>() / (rows.len() - 1) as f64;
    // A store is on its way to the L2 as long as any other.
    let way = mean(&|row| seen.ran[&(row, 0)][2] - seen.ran[&(row, 0)][1]);
    let until = mean(&|row| seen.ran[&(row, 0)][0] - (seen.taken[&row] - way));
    let begin = until - one - poll / 2.0;
    costs("begin", begin, 0.03);
    // The model has a warp end when its last store is acknowledged.
    let acknowledged = Configured::with(&registry(), MODEL, &[]).number("gpu.model", "costs.global");
    let end = mean(&|row| seen.freed[&row] - seen.ran[&(row, 0)][1]) - acknowledged;
    costs("end", end, 0.03);
    // One executor with few and with many tasks: the difference gives its instructions per task, without its polling rounds.
    let [few, many] = [3, 13].map(|count| {
        let tasks: Vec<_> = (0..count).map(|number| (2 * number + 1, task(ONE))).collect();
        run(1, 32, &tasks)
    });
    let body = mean(&|row| seen.ran[&(row, 0)][1] - seen.ran[&(row, 0)][0]);
    let busy = begin + body + acknowledged + end - way;
    let polls = (many.cycles - few.cycles) / 10.0 - busy;
    let issued = (many.executor - few.executor) / 10.0 - instructions * polls / poll;
    costs("executor_instructions", issued - TASK_INSTRUCTIONS, 0.1);
}
