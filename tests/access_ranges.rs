//! The ranges that the analysis of a kernel gives for a block hold every address that the block touches: every
//! application, every block of every launch of the small size, in one dialect after another.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use counterpoint_host_model::program::LaunchStep;
use counterpoint_ptx::analysis::access::{Class, KernelAccesses};
use counterpoint_ptx::analysis::ranges::{Launch, Touched, ranges};
use counterpoint_ptx::functional::FlatMemory;
use counterpoint_ptx::{Access, AccessKind, CtaEnvironment, Issue, Row, Space, Votes, Warp, parser};

use crate::launches::{Arguments, DIALECTS, Device, applications, load_application};

const CONSTANTS: u64 = 1 << 30;
/// Applications that access more than their arguments and constants, such as variables or local memory, and
/// one that is given the same array several times.
const LEFT_OUT: [&str; 6] =
    ["narrow-des", "narrow-lu", "narrow-mixed", "narrow-mixed-global", "rank-filter", "tally"];

/// Byte ranges of the memory that a block touched.
type Seen = Vec<(Range<u64>, bool)>;

/// Runs one block and writes down which addresses of global memory it uses.
fn block(launch: &LaunchStep, env: &CtaEnvironment, memory: &mut FlatMemory, seen: &mut Seen) {
    let kernel = &launch.kernel;
    let mut warps: Vec<Warp> = (0..env.warps()).map(|index| Warp::new(kernel, env, index)).collect();
    let mut waiting = vec![false; warps.len()];
    let mut shared = vec![0; (kernel.shared_bytes() + launch.shared) as usize];
    // A thread's local memory lies behind that of the thread before it.
    let local_bytes = kernel.local_bytes(env.stack) as usize;
    let mut local = vec![0; local_bytes * 32 * warps.len()];
    let mut constants = Vec::new();
    for symbol in kernel.constant_symbols() {
        let bytes = symbol.initial_bytes(env.global_base, CONSTANTS);
        constants.resize(constants.len().max((symbol.offset + symbol.size) as usize), 0);
        constants[symbol.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let (mut access, mut words) = (Access::default(), [Row::ZERO; 4]);
    while warps.iter().any(|warp| warp.pc().is_some()) {
        for (index, (warp, waiting)) in warps.iter_mut().zip(&mut waiting).enumerate() {
            while warp.pc().is_some() && !*waiting {
                match warp.issue(kernel, env, &mut access).unwrap().kind {
                    Issue::Done
                    | Issue::Parameter
                    | Issue::Branch
                    | Issue::Fence(_)
                    | Issue::Nothing
                    | Issue::Sleep { .. }
                    | Issue::CommitCopies
                    | Issue::AwaitCopies { .. }
                    | Issue::Exit { .. } => {}
                    Issue::Barrier { .. } | Issue::Held => *waiting = true,
                    Issue::Texture | Issue::Range(_) => {
                        panic!("no application prints, has textures or tells ranges")
                    }
                    Issue::Memory => {
                        let mut serve = |mask: u32, base: u64, bytes: &mut [u8]| match access.kind {
                            AccessKind::Load => access.gather(mask, base, bytes, &mut words),
                            AccessKind::Store => access.store(mask, base, bytes),
                            AccessKind::Atomic(..) => access.atomic(mask, base, bytes, &mut words),
                        };
                        let served = match access.space {
                            Space::Global => serve(access.mask, memory.base, &mut memory.bytes),
                            Space::Shared => serve(access.mask, 0, &mut shared),
                            Space::Const => serve(access.mask, CONSTANTS, &mut constants),
                            Space::Local => (0..32)
                                .filter(|lane| access.mask >> lane & 1 != 0)
                                .map(|lane| {
                                    let thread = index * 32 + lane;
                                    serve(1 << lane, 0, &mut local[thread * local_bytes..][..local_bytes])
                                })
                                .fold(0, |all, one| all | one),
                        };
                        assert_eq!(served, access.mask);
                        if access.wants_value {
                            warp.complete_load(kernel, access.pc, access.mask, &words);
                        }
                        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
                            let start = access.addresses[lane];
                            if access.space == Space::Global {
                                let write = access.kind != AccessKind::Load;
                                seen.push((start..start + u64::from(access.width), write));
                            }
                        }
                    }
                }
            }
        }
        for (warp, waiting) in warps.iter_mut().zip(&mut waiting) {
            if std::mem::take(waiting) {
                warp.pass_barrier(kernel, Votes::default());
            }
        }
    }
}

/// Sums over all blocks of a kernel.
#[derive(Default)]
struct Sums {
    class: Option<Class>,
    blocks: u64,
    given: u64,
    used: u64,
}

/// Runs a launch; `words` names it for messages.
fn run(device: &mut Device, launch: &LaunchStep, kernel: &KernelAccesses, (sums, words): (&mut Sums, &str)) {
    let Arguments { bytes, params, allocations } = device.arguments(launch);
    let memory = &mut device.memory;
    let told = Launch { grid: launch.grid, block: launch.block, params: &params, allocations: &allocations };
    let mut env = CtaEnvironment::new(launch.grid, launch.block, Arc::from(bytes));
    env.dynamic_shared_bytes = launch.shared;
    env.constant_base = CONSTANTS;
    env.global_base = memory.base + memory.bytes.len() as u64;
    sums.class = Some(kernel.class);
    let [x, y, z] = launch.grid;
    for index in 0..x * y * z {
        env.ctaid = [index % x, index / x % y, index / x / y];
        let mut seen = Seen::new();
        block(launch, &env, memory, &mut seen);
        let given = ranges(kernel, &told, env.ctaid);
        assert!(!given.anywhere, "{}: no pointer is loaded", words);
        let mut used: BTreeMap<(u32, bool), Range<u64>> = BTreeMap::new();
        for (range, write) in seen {
            let array =
                allocations.iter().find(|(_, all)| all.contains(&range.start)).map(|(index, _)| *index);
            let array = array.expect("an access to an argument");
            let hull = used.entry((array, write)).or_insert(range.clone());
            *hull = hull.start.min(range.start)..hull.end.max(range.end);
        }
        sums.blocks += 1;
        for ((array, write), hull) in &used {
            let touched = given.arrays.get(array).cloned().unwrap_or_default();
            let Touched { read, written } = &touched;
            let inside = |range: &Option<Range<u64>>| {
                range.as_ref().is_some_and(|range| range.start <= hull.start && hull.end <= range.end)
            };
            assert!(
                inside(if *write { written } else { read }),
                "{} {}: block {:?} uses {hull:x?} of param{array}, write {write}, given {touched:x?}",
                words,
                launch.kernel.name(),
                env.ctaid
            );
            let range = (if *write { written } else { read }).clone().unwrap();
            sums.given += range.end - range.start;
            sums.used += hull.end - hull.start;
        }
    }
}

/// Checks all blocks of applications, each application in the dialects for its position in the list, and
/// returns the number of blocks.
#[allow(clippy::print_stdout, reason = "figures for who asks for them with --nocapture")]
fn inspect(dialects: impl Fn(usize) -> Vec<&'static str>) -> u64 {
    let mut blocks = 0;
    let names = applications();
    for (place, name) in names.iter().filter(|name| !LEFT_OUT.contains(&name.as_str())).enumerate() {
        for dialect in dialects(place) {
            let (loaded, text) = load_application(name, dialect, &["app.size=small"]);
            let module = parser::parse(&text).unwrap();
            let kernels = module.functions.iter().filter(|function| function.entry);
            let kernels: BTreeMap<String, KernelAccesses> =
                kernels.map(|kernel| (kernel.name.clone(), KernelAccesses::new(&module, kernel))).collect();
            let words = format!("{name} in {dialect}");
            let mut all: BTreeMap<String, Sums> = BTreeMap::new();
            Device::new(&loaded).run(&loaded.application.steps, &mut |device, launch| {
                let sums = all.entry(launch.kernel.name().to_owned()).or_default();
                run(device, launch, &kernels[launch.kernel.name()], (sums, &words));
            });
            for (kernel, sums) in &all {
                let ratio = sums.given as f64 / sums.used.max(1) as f64;
                let class = sums.class.unwrap();
                println!(
                    "{name:14} {dialect:12} {kernel:20} {class:12} {:6} blocks, ratio {ratio:.3}",
                    sums.blocks
                );
                blocks += sums.blocks;
            }
        }
    }
    blocks
}

#[test]
fn blocks_stay_in_their_ranges() {
    // The dialects take turns.
    let blocks = inspect(|place| vec![DIALECTS[place % DIALECTS.len()]]);
    assert!(blocks > 1000, "only {blocks} blocks were looked at");
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn blocks_stay_in_their_ranges_in_all_dialects() {
        let blocks = inspect(|_| DIALECTS.to_vec());
        assert!(blocks > 4000, "only {blocks} blocks were looked at");
    }
}
