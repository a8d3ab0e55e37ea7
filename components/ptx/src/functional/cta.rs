//! One CTA after another: warps in turns, barriers, and what an access finds in flat memories.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use super::{CONSTANTS, Failure, FlatMemory, Options, Statistics, launch_error};
use crate::error::ExecError;
use crate::execute::{Access, AccessKind, CtaEnvironment, Issue, Votes, Warp};
use crate::printf::print;
use crate::program::{Program, Row, Space};

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

/// A CTA at work; the next one takes over its memory.
pub(super) struct Cta<'a> {
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
    pub(super) statistics: Statistics,
}

impl<'a> Cta<'a> {
    /// The warps and memories of a launch's CTAs.
    pub(super) fn new(
        program: &'a Program,
        env: &CtaEnvironment,
        constants: Vec<u8>,
        options: &Options,
    ) -> Self {
        let count = env.warps() as usize;
        let mut warps: Vec<Warp> = (0..env.warps()).map(|index| Warp::new(program, env, index)).collect();
        if options.baseline {
            warps.iter_mut().for_each(Warp::use_baseline);
        }
        Cta {
            program,
            warps,
            waiting: vec![None; count],
            arrived: [Arrived::default(); 16],
            shared: vec![0; program.shared_bytes() as usize + options.dynamic_shared_bytes as usize],
            local: vec![0; program.local_bytes() as usize * 32 * count],
            constants,
            access: Access::default(),
            words: [Row::ZERO; 4],
            statistics: Statistics::default(),
        }
    }

    /// Runs the CTA that `env` names, until it ends or is interrupted.
    pub(super) fn run(
        &mut self,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
        options: &Options,
    ) -> Result<ControlFlow<()>, Box<Failure>> {
        for (index, warp) in self.warps.iter_mut().enumerate() {
            warp.restart(self.program, env, index as u32);
        }
        self.waiting.fill(None);
        self.arrived = [Arrived::default(); 16];
        self.shared.fill(0);
        self.local.fill(0);
        let ctaid = env.ctaid;
        let failed = |message| Box::new(Failure { ctaid, warp: None, error: launch_error(message) });
        loop {
            let mut alive = false;
            let mut moved = false;
            for index in 0..self.warps.len() {
                if self.warps[index].pc().is_some() {
                    alive = true;
                    if self.waiting[index].is_none() {
                        moved = true;
                        let warp = Some(index as u32);
                        let turn = self.turn(index, env, memory);
                        turn.map_err(|error| Box::new(Failure { ctaid, warp, error: *error }))?;
                    }
                }
            }
            if !alive {
                return Ok(ControlFlow::Continue(()));
            }
            if !moved {
                return Err(failed("all warps wait at barriers that nobody completes".into()));
            }
            if self.statistics.warp_instructions > options.limit {
                return Err(failed(format!("more than {} warp instructions", options.limit)));
            }
            if options.interrupt.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    fn turn(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
    ) -> Result<(), Box<ExecError>> {
        for _ in 0..TURN {
            let issued = self.warps[index].issue(self.program, env, &mut self.access)?;
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

    fn memory(&mut self, index: usize, memory: &mut FlatMemory) -> Result<(), Box<ExecError>> {
        let Cta { access, words, shared, constants, .. } = self;
        let served = match access.space {
            Space::Global => {
                let mut served = 0;
                // One allocation serves all lanes, as a rule.
                while let rest @ 1.. = access.mask & !served
                    && let Some((start, bytes)) =
                        memory.allocation(access.addresses[rest.trailing_zeros() as usize])
                    && let some @ 1.. = serve(access, rest, start, bytes, words)
                {
                    served |= some;
                }
                if served != access.mask && access.kind == AccessKind::Load {
                    // A generic address may be one of constant memory.
                    served |= access.gather(access.mask & !served, CONSTANTS, constants, words);
                }
                served
            }
            Space::Shared => serve(access, access.mask, 0, shared, words),
            Space::Const => serve(access, access.mask, CONSTANTS, constants, words),
            Space::Local => return self.local(index),
        };
        if served != self.access.mask {
            return Err(self.outside(self.access.mask & !served));
        }
        self.complete(index);
        Ok(())
    }

    fn complete(&mut self, index: usize) {
        if self.access.wants_value {
            self.warps[index].complete_load(self.program, self.access.pc, self.access.mask, &self.words);
        }
    }

    fn print(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &FlatMemory,
    ) -> Result<(), Box<ExecError>> {
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
            Box::new(ExecError { line, lane: lane as u32, message })
        })?;
        warps[index].complete_print(program, access.pc, access.mask, &counts);
        Ok(())
    }

    fn local(&mut self, index: usize) -> Result<(), Box<ExecError>> {
        let access = &self.access;
        let size = self.program.local_bytes() as usize;
        for lane in (0..32).filter(|lane| access.mask & (1 << lane) != 0) {
            let start = (index * 32 + lane) * size;
            let bytes = &mut self.local[start..start + size];
            let served = serve(access, 1 << lane, 0, bytes, &mut self.words);
            if served == 0 {
                return Err(self.outside(1 << lane));
            }
        }
        self.complete(index);
        Ok(())
    }

    #[cold]
    fn outside(&self, lanes: u32) -> Box<ExecError> {
        let Access { pc, width, addresses, space, .. } = &self.access;
        let lane = lanes.trailing_zeros();
        let place = match space {
            Space::Global => "outside of every buffer".to_owned(),
            Space::Shared => format!("outside of a shared memory of {} bytes", self.shared.len()),
            Space::Const => format!("outside of {} bytes of constants", self.constants.len()),
            Space::Local => format!("outside of a local memory of {} bytes", self.program.local_bytes()),
        };
        let message = format!("accesses {width} bytes at {:#x}, {place}", addresses[lane as usize]);
        Box::new(ExecError { line: self.program.instructions()[*pc as usize].line, lane, message })
    }
}

/// Lets those lanes have their way with bytes that start at an address; returns the ones that lie in them.
#[inline]
fn serve(access: &Access, lanes: u32, start: u64, bytes: &mut [u8], words: &mut [Row; 4]) -> u32 {
    match access.kind {
        AccessKind::Load => access.gather(lanes, start, bytes, words),
        AccessKind::Store => access.store(lanes, start, bytes),
        AccessKind::Atomic(..) => access.atomic(lanes, start, bytes, words),
    }
}
