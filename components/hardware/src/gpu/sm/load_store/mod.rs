//! The load-store unit: memory instructions in the order of their issue, one transaction a cycle.
//!
//! Shared memory is read and written here at once, in one cycle for each way of its bank conflict; constants are looked
//! up here in their cache, and texels in theirs. Accesses to global and local memory are coalesced into lines and pass
//! the L1's pipeline in order; there loads look up their line, stores evict it and go to memory, and atomics and
//! volatile loads invalidate it and go to memory. Accesses that must wait for memory wait in the misses of the caches
//! or in the table of accesses that bypass the L1.

mod coalescer;
mod constants;
mod in_flight;
mod l1;
mod l1_policies;
mod lines;
mod local;
mod peek;
mod queue;
mod replay;
mod shared_memory;
mod sm_context;
mod textures;
mod tlb;

use counterpoint_framework::kernel::{Fault, In, Out};
use counterpoint_framework::model::Invalid;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::memory::{MemReply, MemRequest, MemResult, SECTOR_BYTES};
use counterpoint_protocols::translation::{MmuReply, MmuRequest, RangeClaim};
use counterpoint_ptx::{Access, Row, Space};

use crate::gpu::sm::answer::Answer;
use crate::gpu::sm::operands::collector::Operands;
use crate::gpu::sm::params::{Coalescing, SharedAtomics, SmParams};
use crate::gpu::sm::read_cache::ReadCache;
use crate::gpu::sm::scheduler::L1Lookup;
use crate::gpu::sm::stats::TlbStats;
use crate::memory::cache::replacement::Replacement;
use crate::memory::table::Table;
use in_flight::{InFlight, Waiter};
use l1::L1;
pub(super) use l1_policies::L1Policies;
pub(super) use local::translate as to_local;
pub(super) use peek::Pending;
use queue::{Queue, Work};
use replay::{Replays, Rest};
pub use shared_memory::SharedBanks;
pub(super) use shared_memory::{access as shared_access, word as shared_word};
pub(super) use sm_context::SmContext;
use tlb::Tlb;

/// From the arrival of a load's last value to its register.
const TO_REGISTER: u64 = 2;

/// News of the MMU for blocks and warps.
pub(super) enum PageNews {
    /// A page may be accessed now.
    Granted(u64),
    /// A claim of the block in this place has been noted.
    Claimed(usize),
}

/// Time that an instruction took of the unit, and the rest of its work.
struct Taken {
    cycles: u64,
    rest: Option<Work>,
}

impl Taken {
    /// The instruction is complete.
    fn all(cycles: u64) -> Self {
        Taken { cycles, rest: None }
    }

    /// The instruction has more to do; `cycles` of 0: nothing could be done.
    fn part(cycles: u64, rest: Work) -> Self {
        Taken { cycles, rest: Some(rest) }
    }
}

/// The load-store unit with its L1.
pub(super) struct LoadStore {
    queue: Queue,
    /// The unit takes the next transaction in this cycle.
    free: u64,
    /// Whether the L1's pipeline is blocked until memory or the MMU answers, or gives credit.
    blocked: bool,
    /// Whether the unit is stalled for lack of credit.
    out_of_credit: bool,
    /// The unit is blocked until the cache of constants, or that of texels, has an answer.
    starved: bool,
    /// Before this cycle a step would do nothing, unless an instruction or an answer arrives.
    due: u64,
    l1: L1,
    constants: ReadCache<Waiter>,
    /// Count of copies to constant memory when the cache last dropped its lines.
    constant_writes: u32,
    textures: ReadCache<Waiter>,
    tlb: Option<Tlb>,
    instructions: Table<InFlight>,
    /// Accesses to global and local memory that have been issued.
    issued: u64,
    /// Accesses that others pass, if they may.
    replays: Option<Replays>,
    bypasses: Table<Waiter>,
    coalescing: Coalescing,
    shared_latency: u64,
    banks: SharedBanks,
    /// Cycles of one round of a locked atomic on shared memory, without its load. `None`: the banks do atomics themselves.
    lock_round: Option<u64>,
    /// The last cycle in which a value of memory reached a register: one does in a cycle.
    delivered: u64,
    /// Lookups of the L1 that the warp schedulers have not been told of, if they listen.
    heard: Option<Vec<L1Lookup>>,
    /// Loaded words on their way to registers. Words of lanes that a load does not serve have no meaning.
    words: Box<[Row; 4]>,
    /// Accesses that nothing uses; they move by pointer between here and the instructions.
    #[allow(clippy::vec_box, reason = "an access is 800 bytes and moves often")]
    spare: Vec<Box<Access>>,
}

impl LoadStore {
    pub(super) fn new(params: &SmParams) -> Result<Self, Invalid> {
        Ok(LoadStore {
            queue: Queue::new(params),
            free: 0,
            blocked: false,
            out_of_credit: false,
            starved: false,
            due: u64::MAX,
            l1: L1::new(&params.l1d)?,
            constants: ReadCache::new(&params.l1c, Answer::Constant)?,
            constant_writes: 0,
            textures: ReadCache::new(&params.l1t, Answer::Texture)?,
            tlb: Tlb::new(&params.tlb)?,
            instructions: Table::default(),
            issued: 0,
            replays: params.replay.then(|| Replays::new(params.threads as usize / 32)),
            bypasses: Table::default(),
            coalescing: params.coalescing,
            shared_latency: params.shared_latency.get(),
            banks: SharedBanks::new(params),
            lock_round: (params.shared_atomics == SharedAtomics::Locks)
                .then(|| params.shared_lock_round.get()),
            delivered: 0,
            heard: None,
            words: Box::new([Row::ZERO; 4]),
            spare: Vec::new(),
        })
    }

    /// Whether another memory instruction can be issued in a part of the SM.
    #[inline]
    pub(super) fn has_room(&self, core: usize) -> bool {
        self.queue.has_room(core)
    }

    /// Whether a step in a cycle may have something to do.
    #[inline(always)]
    pub(super) fn is_due(&self, cycle: u64) -> bool {
        self.due <= cycle
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

    pub(super) fn translates(&self) -> bool {
        self.tlb.is_some()
    }

    /// Whether a question to the MMU waits for credit.
    #[inline]
    pub(super) fn wants_to_ask(&self) -> bool {
        self.tlb.as_ref().is_some_and(Tlb::wants_credit)
    }

    /// Takes an answer of the MMU; returns the news for the rest of the SM.
    #[inline]
    pub(super) fn take_page(&mut self, mmu: &mut In<MmuReply>) -> Option<PageNews> {
        let tlb = self.tlb.as_mut()?;
        match mmu.try_recv()? {
            MmuReply::Page { page, launch, granted: true } => {
                tlb.fill(page, launch);
                (launch != LaunchId(0)).then_some(PageNews::Granted(page))
            }
            MmuReply::Page { granted: false, .. } => None,
            MmuReply::Claimed { tag } => Some(PageNews::Claimed(tag as usize)),
        }
    }

    /// The pages of an access that have not been granted to its launch, by the rule for issue.
    pub(super) fn missing_pages(&mut self, access: &Access, kernel: LaunchId, stats: &TlbStats) -> Vec<u64> {
        match &mut self.tlb {
            Some(tlb) if tlb.issue_rule => tlb.missing(access, kernel, stats),
            _ => Vec::new(),
        }
    }

    /// Sends a block's claim of a range, or its release.
    pub(super) fn claim_range(&mut self, claim: RangeClaim) {
        if let Some(tlb) = &mut self.tlb {
            tlb.claim(claim);
        }
    }

    /// Sends the MMU questions.
    #[inline]
    pub(super) fn ask(&mut self, mmu: &mut Out<MmuRequest>) {
        if let Some(tlb) = &mut self.tlb {
            tlb.send(mmu);
        }
    }

    /// Sets the policies of the L1 data cache.
    pub(in crate::gpu::sm) fn equip(&mut self, replacement: Box<dyn Replacement>, policies: L1Policies) {
        self.l1.equip(replacement, policies);
    }

    /// Notes lookups of the L1 from now on.
    pub(in crate::gpu::sm) fn hear(&mut self) {
        self.heard = Some(Vec::new());
    }

    /// Lookups of the L1 since the last call.
    pub(in crate::gpu::sm) fn heard(&mut self) -> impl Iterator<Item = L1Lookup> {
        self.heard.iter_mut().flat_map(|heard| heard.drain(..))
    }

    /// Another launch begins on the SM; returns whether the L1 has invalidated everything for it.
    pub(super) fn launch_changed(&mut self, now: SimTime) -> bool {
        self.textures.launch_changed(now);
        self.constants.launch_changed(now);
        // Memory behind a texture may have been written by the launch before.
        self.textures.invalidate();
        self.replays.iter_mut().for_each(Replays::room_made);
        self.due = 0;
        self.l1.launch_changed()
    }

    /// A launch begins; copies have written constant memory a number of times before it. Launches that run side by side may begin in any
    /// order.
    pub(super) fn constants_written(&mut self, times: u32) {
        if times > self.constant_writes {
            self.constant_writes = times;
            self.constants.invalidate();
        }
    }

    /// From now on lines in the L1, or requested for it, answer no load, if memory may hold something else.
    pub(super) fn acquire(&mut self) {
        self.l1.acquire();
        self.replays.iter_mut().for_each(Replays::room_made);
        self.due = 0;
    }

    pub(super) fn empty_access(&mut self) -> Box<Access> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a load of a kernel parameter at an address; without one, if no lane takes part.
    pub(super) fn push_parameter(
        &mut self,
        place: (u32, u32),
        address: Option<u64>,
        operands: Operands,
        sm: &mut SmContext<'_>,
    ) {
        self.enqueue(place, Work::Parameter(address), operands, sm);
    }

    /// Takes a load of a word of shared memory, the same for all lanes.
    pub(super) fn push_poll(
        &mut self,
        place: (u32, u32),
        address: u32,
        operands: Operands,
        sm: &mut SmContext<'_>,
    ) {
        self.enqueue(place, Work::Poll(address), operands, sm);
    }

    /// Takes a memory instruction, whose pages are known already if it is `translated`.
    pub(super) fn push(
        &mut self,
        (warp, translated): (u32, bool),
        access: Box<Access>,
        operands: Operands,
        sm: &mut SmContext<'_>,
    ) {
        let (pc, lanes, space) = (access.pc, access.mask, access.space);
        let work = if space == Space::Shared {
            Work::Shared(access)
        } else {
            let is_const = space == Space::Const;
            let epoch = (!is_const).then(|| sm.cta(warp).drain.begin());
            self.issued += 1;
            let instruction = InFlight {
                order: self.issued,
                epoch,
                translated,
                ..InFlight::new(warp, access, Some(sm.cycle))
            };
            let index = self.instructions.insert(instruction);
            if is_const { Work::Constant(index, lanes) } else { Work::Lines(index, lanes, 0) }
        };
        self.enqueue((warp, pc), work, operands, sm);
    }

    /// The warp waits for an instruction that goes into the queue.
    fn enqueue(&mut self, (warp, pc): (u32, u32), work: Work, operands: Operands, sm: &mut SmContext<'_>) {
        sm.expect(warp);
        let core = sm.warps.core(warp);
        self.due = 0;
        let places = (&mut *sm.registers, &mut *sm.collectors);
        self.queue.push((warp, pc), work, (core, operands), places, sm.cycle);
    }

    /// An instruction whose values memory has brought, if it wants any, is done.
    fn retire(&mut self, warp: u32, access: Box<Access>, since: Option<u64>, sm: &mut SmContext<'_>) {
        if access.wants_value {
            self.delivered = (self.delivered + 1).max(sm.cycle + TO_REGISTER);
            sm.write_back(warp, access.pc, since, self.delivered);
        }
        self.end(warp, access, sm);
    }

    /// An access has been performed: nothing waits for it any longer.
    fn end(&mut self, warp: u32, access: Box<Access>, sm: &mut SmContext<'_>) {
        sm.acquired(warp, &access);
        sm.done(warp);
        self.spare.push(access);
    }

    /// Cycle after this one in which the unit next has work of its own.
    #[inline(always)]
    pub(super) fn next(&self, cycle: u64) -> Option<u64> {
        let next = self.next_work();
        (next != u64::MAX).then(|| next.max(cycle + 1))
    }

    /// Makes the next transaction and the next lookup, if they can be made in this cycle.
    #[inline]
    pub(super) fn step(&mut self, memory: &mut Out<MemRequest>, sm: &mut SmContext<'_>) -> Result<(), Fault> {
        let cycle = sm.cycle;
        if self.free <= cycle && !self.starved {
            let fits = self.l1.has_room() || !self.queue.has_line();
            let queued = fits && self.queue.ready().is_some_and(|ready| ready <= cycle);
            if self.replays.is_some() {
                self.transact_in_turn(queued, sm)?;
            } else if queued {
                self.transact(sm)?;
            }
        }
        (self.blocked, self.out_of_credit) = (self.l1.is_stuck(), false);
        let arrived = !self.blocked && self.l1.next().is_some_and(|ready| ready <= cycle);
        if self.replays.is_some() {
            self.look_up_in_turn(arrived, memory, sm);
        } else if arrived {
            self.look_up_first(memory, sm);
        }
        if self.wants_credit() {
            self.send(memory);
        }
        let blocked = self.is_blocked();
        sm.sim.stats.lsu_stalls.add(blocked.into());
        // Credit, and translations of the MMU, come without an event here.
        let asks = self.wants_credit() || self.blocked && !self.l1.is_stuck();
        self.due = if asks { cycle + 1 } else { self.next_work().max(cycle + 1) };
        Ok(())
    }

    /// Sends the requests that have not left, as far as there is credit.
    #[inline(never)]
    fn send(&mut self, memory: &mut Out<MemRequest>) {
        self.l1.write_back(memory);
        self.constants.send(memory);
        self.textures.send(memory);
    }

    /// The cycle in which a transaction or a lookup can be made, if none of them waits for an event; or the last of all cycles.
    #[inline(always)]
    fn next_work(&self) -> u64 {
        let mut next = u64::MAX;
        if let Some(ready) = self.queue.ready()
            && !self.starved
            && (self.l1.has_room() || !self.queue.has_line())
        {
            next = ready.max(self.free);
        }
        if let Some(ready) = self.l1.next()
            && !self.blocked
        {
            next = next.min(ready);
        }
        match &self.replays {
            Some(replays) => self.next_replay(replays).min(next),
            None => next,
        }
    }

    /// The cycle in which an access that is replayed goes on, if none of them waits for an event; or the last of all cycles.
    fn next_replay(&self, replays: &Replays) -> u64 {
        if replays.has_ready(&self.l1) && !self.blocked {
            return 0;
        }
        if self.l1.has_room() && !self.starved && replays.has_rest() { self.free } else { u64::MAX }
    }

    /// Makes the next transaction of an access that is replayed, or executes the next step of the first instruction, if it is `queued`; in
    /// turn, if there are both.
    #[inline(never)]
    fn transact_in_turn(&mut self, queued: bool, sm: &mut SmContext<'_>) -> Result<(), Fault> {
        let Some(replays) = &mut self.replays else { return Ok(()) };
        let is_next = self.l1.has_room() && !(queued && replays.queue_is_next);
        if let Some(Rest { instruction, lanes, part }) = is_next.then(|| replays.take_rest()).flatten() {
            replays.queue_is_next = true;
            let Taken { cycles, rest } = self.lines(instruction, lanes, part, sm);
            self.free = sm.cycle + cycles;
            self.replay_rest(rest);
        } else if queued {
            replays.queue_is_next = false;
            self.transact(sm)?;
        }
        Ok(())
    }

    /// The lines that are left of an access take turns with other accesses.
    fn replay_rest(&mut self, rest: Option<Work>) {
        if let (Some(replays), Some(Work::Lines(instruction, lanes, part))) = (&mut self.replays, rest) {
            replays.add_rest(Rest { instruction, lanes, part }, &mut self.instructions);
        }
    }

    /// Executes the next step of the first instruction. Most steps have nothing to do for it, and are inlined into the SM's.
    #[inline(never)]
    fn transact(&mut self, sm: &mut SmContext<'_>) -> Result<(), Fault> {
        let Some(first) = self.queue.first() else { return Ok(()) };
        let (place, since) = ((first.warp, first.pc), first.since);
        let work = std::mem::replace(&mut first.work, Work::Parameter(None));
        let Taken { cycles, rest } = match work {
            Work::Parameter(line) => self.parameter(place, line, sm),
            Work::Shared(access) => self.shared(access, (place.0, since), sm)?,
            Work::Poll(address) => self.poll(place, since, address, sm),
            Work::Constant(index, lanes) => self.constant(index, lanes, sm),
            Work::Texels(index, line) => self.texels(index, line, sm)?,
            Work::Lines(index, lanes, part) => self.lines(index, lanes, part, sm),
        };
        self.free = sm.cycle + cycles;
        match rest {
            Some(rest) if self.replays.is_none() || !matches!(rest, Work::Lines(..)) => {
                self.queue.continue_first(rest);
            }
            rest => {
                self.replay_rest(rest);
                self.queue.pop((&mut *sm.registers, &mut *sm.collectors), self.free - 1);
            }
        }
        Ok(())
    }

    /// Takes an answer of memory.
    pub(super) fn reply(&mut self, reply: MemReply, sm: &mut SmContext<'_>) -> Result<(), Fault> {
        self.due = 0;
        let MemReply { line, tag, result, far, .. } = reply;
        let bytes = u64::from(far) * SECTOR_BYTES;
        match (Answer::of(tag), result) {
            (Answer::Store(warp, epoch), _) => {
                sm.cta(warp).counts.memory_bytes += bytes;
                sm.cta(warp).drain.end(epoch);
                sm.done(warp);
            }
            (Answer::WriteBack, _) => sm.sim.stats.l1_write_backs.add(1),
            (Answer::Miss(miss), MemResult::Line(mask, data)) => {
                self.fill_l1(miss, (line, mask, bytes), &data, sm);
                self.replays.iter_mut().for_each(Replays::room_made);
            }
            (Answer::Constant(miss), MemResult::Line(mask, data)) => {
                self.starved = false;
                let mut waiting = self.constants.fill(miss, mask, &data);
                for waiter in waiting.drain(..) {
                    self.fill(waiter, line, &data, sm);
                }
                self.constants.give_back(waiting);
            }
            (Answer::Texture(miss), MemResult::Line(mask, data)) => {
                return self.fill_texels(miss, mask, &data, sm);
            }
            (Answer::Bypass(place), result) => {
                let waiter = self.bypasses.take(place);
                let warp = self.instructions.get(waiter.instruction).warp;
                sm.cta(warp).counts.memory_bytes += bytes;
                match result {
                    MemResult::Line(_, data) => self.fill(waiter, line, &data, sm),
                    MemResult::Old(lanes) => self.atomic_result(waiter, &lanes, sm),
                    MemResult::Written(_) => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
