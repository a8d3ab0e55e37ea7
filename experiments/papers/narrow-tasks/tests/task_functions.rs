//! The task functions of narrow tasks: found in the table of their module, they compute in a part of a block
//! the results of the plain kernel in a launch. Every application with tasks, every dialect.

use std::sync::Arc;

use counterpoint::application::LoadedApplication;
use counterpoint::host::program::{LaunchStep, Step, Task};
use counterpoint::ptx::Kernel;
use counterpoint::ptx::functional::{Grid, Options, ctas};

use counterpoint_tests::launches::{DIALECTS, Device, load_in_dialect};
use counterpoint_tests::support::root;

/// Blocks of tasks that share a block of the device.
const BATCH: usize = 4;
/// Shared memory of each, in bytes.
const SHARED: u32 = 8192;
/// Inputs of a task's block: the function's place in the table, its index and the number of blocks, and the
/// arguments from byte 16 on.
const SLOT: usize = 256;

/// A kernel whose block is several blocks of tasks side by side. Each has its own warps, a barrier and a part of shared memory.
const HANDED: &str = "
.visible .entry handed(.param .u64 handed_slots, .param .u32 handed_threads)
{
	.reg .b32 %h<8>;
	.reg .b64 %l<10>;
	.shared .align 32 .b8 handed_memory[MEMORY];
	ld.param.u64 %l0, [handed_slots];
	ld.param.u32 %h1, [handed_threads];
	mov.u32 %h0, %tid.x;
	div.u32 %h2, %h0, %h1;
	rem.u32 %h3, %h0, %h1;
	mul.wide.u32 %l1, %h2, SLOT;
	add.u64 %l2, %l0, %l1;
	ld.global.u64 %l3, [%l2];
	add.u64 %l4, %l2, 16;
	mov.u64 %l5, task_functions;
	add.u64 %l5, %l5, %l3;
	ld.global.u64 %l6, [%l5];
	mul.wide.u32 %l7, %h2, SHARED;
	mov.u64 %l8, handed_memory;
	cvta.shared.u64 %l8, %l8;
	add.u64 %l8, %l8, %l7;
	add.u32 %h4, %h2, 1;
	ld.global.u32 %h6, [%l2+8];
	mad.lo.u32 %h3, %h6, %h1, %h3;
	ld.global.u32 %h5, [%l2+12];
	{
	.param .b32 thread; .param .b32 threads; .param .b32 blocks; .param .b32 barrier; .param .b64 memory; .param .b64 arguments;
	st.param.b32 [thread], %h3;
	st.param.b32 [threads], %h1;
	st.param.b32 [blocks], %h5;
	st.param.b32 [barrier], %h4;
	st.param.b64 [memory], %l8;
	st.param.b64 [arguments], %l4;
	task: .callprototype _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, .param .b64 _);
	call %l6, (thread, threads, blocks, barrier, memory, arguments), task;
	}
	ret;
}
";

/// The text of `HANDED` with its numbers.
fn handed() -> String {
    let memory = BATCH as u32 * SHARED;
    let numbers = [("MEMORY", memory), ("SLOT", SLOT as u32), ("SHARED", SHARED)];
    numbers.iter().fold(HANDED.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

/// The steps of tasks, in their order.
fn tasks(steps: &[Step]) -> Vec<Arc<[Task]>> {
    let of = |step: &Step| match step {
        Step::Tasks(tasks) => vec![Arc::clone(tasks)],
        Step::Repeat(times, steps) => vec![tasks(steps); *times as usize].concat(),
        Step::Synchronize(_) => Vec::new(),
        other => panic!("{other:?}"),
    };
    steps.iter().flat_map(of).collect()
}

/// The place of a kernel's function in its module's table.
fn place_in_table(text: &str, kernel: &str) -> usize {
    let table = text.lines().find(|line| line.contains(" task_functions[")).expect("a table of functions");
    let functions = table.split(['{', '}']).nth(1).expect("functions");
    let wanted = format!("{kernel}_task");
    functions
        .split(", ")
        .position(|function| function == wanted)
        .unwrap_or_else(|| panic!("{wanted} in {table}"))
}

/// Runs a kernel on a device's memory.
fn run(
    kernel: &Kernel,
    (grid, block): ([u32; 3], [u32; 3]),
    params: &[u8],
    device: &mut Device,
    shared: u32,
) {
    let variables = device.memory.load("module", kernel);
    let options = Options { dynamic_shared_bytes: shared, racecheck: true, ..Options::default() };
    let mut run = Grid::new(kernel, grid, block, params, variables, &options).unwrap();
    for ctaid in ctas(grid) {
        let end = run.run_cta(ctaid, &mut device.memory);
        assert!(end.unwrap_or_else(|failure| panic!("{failure}")).is_continue());
    }
    assert_eq!(run.findings(), []);
}

/// The buffers when all tasks have run as launches.
fn launched(loaded: &LoadedApplication) -> Vec<u8> {
    let mut device = Device::new(loaded);
    let end = device.memory.bytes.len();
    for launch in Step::launches(&loaded.application.steps) {
        let params = device.arguments(launch).bytes;
        run(&launch.kernel, (launch.grid, launch.block), &params, &mut device, launch.shared);
    }
    device.memory.bytes[..end].to_vec()
}

/// Results when parts of one thread block each execute a block of a step's tasks.
fn run_by_function(loaded: &LoadedApplication) -> Vec<u8> {
    // All launches use one module.
    let text = Step::launches(&loaded.application.steps)[0].kernel.source();
    let kernel = Kernel::compile(&format!("{text}{}", handed()), Some("handed"));
    let kernel = kernel.unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut device = Device::new(loaded);
    let end = device.memory.bytes.len();
    for step in tasks(&loaded.application.steps) {
        let blocks = step.iter().flat_map(|task| (0..task.launch.grid[0]).map(|block| (block, &task.launch)));
        let blocks: Vec<(u32, &LaunchStep)> = blocks.collect();
        for together in blocks.chunks(BATCH) {
            let threads = together[0].1.block[0];
            let mut slots = vec![0; SLOT * together.len()];
            for (slot, (number, launch)) in slots.chunks_mut(SLOT).zip(together) {
                assert!(launch.block == [threads, 1, 1] && launch.shared <= SHARED);
                let place = 8 * place_in_table(text, launch.kernel.name()) as u64;
                slot[..8].copy_from_slice(&place.to_le_bytes());
                slot[8..12].copy_from_slice(&number.to_le_bytes());
                slot[12..16].copy_from_slice(&launch.grid[0].to_le_bytes());
                let arguments = device.arguments(launch).bytes;
                slot[16..16 + arguments.len()].copy_from_slice(&arguments);
            }
            let mut params = device.memory.push(&slots).to_le_bytes().to_vec();
            params.extend(threads.to_le_bytes());
            let block = [threads * together.len() as u32, 1, 1];
            run(&kernel, ([1; 3], block), &params, &mut device, 0);
        }
    }
    device.memory.bytes[..end].to_vec()
}

/// Task functions compute what their kernels compute, in those dialects that are chosen by the places of the program, of the number of
/// threads and of the dialect.
fn compute_the_same(chosen: impl Fn(usize, usize, usize) -> bool) {
    let folders = std::fs::read_dir(root().join("experiments/applications")).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut narrow: Vec<String> = names.filter(|name| name.starts_with("narrow-")).collect();
    assert!(narrow.len() >= 11, "{narrow:?}");
    narrow.sort();
    for (program, name) in narrow.into_iter().enumerate() {
        for (count, threads) in [32, 96, 128].into_iter().enumerate() {
            let dialects = DIALECTS.into_iter().enumerate();
            for (_, dialect) in dialects.filter(|(dialect, _)| chosen(program, count, *dialect)) {
                let sets = ["app.size=small", &format!("app.threads={threads}")];
                let loaded = load_in_dialect(&name, dialect, &sets);
                let (plain, handed) = (launched(&loaded), run_by_function(&loaded));
                assert!(plain == handed, "{name} in {dialect}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_task_function_computes_what_its_kernel_computes() {
    // The dialects take turns.
    compute_the_same(|program, threads, dialect| (program + threads) % DIALECTS.len() == dialect);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_task_function_computes_what_its_kernel_computes_in_every_dialect() {
        compute_the_same(|_, _, _| true);
    }
}
