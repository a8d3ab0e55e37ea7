//! Races (`--racecheck`): two accesses to a byte, one of them a write, that happen in no order and are not morally strong with each
//! other (PTX ISA 8, memory consistency model), in shared memory within a block and in global memory within a launch.
//!
//! The order in which a run makes two accesses does not matter. Order comes from:
//!
//! - the program, for a thread; up to sm_6x for a warp, whose threads run in step;
//! - barriers: named ones, those of a warp, and those in memory (`mbarrier`), whose phases order what came before their arrivals. A
//!   warp that has ended counts as arrived wherever all are waited for;
//! - a release that an acquire sees: `st.release` and `ld.acquire`, atomics, and fences before a strong write and behind a strong
//!   read, each in the scope of the other, by way of any atomics in between. What a thread has acquired it releases in turn.
//!
//! The parts: facts about an instruction (`facts`), knowledge of threads about each other (`clock`, `threads`), knowledge that
//! strong writes pass on (`records`), the accesses remembered for a byte (`cells`), the judgement (`judge`), and the reason in words
//! (`reason`).
//!
//! There are no false positives, so where the model leaves a doubt no race is reported:
//!
//! - A write that leaves the bytes as they are races with no other write and no read before it.
//! - A barrier acquires what its threads have read, and hands on what their fences have released; `bar.warp.sync` of any mask is one
//!   of the whole warp. PTX asks for a fence of the same thread, which CUDA's samples do without.
//! - Of threads that have read a byte, or written it strongly, the first and the last are remembered.
//! - A weak load whose value a compare-and-swap expects races with no atomic: the swap finds out whether it was an old one. CUDA's
//!   loops for atomics that the hardware lacks begin so.
//! - The order of `fence.sc` among each other is no order of accesses: a run shows one of several.
//! - Memory of the device library (`malloc`, `printf`) is not checked.
//!
//! Every launch is checked by itself; races between launches are checked by the host.

mod cells;
mod clock;
mod facts;
mod judge;
mod reason;
mod records;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::BTreeMap;

use crate::execute::{Access, AccessKind};
use crate::isa::{AtomicOperation, Space, barrier};
use crate::program::Kernel;
use cells::{Cells, Deed, Mark};
use clock::Clock;
use facts::Fact;
use judge::{Judge, lanes_of, within};
use records::{Record, Records, Side};
use threads::{Arrivals, Group, Threads};

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Race {
    /// The lane of the access under way, and the byte.
    pub(super) lane: u32,
    pub(super) byte: u64,
    /// The other access.
    other: Mark,
    /// Whether both are lanes of one instruction.
    within: bool,
}

/// Facts that all blocks of a launch have in common.
#[derive(Clone, Debug)]
struct Launch {
    facts: Vec<Fact>,
    /// Warps of a block.
    warps: u32,
    /// `%ctaid` of the blocks, in the order in which they began. Their warps are numbered in it.
    blocks: Vec<[u32; 3]>,
    /// Warp and time by the number of an epoch; there is none of number 0.
    epochs: Vec<(u32, u32)>,
    cells: Cells,
    records: Records,
}

impl Launch {
    /// The epoch of a warp at its present time.
    fn epoch(&mut self, threads: &mut Threads) -> u32 {
        if threads.epoch == 0 {
            threads.epoch = self.epochs.len() as u32;
            self.epochs.push((threads.number, threads.time));
        }
        threads.epoch
    }
}

/// The races of a block, and of the launch while the block is at work.
#[derive(Clone, Debug)]
pub(super) struct Races {
    launch: Option<Box<Launch>>,
    in_step: bool,
    /// Number of the block in the launch.
    block: u32,
    warps: Vec<Threads>,
    /// By barrier in shared memory: all arrivals, and those at the end of its last phase.
    phases: BTreeMap<u64, (Arrivals, Arrivals)>,
    /// Warps that have arrived at each barrier, and those that have ended.
    arrived: [Arrivals; 16],
    ended: Arrivals,
    /// Cells of shared memory.
    cells: Cells,
    records: Records,
    found: Vec<Race>,
}

impl Races {
    /// Race detection for blocks of a kernel for this architecture.
    pub(super) fn new(target: u32) -> Self {
        Races {
            launch: None,
            in_step: target < facts::FIRST_TARGET,
            block: 0,
            warps: Vec::new(),
            phases: BTreeMap::new(),
            arrived: Default::default(),
            ended: Arrivals::default(),
            cells: Cells::default(),
            records: Records::default(),
            found: Vec::new(),
        }
    }

    /// Begins another block, with this many warps.
    pub(super) fn begin(&mut self, kernel: &Kernel, ctaid: [u32; 3], warps: usize) {
        let launch = self.launch.get_or_insert_with(|| {
            Box::new(Launch {
                facts: facts::of(kernel),
                warps: warps.max(1) as u32,
                blocks: Vec::new(),
                epochs: vec![(0, 0)],
                cells: Cells::default(),
                records: Records::default(),
            })
        });
        self.block = launch.blocks.len() as u32;
        launch.blocks.push(ctaid);
        let number = |warp: usize| self.block * launch.warps + warp as u32;
        self.warps = (0..warps).map(|warp| Threads::new(number(warp), self.in_step)).collect();
        self.phases.clear();
        self.arrived = Default::default();
        self.ended = Arrivals::default();
        self.cells.clear();
        self.records.clear();
    }

    /// Goes on in place of a block that pauses.
    pub(super) fn take_over(&mut self, from: &mut Races) {
        self.launch = from.launch.take();
    }

    /// A warp arrives at a barrier: its later accesses are unknown to others.
    pub(super) fn arrive(&mut self, warp: usize, barrier: u32) {
        self.arrived[barrier as usize].add(&self.warps[warp]);
        self.warps[warp].arrive();
    }

    /// A barrier opens for a warp that waited there; `whole` if it waited for all of the block.
    pub(super) fn pass(&mut self, warp: usize, barrier: u32, whole: bool) {
        let all = &mut self.arrived[barrier as usize];
        if whole {
            all.join(&self.ended);
        }
        let threads = &mut self.warps[warp];
        if !threads.waits() {
            // A part of it did not.
            all.add(threads);
        }
        threads.merge(all.known().clone());
        threads.begin_time();
    }

    /// A barrier has opened and begins anew.
    pub(super) fn opened(&mut self, barrier: u32) {
        self.arrived[barrier as usize] = Arrivals::default();
    }

    pub(super) fn end(&mut self, warp: usize) {
        self.ended.add(&self.warps[warp]);
    }

    /// Number of meetings of a warp's threads until now.
    pub(super) fn meet(&mut self, warp: usize, meetings: u32) {
        self.warps[warp].meet(meetings);
    }

    /// The line of the other access of a race.
    pub(super) fn line(&self, race: Race) -> u32 {
        self.launch.as_ref().map_or(0, |launch| launch.facts[race.other.pc() as usize].line)
    }

    /// Lanes of a warp have executed the fence at a pc.
    pub(super) fn fence(&mut self, warp: usize, lanes: u32, pc: u32) {
        if let Some(fact) = self.launch.as_ref().map(|launch| launch.facts[pc as usize]) {
            self.warps[warp].fence(lanes, fact);
        }
    }

    /// Records an access of these lanes of a warp to `bytes`, which begin at `start` and are still the old ones. Gives its races,
    /// one a lane at most.
    pub(super) fn note(
        &mut self,
        access: &Access,
        lanes: u32,
        warp: usize,
        start: u64,
        bytes: &[u8],
    ) -> &[Race] {
        self.found.clear();
        let Some(launch) = &mut self.launch else { return &self.found };
        let fact = launch.facts[access.pc as usize];
        let threads = &mut self.warps[warp];
        let is_shared = access.space == Space::Shared;
        let weak = fact.scope.is_none();
        if access.kind == AccessKind::Store && weak {
            if threads.has_published {
                threads.begin_time();
            }
            if !access.contiguous {
                let epoch = launch.epoch(threads);
                within(access, lanes, epoch, &mut self.found);
            }
        }
        let epoch = launch.epoch(threads);
        let Launch { facts, epochs, warps, cells, records, .. } = &mut **launch;
        let (cells, records) =
            if is_shared { (&mut self.cells, &mut self.records) } else { (cells, records) };
        let judge = Judge { facts, epochs, warps: *warps, threads, fact, access, epoch };
        let mut hidden = false;
        // The lanes of one instruction have no order, so that none is recorded before all are judged, if they may meet.
        for (checks, records) in
            if access.contiguous { &[(true, true)][..] } else { &[(true, false), (false, true)] }
        {
            for lane in lanes_of(lanes) {
                let silent = judge.leaves(lane, lanes, start, bytes);
                let clock = &threads.group(lane).known.clock;
                let mut race = None;
                for (range, cell) in cells.of(access.addresses[lane as usize], access.width.into()) {
                    let silent = silent.of(&range);
                    hidden |= weak && !cell.strong[0].is_none() && access.kind == AccessKind::Store;
                    if *checks && race.is_none() {
                        race = judge.conflict(cell, lane, clock, silent).map(|other| (range.start, other));
                    }
                    if *records {
                        judge.record(cell, lane, clock, silent);
                    }
                }
                self.found.extend(race.map(|(byte, other)| Race { lane, byte, other, within: false }));
            }
        }
        if hidden {
            lanes_of(lanes)
                .for_each(|lane| records.forget(access.addresses[lane as usize], access.width.into()));
        }
        if !weak && !fact.barrier {
            self.synchronise(access, lanes, warp);
        }
        &self.found
    }

    /// A write of the launch to bytes of global memory, which a lane reads by a path of its own.
    pub(super) fn written(&mut self, lane: u32, address: u64, bytes: u64) -> Option<Race> {
        let cells = &mut self.launch.as_mut()?.cells;
        let mut found = cells.of(address, bytes).filter_map(|(range, cell)| {
            let mut writes = [cell.write, cell.strong[0]].into_iter().filter(|mark| !mark.is_none());
            writes.next().map(|other| Race { lane, byte: range.start, other, within: false })
        });
        found.next()
    }

    /// A strong access sees the knowledge that others have released, and passes on that of its threads.
    fn synchronise(&mut self, access: &Access, lanes: u32, warp: usize) {
        let Some(launch) = &mut self.launch else { return };
        let threads = &mut self.warps[warp];
        let epoch = launch.epoch(threads);
        let Launch { facts, epochs, warps, records, .. } = &mut **launch;
        let records = if access.space == Space::Shared { &mut self.records } else { records };
        let fact = facts[access.pc as usize];
        let me = Side { block: self.block, fact };
        let side = |mark: Mark| Side {
            block: epochs[mark.epoch() as usize].0 / *warps,
            fact: facts[mark.pc() as usize],
        };
        let places = lanes_of(lanes).flat_map(|lane| {
            let start = access.addresses[lane as usize];
            let step = usize::from(access.element_bytes).max(1);
            (start..start + u64::from(access.width)).step_by(step).map(move |place| (lane, place))
        });
        for (lane, place) in places {
            let read = |threads: &mut Threads, record: &Record| {
                let writer = side(record.writer);
                let of_lane = |group: &&mut Group| group.lanes >> lane & 1 != 0;
                threads
                    .groups_of(lanes)
                    .filter(of_lane)
                    .for_each(|group| record.read(group, me, writer, access.pc, access.wants_value));
            };
            if access.kind == AccessKind::Load {
                records.find(place).into_iter().for_each(|record| read(threads, record));
                continue;
            }
            let record = records.of(place);
            let before = (!record.writer.is_none()).then(|| side(record.writer));
            let changes = access.kind != AccessKind::Store;
            if changes && before.is_some() {
                read(threads, record);
            }
            let is_own =
                epochs[record.writer.epoch() as usize].0 == threads.number && record.writer.lane() == lane;
            let group = threads.group(lane);
            let all = if fact.releases { threads.all_of(group) } else { Clock::default() };
            let mark = Mark::new(epoch, lane, access.pc, Deed::of(access.kind));
            record.write(mark, (group, &all), me, before.filter(|_| changes || is_own));
        }
        if access.kind != AccessKind::Load {
            threads.has_published = true;
            if fact.releases {
                threads.begin_time();
            }
        }
    }

    /// Barriers in shared memory: accesses before the arrivals of a phase happen before those behind a test that finds its end.
    pub(super) fn meet_barriers(&mut self, access: &Access, warp: usize, shared: &[u8]) {
        let AccessKind::Atomic(operation, _) = access.kind else { return };
        if !facts::is_on_barrier(operation) {
            return;
        }
        // Lanes change a word one after another.
        let mut changed = BTreeMap::new();
        for lane in lanes_of(access.mask).map(|lane| lane as usize) {
            let address = access.addresses[lane];
            let Some(word) = shared.get(address as usize..).and_then(<[u8]>::first_chunk) else { continue };
            let old = changed.get(&address).copied().unwrap_or(u64::from_le_bytes(*word));
            let Some(new) = barrier::apply(operation, old, access.atomic_operands(lane).0) else { return };
            changed.insert(address, new);
            let (coming, come) = self.phases.entry(address).or_default();
            if operation == AtomicOperation::BarrierTest {
                self.warps[warp].learn(come.known());
                continue;
            }
            coming.add(&self.warps[warp]);
            if barrier::parity(old) != barrier::parity(new) {
                *come = coming.clone();
            }
        }
        self.warps[warp].begin_time();
    }
}
