//! The warps of an SM: which of them may issue, and on which unit.
//!
//! A bit of a mask stands for a warp slot. The masks follow events (an issue, a result, a barrier); nothing polls.

use counterpoint_ptx::{Program, RegisterSet, Warp};

use super::dependences::Held;

use super::scheduler::View;
use super::units::{MEMORY, Units, WAYS};
use super::writeback::Writeback;

/// What keeps a warp from going on, besides its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The slot is empty, or its warp has ended.
    Ended,
    /// It may go on.
    Running,
    /// It waits at a barrier.
    AtBarrier,
    /// It waits until its stores are visible.
    AtFence,
    /// Its next instruction waits for pages.
    AtPage,
}

/// A warp slot.
pub(super) struct WarpSlot {
    pub(super) warp: Option<Warp>,
    pub(super) cta: usize,
    pub(super) state: State,
    /// Instructions that it has issued.
    pub(super) issued: u32,
    /// Memory transactions that have not been acknowledged.
    pub(super) outstanding: u32,
    /// Its next instruction, if that is an access that has had to wait for pages.
    pub(super) held: Option<Box<Held>>,
    /// Scoreboard: registers whose value has not arrived.
    pending: Vec<u64>,
}

impl WarpSlot {
    fn waits_for(&self, registers: &RegisterSet) -> bool {
        registers.as_slice().iter().any(|&id| self.pending[id as usize / 64] >> (id % 64) & 1 != 0)
    }
}

/// The warp slots of an SM.
pub(super) struct Warps {
    pub(super) slots: Vec<WarpSlot>,
    /// Grows with the start of a slot's warp.
    pub(super) ages: Vec<u64>,
    next_age: u64,
    /// Warps that have not ended.
    pub(super) live: u64,
    /// Of these, the warps that do not at a barrier or a fence.
    pub(super) running: u64,
    /// Of these, the warps whose next instruction has its operands.
    pub(super) ready: u64,
    /// Warps with memory accesses that have not ended.
    pub(super) accessing: u64,
    /// Per way through the SM, the warps whose next instruction takes it.
    wants: [u64; WAYS],
    units: Units,
}

impl Warps {
    pub(super) fn new(count: usize, units: Units) -> Self {
        let empty = || WarpSlot {
            warp: None,
            cta: 0,
            state: State::Ended,
            issued: 0,
            outstanding: 0,
            held: None,
            pending: Vec::new(),
        };
        Warps {
            slots: (0..count).map(|_| empty()).collect(),
            ages: vec![0; count],
            next_age: 0,
            live: 0,
            running: 0,
            ready: 0,
            accessing: 0,
            wants: [0; WAYS],
            units,
        }
    }

    /// What a policy sees of a scheduler's share of the warps, of which these are ready.
    #[inline]
    pub(super) fn view(&self, ready: u64, share: u64) -> View<'_> {
        let live = self.live & share;
        // A warp with an access under way that is not ready waits for it, or for a result that comes sooner.
        let waiting = live & (!self.running | self.accessing & !self.ready);
        View { ready, live, waiting, ages: &self.ages }
    }

    /// How long instructions take, and which way they go.
    #[inline]
    pub(super) fn units(&self) -> &Units {
        &self.units
    }

    /// The warps whose next instruction has its operands and takes this way.
    #[inline]
    pub(super) fn wanting(&self, way: usize) -> u64 {
        self.wants[way] & self.ready
    }

    /// Puts a warp into a slot. The previous warp's registers are used again.
    pub(super) fn start(&mut self, slot: u32, program: &Program, warp: Warp, cta: usize) {
        let place = &mut self.slots[slot as usize];
        place.warp = Some(warp);
        place.cta = cta;
        place.state = State::Running;
        place.issued = 0;
        place.outstanding = 0;
        place.pending.clear();
        place.pending.resize((program.scoreboard_registers() as usize).div_ceil(64), 0);
        self.live |= 1 << slot;
        self.next_age += 1;
        self.ages[slot as usize] = self.next_age;
        self.refresh(slot, program);
    }

    /// The registers that the instruction writes have no value for now.
    #[inline]
    pub(super) fn reserve(&mut self, slot: u32, registers: &RegisterSet) {
        let pending = &mut self.slots[slot as usize].pending;
        for &id in registers.as_slice() {
            pending[id as usize / 64] |= 1 << (id % 64);
        }
    }

    /// A result has arrived.
    #[inline]
    pub(super) fn release(&mut self, result: Writeback, program: &Program) {
        let slot = &mut self.slots[result.warp as usize];
        for &id in program.instructions()[result.pc as usize].writes.as_slice() {
            slot.pending[id as usize / 64] &= !(1 << (id % 64));
        }
        // What was ready before is ready still.
        if self.ready >> result.warp & 1 == 0 {
            self.refresh(result.warp, program);
        }
    }

    /// Looks again at what the warp of a slot would do next.
    #[inline]
    pub(super) fn refresh(&mut self, slot: u32, program: &Program) {
        let bit = 1 << slot;
        self.running &= !bit;
        self.ready &= !bit;
        self.wants.iter_mut().for_each(|wants| *wants &= !bit);
        let place = &self.slots[slot as usize];
        let pc = place.warp.as_ref().and_then(Warp::pc);
        let (State::Running, Some(pc)) = (place.state, pc) else { return };
        if place.held.is_some() {
            // It had its operands before.
            self.running |= bit;
            self.ready |= bit;
            self.wants[MEMORY] |= bit;
            return;
        }
        let instruction = &program.instructions()[pc as usize];
        self.running |= bit;
        self.wants[self.units.way(instruction.unit)] |= bit;
        // A recursive call saves all registers, so none may be under way.
        let drained = !instruction.drains() || place.pending.iter().all(|word| *word == 0);
        if drained && !place.waits_for(&instruction.reads) && !place.waits_for(&instruction.writes) {
            self.ready |= bit;
        }
    }
}
