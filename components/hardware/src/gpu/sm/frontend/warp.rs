//! The warps of an SM: which of them may issue, and on which unit.
//!
//! A mask has a bit for each warp slot. The masks follow events (an issue, a result, a barrier); nothing
//! polls.

use std::sync::Arc;

use counterpoint_ptx::endless::Watch;
use counterpoint_ptx::{Kernel, RegisterSet, Votes, Warp};

use super::copies::Copies;
use super::cta::Cta;
use crate::gpu::sm::operands::collector::RegisterFile;
use crate::gpu::sm::operands::facts::{Fact, Program, Programs};
use crate::gpu::sm::operands::units::{MEMORY, Units};
use crate::gpu::sm::operands::writeback::{NO_REGISTERS, Writeback};
use crate::gpu::sm::scheduler::{NextInstruction, NextInstructions, View};

/// Slots for the paths in a table: a power of two, so that no index needs a check of its bounds.
pub(in crate::gpu::sm) const PATH_SLOTS: usize = 8;

/// Reason for which a warp pauses at a fence, a release or an acquire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::gpu::sm) enum Pause {
    /// Accesses before a fence; the warp continues when they are performed.
    #[default]
    Fence,
    /// Accesses before a fence, as for `Fence`; the L1 is invalidated at the end.
    AcquiringFence,
    /// Accesses before a release, which comes next.
    Release,
    Acquire,
    /// The value of an acquire, as for `Acquire`; the L1 is invalidated when the value arrives.
    AcquireFromDevice,
    /// The end of a `nanosleep`, in this cycle.
    Sleep(u64),
    /// Copies of the groups before this one.
    Copies(u32),
}

/// State of a warp besides its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu::sm) enum State {
    /// The slot is empty, or its warp has ended.
    Ended,
    Running,
    AtBarrier,
    /// The warp waits for the event of its [`Pause`].
    AtFence,
    /// The next instruction of the warp waits for pages.
    AtPage,
}

pub(in crate::gpu::sm) struct WarpSlot {
    pub(in crate::gpu::sm) warp: Option<Warp>,
    pub(in crate::gpu::sm) state: State,
    pub(in crate::gpu::sm) issued: u64,
    /// Number of them after which the warp needs attention.
    pub(in crate::gpu::sm) attention: u64,
    /// Memory transactions that have not been acknowledged.
    pub(in crate::gpu::sm) outstanding: u32,
    /// Pause of the warp at a fence, a release or an acquire.
    pub(in crate::gpu::sm) pause: Pause,
    pub(in crate::gpu::sm) copies: Copies,
    /// Whether the value of its acquire has not arrived.
    pub(in crate::gpu::sm) acquiring: bool,
    /// Whether the next instruction of the warp is a release that has waited.
    pub(in crate::gpu::sm) may_release: bool,
    /// The watch over a warp that may loop forever.
    pub(in crate::gpu::sm) watch: Option<Box<Watch>>,
}

/// Registers whose value has not arrived, as bits.
struct Scoreboard {
    /// For each slot, a bit for all registers whose ids are the same modulo 64: the whole truth for kernels that have no more.
    bits: [u64; SLOTS],
    /// For each slot, instructions whose results have not arrived.
    results: [u32; SLOTS],
    /// The registers of kernels with more than 64, one by one: those of all warps are word by word beside each other, so that warps in
    /// the same part of a program meet in the host's cache.
    words: Vec<u64>,
    /// For each slot, the words of a warp: none where the bits suffice.
    lengths: [u16; SLOTS],
}

impl Scoreboard {
    fn new() -> Self {
        Scoreboard { bits: [0; SLOTS], results: [0; SLOTS], words: Vec::new(), lengths: [0; SLOTS] }
    }

    /// Reserves scoreboard entries for a warp with this number of registers, none of them pending.
    fn start(&mut self, warp: usize, registers: u16) {
        (self.bits[warp], self.results[warp]) = (0, 0);
        let words = if registers > 64 { registers.div_ceil(64) } else { 0 };
        self.lengths[warp] = words;
        let words = usize::from(words) * SLOTS;
        self.words.resize(words.max(self.words.len()), 0);
        self.words.iter_mut().skip(warp).step_by(SLOTS).for_each(|word| *word = 0);
    }

    #[inline]
    fn place(warp: usize, register: u16) -> (usize, u64) {
        (register as usize / 64 * SLOTS + warp, 1 << (register % 64))
    }

    /// Whether one of some registers is awaited, of a warp with words.
    fn awaits(&self, warp: usize, registers: &RegisterSet) -> bool {
        registers.as_slice().iter().any(|&register| {
            let (word, bit) = Self::place(warp, register);
            self.words[word] & bit != 0
        })
    }

    /// Whether an instruction has all registers that it reads or writes.
    #[inline(always)]
    fn has(&self, warp: usize, fact: &Fact, program: &Program) -> bool {
        if fact.drains {
            // A recursive call saves all registers, so none may be under way.
            return self.results[warp] == 0;
        }
        self.bits[warp] & fact.needs == 0 || self.lengths[warp] > 0 && self.has_each(warp, fact, program)
    }

    #[inline(never)]
    fn has_each(&self, warp: usize, fact: &Fact, program: &Program) -> bool {
        let instruction = program.instruction(fact.pc);
        !self.awaits(warp, &instruction.reads) && !self.awaits(warp, &instruction.writes)
    }

    /// An instruction is issued that writes registers.
    #[inline(always)]
    fn set(&mut self, warp: usize, fact: &Fact, program: &Program) {
        self.bits[warp] |= fact.sets;
        self.results[warp] += 1;
        if self.lengths[warp] > 0 {
            self.set_each(warp, &program.instruction(fact.pc).writes);
        }
    }

    #[inline(never)]
    fn set_each(&mut self, warp: usize, registers: &RegisterSet) {
        for &register in registers.as_slice() {
            let (word, bit) = Self::place(warp, register);
            self.words[word] |= bit;
        }
    }

    /// The result of an instruction has arrived.
    #[inline]
    fn clear(&mut self, warp: usize, result: &Writeback, program: &Program) {
        self.results[warp] -= 1;
        if self.lengths[warp] == 0 {
            self.bits[warp] &= !result.sets;
        } else {
            self.clear_each(warp, &program.instruction(result.pc).writes);
        }
    }

    #[inline(never)]
    fn clear_each(&mut self, warp: usize, registers: &RegisterSet) {
        for &register in registers.as_slice() {
            let (word, bit) = Self::place(warp, register);
            self.words[word] &= !bit;
        }
        let own = 0..usize::from(self.lengths[warp]);
        self.bits[warp] = own.fold(0, |all, word| all | self.words[word * SLOTS + warp]);
    }
}

/// The most warp slots of an SM: bits of a mask.
const SLOTS: usize = u64::BITS as usize;

/// The warp slots of an SM. Facts that every issue reads are stored in arrays by slot, and as bit masks of slots.
pub(in crate::gpu::sm) struct Warps {
    pub(in crate::gpu::sm) slots: Vec<WarpSlot>,
    /// Grows with the start of a slot's warp.
    pub(in crate::gpu::sm) ages: Vec<u64>,
    next_age: u64,
    /// For each slot, the warps that began before its own; of those that have ended, the bits mean nothing.
    older: [u64; SLOTS],
    /// Warps that have not ended.
    pub(in crate::gpu::sm) live: u64,
    /// Live warps that wait at no barrier and no fence.
    pub(in crate::gpu::sm) running: u64,
    /// Running warps whose next instruction has its operands.
    pub(in crate::gpu::sm) ready: u64,
    /// Warps with memory accesses that have not ended.
    pub(in crate::gpu::sm) accessing: u64,
    /// Warps whose next instruction is an access that has had to wait for pages.
    pub(in crate::gpu::sm) held: u64,
    /// Warps of blocks that leave the SM or come back: they issue nothing.
    pub(in crate::gpu::sm) frozen: u64,
    /// Per path through the SM, the warps whose next instruction takes it. There are fewer paths than slots.
    wants: [u64; PATH_SLOTS],
    next: [Fact; SLOTS],
    /// The slot of the warp's block, and the number of its program.
    cta_slots: [u8; SLOTS],
    numbers: [u16; SLOTS],
    /// The part of the SM that a slot belongs to: 0 but for sub-cores.
    cores: [u8; SLOTS],
    /// The lanes that were counted last, and their number.
    lanes: [(u32, u32); SLOTS],
    scoreboard: Scoreboard,
    units: Units,
    programs: Programs,
}

impl Warps {
    /// The slots of an SM of this many parts (`cores`), which take turns with them.
    pub(in crate::gpu::sm) fn new(count: usize, cores: usize, units: Units) -> Self {
        let empty = |_| WarpSlot {
            warp: None,
            state: State::Ended,
            issued: 0,
            attention: 0,
            outstanding: 0,
            pause: Pause::default(),
            copies: Copies::default(),
            acquiring: false,
            may_release: false,
            watch: None,
        };
        Warps {
            slots: (0..count).map(empty).collect(),
            ages: vec![0; count],
            next_age: 0,
            older: [0; SLOTS],
            live: 0,
            running: 0,
            ready: 0,
            accessing: 0,
            held: 0,
            frozen: 0,
            wants: [0; PATH_SLOTS],
            next: [Fact::default(); SLOTS],
            cta_slots: [0; SLOTS],
            numbers: [0; SLOTS],
            cores: std::array::from_fn(|slot| (slot % cores) as u8),
            lanes: [(0, 0); SLOTS],
            scoreboard: Scoreboard::new(),
            units,
            programs: Programs::default(),
        }
    }

    /// The block slot of the warp in a warp slot.
    #[inline]
    pub(in crate::gpu::sm) fn cta_slot(&self, slot: u32) -> usize {
        self.cta_slots[slot as usize % SLOTS].into()
    }

    /// The part of the SM that a slot belongs to.
    #[inline]
    pub(in crate::gpu::sm) fn core(&self, slot: u32) -> usize {
        self.cores[slot as usize % SLOTS].into()
    }

    /// Facts of the next instruction of the warp in a slot.
    #[inline]
    pub(in crate::gpu::sm) fn next(&self, slot: u32) -> &Fact {
        &self.next[slot as usize % SLOTS]
    }

    /// Number of some lanes of the warp in a slot: most often the same as before. To count bits is slow on hosts of the baseline.
    #[inline]
    pub(in crate::gpu::sm) fn number_of(&mut self, slot: u32, lanes: u32) -> u64 {
        let (last, number) = &mut self.lanes[slot as usize % SLOTS];
        if *last != lanes {
            (*last, *number) = (lanes, lanes.count_ones());
        }
        u64::from(*number)
    }

    #[inline]
    fn program(&self, slot: u32) -> &Program {
        self.programs.get(self.numbers[slot as usize % SLOTS])
    }

    /// Facts of an instruction of the warp in a slot.
    #[inline]
    pub(in crate::gpu::sm) fn fact(&self, slot: u32, pc: u32) -> &Fact {
        self.program(slot).fact(pc)
    }

    /// A policy's view of a scheduler's share of the warps; `ready` are those that are ready.
    #[inline]
    pub(in crate::gpu::sm) fn view(&self, ready: u64, share: u64) -> View<'_> {
        let live = self.live & share;
        // A warp with an access under way that is not ready waits for it, or for a result that comes sooner.
        let waiting = live & (!self.running | self.accessing & !self.ready);
        let (ages, older, blocks) = (&self.ages, &self.older, &self.cta_slots);
        View { ready, live, waiting, ages, older, blocks, instructions: Some(&self.next) }
    }

    /// For each path, the warps whose next instruction takes it.
    #[inline]
    pub(in crate::gpu::sm) fn wants(&self) -> &[u64; PATH_SLOTS] {
        &self.wants
    }

    /// The warps whose next instruction has its operands and takes this path.
    #[inline]
    pub(in crate::gpu::sm) fn wanting(&self, path: usize) -> u64 {
        self.wants[path % PATH_SLOTS] & self.ready
    }

    /// A block of a kernel begins, with registers in such files; gives the number of its program.
    pub(in crate::gpu::sm) fn begin_block(&mut self, kernel: &Arc<Kernel>, registers: &RegisterFile) -> u16 {
        self.programs.begin(kernel, &self.units, registers)
    }

    pub(in crate::gpu::sm) fn end_block(&mut self, slots: u64) {
        self.programs.end(self.numbers[slots.trailing_zeros() as usize % SLOTS]);
        for (slot, warp) in self.slots.iter_mut().enumerate().filter(|(slot, _)| slots >> slot & 1 != 0) {
            (warp.warp, self.numbers[slot]) = (None, 0);
        }
    }

    /// Puts a warp of a program into a slot. The previous warp's registers are used again.
    pub(in crate::gpu::sm) fn start(&mut self, slot: u32, program: u16, warp: Warp, cta: usize) {
        let place = &mut self.slots[slot as usize];
        place.warp = Some(warp);
        place.state = State::Running;
        place.issued = 0;
        place.outstanding = 0;
        (place.acquiring, place.may_release) = (false, false);
        place.copies.restart();
        place.watch = None;
        let at = slot as usize % SLOTS;
        (self.cta_slots[at], self.numbers[at]) = (cta as u8, program);
        let registers = self.programs.get(program).kernel.scoreboard_registers();
        self.scoreboard.start(at, registers);
        self.older.iter_mut().for_each(|older| *older &= !(1 << slot));
        self.older[at] = self.live;
        self.live |= 1 << slot;
        self.next_age += 1;
        self.ages[slot as usize] = self.next_age;
        self.refresh(slot);
    }

    /// The warps in some slots, in the order of their numbers.
    pub(in crate::gpu::sm) fn of(&self, slots: u64) -> Vec<&Warp> {
        let mine = self.slots.iter().enumerate().filter(|(slot, _)| slots >> slot & 1 != 0);
        let mut warps: Vec<&Warp> = mine.filter_map(|(_, slot)| slot.warp.as_ref()).collect();
        warps.sort_unstable_by_key(|warp| warp.index());
        warps
    }

    /// Number of threads that parts of warps in some slots have brought to a barrier.
    #[cold]
    pub(in crate::gpu::sm) fn arrivals(&self, slots: u64, barrier: u32) -> u32 {
        let mine = self.slots.iter().enumerate().filter(|(slot, _)| slots >> slot & 1 != 0);
        mine.filter_map(|(_, slot)| slot.warp.as_ref()).map(|warp| warp.arrivals(barrier)).sum()
    }

    /// A barrier of a block opens at which parts of its warps have arrived. Returns the slots of the warps that may continue.
    #[cold]
    pub(in crate::gpu::sm) fn pass_apart(&mut self, cta: &mut Cta, barrier: u32, votes: Votes) -> u64 {
        let mut released = 0;
        for (slot, place) in self.slots.iter_mut().enumerate().filter(|(slot, _)| cta.warps >> slot & 1 != 0)
        {
            let Some(warp) = &mut place.warp else { continue };
            let passes = warp.is_apart() && warp.pass_apart(&cta.launch.kernel, barrier, votes);
            if passes && cta.waiting[warp.index() as usize].take().is_some() {
                released |= 1 << slot;
            }
        }
        released
    }

    /// The next instruction of the warp in a slot.
    #[inline]
    pub(in crate::gpu::sm) fn pc(&self, slot: u32) -> Option<u32> {
        self.slots[slot as usize].warp.as_ref().and_then(Warp::pc)
    }

    /// Whether the warp in a slot issues an access again, for lanes in another space.
    #[inline]
    pub(in crate::gpu::sm) fn is_between_spaces(&self, slot: u32) -> bool {
        self.slots[slot as usize].warp.as_ref().is_some_and(Warp::is_between_spaces)
    }

    /// The results of the next instruction of the warp in a slot, which is issued, are pending from now on, if it has any.
    #[inline(always)]
    pub(in crate::gpu::sm) fn await_results(&mut self, slot: u32) {
        let at = slot as usize % SLOTS;
        let fact = &self.next[at];
        if fact.sets != 0 {
            self.scoreboard.set(at, fact, self.programs.get(self.numbers[at]));
        }
    }

    /// A result has arrived; gives the place of the warp's block, and whether it was the last one of a warp that has ended.
    #[inline(always)]
    pub(in crate::gpu::sm) fn release(&mut self, result: Writeback) -> (usize, bool) {
        let (at, bit) = (result.warp as usize % SLOTS, 1 << result.warp);
        let program = self.programs.get(self.numbers[at]);
        if result.pc != NO_REGISTERS {
            self.scoreboard.clear(at, &result, program);
        }
        // A warp that was ready before is ready still.
        if self.running & !self.ready & bit != 0 && self.scoreboard.has(at, &self.next[at], program) {
            self.ready |= bit;
        }
        (self.cta_slots[at].into(), self.live & bit == 0 && self.scoreboard.results[at] == 0)
    }

    /// Whether all registers of the warps in some slots have their values.
    pub(in crate::gpu::sm) fn are_settled(&self, slots: u64) -> bool {
        (0..u64::BITS).filter(|slot| slots >> slot & 1 != 0).all(|slot| self.is_settled(slot))
    }

    /// Whether there are units for products of matrices.
    pub(in crate::gpu::sm) fn multiplies(&self) -> bool {
        self.units.multiplies()
    }

    /// Whether all registers of a warp have their values.
    pub(in crate::gpu::sm) fn is_settled(&self, slot: u32) -> bool {
        self.scoreboard.results[slot as usize % SLOTS] == 0
    }

    /// Updates the next instruction of the warp in a slot.
    pub(in crate::gpu::sm) fn refresh(&mut self, slot: u32) {
        let place = &self.slots[slot as usize];
        let runs = place.state == State::Running && self.frozen >> slot & 1 == 0;
        let pc = if runs { place.warp.as_ref().and_then(Warp::pc) } else { None };
        let bit = 1 << slot;
        if self.held & bit == 0 || pc.is_none() {
            return self.continue_at(slot, pc);
        }
        // The instruction had its operands before.
        let next = &mut self.next[slot as usize % SLOTS];
        self.wants[usize::from(next.path) % PATH_SLOTS] &= !bit;
        next.path = MEMORY as u8;
        self.wants[MEMORY] |= bit;
        self.running |= bit;
        self.ready |= bit;
    }

    /// The warp in a slot continues with the instruction at `pc`, or stops.
    #[inline(always)]
    pub(in crate::gpu::sm) fn continue_at(&mut self, slot: u32, pc: Option<u32>) {
        let (at, bit) = (slot as usize % SLOTS, 1 << slot);
        let next = &mut self.next[at];
        self.wants[usize::from(next.path) % PATH_SLOTS] &= !bit;
        let Some(pc) = pc else {
            self.running &= !bit;
            self.ready &= !bit;
            return;
        };
        let program = self.programs.get(self.numbers[at]);
        *next = *program.fact(pc);
        self.running |= bit;
        self.wants[usize::from(next.path) % PATH_SLOTS] |= bit;
        let has_operands = self.scoreboard.has(at, next, program);
        self.ready = self.ready & !bit | u64::from(has_operands) << slot;
    }
}

impl NextInstructions for [Fact; SLOTS] {
    fn of(&self, slot: u32) -> NextInstruction {
        let Fact { pc, class, .. } = self[slot as usize];
        NextInstruction { pc, class }
    }
}
