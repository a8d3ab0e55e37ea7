//! The load-store unit: memory instructions in the order of their issue, one transaction a cycle.
//!
//! Shared memory is read and written here at once and takes as many cycles as its banks conflict; constants are looked up
//! here in their cache, and texels in theirs. Accesses to global and local memory are coalesced into lines and pass the L1's pipeline in order;
//! there loads look up their line, stores evict it and go on, and atomics and volatile loads forget it and go on. What must
//! wait for memory waits in the misses of the caches or in the table of accesses that pass the L1 by.

mod coalescer;
mod constants;
mod in_flight;
mod l1;
mod local;
mod queue;
mod shared_memory;
mod surroundings;
mod textures;
mod tlb;

use counterpoint_framework::kernel::{Fault, In, Out};
use counterpoint_framework::model::Invalid;
use counterpoint_protocols::memory::{Line, MemReply, MemRequest, MemResult, line_of};
use counterpoint_protocols::translation::{Translate, Translated};
use counterpoint_ptx::{Access, AccessKind, RegisterSet, Row, Space};

use super::answer::Answer;
use super::params::SmParams;
use super::read_cache::ReadCache;
use coalescer::next_line;
use in_flight::{InFlight, Table, Waiter};
use l1::{L1, Outcome};
pub(super) use local::translate as to_local;
use queue::{Queue, Queued, Work};
pub(super) use surroundings::Surroundings;
use tlb::Tlb;
pub(super) use tlb::TlbStats;

/// From the arrival of a load's last value to its register.
const TO_REGISTER: u64 = 2;

/// The load-store unit with its L1.
pub(super) struct LoadStore {
    queue: Queue,
    /// The unit takes the next transaction in this cycle.
    free: u64,
    /// The L1's pipeline cannot go on before memory or the MMU has answered, or given credit.
    blocked: bool,
    /// Of these, it is credit that is missing.
    out_of_credit: bool,
    /// The unit cannot go on before the cache of constants, or that of texels, has an answer.
    starved: bool,
    l1: L1,
    constants: ReadCache<Waiter>,
    textures: ReadCache<Waiter>,
    tlb: Option<Tlb>,
    instructions: Table<InFlight>,
    bypasses: Table<Waiter>,
    shared_latency: u64,
    banks: u32,
    /// The last cycle in which a value of memory reached a register: one does in a cycle.
    delivered: u64,
    /// Loaded words on their way to registers. What lanes hold that a load does not serve is of no meaning.
    words: Box<[Row; 4]>,
    /// Accesses that nothing uses; they move by pointer between here and the instructions.
    #[allow(clippy::vec_box, reason = "an access is 800 bytes and moves often")]
    spare: Vec<Box<Access>>,
}

impl LoadStore {
    pub(super) fn new(params: &SmParams) -> Result<Self, Invalid> {
        Ok(LoadStore {
            queue: Queue::new(&params.memory, params.collectors),
            free: 0,
            blocked: false,
            out_of_credit: false,
            starved: false,
            l1: L1::new(&params.l1d)?,
            constants: ReadCache::new(&params.l1c, Answer::Constant)?,
            textures: ReadCache::new(&params.l1t, Answer::Texture)?,
            tlb: Tlb::new(&params.tlb)?,
            instructions: Table::default(),
            bypasses: Table::default(),
            shared_latency: params.shared_latency.get(),
            banks: params.shared_banks,
            delivered: 0,
            words: Box::new([Row::ZERO; 4]),
            spare: Vec::new(),
        })
    }

    /// Whether another memory instruction can be issued.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Whether the unit waits for an answer or for credit.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked | self.starved
    }

    /// Whether something waits for credit.
    #[inline]
    pub(super) fn wants_credit(&self) -> bool {
        let caches = self.constants.wants_credit() || self.textures.wants_credit();
        self.out_of_credit || self.l1.wants_credit() || caches
    }

    /// Whether addresses are translated.
    pub(super) fn translates(&self) -> bool {
        self.tlb.is_some()
    }

    /// Whether a question to the MMU waits for credit.
    #[inline]
    pub(super) fn wants_to_ask(&self) -> bool {
        self.tlb.as_ref().is_some_and(Tlb::wants_credit)
    }

    /// Takes an answer of the MMU.
    #[inline]
    pub(super) fn take_page(&mut self, mmu: &mut In<Translated>) {
        if let Some(tlb) = &mut self.tlb
            && let Some(Translated { page }) = mmu.try_recv()
        {
            tlb.fill(page);
        }
    }

    /// Sends the MMU questions.
    #[inline]
    pub(super) fn ask(&mut self, mmu: &mut Out<Translate>) {
        if let Some(tlb) = &mut self.tlb {
            tlb.send(mmu);
        }
    }

    /// Another launch begins here.
    pub(super) fn launch_changed(&mut self) {
        self.l1.launch_changed();
        // What lies behind a texture may have been written by the launch before.
        self.textures.forget();
    }

    /// An access to be filled in.
    pub(super) fn empty_access(&mut self) -> Box<Access> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a load of a kernel parameter that lies at an address; at none, if no lane takes part.
    pub(super) fn push_parameter(
        &mut self,
        place: (u32, u32),
        address: Option<u64>,
        reads: RegisterSet,
        around: &mut Surroundings<'_>,
    ) {
        around.expect(place.0);
        let core = place.0 as usize % around.registers.len();
        let work = Work::Parameter(address.map(line_of));
        self.queue.push(place, work, reads, &mut around.registers[core], around.cycle);
    }

    /// Takes a memory instruction.
    pub(super) fn push(
        &mut self,
        warp: u32,
        access: Box<Access>,
        reads: RegisterSet,
        around: &mut Surroundings<'_>,
    ) {
        around.expect(warp);
        let (pc, lanes, space) = (access.pc, access.mask, access.space);
        let work = if space == Space::Shared {
            Work::Shared(access)
        } else {
            let (since, texels) = (around.cycle, Vec::new());
            let instruction = InFlight { warp, access, since, texels, pending: 0, complete: false };
            let index = self.instructions.insert(instruction);
            if space == Space::Const { Work::Constant(index, lanes) } else { Work::Lines(index, lanes, 0) }
        };
        let core = warp as usize % around.registers.len();
        self.queue.push((warp, pc), work, reads, &mut around.registers[core], around.cycle);
    }

    /// When the unit has something to do by itself.
    #[inline]
    pub(super) fn next(&self, cycle: u64) -> Option<u64> {
        let may_go_on = self.l1.has_room() && !self.starved;
        let transaction = self.queue.ready().filter(|_| may_go_on).map(|ready| ready.max(self.free));
        let lookup = self.l1.next().filter(|_| !self.blocked);
        [transaction, lookup].into_iter().flatten().min().map(|at| at.max(cycle + 1))
    }

    /// Makes the next transaction and the next lookup, if they can be made in this cycle.
    #[inline]
    pub(super) fn step(
        &mut self,
        memory: &mut Out<MemRequest>,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Fault> {
        let cycle = around.cycle;
        if self.free <= cycle && !self.starved && self.queue.ready().is_some_and(|ready| ready <= cycle) {
            self.transact(around)?;
        }
        (self.blocked, self.out_of_credit) = (false, false);
        if self.l1.next().is_some_and(|ready| ready <= cycle) {
            self.look_up(memory, around);
        }
        self.l1.write_back(memory);
        self.constants.send(memory);
        self.textures.send(memory);
        Ok(())
    }

    /// Makes the next transaction of the first instruction.
    fn transact(&mut self, around: &mut Surroundings<'_>) -> Result<(), Fault> {
        let cycle = around.cycle;
        let Some(first) = self.queue.first() else { return Ok(()) };
        let (warp, pc) = (first.warp, first.pc);
        let taken = match &mut first.work {
            &mut Work::Parameter(line) => {
                self.starved = !self.parameter((warp, pc), line, around);
                if self.starved {
                    return Ok(());
                }
                1
            }
            Work::Shared(access) => {
                let memory = (self.banks, self.shared_latency);
                let taken = shared(access, warp, memory, &mut self.words, around)?;
                around.done(warp);
                taken
            }
            &mut Work::Constant(index, lanes) => {
                let rest = self.constant(index, lanes, around);
                self.starved = rest.is_none();
                if let Some(rest @ 1..) = rest {
                    if let Some(Queued { work: Work::Constant(_, lanes), .. }) = self.queue.first() {
                        *lanes = rest;
                    }
                    self.free = cycle + 1;
                }
                if rest != Some(0) {
                    return Ok(());
                }
                1
            }
            &mut Work::Texels(index, line) => {
                let goes_on = self.texels(index, line, around)?;
                self.starved = goes_on.is_none();
                if goes_on == Some(true) {
                    if let Some(Queued { work: Work::Texels(_, line), .. }) = self.queue.first() {
                        *line += 1;
                    }
                    self.free = cycle + 1;
                }
                if goes_on != Some(false) {
                    return Ok(());
                }
                1
            }
            Work::Lines(index, lanes, part) => {
                if !self.l1.has_room() {
                    return Ok(());
                }
                let index = *index;
                let instruction = self.instructions.get(index);
                let access = &instruction.access;
                let is_local = access.space == Space::Local;
                let (line, group) = if is_local {
                    local::next_line(*lanes, *part, access)
                } else {
                    next_line(*lanes, access)
                };
                let waiter = Waiter { instruction: index, lanes: group, part: *part };
                *part += 1;
                if !is_local || *part == local::parts(access) {
                    *lanes &= !group;
                    *part = 0;
                }
                instruction.pending += 1;
                let tlb = &around.stats.tlb;
                let translated = self.tlb.as_mut().is_none_or(|unit| unit.enter(line, tlb));
                let taken = self.l1.enter(waiter, access, (line, translated), cycle);
                if *lanes != 0 {
                    self.free = cycle + taken;
                    return Ok(());
                }
                instruction.complete = true;
                taken
            }
        };
        self.free = cycle + taken;
        if let Some(Queued { work: Work::Shared(access), .. }) = self.queue.pop(around.registers, cycle) {
            self.spare.push(access);
        }
        Ok(())
    }

    /// Takes the first transaction of the L1's pipeline, if what it needs is there.
    fn look_up(&mut self, memory: &mut Out<MemRequest>, around: &mut Surroundings<'_>) {
        let Some(transaction) = self.l1.first() else { return };
        if !transaction.translated {
            let translate = |tlb: &mut Tlb| tlb.translate(transaction.line, &around.stats.tlb);
            if !self.tlb.as_mut().is_none_or(translate) {
                self.blocked = true;
                around.stats.lsu_stalls.add(1);
                return;
            }
            self.l1.first_is_translated();
        }
        let instruction = self.instructions.get(transaction.instruction);
        let (warp, pc) = (instruction.warp, instruction.access.pc);
        let is_local = instruction.access.space == Space::Local;
        let label = around.label(warp);
        let words = &mut *self.words;
        let outcome =
            self.l1.look_up(&mut instruction.access, (warp, label), memory, &mut self.bypasses, words);
        match outcome {
            Outcome::Blocked | Outcome::NoCredit => {
                self.blocked = true;
                self.out_of_credit = matches!(outcome, Outcome::NoCredit);
                around.stats.lsu_stalls.add(1);
                return;
            }
            Outcome::Hit => {
                around.stats.l1_accesses.add(1);
                around.cta(warp).counts.l1_accesses += 1;
                if !is_local {
                    around.deliver(warp, pc, transaction.lanes, words);
                }
                self.served(transaction.instruction, around);
            }
            Outcome::Joined => {
                around.stats.l1_accesses.add(1);
                around.cta(warp).counts.l1_accesses += 1;
                around.stats.l1_pending_hits.add(1);
            }
            Outcome::Missed => {
                around.stats.l1_accesses.add(1);
                around.stats.l1_misses.add(1);
                let counts = &mut around.cta(warp).counts;
                counts.l1_accesses += 1;
                counts.l1_misses += 1;
            }
            Outcome::Bypassed => match self.instructions.get(transaction.instruction).access.kind {
                AccessKind::Atomic(..) => around.stats.atomics.add(1),
                _ => around.stats.l1_bypasses.add(1),
            },
            Outcome::Stored => {
                around.stats.l1_writes.add(1);
                around.expect(warp);
                self.served(transaction.instruction, around);
            }
            Outcome::Kept => {
                around.stats.l1_writes.add(1);
                self.served(transaction.instruction, around);
            }
        }
        self.l1.leave();
    }

    /// A transaction of an instruction is served: a load's values are there, a store's have left.
    fn served(&mut self, index: u32, around: &mut Surroundings<'_>) {
        let instruction = self.instructions.get(index);
        instruction.pending -= 1;
        if instruction.pending > 0 || !instruction.complete {
            return;
        }
        let InFlight { warp, access, since, .. } = self.instructions.take(index);
        if access.wants_value {
            match access.space {
                Space::Local => around.deliver(warp, access.pc, access.mask, &access.values),
                Space::Global => around.stats.load_latency.record(around.cycle - since),
                Space::Shared | Space::Const => {}
            }
            self.delivered = (self.delivered + 1).max(around.cycle + TO_REGISTER);
            around.write_back(warp, access.pc, self.delivered);
        }
        around.done(warp);
        self.spare.push(access);
    }

    /// Takes an answer of memory.
    pub(super) fn reply(&mut self, reply: MemReply, around: &mut Surroundings<'_>) -> Result<(), Fault> {
        let MemReply { line, tag, result, .. } = reply;
        match (Answer::of(tag), result) {
            (Answer::Store(warp), _) => around.done(warp),
            (Answer::WriteBack, _) => around.stats.l1_write_backs.add(1),
            (Answer::Miss(miss), MemResult::Line(mask, data)) => {
                let (way, mut waiting) = self.l1.fill(miss, mask, &data);
                for waiter in waiting.drain(..) {
                    let access = &mut self.instructions.get(waiter.instruction).access;
                    if access.space == Space::Local {
                        // What the cache had of the line is newer than what has come.
                        let data = way.map_or(&data, |way| self.l1.data(way));
                        local::gather(access, waiter.part, waiter.lanes, data);
                        self.served(waiter.instruction, around);
                    } else {
                        self.fill(waiter, line, &data, around);
                    }
                }
                self.l1.give_back(waiting);
            }
            (Answer::Constant(miss), MemResult::Line(mask, data)) => {
                self.starved = false;
                let mut waiting = self.constants.fill(miss, mask, &data);
                for waiter in waiting.drain(..) {
                    self.fill(waiter, line, &data, around);
                }
                self.constants.give_back(waiting);
            }
            (Answer::Texture(miss), MemResult::Line(mask, data)) => {
                return self.fill_texels(miss, mask, &data, around);
            }
            (Answer::Bypass(place), result) => {
                let waiter = self.bypasses.take(place);
                match result {
                    MemResult::Line(_, data) => self.fill(waiter, line, &data, around),
                    MemResult::Old(lanes) => self.atomic_result(waiter, &lanes, around),
                    MemResult::Written(_) => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn fill(&mut self, waiter: Waiter, line: u64, data: &Line, around: &mut Surroundings<'_>) {
        let instruction = self.instructions.get(waiter.instruction);
        instruction.access.gather(waiter.lanes, line, data, &mut self.words);
        around.deliver(instruction.warp, instruction.access.pc, waiter.lanes, &self.words);
        self.served(waiter.instruction, around);
    }

    fn atomic_result(&mut self, waiter: Waiter, lanes: &[(u8, u64)], around: &mut Surroundings<'_>) {
        let instruction = self.instructions.get(waiter.instruction);
        if instruction.access.wants_value {
            for &(lane, old) in lanes {
                self.words[0].0[lane as usize] = old as u32;
                self.words[1].0[lane as usize] = (old >> 32) as u32;
            }
            around.deliver(instruction.warp, instruction.access.pc, waiter.lanes, &self.words);
        }
        self.served(waiter.instruction, around);
    }
}

/// Executes an access to shared memory; gives the cycles for which it occupies the unit.
fn shared(
    access: &Access,
    warp: u32,
    (banks, latency): (u32, u64),
    words: &mut [Row; 4],
    around: &mut Surroundings<'_>,
) -> Result<u64, Fault> {
    let number = around.number(warp);
    let cta = around.cta(warp);
    let (low, high) = access.extent();
    if let Some(lane) = shared_memory::out_of_bounds(access, high, cta.shared.len() as u64) {
        let size = cta.shared.len();
        let message =
            format!("{}, outside of the block's shared memory ({size} bytes)", access.describe(lane));
        return Err(cta.fault_at(number, lane, access.pc, message));
    }
    shared_memory::execute(access, &mut cta.shared, words);
    let degree = shared_memory::conflict_degree(access, (low, high), banks);
    around.stats.shared_accesses.add(1);
    around.stats.shared_conflicts.add(degree - 1);
    around.cta(warp).counts.shared_conflicts += degree - 1;
    if access.wants_value {
        around.deliver(warp, access.pc, access.mask, words);
        around.write_back(warp, access.pc, around.cycle + degree - 1 + latency);
    }
    Ok(degree)
}
