//! Global and local memory in the load-store unit: the lines of an instruction enter the L1's pipeline one after another,
//! are looked up at its end, and are served there or when memory answers.

use counterpoint_framework::kernel::Out;
use counterpoint_protocols::memory::{ByteMask, Line, MemRequest};
use counterpoint_ptx::{AccessKind, Space};

use super::coalescer::next_line;
use super::in_flight::{InFlight, Waiter};
use super::l1::{Outcome, Transaction};
use super::queue::Work;
use super::tlb::Tlb;
use super::{Answer, LoadStore, SmContext, Taken, local};
use crate::gpu::sm::scheduler::L1Lookup;
use crate::memory::cache::prefetch::LookedUp;

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    Done,
    /// The L1 has no room for it.
    NoRoom,
    /// The transaction waits for its page or for credit, and holds up all others.
    Waits,
}

impl LoadStore {
    /// Makes the next transaction of an instruction: word `part` of the first of those lanes, and of all that are in its
    /// line.
    pub(super) fn lines(&mut self, index: u32, lanes: u32, part: u32, sm: &mut SmContext<'_>) -> Taken {
        let (coalescing, size) = (self.coalescing, self.l1.size());
        let instruction = self.instructions.get(index);
        let access = &instruction.access;
        let is_local = access.space == Space::Local;
        let (line, group) = if is_local {
            let stride = sm.cta(instruction.warp).launch.local.stride();
            local::next_line(lanes, part, stride, access, size)
        } else {
            next_line(lanes, access, coalescing, size)
        };
        let is_last_part = !is_local || part + 1 == local::parts(access);
        let (lanes, next) = if is_last_part { (lanes & !group, 0) } else { (lanes, part + 1) };
        instruction.made += 1;
        instruction.pending += 1;
        instruction.complete = lanes == 0;
        if instruction.complete {
            let is_uncoalesced = instruction.is_uncoalesced(size.transfer());
            let counts = &mut sm.cta(instruction.warp).counts;
            counts.global_insn += 1;
            counts.uncoalesced_insn += u64::from(is_uncoalesced);
        }
        let stats = &sm.sim.stats.tlb;
        let translated = instruction.translated || self.tlb.as_mut().is_none_or(|tlb| tlb.enter(line, stats));
        let waiter = Waiter { instruction: index, lanes: group, part };
        let order = instruction.order;
        let cycles = self.l1.enter(waiter, (access, order), (line, translated), sm.cycle);
        if lanes == 0 { Taken::all(cycles) } else { Taken::part(cycles, Work::Lines(index, lanes, next)) }
    }

    /// Looks up the first transaction of the L1's pipeline.
    #[inline]
    pub(super) fn look_up_first(&mut self, memory: &mut Out<MemRequest>, sm: &mut SmContext<'_>) {
        let Some(transaction) = self.l1.first() else { return };
        match self.look_up(transaction, memory, sm) {
            Looked::Done => self.l1.leave(),
            Looked::NoRoom => {
                self.blocked = true;
                self.l1.get_stuck();
            }
            Looked::Waits => {}
        }
    }

    /// Looks up a transaction that is replayed, or the first of the L1's pipeline, if it has `arrived`; in turn, if there are both.
    #[inline(never)]
    pub(super) fn look_up_in_turn(
        &mut self,
        arrived: bool,
        memory: &mut Out<MemRequest>,
        sm: &mut SmContext<'_>,
    ) {
        let Some(mut replays) = self.replays.take() else { return };
        let again = replays.take_ready(arrived, &self.l1);
        if let Some(transaction) = again.or_else(|| arrived.then(|| self.l1.first()).flatten()) {
            let held = replays.holds_back(&transaction, &self.l1, &mut self.instructions);
            let looked = if held { None } else { Some(self.look_up(transaction, memory, sm)) };
            if again.is_none() && looked != Some(Looked::Waits) {
                self.l1.leave();
            }
            match looked {
                Some(Looked::Done) => replays.room_made(),
                Some(Looked::NoRoom) if !self.l1.has_free_miss() => {
                    replays.await_miss(transaction, &mut self.instructions);
                }
                Some(Looked::NoRoom) | None => replays.await_news(transaction, &mut self.instructions),
                Some(Looked::Waits) if again.is_some() => {
                    replays.put_back(transaction, &mut self.instructions)
                }
                Some(Looked::Waits) => {}
            }
        }
        self.replays = Some(replays);
    }

    /// Looks up a transaction, if its page is translated and the resources that it needs are free.
    fn look_up(
        &mut self,
        transaction: Transaction,
        memory: &mut Out<MemRequest>,
        sm: &mut SmContext<'_>,
    ) -> Looked {
        if !transaction.translated {
            let translate = |tlb: &mut Tlb| tlb.translate(transaction.line, &sm.sim.stats.tlb);
            if !self.tlb.as_mut().is_none_or(translate) {
                self.blocked = true;
                return Looked::Waits;
            }
            self.l1.is_translated(transaction.instruction, transaction.line);
        }
        let instruction = self.instructions.get(transaction.instruction);
        let warp = instruction.warp;
        let epoch = instruction.epoch.unwrap_or_default();
        let is_local = instruction.access.space == Space::Local;
        let label = sm.label(warp);
        let words = &mut *self.words;
        let store = Answer::Store(warp, epoch);
        let context = (store, label, sm.sim.now());
        let outcome =
            self.l1.look_up(transaction, &mut instruction.access, context, memory, &mut self.bypasses, words);
        sm.sim.trace(|| format!("L1: {} {:#x} of warp slot {warp}", outcome.name(), transaction.line));
        if self.l1.has_prefetcher()
            && !is_local
            && matches!(outcome, Outcome::Hit | Outcome::Joined | Outcome::Missed)
        {
            let hit = !matches!(outcome, Outcome::Missed);
            let (size, client) = (self.l1.size(), warp);
            let (line, line_bytes) = (size.line_of(transaction.line), size.bytes());
            let read = LookedUp { line, line_bytes, hit, label, client };
            sm.sim.stats.l1_prefetches.add(u64::from(self.l1.prefetch(&read, memory)));
        }
        if let (Some(heard), false, Some(result)) = (&mut self.heard, is_local, outcome.of_lookup()) {
            heard.push(L1Lookup { slot: warp, line: self.l1.size().line_of(transaction.line), result });
        }
        match outcome {
            Outcome::Blocked => return Looked::NoRoom,
            Outcome::NoCredit => {
                (self.blocked, self.out_of_credit) = (true, true);
                return Looked::Waits;
            }
            Outcome::Hit => {
                sm.sim.stats.l1_accesses.add(1);
                sm.cta(warp).counts.l1_accesses += 1;
                if !is_local {
                    sm.deliver(warp, &instruction.access, transaction.lanes, words);
                }
                self.served(transaction.instruction, sm);
            }
            Outcome::Joined => {
                sm.sim.stats.l1_accesses.add(1);
                sm.cta(warp).counts.l1_accesses += 1;
                sm.sim.stats.l1_pending_hits.add(1);
            }
            Outcome::Missed | Outcome::PassedBy => {
                sm.sim.stats.l1_accesses.add(1);
                sm.sim.stats.l1_misses.add(1);
                sm.sim.stats.l1_bypasses.add(u64::from(matches!(outcome, Outcome::PassedBy)));
                let counts = &mut sm.cta(warp).counts;
                counts.l1_accesses += 1;
                counts.l1_misses += 1;
                counts.global_requests += 1;
            }
            Outcome::Bypassed => {
                sm.cta(warp).counts.global_requests += 1;
                match self.instructions.get(transaction.instruction).access.kind {
                    AccessKind::Atomic(..) => sm.sim.stats.atomics.add(1),
                    _ => sm.sim.stats.l1_bypasses.add(1),
                }
            }
            Outcome::Stored => {
                sm.sim.stats.l1_writes.add(1);
                sm.cta(warp).counts.global_requests += 1;
                sm.expect(warp);
                sm.cta(warp).drain.begin_in(epoch);
                self.served(transaction.instruction, sm);
            }
            Outcome::Kept => {
                sm.sim.stats.l1_writes.add(1);
                self.served(transaction.instruction, sm);
            }
        }
        Looked::Done
    }

    /// A transaction of an instruction is served: a load's values are here, a store's have left.
    fn served(&mut self, index: u32, sm: &mut SmContext<'_>) {
        let instruction = self.instructions.get(index);
        instruction.pending -= 1;
        if instruction.pending > 0 || !instruction.complete {
            return;
        }
        let InFlight { warp, epoch, access, since, .. } = self.instructions.take(index);
        if let Some(epoch) = epoch {
            sm.cta(warp).drain.end(epoch);
        }
        if access.wants_value {
            match access.space {
                Space::Local => sm.deliver(warp, &access, access.mask, &access.values),
                Space::Global => {
                    since.into_iter().for_each(|since| sm.sim.stats.load_latency.record(sm.cycle - since));
                }
                Space::Shared | Space::Const => {}
            }
        }
        if access.copies {
            sm.warps.slots[warp as usize].copies.end(access.group);
        }
        self.retire(warp, access, since, sm);
    }

    /// A line that the L1 requested has arrived.
    pub(super) fn fill_l1(
        &mut self,
        miss: u32,
        (line, mask, bytes): (u64, ByteMask, u64),
        data: &Line,
        sm: &mut SmContext<'_>,
    ) {
        sm.sim.trace(|| format!("L1: fill {line:#x}"));
        let (way, mut waiting) = self.l1.fill(miss, (mask, data), sm.sim.now());
        if let Some(first) = waiting.first() {
            let warp = self.instructions.get(first.instruction).warp;
            sm.cta(warp).counts.memory_bytes += bytes;
        }
        for waiter in waiting.drain(..) {
            let access = &mut self.instructions.get(waiter.instruction).access;
            if access.space == Space::Local {
                // The cache's copy of the line is newer than the data that arrived.
                let data = way.map_or(data, |way| self.l1.data(way));
                local::gather(access, waiter.part, waiter.lanes, data);
                self.served(waiter.instruction, sm);
            } else {
                self.fill(waiter, line, data, sm);
            }
        }
        self.l1.give_back(waiting);
    }

    /// A line has arrived for lanes of an instruction.
    pub(super) fn fill(&mut self, waiter: Waiter, line: u64, data: &Line, sm: &mut SmContext<'_>) {
        let instruction = self.instructions.get(waiter.instruction);
        instruction.access.gather(waiter.lanes, line, data, &mut self.words);
        sm.deliver(instruction.warp, &instruction.access, waiter.lanes, &self.words);
        self.served(waiter.instruction, sm);
    }

    /// An atomic has been done for lanes of an instruction.
    pub(super) fn atomic_result(&mut self, waiter: Waiter, lanes: &[(u8, u64)], sm: &mut SmContext<'_>) {
        let instruction = self.instructions.get(waiter.instruction);
        if instruction.access.wants_value {
            let wide = instruction.access.width == 16;
            for (index, &(lane, old)) in lanes.iter().enumerate() {
                let low = if wide { 2 * (index & 1) } else { 0 };
                self.words[low].0[lane as usize] = old as u32;
                self.words[low + 1].0[lane as usize] = (old >> 32) as u32;
            }
            sm.deliver(instruction.warp, &instruction.access, waiter.lanes, &self.words);
        }
        self.served(waiter.instruction, sm);
    }
}
