//! The MasterKernel without time and without a host: one block of it, and a table that is full when it begins.

use counterpoint::ptx::Kernel;
use counterpoint::ptx::functional::{FlatMemory, Grid, Options};
use counterpoint_narrow_tasks::runtimes::pagoda::entry;
use counterpoint_narrow_tasks::runtimes::resident::PAGODA;
use counterpoint_narrow_tasks::task_entry::{self, Demand, ENABLED, FREE, PRESENT, Parameters, Shape, State};
use counterpoint_tests::support::kernels;

/// The dialect beside the application, then those of the corpus.
const DIALECTS: [&str; 4] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_20", "clang-sm_35"];
const ROWS: u32 = 32;
const SHAPE: Shape = Shape { columns: 1, rows: ROWS };
/// Instructions in which the block has long done all tasks and polls.
const LIMIT: u64 = 3_000_000;

const KERNELS: [&str; 2] = [task_entry::MASTER_KERNEL, task_entry::MASTER_KERNEL_BY_LANES];

/// Dialects, and one of the MasterKernels that each has, in turn: the slow tests have both.
fn some() -> impl Iterator<Item = (&'static str, &'static str)> {
    DIALECTS.into_iter().zip(KERNELS.into_iter().cycle())
}

/// Dialects, and the MasterKernels that each has.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    DIALECTS.into_iter().flat_map(|dialect| KERNELS.map(|name| (dialect, name)))
}

fn master_kernel(dialect: &str, name: &str) -> Kernel {
    let text = kernels("narrow-exchange", dialect).expect("the PTX of an application");
    let text = String::from_utf8(text).expect("PTX is text");
    let text = PAGODA.linked(&text).unwrap_or_else(|errors| panic!("{dialect}: {errors:?}"));
    Kernel::compile(&text, Some(name)).unwrap_or_else(|errors| panic!("{dialect}: {errors:?}"))
}

/// Input and output of a task, and its expected result.
struct Work {
    demand: Demand,
    rounds: u32,
    values: Vec<u32>,
}

impl Work {
    fn new(number: u32, demand: Demand, rounds: u32) -> Self {
        let threads = demand.blocks * demand.warps * 32;
        Work { demand, rounds, values: (0..threads).map(|at| number * 1000 + at * at).collect() }
    }

    fn expected(&self) -> Vec<u32> {
        let threads = self.demand.warps as usize * 32;
        let block = |values: &[u32]| {
            let mut values = values.to_vec();
            for round in 0..self.rounds as usize {
                let next = |at: usize| values[(at + 1 + round) % threads];
                values = (0..threads).map(|at| values[at].wrapping_mul(3).wrapping_add(next(at))).collect();
            }
            values.into_iter().map(|value| value.wrapping_add(1)).collect::<Vec<u32>>()
        };
        self.values.chunks_exact(threads).flat_map(block).collect()
    }
}

/// Runs tasks whose entries are there when the kernel begins; gives their final states, having looked at the results of all that ended.
fn run(
    (dialect, name): (&str, &str),
    states: &[State],
    all: &[Work],
    pool: u32,
    stops: bool,
) -> (Vec<State>, bool) {
    let kernel = master_kernel(dialect, name);
    let function = entry::function(&kernel, "exchange").expect("a task function");
    let mut memory = FlatMemory::new(0);
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut table = Vec::new();
    let mut outputs = Vec::new();
    for (work, &state) in all.iter().zip(states) {
        let input = memory.push(&bytes(&work.values));
        let output = memory.push(&vec![0; work.values.len() * 4]);
        outputs.push(output);
        let mut arguments = [input.to_le_bytes(), output.to_le_bytes()].concat();
        arguments.extend(work.rounds.to_le_bytes());
        table.extend(task_entry::bytes(state, &Parameters { demand: work.demand, function, arguments }));
    }
    table.resize(SHAPE.entries() * task_entry::BYTES as usize, 0);
    let table = memory.push(&table);
    let stop = memory.push(&u32::from(stops).to_le_bytes());
    let params =
        [&table.to_le_bytes()[..], &u64::from(ROWS).to_le_bytes(), &stop.to_le_bytes(), &pool.to_le_bytes()]
            .concat();
    let options = Options { dynamic_shared_bytes: pool, limit: LIMIT, ..Options::default() };
    let variables = memory.load("module", &kernel);
    let mut grid =
        Grid::new(&kernel, [1, 1, 1], [1024, 1, 1], &params, variables, &options).expect("a launch");
    let outcome = grid.run_cta([0; 3], &mut memory);
    if let Err(failure) = &outcome {
        assert!(failure.error.message.contains("instructions"), "{dialect} {name}: {failure}");
    }
    let at = |address: u64, bytes: usize| {
        let start = (address - memory.base) as usize;
        &memory.bytes[start..start + bytes]
    };
    let size = task_entry::BYTES as usize;
    let states: Vec<State> = at(table, all.len() * size).chunks_exact(size).map(task_entry::state).collect();
    for ((work, &output), state) in all.iter().zip(&outputs).zip(&states) {
        if *state == FREE {
            assert_eq!(
                at(output, work.values.len() * 4),
                bytes(&work.expected()),
                "{dialect} {name} {:?}",
                work.demand
            );
        }
    }
    (states, outcome.is_ok())
}

/// Tasks of all sorts.
fn mixed() -> Vec<Work> {
    let demand = |number: u32| Demand {
        blocks: 1 + number % 3,
        warps: 1 + number * 7 % 9,
        shared: (number % 4) * 1500 + (1 + number * 7 % 9) * 128,
        barrier: true,
    };
    let plain = Demand { blocks: 5, warps: 9, shared: 0, barrier: false };
    let task = |number: u32| match number % 5 {
        0 => Work::new(number, plain, 0),
        _ => Work::new(number, demand(number), 1 + number % 4),
    };
    (0..ROWS).map(task).collect()
}

fn run_full_column(kernels: impl Iterator<Item = (&'static str, &'static str)>) {
    for kernel in kernels {
        let all = mixed();
        let (states, _) = run(kernel, &[ENABLED; ROWS as usize], &all, 32 << 10, false);
        assert_eq!(states, [FREE; ROWS as usize], "{kernel:?}");
    }
}

#[test]
fn every_task_of_a_full_column_runs_in_every_dialect() {
    run_full_column(some());
}

fn run_with_a_smaller_pool(kernels: impl Iterator<Item = (&'static str, &'static str)>) {
    let narrow = Demand { blocks: 40, warps: 1, shared: 128, barrier: true };
    let wide = Demand { blocks: 3, warps: 31, shared: 16 << 10, barrier: true };
    let all: Vec<Work> =
        (0..8).map(|number| Work::new(number, if number % 2 == 0 { narrow } else { wide }, 3)).collect();
    for kernel in kernels {
        let (states, _) = run(kernel, &[ENABLED; 8], &all, 16 << 10, false);
        assert_eq!(states, [FREE; 8], "{kernel:?}");
    }
}

#[test]
fn a_smaller_pool_and_more_blocks_than_barriers_make_tasks_wait_and_lose_none() {
    run_with_a_smaller_pool(some());
}

fn run_chain(kernels: impl Iterator<Item = (&'static str, &'static str)>) {
    let all = mixed();
    // The chain goes through the column against the order in which it is swept, so that no sweep does all of it.
    let states: Vec<State> =
        (0..ROWS).map(|row| State::behind((row + 1 < ROWS).then(|| SHAPE.id(0, row + 1)))).collect();
    for kernel in kernels {
        let (states, _) = run(kernel, &states, &all, 32 << 10, false);
        assert_eq!(states[0], PRESENT, "{kernel:?}: nobody has spawned a task behind it");
        assert!(states[1..].iter().all(|state| *state == FREE), "{kernel:?}: {states:?}");
    }
}

#[test]
fn each_task_starts_the_one_before_it_and_the_last_one_waits() {
    run_chain(some());
}

#[test]
fn the_stop_word_ends_the_kernel() {
    for kernel in all() {
        let (_, ended) = run(kernel, &[], &[], 32 << 10, true);
        assert!(ended, "{kernel:?}");
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn both_master_kernels_of_every_dialect_run_all_tasks() {
        run_full_column(all());
        run_with_a_smaller_pool(all());
        run_chain(all());
    }
}
