//! A CTA: warps in turns, barriers, and accesses to flat memories.

use std::sync::atomic::Ordering;

use super::copies::Copies;
use super::findings::{Check, Findings, mistake};
use super::local::Local;
use super::races::Races;
use super::residents::Progress;
use super::shadow::Shadow;
use super::{FlatMemory, Observer, Options, Statistics, ToldRange};
use crate::execute::allocations::{Allocations, bytes_of};
use crate::execute::endless::{Doing, FIRST_LOOK, Memories, Moment, Verdict, budget};
use crate::execute::standstill::{Waiting, standstill};
use crate::execute::straight::count_of;
use crate::execute::texture::channel_of;
use crate::execute::{Access, AccessKind, CtaEnvironment, ExecError, Failure, FaultKind, Issue, Votes, Warp};
use crate::isa::Space;
use crate::program::{Kernel, Row};

/// A warp runs this many instructions before the next has its turn: enough to stay in the host's cache,
/// few enough that warps which wait for each other in a loop make progress.
const TURN: u32 = 256;

/// A block runs this many instructions before others have their turn, if it may wait for them in a way that is not recognised.
const SLICE: u64 = 1 << 26;

/// A block that others may have helped runs this many instructions before it is checked again.
const SOON: u64 = 4096;

/// The state of a barrier.
#[derive(Clone, Copy, Default)]
struct Arrived {
    /// Of whole warps.
    threads: u32,
    /// Parts of warps have arrived, too.
    in_parts: bool,
    /// Number of threads for which the barrier waits, if an instruction gives it.
    count: Option<u32>,
    votes: Votes,
}

/// A running CTA; the next CTA reuses its memory.
pub(super) struct Cta<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) warps: Vec<Warp>,
    /// For each warp, the barrier at which it waits.
    waiting: Vec<Option<Waiting>>,
    /// Arrivals at each barrier.
    arrived: [Arrived; 16],
    pub(super) shared: Vec<u8>,
    local: Local,
    /// Written bytes of shared memory.
    shared_shadow: Shadow,
    pub(super) races: Option<Box<Races>>,
    /// Copies of each warp that have not landed in shared memory.
    pub(super) copies: Vec<Copies>,
    pub(super) access: Access,
    pub(super) words: [Row; 4],
    pub(super) statistics: Statistics,
    pub(super) findings: Findings,
    keeps_ranges: bool,
    pub(super) ranges: Vec<ToldRange>,
    /// Instructions of its warps since it began, and their number at which it is looked for endless loops.
    executed: u64,
    look: u64,
}

impl<'a> Cta<'a> {
    /// The warps and memories of a launch's CTAs.
    pub(super) fn new(kernel: &'a Kernel, env: &CtaEnvironment, options: &Options) -> Self {
        let count = env.warps() as usize;
        let mut warps: Vec<Warp> = (0..env.warps()).map(|index| Warp::new(kernel, env, index)).collect();
        if options.baseline {
            warps.iter_mut().for_each(Warp::use_baseline);
        }
        let shared = kernel.shared_bytes() as usize + options.dynamic_shared_bytes as usize;
        let local = Local::new(kernel.local_bytes(env.stack) as usize, 32 * count);
        Cta {
            kernel,
            warps,
            waiting: vec![None; count],
            arrived: [Arrived::default(); 16],
            shared: vec![0; shared],
            local,
            shared_shadow: Shadow::new(shared),
            races: options.racecheck.then(|| Box::new(Races::new(kernel.target()))),
            copies: vec![Copies::default(); count],
            access: Access::default(),
            words: [Row::ZERO; 4],
            statistics: Statistics::default(),
            findings: Findings::default(),
            keeps_ranges: options.ranges,
            ranges: Vec::new(),
            executed: 0,
            look: FIRST_LOOK,
        }
    }

    pub(super) fn begin(&mut self, env: &CtaEnvironment) {
        for (index, warp) in self.warps.iter_mut().enumerate() {
            warp.restart(self.kernel, env, index as u32);
        }
        self.waiting.fill(None);
        self.copies.iter_mut().for_each(Copies::restart);
        self.arrived = [Arrived::default(); 16];
        self.shared.fill(0);
        self.local.restart();
        self.shared_shadow.reset();
        let count = self.warps.len();
        self.races.iter_mut().for_each(|races| races.begin(self.kernel, env.ctaid, count));
        (self.executed, self.look) = (0, FIRST_LOOK);
    }

    /// Continues the CTA that `env` names, until it ends or cannot continue for now.
    pub(super) fn run_until_blocked(
        &mut self,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
        options: &Options,
        observer: &mut impl Observer,
    ) -> Result<Progress, Box<Failure>> {
        let ctaid = env.ctaid;
        let (before, slice) = (self.executed, self.executed + SLICE);
        let begun = self.statistics.warp_instructions;
        loop {
            let mut alive = false;
            let mut moved = false;
            for index in 0..self.warps.len() {
                if self.warps[index].pc().is_some() {
                    alive = true;
                    if self.waiting[index].is_none() {
                        moved = true;
                        let turn = self.turn(index, env, memory, observer);
                        turn.map_err(|error| {
                            Box::new(Failure::of_warp(self.kernel, ctaid, index as u32, *error))
                        })?;
                    }
                }
            }
            if !alive {
                return Ok(Progress::Ended);
            }
            if !moved {
                return Err(Box::new(Failure::of_block(ctaid, self.standstill())));
            }
            self.executed = before + self.statistics.warp_instructions - begun;
            if self.executed >= self.look {
                self.look = (self.look * 2).max(self.executed);
                // Every warp runs ahead, so the budget of each is a part of its own instructions.
                let each = self.executed / self.warps.len() as u64;
                if let Some(failure) = self.stuck(env, memory, budget(each))? {
                    return Ok(Progress::Waits(failure));
                }
            }
            if self.executed > options.limit {
                return Err(self.runaway(ctaid, options.limit));
            }
            if options.interrupt.load(Ordering::Relaxed) {
                return Ok(Progress::Interrupted);
            }
            if self.executed >= slice {
                return Ok(Progress::Slice);
            }
        }
    }

    /// Goes on where others may have changed global memory: looks soon whether that has helped.
    pub(super) fn look_soon(&mut self) {
        self.look = self.executed + SOON;
    }

    /// Takes over the statistics, findings, ranges and races of the grid from a CTA that pauses.
    pub(super) fn take_over(&mut self, from: &mut Cta<'a>) {
        std::mem::swap(&mut self.statistics, &mut from.statistics);
        std::mem::swap(&mut self.findings, &mut from.findings);
        std::mem::swap(&mut self.ranges, &mut from.ranges);
        if let (Some(races), Some(from)) = (&mut self.races, &mut from.races) {
            races.take_over(from);
        }
    }

    fn turn<O: Observer>(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
        observer: &mut O,
    ) -> Result<(), Box<ExecError>> {
        let mut left = TURN;
        loop {
            let first = self.warps[index].pc().unwrap_or_default();
            let (count, threads) = self.warps[index].run_straight(self.kernel, left);
            observer.computed(index, first, count, threads);
            self.statistics.warp_instructions += u64::from(count);
            self.statistics.thread_instructions += threads;
            left -= count;
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            if O::IS_BLIND && self.load_words(index, memory) {
                self.statistics.warp_instructions += 1;
                self.statistics.thread_instructions += 32;
                continue;
            }
            let pc = self.warps[index].pc().unwrap_or_default();
            // Without time, a clock counts the instructions of all blocks so far, at a gigahertz.
            self.access.clock = self.statistics.warp_instructions;
            self.access.picoseconds = 1000 * self.statistics.warp_instructions;
            let issued = self.warps[index].issue(self.kernel, env, &mut self.access)?;
            observer.issued(index, pc, issued, &self.access);
            self.statistics.warp_instructions += 1;
            self.statistics.thread_instructions += u64::from(count_of(issued.lanes));
            match issued.kind {
                Issue::Done | Issue::Branch | Issue::Parameter | Issue::Sleep { .. } | Issue::Nothing => {}
                Issue::Fence(_) => self.fence(index, issued.lanes, pc),
                Issue::Memory => self.memory(index, env, memory)?,
                Issue::CommitCopies => self.copies[index].commit(),
                Issue::AwaitCopies { newest } => self.land_copies(index, newest, env, memory)?,
                Issue::Texture => self.texture(index, env, memory)?,
                Issue::Range(action) if self.keeps_ranges => {
                    let call = self.access.range();
                    self.ranges.push(ToldRange { ctaid: env.ctaid, action, call });
                }
                Issue::Range(_) => {}
                Issue::Barrier { id, count, waits, votes, whole } => {
                    self.meet(index);
                    self.races.iter_mut().for_each(|races| races.arrive(index, id));
                    let barrier = &mut self.arrived[id as usize];
                    // A warp that arrives counts with all its 32 threads, as the hardware does it.
                    barrier.threads += if whole { 32 } else { 0 };
                    barrier.in_parts |= !whole;
                    barrier.count = count;
                    barrier.votes.add(votes.unwrap_or_default());
                    if waits {
                        let pc = self.warps[index].last_barrier();
                        self.waiting[index] = Some(Waiting::whole(id, pc));
                    }
                    self.release_full(observer);
                    if self.waiting[index].is_some() {
                        return Ok(());
                    }
                }
                Issue::Held => {
                    self.waiting[index] = self.warps[index].waits_apart().first().copied();
                    return Ok(());
                }
                Issue::Exit { finished } => {
                    if !finished && self.warps[index].is_apart() {
                        self.release_full(observer);
                    }
                    if finished {
                        self.meet(index);
                        self.races.iter_mut().for_each(|races| races.end(index));
                        // Barriers of all living warps wait for one less.
                        self.release_full(observer);
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Executes a warp's next instruction if it is a load of which nothing but the words is of interest.
    #[inline]
    fn load_words(&mut self, index: usize, memory: &FlatMemory) -> bool {
        let Cta { kernel, warps, shared, shared_shadow, races, .. } = self;
        races.is_none()
            && warps[index].load_words(kernel, |space, address| match space {
                Space::Shared if shared_shadow.is_complete() => Some((0, &shared[..])),
                Space::Global => memory.plain(address),
                _ => None,
            })
    }

    /// Opens the barriers at which all expected threads have arrived.
    fn release_full(&mut self, observer: &mut impl Observer) {
        for id in 0..self.arrived.len() {
            if self.arrived[id].threads == 0 && !self.arrived[id].in_parts {
                continue;
            }
            let (come, wanted) = self.arrived_and_expected(id);
            if come < wanted {
                continue;
            }
            let Arrived { votes, count, in_parts, .. } = std::mem::take(&mut self.arrived[id]);
            for (index, (warp, waiting)) in self.warps.iter_mut().zip(&mut self.waiting).enumerate() {
                if in_parts && warp.is_apart() && warp.pass_apart(self.kernel, id as u32, votes) {
                    self.races.iter_mut().for_each(|races| races.pass(index, id as u32, count.is_none()));
                    *waiting = None;
                    observer.passed(index, id as u32);
                } else if waiting.is_some_and(|waiting| waiting.barrier == id as u32) {
                    self.races.iter_mut().for_each(|races| races.pass(index, id as u32, count.is_none()));
                    *waiting = None;
                    warp.pass_barrier(self.kernel, votes);
                    observer.passed(index, id as u32);
                }
            }
            self.races.iter_mut().for_each(|races| races.opened(id as u32));
            observer.opened(id as u32);
        }
    }

    /// Number of threads that have arrived at a barrier, and number for which the barrier waits.
    fn arrived_and_expected(&self, id: usize) -> (u32, u32) {
        let Arrived { threads, count, in_parts, .. } = self.arrived[id];
        let alive = || 32 * self.warps.iter().filter(|warp| warp.pc().is_some()).count() as u32;
        let parts = || self.warps.iter().map(|warp| warp.arrivals(id as u32)).sum();
        (threads + if in_parts { parts() } else { 0 }, count.unwrap_or_else(alive))
    }

    /// The message that no warp can continue.
    #[cold]
    fn standstill(&self) -> String {
        let places = self.warps.iter().zip(&self.waiting).map(|(warp, waiting)| match waiting {
            Some(waiting) if waiting.lanes != u32::MAX => warp.waits_apart(),
            waiting => waiting.iter().copied().collect(),
        });
        let places: Vec<Vec<Waiting>> = places.collect();
        standstill(self.kernel, &places, |id| self.arrived_and_expected(id as usize))
    }

    /// The failure of a warp that loops until somebody else changes global memory; an error if a warp loops forever.
    #[cold]
    pub(super) fn stuck(
        &self,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
        budget: u64,
    ) -> Result<Option<Box<Failure>>, Box<Failure>> {
        let doing = |(warp, waiting): (&Warp, &Option<Waiting>)| match (warp.pc(), waiting) {
            (None, _) => Doing::Ended,
            (_, Some(waiting)) => Doing::Waiting(*waiting),
            _ => Doing::Running(Box::new(warp.clone())),
        };
        let warps: Vec<Doing> = self.warps.iter().zip(&self.waiting).map(doing).collect();
        let moment = Moment { kernel: self.kernel, env, shared: self.shared.clone(), warps };
        let mut memories = Known { local: self.local.bytes(), size: self.local.size(), memory };
        for index in 0..self.warps.len() {
            if !matches!(moment.warps[index], Doing::Running(_)) {
                continue;
            }
            match moment.judge(index, &mut memories, budget) {
                Verdict::Endless(failure) => return Err(failure),
                Verdict::Waits(failure) => return Ok(Some(failure)),
                Verdict::Open | Verdict::Later => {}
            }
        }
        Ok(None)
    }

    /// The failure of a block beyond its limit of instructions, at the first of its warps that runs.
    #[cold]
    fn runaway(&self, ctaid: [u32; 3], limit: u64) -> Box<Failure> {
        let runs = |index: &usize| self.warps[*index].pc().is_some() && self.waiting[*index].is_none();
        let index = (0..self.warps.len()).find(runs).unwrap_or_default();
        let warp = &self.warps[index];
        let lane = warp.active().trailing_zeros();
        let message = format!(
            "the block has executed more than {limit} warp instructions and has not ended: a loop runs forever, or waits for another block"
        );
        Box::new(mistake(self.kernel, ctaid, index, lane, warp.pc().unwrap_or_default(), message))
    }

    pub(super) fn memory(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
    ) -> Result<(), Box<ExecError>> {
        if self.races.is_some() && matches!(self.access.space, Space::Global | Space::Shared) {
            self.look_for_races(index, env, memory);
        }
        let Cta { kernel, warps, access, words, shared, shared_shadow, .. } = self;
        let mut row = warps[index].loaded_row(kernel, access);
        let direct = row.is_some();
        let mut serve = |lanes, start, bytes: &mut [u8]| match &mut row {
            Some(row) => access.gather_row(lanes, start, bytes, row),
            None => serve(access, lanes, start, bytes, words),
        };
        let stores = access.kind != AccessKind::Load;
        let mut unwritten = 0;
        if matches!(access.space, Space::Global | Space::Const) {
            memory.touch_lanes(access);
        }
        let served = match access.space {
            Space::Global => {
                let mut served = 0;
                // One allocation usually serves all lanes.
                while let rest @ 1.. = access.mask & !served
                    && let Some(found) = memory.allocation(access.addresses[rest.trailing_zeros() as usize])
                    && found.rights.allow(stores)
                    && let some @ 1.. = serve(rest, found.start, found.bytes)
                {
                    served |= some;
                    if let Some(touched) = found.touched {
                        touched.note(access, some, found.start);
                    }
                    if let Some(shadow) = found.shadow {
                        unwritten |= shadow.note(access, some, found.start);
                        if shadow.is_complete() {
                            *found.shadow = None;
                        }
                    }
                }
                served
            }
            Space::Shared => {
                let served = serve(access.mask, 0, shared);
                if !shared_shadow.is_complete() {
                    unwritten = shared_shadow.note(access, served, 0);
                }
                served
            }
            Space::Const => memory
                .allocation(env.constant_base)
                .map_or(0, |found| serve(access.mask, found.start, found.bytes)),
            Space::Local => return self.local(index, env),
        };
        if served != self.access.mask {
            return Err(self.outside(self.access.mask & !served, &memory.allocations()));
        }
        if unwritten != 0 {
            self.unwritten(index, env, unwritten, || memory.allocations());
        }
        if self.access.copies {
            return self.begin_copy(index, env, memory);
        }
        if !direct {
            self.complete(index);
        }
        Ok(())
    }

    fn complete(&mut self, index: usize) {
        if self.access.wants_value {
            self.warps[index].complete_load(self.kernel, self.access.pc, self.access.mask, &self.words);
        }
    }

    fn texture(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
    ) -> Result<(), Box<ExecError>> {
        let mut texels = self.races.is_some().then(Vec::new);
        let read = |address: u64, bytes: usize| {
            memory.touch(address..address + bytes as u64);
            texels.iter_mut().for_each(|texels| texels.push((address, bytes)));
            let Some(found) = memory.allocation(address) else { return 0 };
            let start = (address - found.start) as usize;
            if let Some(touched) = found.touched {
                touched.note_read(start..start + bytes);
            }
            channel_of(found.bytes.get(start..start + bytes).unwrap_or_default())
        };
        let words = env.textures.fetch(self.kernel, &self.access, read)?;
        self.warps[index].complete_texture(self.kernel, self.access.pc, self.access.mask, &words);
        if let Some(texels) = texels {
            self.look_for_written(index, env, memory, &texels);
        }
        Ok(())
    }

    fn local(&mut self, index: usize, env: &CtaEnvironment) -> Result<(), Box<ExecError>> {
        let done = self.local.access(&self.access, 32 * index, &mut self.words);
        let unwritten = done.map_err(|lane| self.outside(1 << lane, &Allocations::default()))?;
        if unwritten != 0 {
            self.unwritten(index, env, unwritten, Allocations::default);
        }
        self.complete(index);
        Ok(())
    }

    #[cold]
    fn outside(&self, lanes: u32, allocations: &Allocations) -> Box<ExecError> {
        let Access { pc, width, addresses, space, .. } = &self.access;
        let lane = lanes.trailing_zeros();
        let beyond = |what: &str, size: usize| format!("outside of {what} ({})", bytes_of(size as u64));
        let place = match space {
            Space::Global => allocations.locate(addresses[lane as usize], (*width).into()),
            Space::Shared => beyond("the block's shared memory", self.shared.len()),
            Space::Const => beyond("constant memory", self.kernel.constant_bytes() as usize),
            Space::Local => beyond("the thread's local memory", self.local.size()),
        };
        let message = format!("{}, {place}", self.access.describe(lane));
        let line = self.kernel.instructions()[*pc as usize].line;
        Box::new(ExecError::new(line, lane, message).of(FaultKind::IllegalAddress))
    }

    /// Notes that lanes have read unwritten bytes.
    #[cold]
    fn unwritten(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        lanes: u32,
        allocations: impl FnOnce() -> Allocations,
    ) {
        let Access { pc, space, ref addresses, .. } = self.access;
        let lines = [self.kernel.instructions()[pc as usize].line; 2];
        if self.findings.count(Check::Unwritten, lines, lanes.count_ones()) {
            return;
        }
        let lane = lanes.trailing_zeros();
        let place = match space {
            Space::Global => allocations().name_of(addresses[lane as usize]),
            Space::Shared => "shared memory".to_owned(),
            Space::Local | Space::Const => "local memory".to_owned(),
        };
        let message =
            format!("{} in {place}, not all of which have ever been written", self.access.describe(lane));
        let first = mistake(self.kernel, env.ctaid, index, lane, pc, message);
        self.findings.begin(Check::Unwritten, lines, lanes.count_ones(), first);
    }
}

/// The memory of a block's warps other than shared memory.
struct Known<'a> {
    local: &'a [u8],
    /// Bytes of a thread.
    size: usize,
    memory: &'a mut FlatMemory,
}

impl Memories for Known<'_> {
    fn local(&mut self, warp: usize, lane: usize, offset: usize, bytes: &mut [u8]) -> bool {
        let start = (warp * 32 + lane) * self.size + offset;
        let found = self.local.get(start..start + bytes.len());
        found.map(|found| bytes.copy_from_slice(found)).is_some()
    }

    fn global(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        // The other blocks pause meanwhile.
        self.constant(address, bytes)
    }

    fn constant(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        self.memory.touch(address..address + bytes.len() as u64);
        let Some(found) = self.memory.allocation(address) else { return false };
        let start = (address - found.start) as usize;
        let found = found.bytes.get(start..start + bytes.len());
        found.map(|found| bytes.copy_from_slice(found)).is_some()
    }
}

/// Executes the access of these lanes on bytes that start at an address; returns the lanes within these bytes.
#[inline]
pub(super) fn serve(access: &Access, lanes: u32, start: u64, bytes: &mut [u8], words: &mut [Row; 4]) -> u32 {
    match access.kind {
        AccessKind::Load => access.gather(lanes, start, bytes, words),
        AccessKind::Store => access.store(lanes, start, bytes),
        AccessKind::Atomic(..) => access.atomic(lanes, start, bytes, words),
    }
}
