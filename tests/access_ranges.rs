//! The ranges that the analysis of a kernel gives for a block hold every address that the block touches: every
//! application, every dialect, every block of every launch of the small size.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use counterpoint_experiments::application::{Files, load};
use counterpoint_host_model::program::{Argument, LaunchStep, Step};
use counterpoint_ptx::analysis::access::{Class, KernelAccesses};
use counterpoint_ptx::analysis::ranges::{Launch, Touched, ranges};
use counterpoint_ptx::functional::FlatMemory;
use counterpoint_ptx::{Access, AccessKind, CtaEnvironment, Issue, Row, Space, Votes, Warp, parser};

use crate::support::root;

const DIALECTS: [&str; 4] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_20", "clang-sm_35"];
const CONSTANTS: u64 = 1 << 30;
/// Applications that access more than what they are given and constants: variables, or local memory.
const WITH_MORE: [&str; 2] = ["rank-filter", "tally"];

/// The repository's files, with the kernels in another dialect and without inputs that someone put there.
struct InDialect(&'static str);

impl Files for InDialect {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path.contains("/data/") {
            return Err(io::ErrorKind::NotFound.into());
        }
        match path.strip_suffix(".ptx").and_then(|stem| stem.rsplit_once("/kernel.")) {
            Some((folder, _)) => std::fs::read(format!("{folder}/kernel.{}.ptx", self.0)),
            None => std::fs::read(path),
        }
    }
}

/// What a block touched, by byte ranges of the memory.
type Seen = Vec<(Range<u64>, bool)>;

/// Runs one block and writes down which addresses of global memory it uses.
fn block(launch: &LaunchStep, env: &CtaEnvironment, memory: &mut FlatMemory, seen: &mut Seen) {
    let program = &launch.kernel;
    let mut warps: Vec<Warp> = (0..env.warps()).map(|index| Warp::new(program, env, index)).collect();
    let mut waiting = vec![false; warps.len()];
    let mut shared = vec![0; (program.shared_bytes() + launch.shared) as usize];
    let mut constants = Vec::new();
    for symbol in program.constant_symbols() {
        let bytes = symbol.initial_bytes(env.global_base, CONSTANTS);
        constants.resize(constants.len().max((symbol.offset + symbol.size) as usize), 0);
        constants[symbol.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let (mut access, mut words) = (Access::default(), [Row::ZERO; 4]);
    while warps.iter().any(|warp| warp.pc().is_some()) {
        for (warp, waiting) in warps.iter_mut().zip(&mut waiting) {
            while warp.pc().is_some() && !*waiting {
                match warp.issue(program, env, &mut access).unwrap().kind {
                    Issue::Done
                    | Issue::Parameter
                    | Issue::Branch
                    | Issue::Fence
                    | Issue::Nothing
                    | Issue::Exit { .. } => {}
                    Issue::Barrier { .. } => *waiting = true,
                    Issue::Print | Issue::Texture | Issue::Range(_) => {
                        panic!("no application prints, has textures or tells ranges")
                    }
                    Issue::Memory => {
                        let (base, bytes) = match access.space {
                            Space::Global => (memory.base, &mut memory.bytes),
                            Space::Shared => (0, &mut shared),
                            Space::Const => (CONSTANTS, &mut constants),
                            Space::Local => panic!("no application has local memory"),
                        };
                        let served = match access.kind {
                            AccessKind::Load => access.gather(access.mask, base, bytes, &mut words),
                            AccessKind::Store => access.store(access.mask, base, bytes),
                            AccessKind::Atomic(..) => access.atomic(access.mask, base, bytes, &mut words),
                        };
                        assert_eq!(served, access.mask);
                        if access.wants_value {
                            warp.complete_load(program, access.pc, access.mask, &words);
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
                warp.pass_barrier(program, Votes::default());
            }
        }
    }
}

/// What was found over all blocks of a kernel.
#[derive(Default)]
struct Sums {
    class: Option<Class>,
    blocks: u64,
    given: u64,
    used: u64,
}

struct Device {
    memory: FlatMemory,
    buffers: Vec<Range<u64>>,
    meaning: Vec<usize>,
    kernels: BTreeMap<String, KernelAccesses>,
    sums: BTreeMap<String, Sums>,
    words: String,
}

impl Device {
    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Launch(launch) => self.launch(launch),
                Step::Free(_) | Step::Copy { .. } => {
                    panic!("no application frees or copies between launches")
                }
                Step::Record(..) | Step::Wait(..) | Step::Synchronize(_) => {}
                Step::Swap(a, b) => self.meaning.swap(a.0 as usize, b.0 as usize),
                Step::Repeat(times, steps) => (0..*times).for_each(|_| self.run(steps)),
                Step::Loop { until, most, steps } => {
                    for _ in 0..*most {
                        self.run(steps);
                        let at = (self.buffers[self.meaning[until.buffer.0 as usize]].start
                            - self.memory.base) as usize
                            + until.offset as usize;
                        if self.memory.bytes[at..at + until.value.len()] == *until.value {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn launch(&mut self, launch: &LaunchStep) {
        let mut bytes = vec![0; launch.kernel.param_bytes() as usize];
        let (mut params, mut allocations) = (BTreeMap::new(), BTreeMap::new());
        for (index, (argument, param)) in launch.arguments.iter().zip(launch.kernel.params()).enumerate() {
            let value = match argument {
                Argument::Buffer(name) => {
                    let range = self.buffers[self.meaning[name.0 as usize]].clone();
                    allocations.insert(index as u32, range.clone());
                    params.insert(index as u32, i128::from(range.start));
                    range.start.to_le_bytes().to_vec()
                }
                Argument::Value(bytes) => {
                    let value = match bytes.len() {
                        4 => i128::from(i32::from_le_bytes(bytes[..4].try_into().unwrap())),
                        8 => i128::from(i64::from_le_bytes(bytes[..8].try_into().unwrap())),
                        other => panic!("{other} bytes"),
                    };
                    params.insert(index as u32, value);
                    bytes.to_vec()
                }
            };
            bytes[param.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        let kernel = &self.kernels[launch.kernel.name()];
        let told =
            Launch { grid: launch.grid, block: launch.block, params: &params, allocations: &allocations };
        let mut env = CtaEnvironment::new(launch.grid, launch.block, Arc::from(bytes));
        env.dynamic_shared_bytes = launch.shared;
        env.constant_base = CONSTANTS;
        env.global_base = self.memory.base + self.memory.bytes.len() as u64;
        let sums = self.sums.entry(launch.kernel.name().to_owned()).or_default();
        sums.class = Some(kernel.class);
        let [x, y, z] = launch.grid;
        for index in 0..x * y * z {
            env.ctaid = [index % x, index / x % y, index / x / y];
            let mut seen = Seen::new();
            block(launch, &env, &mut self.memory, &mut seen);
            let given = ranges(kernel, &told, env.ctaid);
            assert!(!given.anywhere, "{}: no pointer is loaded", self.words);
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
                    self.words,
                    launch.kernel.name(),
                    env.ctaid
                );
                let range = (if *write { written } else { read }).clone().unwrap();
                sums.given += range.end - range.start;
                sums.used += hull.end - hull.start;
            }
        }
    }
}

#[test]
fn blocks_stay_in_their_ranges() {
    let folder = root().join("experiments/applications");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .filter(|e| e.path().join("kernel.nvrtc-sm_35.ptx").is_file())
        .map(|e| e.file_name().into_string().unwrap())
        .filter(|name| !WITH_MORE.contains(&name.as_str()))
        .collect();
    names.sort();
    assert!(names.len() >= 20);
    let mut blocks = 0;
    for name in &names {
        for dialect in DIALECTS {
            let path = folder.join(name).join(format!("{name}.yaml")).display().to_string();
            let loaded = load(&path, &["app.size=small".to_owned()], &InDialect(dialect));
            let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.render()));
            let text =
                std::fs::read_to_string(folder.join(name).join(format!("kernel.{dialect}.ptx"))).unwrap();
            let module = parser::parse(&text).unwrap();
            let kernels = module.functions.iter().filter(|function| function.entry);
            let kernels =
                kernels.map(|kernel| (kernel.name.clone(), KernelAccesses::new(&module, kernel))).collect();
            let mut memory = FlatMemory::new(0);
            let sizes = loaded.application.buffers.iter().map(|buffer| buffer.bytes);
            let buffers: Vec<Range<u64>> = sizes
                .map(|bytes| {
                    let start = memory.push(&vec![0; bytes as usize]);
                    start..start + bytes
                })
                .collect();
            for (transfer, input) in loaded.application.prelude.iter().zip(&loaded.inputs) {
                let start = (buffers[transfer.buffer.0 as usize].start - memory.base) as usize;
                memory.bytes[start..start + input.contents.len()].copy_from_slice(&input.contents);
            }
            let meaning = (0..buffers.len()).collect();
            let words = format!("{name} in {dialect}");
            let mut device = Device { memory, buffers, meaning, kernels, sums: BTreeMap::new(), words };
            device.run(&loaded.application.steps);
            for (kernel, sums) in &device.sums {
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
    assert!(blocks > 1000, "only {blocks} blocks were looked at");
}
