//! The L1 data cache: a pipeline of transactions in order, and the lookup at its end.
//!
//! Loads look up their line; stores to global memory go to memory and evict the line, unless a policy keeps it; volatile loads, atomics
//! and, where the cache is bypassed, all global accesses bypass it and invalidate the line. These enter the pipeline at its end, so that
//! nothing overtakes an older access of its warp. Stores to local memory, which nobody else sees, stay here until their line is evicted.

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Out, Permit};
use counterpoint_framework::model::Invalid;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::memory::{
    AtomicLane, AtomicOperation, AtomicType, ByteMask, Label, Line, MemAccess, MemRequest, fresh_at, line_of,
    sectors,
};
use counterpoint_protocols::values::Values;
use counterpoint_ptx::{Access, AccessKind, CacheOperator, Row, Space};

use super::in_flight::Waiter;
use super::l1_policies::L1Policies;
use super::local;
use crate::gpu::sm::answer::Answer;
use crate::gpu::sm::params::{L1Flush, L1Params, LocalStores};
use crate::gpu::sm::scheduler::L1Result;
use crate::memory::cache::replacement::Replacement;
use crate::memory::cache::{Cache, CacheParams, Evicted, Found, LineSize, WayId};
use crate::memory::table::Table;

/// The part of an instruction that touches one line, or half of a line of 256 bytes.
#[derive(Clone, Copy)]
pub(super) struct Transaction {
    pub(super) instruction: u32,
    /// The place of its instruction in the order of issue.
    pub(super) order: u64,
    writes: bool,
    pub(super) lanes: u32,
    /// Index of the lanes' word, in local memory.
    pub(super) part: u32,
    pub(super) line: u64,
    /// The cycle of its lookup.
    pub(super) ready: u64,
    /// Whether the page of the transaction is translated.
    pub(super) translated: bool,
}

/// Result of a lookup.
pub(super) enum Outcome {
    /// The transaction must wait for a credit.
    NoCredit,
    /// The transaction must wait for an answer, which frees a miss entry or a way.
    Blocked,
    Hit,
    /// The line is on its way already.
    Joined,
    /// The line has been requested.
    Missed,
    /// The request has left, past the cache.
    Bypassed,
    /// The line is not here, and the request has left for the bytes of the load alone.
    PassedBy,
    Stored,
    /// The store has been done here.
    Kept,
}

impl Outcome {
    /// The result of a load's lookup; none of an access that has made none.
    pub(super) fn of_lookup(&self) -> Option<L1Result> {
        match self {
            Outcome::Hit => Some(L1Result::Hit),
            Outcome::Joined => Some(L1Result::Pending),
            Outcome::Missed | Outcome::PassedBy => Some(L1Result::Miss),
            _ => None,
        }
    }

    /// In words, for the log.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Outcome::NoCredit => "no credit for",
            Outcome::Blocked => "no room for",
            Outcome::Hit => "hit",
            Outcome::Joined => "pending hit",
            Outcome::Missed => "miss",
            Outcome::Bypassed => "passed by",
            Outcome::PassedBy => "miss that passes by",
            Outcome::Stored => "store through",
            Outcome::Kept => "store",
        }
    }
}

/// The cause that blocks the transaction at the end of the pipeline. Without it every step would look for a free way again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stuck {
    /// The transaction can continue, or has not been looked up.
    No,
    /// All misses are under way: until one ends.
    ByMisses,
    /// The set of the line at this address has no way that is free, or no more accesses can wait for its miss: until a miss ends there.
    InSet(u64),
}

/// The L1 data cache.
pub(super) struct L1 {
    pipeline: VecDeque<Transaction>,
    /// Transactions in the pipeline that write.
    writes: usize,
    latency: u64,
    bypass: bool,
    pub(super) cache: Cache<Waiter>,
    flush: L1Flush,
    allocates: bool,
    /// A line has been requested since everything was invalidated.
    pub(super) has_read: bool,
    /// The instant from which on lines that are requested must be known: that of the first lookup after a launch or an acquire.
    pub(super) fresh: SimTime,
    /// A launch has begun or an acquire has been done since.
    is_stale: bool,
    stuck: Stuck,
    /// Requests that have not left: evicted lines of local memory, and the request for the other half of a line.
    pub(super) leaving: VecDeque<MemRequest>,
    /// Time at which each way was filled.
    pub(super) filled: Vec<SimTime>,
    pub(super) policies: L1Policies,
}

impl L1 {
    pub(super) fn new(params: &L1Params) -> Result<Self, Invalid> {
        if params.write.name() == "back" {
            return Err("l1d.write: an L1 writes `through` or `around`: other SMs and copies would not see what stays here".into());
        }
        let cache = CacheParams {
            capacity: params.capacity,
            ways: params.ways,
            line: params.line,
            mshrs: params.mshrs,
            merges: params.merges,
            set_index: params.set_index,
        };
        let cache = Cache::new(&cache)?;
        Ok(L1 {
            filled: vec![SimTime::ZERO; cache.ways()],
            pipeline: VecDeque::new(),
            writes: 0,
            latency: params.latency.get(),
            bypass: params.is_bypassed(),
            cache,
            flush: params.flush,
            allocates: params.local_stores == LocalStores::Allocate,
            has_read: false,
            fresh: SimTime::ZERO,
            is_stale: false,
            stuck: Stuck::No,
            leaving: VecDeque::new(),
            policies: L1Policies::default(),
        })
    }

    /// The size of its lines.
    #[inline]
    pub(super) fn size(&self) -> LineSize {
        self.cache.size()
    }

    /// Sets the policies.
    pub(super) fn equip(&mut self, replacement: Box<dyn Replacement>, policies: L1Policies) {
        self.cache.replace_by(replacement);
        self.policies = policies;
    }

    /// Whether loads are to be noted for a prefetcher.
    #[inline]
    pub(super) fn has_prefetcher(&self) -> bool {
        self.policies.prefetches.is_some()
    }

    /// Another launch begins on the SM; returns whether the lines that the last launch read are invalidated. Lines of local
    /// memory are kept: their warps may still run.
    pub(super) fn launch_changed(&mut self) -> bool {
        self.is_stale = true;
        let flushes = self.flush == L1Flush::LaunchChange;
        if flushes {
            self.stuck = Stuck::No;
            self.cache.invalidate_clean();
        }
        flushes
    }

    /// Invalidates all data that memory also holds: it may be older than the data that an acquire has seen. A miss under way serves
    /// only accesses that wait already. Local memory's dirty lines stay.
    pub(super) fn acquire(&mut self) {
        self.is_stale = true;
        if std::mem::take(&mut self.has_read) {
            self.stuck = Stuck::No;
            self.cache.invalidate_clean();
        }
    }

    /// Whether another transaction can enter. It does so before the one that is at the end leaves.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.pipeline.len() <= self.latency as usize
    }

    /// Cycle in which the first transaction looks up its line.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        self.pipeline.front().map(|transaction| transaction.ready)
    }

    /// Takes a transaction of an instruction, which waits for a line, into the pipeline; gives the cycles for which it
    /// occupies the load-store unit: one, and past the cache one a sector.
    #[inline]
    pub(super) fn enter(
        &mut self,
        waiter: Waiter,
        (access, order): (&Access, u64),
        (line, translated): (u64, bool),
        cycle: u64,
    ) -> u64 {
        let Waiter { instruction, lanes, part } = waiter;
        let past = self.passes(access);
        let ready = cycle + if past { 0 } else { self.latency };
        let writes = access.kind != AccessKind::Load;
        self.writes += usize::from(writes);
        self.pipeline.push_back(Transaction {
            instruction,
            order,
            writes,
            lanes,
            part,
            line,
            ready,
            translated,
        });
        if self.bypass && past { sectors(access.bytes_within(lanes, line_of(line))).into() } else { 1 }
    }

    /// The transaction at the end of the pipeline.
    #[inline]
    pub(super) fn first(&self) -> Option<Transaction> {
        self.pipeline.front().copied()
    }

    /// Whether a transaction in the pipeline writes.
    pub(super) fn has_writes(&self) -> bool {
        self.writes > 0
    }

    /// The transactions in the pipeline.
    pub(super) fn pipeline(&self) -> impl Iterator<Item = &Transaction> {
        self.pipeline.iter()
    }

    /// Whether the transaction at the end of the pipeline would be blocked again: it was blocked, and its cause has not
    /// changed.
    #[inline]
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck != Stuck::No
    }

    /// The transaction at the end of the pipeline has been blocked.
    pub(super) fn get_stuck(&mut self) {
        let line = self.first().map_or(0, |transaction| transaction.line);
        self.stuck = if self.cache.has_free_miss() { Stuck::InSet(line) } else { Stuck::ByMisses };
    }

    /// Whether another line may be requested.
    #[inline]
    pub(super) fn has_free_miss(&self) -> bool {
        self.cache.has_free_miss()
    }

    /// The page of the transaction at the end of the pipeline has been translated, if it is this one.
    pub(super) fn is_translated(&mut self, instruction: u32, line: u64) {
        if let Some(first) = self.pipeline.front_mut()
            && (first.instruction, first.line) == (instruction, line)
        {
            first.translated = true;
        }
    }

    /// The transaction at the end of the pipeline has been looked up.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.writes -= usize::from(self.pipeline.pop_front().is_some_and(|first| first.writes));
    }

    /// Whether an access must not be answered from here.
    fn passes(&self, access: &Access) -> bool {
        let global = self.bypass && access.cache != CacheOperator::All;
        access.space == Space::Global
            && (global
                || access.volatile
                || access.cache == CacheOperator::Global
                || matches!(access.kind, AccessKind::Atomic(..)))
    }

    /// Looks up a transaction now, which belongs to this access of a warp; `store` is the answer to a store of it. The values of a hit are
    /// left in `words`, those of local memory in the access.
    pub(super) fn look_up(
        &mut self,
        transaction: Transaction,
        access: &mut Access,
        (store, label, now): (Answer, Label, SimTime),
        memory: &mut Out<MemRequest>,
        bypasses: &mut Table<Waiter>,
        words: &mut [Row; 4],
    ) -> Outcome {
        if std::mem::take(&mut self.is_stale) {
            self.fresh = now;
        }
        let Transaction { instruction, lanes, part, line, .. } = transaction;
        // Nothing overtakes a line on its way to memory: it may be the line that is wanted.
        self.write_back(memory);
        if !self.leaving.is_empty() {
            return Outcome::NoCredit;
        }
        let waiter = Waiter { instruction, lanes, part };
        if access.space == Space::Local {
            if access.kind == AccessKind::Store {
                return self.store_local(access, waiter, line, (store, label), memory);
            }
            return match self.load(line, local::bytes(access, lanes), waiter, label, memory) {
                Ok(way) => {
                    local::gather(access, part, lanes, self.cache.data(way));
                    Outcome::Hit
                }
                Err(outcome) => outcome,
            };
        }
        let base = line_of(line);
        if access.kind == AccessKind::Store {
            let Some(permit) = memory.try_reserve() else { return Outcome::NoCredit };
            let (mut data, mut mask) = (Values::zero(), 0);
            access.scatter(lanes, base, &mut data[..], &mut mask);
            if self.policies.write.is_none() {
                self.invalidate(line);
            } else {
                self.write(line, (mask, &data), label, now);
            }
            send(permit, (line, label, now), store, MemAccess::Write(mask, data));
            return Outcome::Stored;
        }
        if self.passes(access) {
            let Some(permit) = memory.try_reserve() else { return Outcome::NoCredit };
            self.invalidate(line);
            let answer = Answer::Bypass(bypasses.insert(waiter));
            send(permit, (line, label, now), answer, past(access, lanes, base));
            return Outcome::Bypassed;
        }
        let mut bytes = self.cache.size().bytes_of(line);
        if self.policies.write.is_some() {
            // A line may be valid in part, and the load needs its own bytes alone.
            bytes = access.bytes_within(lanes, base);
            self.prepare(line, bytes);
        }
        if self.policies.bypass.is_some()
            && let Some(outcome) = self.pass_by(access, (waiter, line, label), memory, bypasses)
        {
            return outcome;
        }
        match self.load(line, bytes, waiter, label, memory) {
            Ok(way) => {
                access.gather(lanes, base, self.cache.data(way), words);
                Outcome::Hit
            }
            Err(outcome) => outcome,
        }
    }

    /// Looks up bytes of a line, for a load; returns the way that holds them, or the outcome of the load.
    fn load(
        &mut self,
        line: u64,
        bytes: ByteMask,
        waiter: Waiter,
        label: Label,
        memory: &mut Out<MemRequest>,
    ) -> Result<WayId, Outcome> {
        let way = match self.cache.seek(line, line, bytes) {
            Found::Here(way) => {
                self.cache.touch(way);
                return Ok(way);
            }
            Found::Pending(way) => {
                let joined = self.cache.join_miss(way, waiter).is_ok();
                return Err(if joined { Outcome::Joined } else { Outcome::Blocked });
            }
            Found::Absent(way) => way,
        };
        if !self.cache.has_free_miss() {
            return Err(Outcome::Blocked);
        }
        let Some(permit) = memory.try_reserve() else { return Err(Outcome::NoCredit) };
        let Some(way) = way.or_else(|| self.allocate(line, label)) else { return Err(Outcome::Blocked) };
        let miss = self.cache.begin_miss(way, waiter);
        self.fetch(permit, (line, label), miss);
        self.fetch_rest(way, label);
        Err(Outcome::Missed)
    }

    /// Asks for a line, or for half of one.
    pub(super) fn fetch(&mut self, permit: Permit<'_, MemRequest>, (line, label): (u64, Label), miss: u32) {
        self.has_read = true;
        let access = MemAccess::Read(self.cache.size().bytes_of(line));
        send(permit, (line, label, self.fresh), Answer::Miss(miss), access);
    }

    /// Asks for the other half of a line of 256 bytes, if it has one that is not here; the request leaves with the next credit.
    #[inline]
    pub(super) fn fetch_rest(&mut self, way: WayId, label: Label) {
        if let Some((other, line)) = self.cache.other_half(way) {
            let tag = Answer::Miss(self.cache.begin_prefetch(other)).tag();
            let (fresh, access) = (fresh_at(self.fresh), MemAccess::Read(ByteMask::MAX));
            self.leaving.push_back(MemRequest { line, tag, client: 0, label, fresh, access });
        }
    }

    /// Stores to local memory. Loads that wait for its line wait for its earlier contents.
    fn store_local(
        &mut self,
        access: &Access,
        waiter: Waiter,
        line: u64,
        (store, label): (Answer, Label),
        memory: &mut Out<MemRequest>,
    ) -> Outcome {
        let way = match self.cache.find(line, line) {
            Some(way) if self.cache.is_pending(way) => return Outcome::Blocked,
            Some(way) => {
                self.cache.touch(way);
                Some(way)
            }
            None if self.allocates => self.allocate(line, label),
            None => None,
        };
        let (mask, data) = local::scatter(access, waiter.part, waiter.lanes);
        if let Some(way) = way {
            self.cache.write(way, mask, &data);
            return Outcome::Kept;
        }
        let Some(permit) = memory.try_reserve() else { return Outcome::NoCredit };
        send(permit, (line, label, self.fresh), store, MemAccess::Write(mask, data.into()));
        Outcome::Stored
    }

    /// Allocates a way for a line, if its set has a way that does not wait. The victim is sent with the next credit.
    pub(super) fn allocate(&mut self, line: u64, label: Label) -> Option<WayId> {
        let (way, evicted) = self.cache.allocate(line, line)?;
        self.evict(evicted, label);
        Some(way)
    }

    /// The contents of the evicted line are sent with the next credit.
    #[inline]
    pub(super) fn evict(&mut self, mut evicted: Option<Evicted>, label: Label) {
        while let Some(Evicted { line, dirty, data, rest, .. }) = evicted {
            let (tag, access) = (Answer::WriteBack.tag(), MemAccess::Write(dirty, data));
            self.leaving.push_back(MemRequest { line, tag, client: 0, label, fresh: 0, access });
            evicted = rest.map(|rest| *rest);
        }
    }

    /// Whether a request waits for credit.
    #[inline]
    pub(super) fn wants_credit(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Sends the requests that have not left, as far as there is credit.
    #[inline]
    pub(super) fn write_back(&mut self, memory: &mut Out<MemRequest>) {
        while !self.leaving.is_empty()
            && let Some(permit) = memory.try_reserve()
            && let Some(request) = self.leaving.pop_front()
        {
            permit.send(request);
        }
    }

    /// Evicts a line. A miss under way for it serves only accesses that wait already.
    pub(super) fn invalidate(&mut self, line: u64) {
        if let Some(way) = self.cache.find(line, line) {
            self.cache.invalidate(way);
        }
    }

    /// A line has arrived; returns the way that holds it, if there is one, and the accesses that waited for it.
    pub(super) fn fill(
        &mut self,
        miss: u32,
        (mask, data): (ByteMask, &Line),
        now: SimTime,
    ) -> (Option<WayId>, Vec<Waiter>) {
        let stays = matches!(self.stuck, Stuck::InSet(line) if !self.cache.is_in_set(miss, line));
        if !stays {
            self.stuck = Stuck::No;
        }
        let filled = self.cache.end_miss(miss, mask, data);
        if let Some(way) = filled.0 {
            self.filled[way.index()] = now;
        }
        filled
    }

    /// Time at which a line arrived, if these bytes of it are valid here.
    pub(super) fn filled(&self, line: u64, bytes: ByteMask) -> Option<SimTime> {
        let way = self.cache.find(line, line)?;
        (bytes & !self.cache.valid(way) == 0).then(|| self.filled[way.index()])
    }

    pub(super) fn peek(&self, line: u64) -> Option<(ByteMask, &Line)> {
        let way = self.cache.find(line, line)?;
        Some((self.cache.valid(way), self.cache.data(way)))
    }

    pub(super) fn data(&self, way: WayId) -> &Line {
        self.cache.data(way)
    }

    /// Takes back the list of those that waited, for another miss.
    pub(super) fn give_back(&mut self, list: Vec<Waiter>) {
        self.cache.give_back(list);
    }
}

/// Sends a request about bytes in a line.
pub(super) fn send(
    permit: Permit<'_, MemRequest>,
    (line, label, fresh): (u64, Label, SimTime),
    answer: Answer,
    access: MemAccess,
) {
    let (line, fresh) = (line_of(line), fresh_at(fresh));
    permit.send(MemRequest { line, tag: answer.tag(), client: 0, label, fresh, access });
}

/// Request of lanes for a line, past the cache.
pub(super) fn past(access: &Access, lanes: u32, line: u64) -> MemAccess {
    let AccessKind::Atomic(operation, kind) = access.kind else {
        return MemAccess::Read(access.bytes_within(lanes, line));
    };
    if kind == AtomicType::B128 {
        return MemAccess::Atomic(halves(access, operation, lanes, line));
    }
    let mut parts = Vec::with_capacity(lanes.count_ones() as usize);
    parts.extend((0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane: u8| {
        let (operand, swap) = access.atomic_operands(lane as usize);
        let offset = (access.addresses[lane as usize] - line) as u8;
        AtomicLane { lane, offset, operation, kind, operand, swap }
    }));
    MemAccess::Atomic(parts.into_boxed_slice())
}

/// The parts of an atomic of 128 bits.
#[cold]
fn halves(access: &Access, operation: AtomicOperation, lanes: u32, line: u64) -> Box<[AtomicLane]> {
    let half = |lane: u8, half: u8| {
        let (operand, swap) = access.wide_operands(lane as usize);
        AtomicLane {
            lane,
            offset: (access.addresses[lane as usize] - line) as u8 + 8 * half,
            operation,
            kind: AtomicType::B128,
            operand: (operand >> (64 * half)) as u64,
            swap: (swap >> (64 * half)) as u64,
        }
    };
    let lanes = (0..32).filter(|lane| lanes >> lane & 1 != 0);
    lanes.flat_map(|lane| [half(lane, 0), half(lane, 1)]).collect()
}
