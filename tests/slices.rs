//! Launches that run slice by slice leave the memory that they leave whole: every application, each in one dialect.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use counterpoint_ptx::functional::{FlatMemory, Grid, Options, ctas};
use counterpoint_ptx::slice::{self, Carry, Dimensions, plan, slice};
use counterpoint_ptx::{Kernel, VariableBases, decode, parser};

use crate::launches::{DIALECTS, Device, applications, load_application};

/// Kernels that cannot be sliced, with the reason. No application has any: none knows launches from each other.
const REFUSED: [(&str, &str); 0] = [];

/// The kernels of a module that run slices of grids of these dimensions, by the names of the original ones.
fn sliced(text: &str, dimensions: Dimensions, carry: Carry) -> BTreeMap<String, Kernel> {
    let module = parser::parse(text).unwrap();
    let made = slice(&module, &slice::Options { dimensions, carry, kernel: None }).unwrap();
    let kernels = decode::decode(&parser::parse(&made.text).unwrap()).unwrap();
    let refused =
        made.kernels.iter().filter_map(|kernel| Some((&*kernel.name, &*kernel.refused.as_ref()?.reason)));
    assert!(refused.eq(REFUSED));
    let twin =
        |name: &str| kernels.iter().find(|kernel| kernel.name() == slice::sliced(name)).unwrap().clone();
    made.kernels.iter().map(|kernel| (kernel.name.clone(), twin(&kernel.name))).collect()
}

/// Runs all blocks of a grid.
fn execute(
    kernel: &Kernel,
    (grid, block, shared): ([u32; 3], [u32; 3], u32),
    params: &[u8],
    variables: VariableBases,
    memory: &mut FlatMemory,
) {
    let options = Options { dynamic_shared_bytes: shared, ..Options::default() };
    let mut run = Grid::new(kernel, grid, block, params, variables, &options).unwrap();
    for ctaid in ctas(grid) {
        assert!(run.run_cta(ctaid, memory).unwrap_or_else(|failure| panic!("{failure}")).is_continue());
    }
}

#[test]
fn slices_leave_the_memory_that_the_whole_launch_leaves() {
    let (mut launches, mut slices, mut seen) = (0, 0, BTreeSet::new());
    for (name, dialect) in applications().iter().zip(DIALECTS.into_iter().cycle()) {
        let (loaded, text) = load_application(name, dialect, &["app.size=small"]);
        let mut twins = BTreeMap::new();
        let mut device = Device::new(&loaded);
        let mut variables = None;
        device.run(&loaded.application.steps, &mut |device, launch| {
            let arguments = device.arguments(launch);
            let variables = *variables.get_or_insert_with(|| device.memory.load(name, &launch.kernel));
            launches += 1;
            // The cheapest form, which knows the grid, takes turns with the other forms.
            let blocks = launch.grid.iter().map(|size| u64::from(*size)).product();
            let (dimensions, carry) = match launches % 3 {
                0 => (Dimensions::of(launch.grid), Carry::Subtract),
                1 => (Dimensions::Three, Carry::Subtract),
                _ => (Dimensions::Three, Carry::Divide),
            };
            let key = (dimensions, carry == Carry::Divide);
            let twins = twins.entry(key).or_insert_with(|| sliced(&text, dimensions, carry));
            let twin = &twins[launch.kernel.name()];
            let whole = device.memory.clone();
            let shape = (launch.grid, launch.block, launch.shared);
            execute(&launch.kernel, shape, &arguments.bytes, variables, &mut device.memory);
            // Every block alone, and some size up to more than there are.
            for size in [1, 1 + launches % (blocks as u32 + 2)] {
                let mut memory = whole.clone();
                for slice in plan(blocks, NonZeroU32::new(size).unwrap()) {
                    let mut params = arguments.bytes.clone();
                    slice.append_arguments(launch.grid, &mut params);
                    let shape = (slice.grid(), launch.block, launch.shared);
                    execute(twin, shape, &params, variables, &mut memory);
                    slices += 1;
                }
                let equal = memory.bytes[..] == device.memory.bytes[..];
                assert!(equal, "{name} in {dialect}: {} in slices of {size}", launch.kernel.name());
            }
            seen.insert((name.clone(), Dimensions::of(launch.grid)));
        });
    }
    let grids = |dimensions| seen.iter().filter(|(_, found)| *found == dimensions).count();
    let counts = Dimensions::ALL.map(grids);
    println!("{launches} launches, {slices} slices, applications by dimensions of their grids: {counts:?}");
    assert!(launches > 100 && slices > 2 * launches && counts.iter().sum::<usize>() >= 22 && counts[1] >= 5);
}
