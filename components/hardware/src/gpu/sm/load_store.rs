//! The load-store unit: memory instructions in the order of their issue, one transaction a cycle.
//!
//! Shared memory is read and written here at once and takes as many cycles as its banks conflict. Global accesses are
//! coalesced into lines; loads go through the L1, stores pass it by and evict the line, atomics and volatile loads
//! pass it by and forget the line. What must wait for memory waits in the L1's misses or in the table of accesses that
//! bypass it.

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Fault, Out, Permit};
use counterpoint_protocols::memory::{
    AtomicLane, ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply, MemRequest, MemResult, Tag,
};
use counterpoint_ptx::{Access, AccessKind, CacheOperator, Row, Space};

use super::SmStats;
use super::coalescer::next_line;
use super::cta::Cta;
use super::params::{L1Flush, SmParams};
use super::shared_memory;
use super::warp::Warps;
use super::writeback::{Writeback, WritebackRing};
use crate::memory::cache::{Cache, CacheParams};

/// A memory instruction in the unit.
struct Instruction {
    warp: u32,
    access: Box<Access>,
    /// Lanes whose transaction has not been made.
    lanes: u32,
    /// The load's entry, once a transaction has been made.
    load: Option<u32>,
}

/// A load or atomic whose values are under way.
struct Load {
    warp: u32,
    access: Box<Access>,
    /// Transactions without an answer.
    missing: u32,
    /// All transactions have been made.
    complete: bool,
    /// The first cycle in which the values may reach the registers.
    earliest: u64,
}

/// Lanes that wait for a line.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    load: u32,
    lanes: u32,
}

/// What a transaction came to.
enum Transaction {
    /// It is made; the next one takes the unit after so many cycles.
    Made(u64),
    /// It must wait for a credit or for an entry.
    Blocked,
}

/// Where the answer to a request belongs.
enum Answer {
    Miss(u32),
    Bypass(u32),
    Store(u32),
}

impl Answer {
    fn tag(self) -> Tag {
        match self {
            Answer::Miss(index) => Tag(index),
            Answer::Bypass(index) => Tag(1 << 30 | index),
            Answer::Store(warp) => Tag(2 << 30 | warp),
        }
    }

    fn of(tag: Tag) -> Self {
        let index = tag.0 & ((1 << 30) - 1);
        match tag.0 >> 30 {
            0 => Answer::Miss(index),
            1 => Answer::Bypass(index),
            _ => Answer::Store(index),
        }
    }
}

/// What the unit reaches in its SM.
pub(super) struct Surroundings<'a> {
    pub(super) warps: &'a mut Warps,
    pub(super) ctas: &'a mut [Option<Cta>],
    pub(super) ring: &'a mut WritebackRing,
    /// Bits of the blocks that may have ended.
    pub(super) ended: &'a mut u32,
    pub(super) stats: &'a SmStats,
    pub(super) cycle: u64,
}

impl Surroundings<'_> {
    fn cta(&mut self, warp: u32) -> &mut Cta {
        let cta = self.warps.slots[warp as usize].cta;
        self.ctas[cta].as_mut().expect("a warp with an access under way has a block")
    }

    /// The number in its block of the warp in a slot.
    fn number(&self, slot: u32) -> u32 {
        self.warps.slots[slot as usize].warp.as_ref().map_or(0, |warp| warp.index())
    }

    /// The access of a warp needs one more answer.
    fn expect_answer(&mut self, warp: u32) {
        self.warps.slots[warp as usize].outstanding += 1;
        self.cta(warp).outstanding += 1;
    }

    fn answered(&mut self, warp: u32) {
        let slot = &mut self.warps.slots[warp as usize];
        slot.outstanding -= 1;
        *self.ended |= 1 << slot.cta;
        self.cta(warp).outstanding -= 1;
    }

    /// Puts loaded words into the registers of a warp.
    fn deliver(&mut self, warp: u32, pc: u32, lanes: u32, words: &[Row; 4]) {
        let slot = &mut self.warps.slots[warp as usize];
        if let (Some(cta), Some(warp)) = (self.ctas[slot.cta].as_ref(), slot.warp.as_mut()) {
            warp.complete_load(&cta.launch.program, pc, lanes, words);
        }
    }
}

/// The load-store unit with its L1.
pub(super) struct LoadStore {
    queue: VecDeque<Instruction>,
    capacity: usize,
    /// The unit takes the next transaction in this cycle.
    free: u64,
    l1: Cache<Waiter>,
    flush: L1Flush,
    l1_latency: u64,
    shared_latency: u64,
    banks: u32,
    pipeline: u64,
    loads: Vec<Option<Load>>,
    bypasses: Vec<Option<Waiter>>,
    /// Accesses that nothing uses; they move by pointer between here, the queue and the loads.
    #[allow(clippy::vec_box, reason = "an access is 800 bytes and moves often")]
    spare: Vec<Box<Access>>,
}

impl LoadStore {
    pub(super) fn new(params: &SmParams) -> Result<Self, counterpoint_framework::model::Invalid> {
        let l1 = &params.l1d;
        let cache = CacheParams { capacity: l1.capacity, ways: l1.ways, mshrs: l1.mshrs, merges: l1.merges };
        Ok(LoadStore {
            queue: VecDeque::new(),
            capacity: params.lsu_queue as usize,
            free: 0,
            l1: Cache::new(&cache)?,
            flush: l1.flush,
            l1_latency: l1.hit_latency.get(),
            shared_latency: params.shared_latency.get(),
            banks: params.shared_banks,
            pipeline: params.pipeline.get(),
            loads: Vec::new(),
            bypasses: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Whether another memory instruction can be issued.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.capacity
    }

    /// Another launch begins here.
    pub(super) fn launch_changed(&mut self) {
        if self.flush == L1Flush::LaunchChange {
            self.l1.invalidate_all();
        }
    }

    /// An access to be filled in.
    pub(super) fn empty_access(&mut self) -> Box<Access> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a memory instruction.
    pub(super) fn push(&mut self, warp: u32, access: Box<Access>, around: &mut Surroundings<'_>) {
        around.expect_answer(warp);
        let lanes = access.mask;
        self.queue.push_back(Instruction { warp, access, lanes, load: None });
    }

    /// When the unit has something to do by itself: the next transaction, if there is one.
    pub(super) fn next(&self, cycle: u64) -> Option<u64> {
        (!self.queue.is_empty()).then_some(self.free.max(cycle + 1))
    }

    /// Makes the next transaction, if it can be made in this cycle.
    pub(super) fn step(
        &mut self,
        memory: &mut Out<MemRequest>,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Fault> {
        if self.free > around.cycle {
            return Ok(());
        }
        let Some(mut instruction) = self.queue.pop_front() else { return Ok(()) };
        let transaction = match instruction.access.space {
            Space::Shared => self.shared(&mut instruction, around)?,
            Space::Global => self.global(&mut instruction, memory, around),
            Space::Local | Space::Const => {
                let access = &instruction.access;
                let (lane, pc) = (access.mask.trailing_zeros(), access.pc);
                let number = around.number(instruction.warp);
                let message = "local and constant memory are not part of this SM".to_owned();
                return Err(around.cta(instruction.warp).fault_at(number, lane, pc, message));
            }
        };
        match transaction {
            Transaction::Blocked => {
                self.queue.push_front(instruction);
                around.stats.lsu_stalls.add(1);
                return Ok(());
            }
            Transaction::Made(cycles) => self.free = around.cycle + cycles,
        }
        if instruction.lanes == 0 {
            self.finish(instruction, around);
        } else {
            self.queue.push_front(instruction);
        }
        Ok(())
    }

    /// All transactions of the instruction have been made.
    fn finish(&mut self, instruction: Instruction, around: &mut Surroundings<'_>) {
        around.answered(instruction.warp);
        match instruction.load {
            Some(index) => {
                let load = self.loads[index as usize].as_mut().expect("the load is under way");
                // The access was only needed here for its lanes; the load keeps it for its answers.
                self.spare.push(std::mem::replace(&mut load.access, instruction.access));
                load.complete = true;
                self.settle(index, around);
            }
            None => self.spare.push(instruction.access),
        }
    }

    fn shared(
        &mut self,
        instruction: &mut Instruction,
        around: &mut Surroundings<'_>,
    ) -> Result<Transaction, Fault> {
        let (access, warp) = (&*instruction.access, instruction.warp);
        let number = around.number(warp);
        let cta = around.cta(warp);
        if let Some(lane) = shared_memory::out_of_bounds(access, cta.shared.len() as u64) {
            let size = cta.shared.len();
            let message =
                format!("{}, outside of the block's shared memory ({size} bytes)", access.describe(lane));
            return Err(cta.fault_at(number, lane, access.pc, message));
        }
        let mut words = [Row::ZERO; 4];
        shared_memory::execute(access, &mut cta.shared, &mut words);
        let degree = match access.kind {
            AccessKind::Load | AccessKind::Store if shared_memory::is_narrow(access, self.banks) => 1,
            _ => shared_memory::conflict_degree(access, self.banks),
        };
        around.stats.shared_accesses.add(1);
        around.stats.shared_conflicts.add(degree - 1);
        if access.wants_value {
            around.deliver(warp, access.pc, access.mask, &words);
            let delay = degree - 1 + self.shared_latency + self.pipeline - 1;
            around.cta(warp).outstanding += 1;
            around.ring.add(around.cycle, delay.max(1), Writeback { warp, pc: access.pc });
        }
        instruction.lanes = 0;
        Ok(Transaction::Made(degree))
    }

    fn global(
        &mut self,
        instruction: &mut Instruction,
        memory: &mut Out<MemRequest>,
        around: &mut Surroundings<'_>,
    ) -> Transaction {
        let (line, lanes) = next_line(instruction.lanes, &instruction.access.addresses);
        let made = match instruction.access.kind {
            AccessKind::Store => self.store(instruction, line, lanes, memory, around),
            AccessKind::Load if !bypasses_l1(&instruction.access) => {
                self.cached_load(instruction, line, lanes, memory, around)
            }
            AccessKind::Load | AccessKind::Atomic(..) => {
                self.bypass(instruction, line, lanes, memory, around)
            }
        };
        if !made {
            return Transaction::Blocked;
        }
        instruction.lanes &= !lanes;
        Transaction::Made(1)
    }

    /// Sends a request on behalf of a warp; the answer belongs to `answer`.
    fn send(
        permit: Permit<'_, MemRequest>,
        line: u64,
        answer: Answer,
        access: MemAccess,
        warp: u32,
        around: &mut Surroundings<'_>,
    ) {
        let launch = &around.cta(warp).launch;
        let label = Label { kernel: launch.id.0, stream: launch.stream };
        permit.send(MemRequest { line, tag: answer.tag(), client: 0, label, access });
    }

    fn store(
        &mut self,
        instruction: &Instruction,
        line: u64,
        lanes: u32,
        memory: &mut Out<MemRequest>,
        around: &mut Surroundings<'_>,
    ) -> bool {
        let Some(permit) = memory.try_reserve() else { return false };
        let warp = instruction.warp;
        let (mut data, mut mask) = ([0; LINE_BYTES as usize], 0);
        instruction.access.scatter(lanes, line, &mut data, &mut mask);
        self.forget(line);
        around.expect_answer(warp);
        around.stats.l1_writes.add(1);
        Self::send(permit, line, Answer::Store(warp), MemAccess::Write(mask, data), warp, around);
        true
    }

    /// Evicts a line. A miss that is under way for it serves those that wait already and nobody else.
    fn forget(&mut self, line: u64) {
        if let Some(way) = self.l1.find(line, line / LINE_BYTES) {
            self.l1.invalidate(way);
        }
    }

    fn cached_load(
        &mut self,
        instruction: &mut Instruction,
        line: u64,
        lanes: u32,
        memory: &mut Out<MemRequest>,
        around: &mut Surroundings<'_>,
    ) -> bool {
        let (warp, index) = (instruction.warp, line / LINE_BYTES);
        let found = self.l1.find(line, index);
        if let Some(way) = found
            && !self.l1.is_pending(way)
        {
            around.stats.l1_accesses.add(1);
            let load = self.load(instruction);
            self.l1.touch(way);
            let mut words = [Row::ZERO; 4];
            instruction.access.gather(lanes, line, self.l1.data(way), &mut words);
            around.deliver(warp, instruction.access.pc, lanes, &words);
            let ready = around.cycle + self.l1_latency + self.pipeline - 1;
            let load = self.loads[load as usize].as_mut().expect("just made");
            load.earliest = load.earliest.max(ready);
            return true;
        }
        if let Some(way) = found {
            let load = self.load(instruction);
            if self.l1.join_miss(way, Waiter { load, lanes }).is_err() {
                return false;
            }
            around.stats.l1_accesses.add(1);
            around.stats.l1_pending_hits.add(1);
            self.wait(load, warp, around);
            return true;
        }
        if !self.l1.has_free_miss() {
            return false;
        }
        let Some(permit) = memory.try_reserve() else { return false };
        let Some((way, _)) = self.l1.allocate(line, index) else { return false };
        let load = self.load(instruction);
        around.stats.l1_accesses.add(1);
        around.stats.l1_misses.add(1);
        self.wait(load, warp, around);
        let answer = Answer::Miss(self.l1.begin_miss(way, Waiter { load, lanes }));
        Self::send(permit, line, answer, MemAccess::Read(ByteMask::MAX), warp, around);
        true
    }

    fn bypass(
        &mut self,
        instruction: &mut Instruction,
        line: u64,
        lanes: u32,
        memory: &mut Out<MemRequest>,
        around: &mut Surroundings<'_>,
    ) -> bool {
        let Some(permit) = memory.try_reserve() else { return false };
        let warp = instruction.warp;
        let load = self.load(instruction);
        self.forget(line);
        self.wait(load, warp, around);
        let slot = free_slot(&mut self.bypasses, Waiter { load, lanes });
        let access = &instruction.access;
        let request = match access.kind {
            AccessKind::Atomic(operation, kind) => {
                around.stats.atomics.add(1);
                let each = (0..32_u8).filter(|lane| lanes >> lane & 1 != 0).map(|lane| {
                    let (operand, swap) = access.atomic_operands(lane as usize);
                    let offset = (access.addresses[lane as usize] - line) as u8;
                    AtomicLane { lane, offset, operation, kind, operand, swap }
                });
                MemAccess::Atomic(each.collect())
            }
            _ => {
                around.stats.l1_bypasses.add(1);
                MemAccess::Read(bytes_of(access, lanes, line))
            }
        };
        Self::send(permit, line, Answer::Bypass(slot), request, warp, around);
        true
    }

    /// The entry of an instruction's load, made if it has none.
    fn load(&mut self, instruction: &mut Instruction) -> u32 {
        if let Some(load) = instruction.load {
            return load;
        }
        let access = self.empty_access();
        let load = Load { warp: instruction.warp, access, missing: 0, complete: false, earliest: 0 };
        let index = free_slot(&mut self.loads, load);
        instruction.load = Some(index);
        index
    }

    fn wait(&mut self, load: u32, warp: u32, around: &mut Surroundings<'_>) {
        self.loads[load as usize].as_mut().expect("the load is under way").missing += 1;
        around.expect_answer(warp);
    }

    /// Ends a load whose values are all there.
    fn settle(&mut self, index: u32, around: &mut Surroundings<'_>) {
        let place = &mut self.loads[index as usize];
        if place.as_ref().is_some_and(|load| load.complete && load.missing == 0)
            && let Some(load) = place.take()
        {
            let delay = load.earliest.max(around.cycle + 1) - around.cycle;
            around.cta(load.warp).outstanding += 1;
            around.ring.add(around.cycle, delay, Writeback { warp: load.warp, pc: load.access.pc });
            self.spare.push(load.access);
        }
    }

    /// Takes an answer of memory.
    pub(super) fn reply(&mut self, reply: MemReply, around: &mut Surroundings<'_>) {
        match (Answer::of(reply.tag), reply.result) {
            (Answer::Store(warp), _) => around.answered(warp),
            (Answer::Miss(miss), MemResult::Line(mask, data)) => {
                let (_, waiting) = self.l1.end_miss(miss, mask, &data);
                for waiter in waiting {
                    self.fill(waiter, reply.line, &data, around);
                }
            }
            (Answer::Bypass(slot), result) => {
                let waiter = self.bypasses[slot as usize].take().expect("the access is under way");
                match result {
                    MemResult::Line(_, data) => self.fill(waiter, reply.line, &data, around),
                    MemResult::Old(lanes) => self.atomic_result(waiter, &lanes, around),
                    MemResult::Written => {}
                }
            }
            (Answer::Miss(_), _) => {}
        }
    }

    fn fill(&mut self, waiter: Waiter, line: u64, data: &Line, around: &mut Surroundings<'_>) {
        let mut words = [Row::ZERO; 4];
        let (warp, pc) = self.with_access(waiter.load, |access| {
            access.gather(waiter.lanes, line, data, &mut words);
            access.pc
        });
        around.deliver(warp, pc, waiter.lanes, &words);
        self.arrived(waiter.load, warp, around);
    }

    fn atomic_result(&mut self, waiter: Waiter, lanes: &[(u8, u64)], around: &mut Surroundings<'_>) {
        let mut words = [Row::ZERO; 4];
        for &(lane, old) in lanes {
            words[0].0[lane as usize] = old as u32;
            words[1].0[lane as usize] = (old >> 32) as u32;
        }
        let (warp, (pc, wants)) = self.with_access(waiter.load, |access| (access.pc, access.wants_value));
        if wants {
            around.deliver(warp, pc, waiter.lanes, &words);
        }
        self.arrived(waiter.load, warp, around);
    }

    /// The access of a load: the load's own, or the queue's while transactions are still being made.
    fn with_access<R>(&mut self, load: u32, look: impl FnOnce(&Access) -> R) -> (u32, R) {
        let entry = self.loads[load as usize].as_ref().expect("the load is under way");
        if entry.complete {
            return (entry.warp, look(&entry.access));
        }
        let front = self.queue.front().filter(|instruction| instruction.load == Some(load));
        (entry.warp, look(&front.expect("an incomplete load is at the front").access))
    }

    fn arrived(&mut self, load: u32, warp: u32, around: &mut Surroundings<'_>) {
        around.answered(warp);
        self.loads[load as usize].as_mut().expect("the load is under way").missing -= 1;
        self.settle(load, around);
    }
}

/// Whether a load must not be answered by the L1.
fn bypasses_l1(access: &Access) -> bool {
    access.volatile || access.cache == CacheOperator::Global
}

/// The bytes of a line that these lanes touch.
fn bytes_of(access: &Access, lanes: u32, line: u64) -> ByteMask {
    let mut mask = 0;
    let mut rest = lanes;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        mask |= ((1 << access.width) - 1) << (access.addresses[lane] - line);
    }
    mask
}

/// Puts a value into the first free place of a table.
fn free_slot<T>(table: &mut Vec<Option<T>>, value: T) -> u32 {
    let place = table.iter().position(Option::is_none).unwrap_or_else(|| {
        table.push(None);
        table.len() - 1
    });
    table[place] = Some(value);
    place as u32
}
