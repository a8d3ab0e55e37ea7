//! The L1 data cache: a pipeline of transactions in order, and the lookup at its end.
//!
//! Loads look up their line; stores are written through and evict it; volatile loads, atomics and, where the cache is
//! bypassed, all global accesses pass it by and forget the line. These enter the pipeline at its end, so that nothing
//! overtakes an older access of its warp.

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Out, Permit};
use counterpoint_framework::model::Invalid;
use counterpoint_protocols::memory::{
    AtomicLane, ByteMask, LINE_BYTES, Label, Line, MemAccess, MemRequest, sectors,
};
use counterpoint_ptx::{Access, AccessKind, CacheOperator, Row};

use super::in_flight::{Answer, Table, Waiter};
use crate::gpu::sm::params::{GlobalLoads, L1Flush, L1Params};
use crate::memory::cache::{Cache, CacheParams};

/// The part of an instruction that touches one line.
#[derive(Clone, Copy)]
pub(super) struct Transaction {
    pub(super) instruction: u32,
    pub(super) lanes: u32,
    line: u64,
    /// The cycle of its lookup.
    ready: u64,
}

/// What a lookup came to.
pub(super) enum Outcome {
    /// It must wait for a credit, a miss entry or a way.
    Blocked,
    /// The values are there.
    Hit,
    /// The line is on its way already.
    Joined,
    /// The line has been asked for.
    Missed,
    /// The request has left, past the cache.
    Bypassed,
    /// The store has left.
    Stored,
}

/// The L1 data cache.
pub(super) struct L1 {
    pipeline: VecDeque<Transaction>,
    latency: u64,
    bypass: bool,
    cache: Cache<Waiter>,
    flush: L1Flush,
}

impl L1 {
    pub(super) fn new(params: &L1Params) -> Result<Self, Invalid> {
        let cache = CacheParams {
            capacity: params.capacity,
            ways: params.ways,
            mshrs: params.mshrs,
            merges: params.merges,
            set_index: params.set_index,
        };
        Ok(L1 {
            pipeline: VecDeque::new(),
            latency: params.latency.get(),
            bypass: params.global == GlobalLoads::Bypass,
            cache: Cache::new(&cache)?,
            flush: params.flush,
        })
    }

    /// Another launch begins here.
    pub(super) fn launch_changed(&mut self) {
        if self.flush == L1Flush::LaunchChange {
            self.cache.invalidate_all();
        }
    }

    /// Whether another transaction can enter.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.pipeline.len() < self.latency as usize
    }

    /// When the first transaction looks up its line.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        self.pipeline.front().map(|transaction| transaction.ready)
    }

    /// Takes a transaction of an instruction into the pipeline; gives the cycles for which it occupies the load-store
    /// unit: one, and past the cache one a sector.
    #[inline]
    pub(super) fn enter(
        &mut self,
        instruction: u32,
        access: &Access,
        line: u64,
        lanes: u32,
        cycle: u64,
    ) -> u64 {
        let past = self.passes(access);
        let ready = cycle + if past { 0 } else { self.latency };
        self.pipeline.push_back(Transaction { instruction, lanes, line, ready });
        if self.bypass && past { sectors(access.bytes_within(lanes, line)).into() } else { 1 }
    }

    /// The transaction at the end of the pipeline.
    #[inline]
    pub(super) fn first(&self) -> Option<Transaction> {
        self.pipeline.front().copied()
    }

    /// The transaction at the end of the pipeline has been looked up.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.pipeline.pop_front();
    }

    /// Whether an access must not be answered from here.
    fn passes(&self, access: &Access) -> bool {
        let global = self.bypass && access.cache != CacheOperator::All;
        global
            || access.volatile
            || access.cache == CacheOperator::Global
            || matches!(access.kind, AccessKind::Atomic(..))
    }

    /// Looks up the transaction at the end of the pipeline, which belongs to this access of a warp. The values of a hit
    /// are left in `words`.
    pub(super) fn look_up(
        &mut self,
        access: &Access,
        warp: u32,
        (kernel, stream): (u32, u32),
        memory: &mut Out<MemRequest>,
        bypasses: &mut Table<Waiter>,
        words: &mut [Row; 4],
    ) -> Outcome {
        let Some(Transaction { instruction, lanes, line, .. }) = self.first() else {
            return Outcome::Blocked;
        };
        let waiter = Waiter { instruction, lanes };
        let send = |permit: Permit<'_, MemRequest>, answer: Answer, access: MemAccess| {
            let label = Label { kernel, stream };
            permit.send(MemRequest { line, tag: answer.tag(), client: 0, label, access });
        };
        if access.kind == AccessKind::Store {
            let Some(permit) = memory.try_reserve() else { return Outcome::Blocked };
            let (mut data, mut mask) = ([0; LINE_BYTES as usize], 0);
            access.scatter(lanes, line, &mut data, &mut mask);
            self.forget(line);
            send(permit, Answer::Store(warp), MemAccess::Write(mask, data));
            return Outcome::Stored;
        }
        if self.passes(access) {
            let Some(permit) = memory.try_reserve() else { return Outcome::Blocked };
            self.forget(line);
            send(permit, Answer::Bypass(bypasses.insert(waiter)), past(access, lanes, line));
            return Outcome::Bypassed;
        }
        let index = line / LINE_BYTES;
        if let Some(way) = self.cache.find(line, index) {
            if self.cache.is_pending(way) {
                let joined = self.cache.join_miss(way, waiter).is_ok();
                return if joined { Outcome::Joined } else { Outcome::Blocked };
            }
            self.cache.touch(way);
            access.gather(lanes, line, self.cache.data(way), words);
            return Outcome::Hit;
        }
        if !self.cache.has_free_miss() {
            return Outcome::Blocked;
        }
        let Some(permit) = memory.try_reserve() else { return Outcome::Blocked };
        let Some((way, _)) = self.cache.allocate(line, index) else { return Outcome::Blocked };
        let miss = self.cache.begin_miss(way, waiter);
        send(permit, Answer::Miss(miss), MemAccess::Read(ByteMask::MAX));
        Outcome::Missed
    }

    /// Evicts a line. A miss that is under way for it serves those that wait already and nobody else.
    fn forget(&mut self, line: u64) {
        if let Some(way) = self.cache.find(line, line / LINE_BYTES) {
            self.cache.invalidate(way);
        }
    }

    /// A line has come; gives those that waited for it.
    pub(super) fn fill(&mut self, miss: u32, mask: ByteMask, data: &Line) -> Vec<Waiter> {
        self.cache.end_miss(miss, mask, data).1
    }

    /// Takes back the list of those that waited, for another miss.
    pub(super) fn give_back(&mut self, list: Vec<Waiter>) {
        self.cache.give_back(list);
    }
}

/// What lanes ask of a line past the cache.
fn past(access: &Access, lanes: u32, line: u64) -> MemAccess {
    let AccessKind::Atomic(operation, kind) = access.kind else {
        return MemAccess::Read(access.bytes_within(lanes, line));
    };
    let each = (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane: u8| {
        let (operand, swap) = access.atomic_operands(lane as usize);
        let offset = (access.addresses[lane as usize] - line) as u8;
        AtomicLane { lane, offset, operation, kind, operand, swap }
    });
    MemAccess::Atomic(each.collect())
}
