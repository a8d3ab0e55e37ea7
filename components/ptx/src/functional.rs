//! A whole grid on a flat memory, without time: for tests, and to see what a program computes.
//!
//! CTAs run one after another, the warps of a CTA in turns, so a CTA that waits for another one never
//! ends; [`Options::limit`] stops it.

use std::sync::Arc;

use crate::error::ExecError;
use crate::execute::{Access, AccessKind, CtaEnvironment, Issue, Votes, Warp};
use crate::printf::print;
use crate::program::{Program, Row, Space, Symbol};
use crate::texture::Textures;

/// Memory as one run of bytes.
#[derive(Clone, Debug)]
pub struct FlatMemory {
    /// Address of the first byte.
    pub base: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl FlatMemory {
    /// Memory of `size` zero bytes that starts above the generic windows.
    pub fn new(size: usize) -> Self {
        FlatMemory { base: 1 << 32, bytes: vec![0; size] }
    }

    /// Appends bytes at a multiple of 256 and returns their address.
    pub fn push(&mut self, bytes: &[u8]) -> u64 {
        let start = self.bytes.len().next_multiple_of(256);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(bytes);
        self.base + start as u64
    }

    /// Appends floats.
    pub fn push_f32(&mut self, values: &[f32]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(&bytes)
    }

    /// Reads floats; fewer where memory ends.
    pub fn read_f32(&self, address: u64, count: usize) -> Vec<f32> {
        let start = address.wrapping_sub(self.base) as usize;
        let bytes = self.bytes.get(start..).unwrap_or(&[]);
        bytes
            .chunks_exact(4)
            .take(count)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect()
    }
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Shared memory that the launch adds.
    pub dynamic_shared_bytes: u32,
    /// Warp instructions after which a run is given up.
    pub limit: u64,
    /// Do without the host's vector extensions.
    pub baseline: bool,
    /// What texture fetches find.
    pub textures: Arc<Textures>,
}

impl Default for Options {
    fn default() -> Self {
        Options { dynamic_shared_bytes: 0, limit: u64::MAX, baseline: false, textures: Arc::default() }
    }
}

/// What a run executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instructions, counted once for a warp.
    pub warp_instructions: u64,
    /// Instructions, counted for every lane that executed them.
    pub thread_instructions: u64,
    /// What the kernel printed.
    pub output: String,
}

/// Runs every CTA of a grid.
pub fn run(
    program: &Program,
    grid: [u32; 3],
    block: [u32; 3],
    params: &[u8],
    memory: &mut FlatMemory,
    options: &Options,
) -> Result<Statistics, ExecError> {
    let threads = block.iter().try_fold(1u32, |all, size| all.checked_mul(*size)).unwrap_or(0);
    if threads == 0 || threads > 1024 {
        return Err(launch_error(format!("a block of {block:?} threads cannot be launched")));
    }
    if params.len() < program.param_bytes() as usize {
        let message =
            format!("{} parameter bytes given, the kernel takes {}", params.len(), program.param_bytes());
        return Err(launch_error(message));
    }
    let mut env = CtaEnvironment::new(grid, block, Arc::from(params));
    env.textures = Arc::clone(&options.textures);
    env.dynamic_shared_bytes = options.dynamic_shared_bytes;
    env.constant_base = CONSTANTS;
    env.global_base = memory.base + memory.bytes.len().next_multiple_of(256) as u64;
    let globals = place_symbols(program.global_symbols(), &env);
    if !globals.is_empty() {
        memory.push(&globals);
    }
    let constants = place_symbols(program.constant_symbols(), &env);
    let shared_bytes = program.shared_bytes() as usize + options.dynamic_shared_bytes as usize;
    let mut cta = Cta {
        program,
        warps: (0..env.warps()).map(|index| Warp::new(program, &env, index)).collect(),
        waiting: vec![None; env.warps() as usize],
        arrived: [Arrived::default(); 16],
        shared: vec![0; shared_bytes],
        local: vec![0; program.local_bytes() as usize * 32 * env.warps() as usize],
        constants,
        access: Access::default(),
        words: [Row::ZERO; 4],
        statistics: Statistics::default(),
    };
    if options.baseline {
        cta.warps.iter_mut().for_each(Warp::use_baseline);
    }
    for z in 0..grid[2] {
        for y in 0..grid[1] {
            for x in 0..grid[0] {
                env.ctaid = [x, y, z];
                cta.run(&env, memory, options)?;
            }
        }
    }
    Ok(cta.statistics)
}

fn launch_error(message: String) -> ExecError {
    ExecError { line: 0, lane: 0, message }
}

/// Where constant memory lies.
const CONSTANTS: u64 = 1 << 30;

/// The bytes of a space's variables.
fn place_symbols(symbols: &[Symbol], env: &CtaEnvironment) -> Vec<u8> {
    let mut bytes = Vec::new();
    for symbol in symbols {
        let start = symbol.offset as usize;
        bytes.resize(bytes.len().max(start + symbol.size as usize), 0);
        let initial = symbol.initial_bytes(env.global_base, env.constant_base);
        bytes[start..start + initial.len()].copy_from_slice(&initial);
    }
    bytes
}

/// A warp runs this many instructions before the next has its turn: enough to stay in the host's cache,
/// few enough that warps which wait for one another in a loop make progress.
const TURN: u32 = 256;

/// The state of a barrier.
#[derive(Clone, Copy, Default)]
struct Arrived {
    threads: u32,
    /// Threads that it waits for, where an instruction says it.
    count: Option<u32>,
    votes: Votes,
}

struct Cta<'a> {
    program: &'a Program,
    warps: Vec<Warp>,
    /// The barrier a warp waits at.
    waiting: Vec<Option<u32>>,
    /// What has arrived at each barrier.
    arrived: [Arrived; 16],
    shared: Vec<u8>,
    local: Vec<u8>,
    constants: Vec<u8>,
    access: Access,
    words: [Row; 4],
    statistics: Statistics,
}

impl Cta<'_> {
    fn run(
        &mut self,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
        options: &Options,
    ) -> Result<(), ExecError> {
        for (index, warp) in self.warps.iter_mut().enumerate() {
            warp.restart(self.program, env, index as u32);
        }
        self.waiting.fill(None);
        self.arrived = [Arrived::default(); 16];
        self.shared.fill(0);
        self.local.fill(0);
        loop {
            let mut alive = false;
            let mut moved = false;
            for index in 0..self.warps.len() {
                if self.warps[index].pc().is_some() {
                    alive = true;
                    if self.waiting[index].is_none() {
                        moved = true;
                        self.turn(index, env, memory)?;
                    }
                }
            }
            if !alive {
                return Ok(());
            }
            if !moved {
                return Err(launch_error("all warps wait at barriers that nobody completes".into()));
            }
            if self.statistics.warp_instructions > options.limit {
                return Err(launch_error(format!("more than {} warp instructions", options.limit)));
            }
        }
    }

    fn turn(&mut self, index: usize, env: &CtaEnvironment, memory: &mut FlatMemory) -> Result<(), ExecError> {
        for _ in 0..TURN {
            let issued =
                self.warps[index].issue(self.program, env, &mut self.access).map_err(|fault| *fault)?;
            self.statistics.warp_instructions += 1;
            self.statistics.thread_instructions += u64::from(issued.lanes.count_ones());
            match issued.kind {
                Issue::Done | Issue::Branch | Issue::Fence | Issue::Nothing => {}
                Issue::Memory => self.memory(index, memory)?,
                Issue::Print => self.print(index, env, memory)?,
                Issue::Barrier { id, count, waits, votes } => {
                    let barrier = &mut self.arrived[id as usize];
                    // A warp that arrives counts with all its 32 threads, as the hardware does it.
                    barrier.threads += 32;
                    barrier.count = count;
                    barrier.votes.add(votes.unwrap_or_default());
                    if waits {
                        self.waiting[index] = Some(id);
                    }
                    self.release_full();
                    if self.waiting[index].is_some() {
                        return Ok(());
                    }
                }
                Issue::Exit { finished } => {
                    if finished {
                        // Barriers of all living warps wait for one less.
                        self.release_full();
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens the barriers at which all have arrived that they wait for.
    fn release_full(&mut self) {
        let alive = 32 * self.warps.iter().filter(|warp| warp.pc().is_some()).count() as u32;
        for id in 0..self.arrived.len() {
            let Arrived { threads, count, votes } = self.arrived[id];
            if threads == 0 || threads < count.unwrap_or(alive) {
                continue;
            }
            self.arrived[id] = Arrived::default();
            for (warp, waiting) in self.warps.iter_mut().zip(&mut self.waiting) {
                if *waiting == Some(id as u32) {
                    *waiting = None;
                    warp.pass_barrier(self.program, votes);
                }
            }
        }
    }

    fn memory(&mut self, index: usize, memory: &mut FlatMemory) -> Result<(), ExecError> {
        let access = &self.access;
        let (base, bytes): (u64, &mut [u8]) = match access.space {
            Space::Global => (memory.base, &mut memory.bytes),
            Space::Shared => (0, &mut self.shared),
            Space::Const => (CONSTANTS, &mut self.constants),
            Space::Local => return self.local(index),
        };
        let served = match access.kind {
            AccessKind::Load => access.gather(access.mask, base, bytes, &mut self.words),
            AccessKind::Store => access.store(access.mask, base, bytes),
            AccessKind::Atomic(..) => access.atomic(access.mask, base, bytes, &mut self.words),
        };
        let mut served = served;
        if served != access.mask && access.space == Space::Global && access.kind == AccessKind::Load {
            // A generic address may be one of constant memory.
            served |= access.gather(access.mask & !served, CONSTANTS, &self.constants, &mut self.words);
        }
        if served != access.mask {
            return Err(self.outside(access.mask & !served));
        }
        if access.wants_value {
            self.warps[index].complete_load(self.program, access.pc, access.mask, &self.words);
        }
        Ok(())
    }

    fn print(&mut self, index: usize, env: &CtaEnvironment, memory: &FlatMemory) -> Result<(), ExecError> {
        let Cta { access, shared, local, constants, program, statistics, warps, .. } = self;
        let size = program.local_bytes() as usize;
        let windows = env.windows;
        let byte = |bytes: &[u8], offset: u64| bytes.get(usize::try_from(offset).ok()?).copied();
        let mut read = |lane: usize, address: u64| {
            let [in_shared, in_local, constant] =
                [windows.shared, windows.local, CONSTANTS].map(|base| address.wrapping_sub(base));
            if in_shared < windows.size {
                byte(shared, in_shared)
            } else if in_local < windows.size {
                byte(&local[(index * 32 + lane) * size..][..size], in_local)
            } else {
                byte(&memory.bytes, address.wrapping_sub(memory.base)).or_else(|| byte(constants, constant))
            }
        };
        let printed = print(access, &mut read, &mut statistics.output);
        let counts = printed.map_err(|(lane, address)| {
            let line = program.instructions()[access.pc as usize].line;
            let message = format!("`vprintf` reads {address:#x}, where no memory is");
            ExecError { line, lane: lane as u32, message }
        })?;
        warps[index].complete_print(program, access.pc, access.mask, &counts);
        Ok(())
    }

    fn local(&mut self, index: usize) -> Result<(), ExecError> {
        let access = &self.access;
        let size = self.program.local_bytes() as usize;
        for lane in (0..32).filter(|lane| access.mask & (1 << lane) != 0) {
            let start = (index * 32 + lane) * size;
            let bytes = &mut self.local[start..start + size];
            let served = match access.kind {
                AccessKind::Load => access.gather(1 << lane, 0, bytes, &mut self.words),
                AccessKind::Store => access.store(1 << lane, 0, bytes),
                AccessKind::Atomic(..) => access.atomic(1 << lane, 0, bytes, &mut self.words),
            };
            if served == 0 {
                return Err(self.outside(1 << lane));
            }
        }
        if access.wants_value {
            self.warps[index].complete_load(self.program, access.pc, access.mask, &self.words);
        }
        Ok(())
    }

    fn outside(&self, lanes: u32) -> ExecError {
        let lane = lanes.trailing_zeros();
        let instruction = &self.program.instructions()[self.access.pc as usize];
        let address = self.access.addresses[lane as usize];
        let message = format!("address {address:#x} lies outside {:?} memory", self.access.space);
        ExecError { line: instruction.line, lane, message }
    }
}
