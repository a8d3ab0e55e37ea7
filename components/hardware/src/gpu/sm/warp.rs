//! The warps of an SM: which of them may issue, and on which unit.
//!
//! A mask has a bit for each warp slot. The masks follow events (an issue, a result, a barrier); nothing
//! polls.

use counterpoint_ptx::endless::Watch;
use counterpoint_ptx::{Class, FileAccesses, Kernel, Reach, RegisterSet, Votes, Warp};

use super::copies::Copies;
use super::cta::Cta;
use super::gate::Held;
use super::order::Pause;
use super::scheduler::View;
use super::units::{MEMORY, Units, WAYS};
use super::writeback::Writeback;

/// State of a warp besides its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The slot is empty, or its warp has ended.
    Ended,
    /// It may go on.
    Running,
    /// It waits at a barrier.
    AtBarrier,
    /// It waits for what its [`Pause`] says.
    AtFence,
    /// Its next instruction waits for pages.
    AtPage,
}

/// A warp slot. The fields that every issue looks at lie in front.
#[repr(C, align(64))]
pub(super) struct WarpSlot {
    pub(super) next: Next,
    pub(super) cta: usize,
    /// The part of the SM that it belongs to: 0 but for sub-cores.
    pub(super) core: usize,
    pub(super) state: State,
    /// Instructions that it has issued.
    pub(super) issued: u64,
    /// Number of them after which the warp needs attention.
    pub(super) attention: u64,
    /// Instructions whose results have not arrived.
    awaited: u32,
    /// Memory transactions that have not been acknowledged.
    pub(super) outstanding: u32,
    /// Its pause at a fence, a release or an acquire.
    pub(super) pause: Pause,
    pub(super) copies: Copies,
    /// The value of its acquire has not come.
    pub(super) acquiring: bool,
    /// Its next instruction is a release that has waited.
    pub(super) may_release: bool,
    /// Its next instruction, if that is an access that has had to wait for pages.
    pub(super) held: Option<Box<Held>>,
    pub(super) warp: Option<Warp>,
    /// The watch over a warp that may go round for ever.
    pub(super) watch: Option<Box<Watch>>,
}

/// Facts of a warp's next instruction that the SM needs to issue it.
#[derive(Clone, Copy, Default)]
pub(super) struct Next {
    pub(super) reads: RegisterSet,
    pub(super) writes: RegisterSet,
    pub(super) accesses: FileAccesses,
    /// For how long its result is awaited, and its unit occupied.
    pub(super) cycles: (u16, u16),
    /// The way that it takes.
    pub(super) way: u8,
    /// Its class in the instruction mix.
    pub(super) class: Class,
    /// How far it releases, a fence included.
    pub(super) releases: Reach,
    drains: bool,
}

/// Registers whose value has not arrived, as bits: those of all warps are word by word beside each other, so that warps in the same
/// part of a program meet in the host's cache.
struct Scoreboard {
    words: Vec<u64>,
    warps: usize,
}

impl Scoreboard {
    /// Makes room for a warp with this number of registers, none of them awaited.
    fn start(&mut self, warp: usize, registers: u16) {
        let words = (registers as usize).div_ceil(64) * self.warps;
        self.words.resize(words.max(self.words.len()), 0);
        self.words.iter_mut().skip(warp).step_by(self.warps).for_each(|word| *word = 0);
    }

    #[inline]
    fn place(&self, warp: u32, register: u16) -> (usize, u64) {
        (register as usize / 64 * self.warps + warp as usize, 1 << (register % 64))
    }

    #[inline]
    fn awaits(&self, warp: u32, registers: &RegisterSet) -> bool {
        registers.as_slice().iter().any(|&register| {
            let (word, bit) = self.place(warp, register);
            self.words[word] & bit != 0
        })
    }

    #[inline]
    fn set(&mut self, warp: u32, registers: &RegisterSet) {
        for &register in registers.as_slice() {
            let (word, bit) = self.place(warp, register);
            self.words[word] |= bit;
        }
    }

    #[inline]
    fn clear(&mut self, warp: u32, registers: &RegisterSet) {
        for &register in registers.as_slice() {
            let (word, bit) = self.place(warp, register);
            self.words[word] &= !bit;
        }
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
    scoreboard: Scoreboard,
    units: Units,
}

impl Warps {
    /// The slots of an SM of this many parts (`cores`), which take turns with them.
    pub(super) fn new(count: usize, cores: usize, units: Units) -> Self {
        let empty = |slot: usize| WarpSlot {
            warp: None,
            cta: 0,
            core: slot % cores,
            state: State::Ended,
            issued: 0,
            attention: 0,
            outstanding: 0,
            pause: Pause::default(),
            copies: Copies::default(),
            acquiring: false,
            may_release: false,
            held: None,
            next: Next::default(),
            awaited: 0,
            watch: None,
        };
        Warps {
            slots: (0..count).map(empty).collect(),
            ages: vec![0; count],
            next_age: 0,
            live: 0,
            running: 0,
            ready: 0,
            accessing: 0,
            wants: [0; WAYS],
            scoreboard: Scoreboard { words: Vec::new(), warps: count },
            units,
        }
    }

    /// A policy's view of a scheduler's share of the warps; `ready` are those that are ready.
    #[inline]
    pub(super) fn view(&self, ready: u64, share: u64) -> View<'_> {
        let live = self.live & share;
        // A warp with an access under way that is not ready waits for it, or for a result that comes sooner.
        let waiting = live & (!self.running | self.accessing & !self.ready);
        View { ready, live, waiting, ages: &self.ages }
    }

    /// The warps whose next instruction has its operands and takes this way.
    #[inline]
    pub(super) fn wanting(&self, way: usize) -> u64 {
        self.wants[way] & self.ready
    }

    /// Puts a warp into a slot. The previous warp's registers are used again.
    pub(super) fn start(&mut self, slot: u32, kernel: &Kernel, warp: Warp, cta: usize) {
        let place = &mut self.slots[slot as usize];
        place.warp = Some(warp);
        place.cta = cta;
        place.state = State::Running;
        place.issued = 0;
        place.outstanding = 0;
        (place.acquiring, place.may_release) = (false, false);
        place.copies.restart();
        place.awaited = 0;
        place.watch = None;
        self.scoreboard.start(slot as usize, kernel.scoreboard_registers());
        self.live |= 1 << slot;
        self.next_age += 1;
        self.ages[slot as usize] = self.next_age;
        self.refresh(slot, kernel);
    }

    /// The warps in some slots, in the order of their numbers.
    pub(super) fn of(&self, slots: u64) -> Vec<&Warp> {
        let mine = self.slots.iter().enumerate().filter(|(slot, _)| slots >> slot & 1 != 0);
        let mut warps: Vec<&Warp> = mine.filter_map(|(_, slot)| slot.warp.as_ref()).collect();
        warps.sort_unstable_by_key(|warp| warp.index());
        warps
    }

    /// Number of threads that parts of warps in some slots have brought to a barrier.
    #[cold]
    pub(super) fn arrivals(&self, slots: u64, barrier: u32) -> u32 {
        let mine = self.slots.iter().enumerate().filter(|(slot, _)| slots >> slot & 1 != 0);
        mine.filter_map(|(_, slot)| slot.warp.as_ref()).map(|warp| warp.arrivals(barrier)).sum()
    }

    /// A barrier of a block opens at which parts of its warps have arrived. Gives the slots of those that may go on.
    #[cold]
    pub(super) fn pass_apart(&mut self, cta: &mut Cta, barrier: u32, votes: Votes) -> u64 {
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
    pub(super) fn pc(&self, slot: u32) -> Option<u32> {
        self.slots[slot as usize].warp.as_ref().and_then(Warp::pc)
    }

    /// The way of the next instruction of the warp in a slot, if it has its operands.
    #[inline]
    pub(super) fn way_of_next(&self, slot: u32) -> Option<usize> {
        (self.ready >> slot & 1 != 0).then(|| self.slots[slot as usize].next.way.into())
    }

    /// The next instruction of the warp in a slot is issued. Its results, if it `writes` any, are pending
    /// from now on.
    #[inline]
    pub(super) fn take(&mut self, slot: u32, writes: bool) -> &Next {
        let place = &mut self.slots[slot as usize];
        if writes && !place.next.writes.as_slice().is_empty() {
            self.scoreboard.set(slot, &place.next.writes);
            place.awaited += 1;
        }
        &place.next
    }

    /// A result has arrived; gives the place of the warp's block.
    #[inline]
    pub(super) fn release(&mut self, result: Writeback) -> usize {
        let Writeback { warp, writes } = result;
        let place = &mut self.slots[warp as usize];
        if !writes.as_slice().is_empty() {
            self.scoreboard.clear(warp, &writes);
            place.awaited -= 1;
        }
        // A warp that was ready before is ready still.
        let bit = 1 << warp;
        let cta = place.cta;
        if self.running & !self.ready & bit != 0 && self.has_operands(warp) {
            self.ready |= bit;
        }
        cta
    }

    /// Whether there are units for products of matrices.
    pub(super) fn multiplies(&self) -> bool {
        self.units.multiplies()
    }

    /// Whether all registers of a warp have their values.
    pub(super) fn is_settled(&self, slot: u32) -> bool {
        self.slots[slot as usize].awaited == 0
    }

    /// Whether the registers of a warp's next instruction have their values, or can take others.
    #[inline]
    fn has_operands(&self, slot: u32) -> bool {
        let WarpSlot { awaited, next: Next { reads, writes, drains, .. }, .. } = &self.slots[slot as usize];
        let awaits = |registers| self.scoreboard.awaits(slot, registers);
        // A recursive call saves all registers, so none may be under way.
        *awaited == 0 || !drains && !awaits(reads) && !awaits(writes)
    }

    /// Looks again at what the warp of a slot would do next.
    #[inline]
    pub(super) fn refresh(&mut self, slot: u32, kernel: &Kernel) {
        let bit = 1 << slot;
        let place = &mut self.slots[slot as usize];
        self.running &= !bit;
        self.ready &= !bit;
        self.wants[usize::from(place.next.way)] &= !bit;
        let (State::Running, Some(pc)) = (place.state, place.warp.as_ref().and_then(Warp::pc)) else {
            return;
        };
        self.running |= bit;
        if place.held.is_some() {
            // It had its operands before.
            place.next.way = MEMORY as u8;
            self.wants[MEMORY] |= bit;
            self.ready |= bit;
        } else {
            let instruction = &kernel.instructions()[pc as usize];
            place.next = Next {
                way: self.units.way(instruction.unit, instruction.latency) as u8,
                class: instruction.class(),
                releases: instruction.order.releases,
                cycles: self.units.cycles_of(instruction),
                reads: instruction.reads,
                writes: instruction.writes,
                accesses: instruction.accesses,
                drains: instruction.drains(),
            };
            self.wants[usize::from(place.next.way)] |= bit;
            if self.has_operands(slot) {
                self.ready |= bit;
            }
        }
    }
}
