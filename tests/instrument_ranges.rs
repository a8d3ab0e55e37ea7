//! Ranges that the profilers of a kernel report when they run equal those of the analysis for each block, and
//! kernels that release compute the same results: every application, in one dialect after another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use counterpoint_host_model::program::LaunchStep;
use counterpoint_ptx::analysis::access::KernelAccesses;
use counterpoint_ptx::analysis::ranges::{Launch, ranges};
use counterpoint_ptx::functional::{FlatMemory, Grid, Options, ToldRange, ctas};
use counterpoint_ptx::instrument::{InstrumentedKernel, instrument};
use counterpoint_ptx::{Kernel, RangeAction, RangeCall, VariableBases, parser};

use crate::launches::{Arguments, DIALECTS, Device, applications, load_application};

/// A regular kernel, with and without the additions.
struct Regular {
    accesses: KernelAccesses,
    instrumented: InstrumentedKernel,
    pre: Kernel,
    post: Kernel,
}

fn kernels(text: &str) -> BTreeMap<String, Regular> {
    let module = parser::parse(text).unwrap();
    let instrumented = instrument(&module, &Default::default()).unwrap();
    let compile = |name: &str| Kernel::compile(&instrumented.text, Some(name)).unwrap();
    let regular = instrumented.kernels.iter().filter_map(|kernel| Some((kernel, kernel.pre.as_ref()?)));
    regular
        .map(|(kernel, pre)| {
            let function = module.functions.iter().find(|function| function.name == kernel.name).unwrap();
            let accesses = KernelAccesses::new(&module, function);
            let (pre, post) = (compile(pre), compile(&kernel.name));
            (kernel.name.clone(), Regular { accesses, instrumented: kernel.clone(), pre, post })
        })
        .collect()
}

/// Runs all blocks, and gives the ranges reported and the number of instructions executed.
fn execute(
    kernel: &Kernel,
    (grid, block): ([u32; 3], [u32; 3]),
    (params, variables): (&[u8], VariableBases),
    memory: &mut FlatMemory,
    shared: u32,
) -> (Vec<ToldRange>, u64) {
    let options = Options { ranges: true, dynamic_shared_bytes: shared, ..Options::default() };
    let mut run = Grid::new(kernel, grid, block, params, variables, &options).unwrap();
    for ctaid in ctas(grid) {
        assert!(run.run_cta(ctaid, memory).unwrap_or_else(|failure| panic!("{failure}")).is_continue());
    }
    (run.ranges().to_vec(), run.statistics().warp_instructions)
}

/// The ranges that calls of an action report, block by block.
fn by_block(told: &[ToldRange], action: RangeAction) -> BTreeMap<[u32; 3], Vec<RangeCall>> {
    let mut found: BTreeMap<[u32; 3], Vec<RangeCall>> = BTreeMap::new();
    for range in told {
        assert_eq!(range.action, action);
        found.entry(range.ctaid).or_default().push(range.call);
    }
    found
}

/// The part that lies in the array, if any does.
fn clip(range: Option<Range<u64>>, array: &Range<u64>) -> Option<Range<u64>> {
    let range = range?;
    let clipped = range.start.max(array.start)..range.end.min(array.end);
    (clipped.start < clipped.end).then_some(clipped)
}

/// Sums over the cases.
#[derive(Default)]
struct Sums {
    blocks: u64,
    arrays: u64,
    /// Arrays of blocks for which the analysis, which ends every access at the array, gives less.
    wider: u64,
    instructions: u64,
}

/// Runs a pre-profiler and compares its ranges with the analysis.
fn check_pre(
    kernel: &Regular,
    launch: &LaunchStep,
    arguments: &Arguments,
    memory: &mut FlatMemory,
    variables: VariableBases,
    sums: &mut Sums,
) -> Vec<ToldRange> {
    let Arguments { bytes, params, allocations } = arguments;
    let mut bytes = bytes.clone();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    launch.block.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
    assert_eq!(bytes.len(), kernel.pre.param_bytes() as usize);
    let (told, instructions) = execute(&kernel.pre, (launch.grid, [1; 3]), (&bytes, variables), memory, 0);
    sums.instructions += instructions;
    let calls = by_block(&told, RangeAction::Set);
    let anywhere = BTreeMap::new();
    let told_launch = |allocations| Launch { grid: launch.grid, block: launch.block, params, allocations };
    for ctaid in ctas(launch.grid) {
        sums.blocks += 1;
        let calls = calls.get(&ctaid).map_or(&[][..], Vec::as_slice);
        let arrays = &kernel.instrumented.arrays;
        assert_eq!(calls.len(), arrays.len(), "{} {ctaid:?}", launch.kernel.name());
        let whole = ranges(&kernel.accesses, &told_launch(&anywhere), ctaid);
        let ended = ranges(&kernel.accesses, &told_launch(allocations), ctaid);
        for (call, array) in calls.iter().zip(arrays) {
            assert_eq!((call.reads, call.writes), (array.reads, array.writes));
            let index = launch.kernel.params().iter().position(|param| param.name == array.name);
            let Some(index) = index.map(|index| index as u32) else {
                // A variable of the module, all of it.
                assert!(call.low == call.array && call.high > call.low);
                assert!(call.array >= variables.globals && variables.globals > 0);
                continue;
            };
            sums.arrays += 1;
            let allocation = &allocations[&index];
            assert_eq!(i128::from(call.array), params[&index], "the array as the kernel is given it");
            let both = |found: &counterpoint_ptx::analysis::ranges::BlockRanges| {
                clip(found.arrays.get(&index).and_then(|touched| touched.both()), allocation)
            };
            let told = clip(Some(call.low..call.high), allocation);
            let words = || format!("{} {ctaid:?} {}: {call:x?}", launch.kernel.name(), array.name);
            assert_eq!(told, both(&whole), "{}", words());
            // The analysis may omit an access that is wholly outside the array; the profilers report one
            // range that includes the access.
            let (told, least) = (told.unwrap_or_default(), both(&ended).unwrap_or_default());
            sums.wider += u64::from(told != least);
            let inside = least.is_empty() || told.start <= least.start && least.end <= told.end;
            assert!(inside, "{}, at least {least:x?}", words());
        }
    }
    told
}

/// Runs applications of the small size, each in the dialects for its position in the list.
#[allow(clippy::print_stdout, reason = "figures for who asks for them with --nocapture")]
fn small_sizes_agree(dialects: impl Fn(usize) -> Vec<&'static str>) {
    let mut sums = Sums::default();
    let (mut launches, mut with_variables) = (0, 0);
    for (place, name) in applications().iter().enumerate() {
        for dialect in dialects(place) {
            let (loaded, text) = load_application(name, dialect, &["app.size=small"]);
            let kernels = kernels(&text);
            let mut device = Device::new(&loaded);
            let mut loaded_variables = None;
            device.run(&loaded.application.steps, &mut |device, launch| {
                let arguments = device.arguments(launch);
                let variables =
                    *loaded_variables.get_or_insert_with(|| device.memory.load(name, &launch.kernel));
                let shape = (launch.grid, launch.block);
                let params = (arguments.bytes.as_slice(), variables);
                let Some(kernel) = kernels.get(launch.kernel.name()) else {
                    execute(&launch.kernel, shape, params, &mut device.memory, launch.shared);
                    return;
                };
                let sets = check_pre(kernel, launch, &arguments, &mut device.memory, variables, &mut sums);
                let mut memory = device.memory.clone();
                let (releases, _) = execute(&kernel.post, shape, params, &mut memory, launch.shared);
                execute(&launch.kernel, shape, params, &mut device.memory, launch.shared);
                assert!(memory.bytes[..] == device.memory.bytes[..], "{name} in {dialect}: other results");
                let (sets, releases) =
                    (by_block(&sets, RangeAction::Set), by_block(&releases, RangeAction::Release));
                assert_eq!(sets, releases, "{name} in {dialect}");
                launches += 1;
                with_variables += u32::from(variables.globals > 0);
            });
        }
    }
    println!("{launches} launches, {} arrays of {} blocks, {} wider", sums.arrays, sums.blocks, sums.wider);
    assert!(sums.blocks > 1000 && launches > 100 && with_variables > 0);
}

#[test]
fn profilers_tell_what_the_analysis_says_and_change_nothing() {
    // The dialects take turns.
    small_sizes_agree(|place| vec![DIALECTS[place % DIALECTS.len()]]);
}

/// Compares ranges of applications in their full sizes; nothing is computed.
#[allow(clippy::print_stdout, reason = "figures for who asks for them with --nocapture")]
fn full_sizes_agree(names: &[&str], dialects: &[&'static str]) {
    for name in names {
        for dialect in dialects.iter().copied() {
            let (loaded, text) = load_application(name, dialect, &[]);
            let kernels = kernels(&text);
            let mut device = Device::new(&loaded);
            let mut memory = FlatMemory::new(0);
            let mut seen = BTreeSet::new();
            let mut sums = Sums::default();
            device.run(&loaded.application.steps, &mut |device, launch| {
                let arguments = device.arguments(launch);
                if seen.insert((launch.kernel.name().to_owned(), arguments.bytes.clone())) {
                    let kernel = &kernels[launch.kernel.name()];
                    check_pre(kernel, launch, &arguments, &mut memory, VariableBases::default(), &mut sums);
                }
            });
            println!(
                "{name:12} {dialect:12} {:4} launches, {:6} blocks, {:4} instructions a block, {} wider",
                seen.len(),
                sums.blocks,
                sums.instructions / sums.blocks,
                sums.wider
            );
            assert!(sums.blocks >= 16);
        }
    }
}

#[test]
fn profilers_tell_what_the_analysis_says_of_a_full_size() {
    full_sizes_agree(&["laplace"], &DIALECTS[..1]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn profilers_tell_what_the_analysis_says_and_change_nothing_in_all_dialects() {
        small_sizes_agree(|_| DIALECTS.to_vec());
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn profilers_tell_what_the_analysis_says_of_full_sizes_in_all_dialects() {
        full_sizes_agree(&["3mm", "convolution", "hotspot", "laplace", "pathfinder", "stencil3d"], &DIALECTS);
    }
}
