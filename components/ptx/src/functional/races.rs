//! Races in shared memory (`--racecheck`, after compute-sanitizer): two threads of a block access a byte, one of them
//! writes it, and nothing says who comes first.
//!
//! Order comes from barriers, named ones included: a warp's accesses before it arrived happen before the
//! accesses of others after they waited there. It is kept as a vector clock a warp, so it does not matter in
//! which order the warps really ran. A barrier in memory (`mbarrier`) orders what came before the arrivals that ended its phase. A warp that has ended counts as arrived wherever all are waited for.
//! Between the threads of a warp the order of the program counts up to sm_6x, where they run in step; from
//! sm_70 on only `bar.warp.sync` does (of any mask, so as to accuse nobody wrongly). Within one instruction,
//! threads that store different values to one place race.
//!
//! Atomics do not race with each other. Neither do writes that leave what another thread wrote as it is. A
//! volatile access is like any other. Of the threads that have read a byte, or changed it by atomics, two
//! warps are remembered: enough for barriers of a whole block; among partial ones a race with a third may be
//! missed. No order is ever assumed away, so every report is a race.

use std::collections::BTreeMap;

use crate::execute::{Access, AccessKind};
use crate::isa::{AtomicOperation, barrier};

/// Warps of a block at most.
const WARPS: usize = 32;
/// A warp's knowledge of every warp: the time up to which that warp's accesses come before this warp's next
/// one.
type Clock = [u32; WARPS];

/// An access: its warp, and that warp's clock. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    /// Bits of the instruction; the lane, the warp, `several` and the time are above them.
    const PC: u32 = 24;

    fn new(warp: usize, lane: u32, pc: u32, time: u32) -> Self {
        let below = u64::from(pc) & ((1 << Self::PC) - 1);
        Mark(
            below
                | u64::from(lane) << Self::PC
                | (warp as u64) << (Self::PC + 5)
                | u64::from(time) << (Self::PC + 11),
        )
    }

    fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) fn pc(self) -> u32 {
        (self.0 & ((1 << Self::PC) - 1)) as u32
    }

    /// Its lane; the last one if there are several.
    pub(super) fn lane(self) -> u32 {
        (self.0 >> Self::PC & 31) as u32
    }

    pub(super) fn warp(self) -> usize {
        (self.0 >> (Self::PC + 5) & 31) as usize
    }

    /// Whether other lanes of the warp did the same at that time.
    fn several(self) -> bool {
        self.0 >> (Self::PC + 10) & 1 != 0
    }

    fn time(self) -> u32 {
        (self.0 >> (Self::PC + 11)) as u32
    }
}

/// The accesses to a byte since it was last written.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Mark,
    reads: [Mark; 2],
    atomics: [Mark; 2],
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Race {
    /// The lane of the access under way, and the byte.
    pub(super) lane: u32,
    pub(super) byte: u64,
    /// The other access, and its kind.
    pub(super) other: Mark,
    pub(super) did: &'static str,
}

/// The races of one block after another.
#[derive(Clone, Debug)]
pub(super) struct Races {
    /// The threads of a warp run each for itself (sm_70 and later).
    independent: bool,
    cells: Vec<Cell>,
    clocks: Vec<Clock>,
    /// By barrier in shared memory: the clock of all arrivals, and that of the arrivals at the end of its last phase.
    phases: BTreeMap<u64, (Clock, Clock)>,
    /// Clocks of the warps that have arrived at each barrier, and of those that have ended.
    arrived: [Clock; 16],
    ended: Clock,
    /// Number of meetings of each warp's threads.
    met: [u32; WARPS],
    found: Vec<Race>,
}

impl Races {
    /// Of blocks with `warps` warps and `bytes` bytes, of a kernel for this architecture.
    pub(super) fn new(warps: usize, bytes: usize, target: u32) -> Self {
        let mut races = Races {
            independent: target >= 70,
            cells: vec![Cell::default(); bytes],
            clocks: vec![[0; WARPS]; warps],
            phases: BTreeMap::new(),
            arrived: [[0; WARPS]; 16],
            ended: [0; WARPS],
            met: [0; WARPS],
            found: Vec::new(),
        };
        races.restart();
        races
    }

    /// Another block begins.
    pub(super) fn restart(&mut self) {
        self.cells.fill(Cell::default());
        for (warp, clock) in self.clocks.iter_mut().enumerate() {
            *clock = [0; WARPS];
            clock[warp] = 1;
        }
        self.arrived = [[0; WARPS]; 16];
        self.ended = [0; WARPS];
        self.met = [0; WARPS];
        self.phases.clear();
    }

    /// A warp arrives at a barrier: its later accesses are unknown to others.
    pub(super) fn arrive(&mut self, warp: usize, barrier: u32) {
        learn(&mut self.arrived[barrier as usize], &self.clocks[warp]);
        self.clocks[warp][warp] += 1;
    }

    /// A barrier opens for a warp that waited there; `whole` if it waited for all of the block.
    pub(super) fn pass(&mut self, warp: usize, barrier: u32, whole: bool) {
        learn(&mut self.clocks[warp], &self.arrived[barrier as usize]);
        if whole {
            learn(&mut self.clocks[warp], &self.ended);
        }
    }

    /// A barrier has opened and begins anew.
    pub(super) fn opened(&mut self, barrier: u32) {
        self.arrived[barrier as usize] = [0; WARPS];
    }

    pub(super) fn end(&mut self, warp: usize) {
        learn(&mut self.ended, &self.clocks[warp]);
    }

    /// Number of meetings of a warp's threads until now.
    pub(super) fn meet(&mut self, warp: usize, meetings: u32) {
        let before = std::mem::replace(&mut self.met[warp], meetings);
        self.clocks[warp][warp] += meetings.wrapping_sub(before);
    }

    /// Records an access of a warp to shared memory, which still holds the old bytes. Gives its races, one a
    /// lane at most.
    pub(super) fn note(&mut self, access: &Access, warp: usize, shared: &[u8]) -> &[Race] {
        self.found.clear();
        if access.kind == AccessKind::Store && !access.contiguous {
            self.within(access, warp);
        }
        let lanes = || (0..32).filter(|lane| access.mask >> lane & 1 != 0);
        for lane in lanes() {
            let race = bytes(access, lane).find_map(|byte| self.race(access, warp, lane, byte, shared));
            self.found.extend(race);
        }
        // Only now, since the lanes of one instruction have no order.
        for lane in lanes() {
            let mark = Mark::new(warp, lane, access.pc, self.clocks[warp][warp]);
            for byte in bytes(access, lane) {
                let Some(cell) = self.cells.get_mut(byte as usize) else { continue };
                match access.kind {
                    AccessKind::Store => *cell = Cell { write: mark, ..Cell::default() },
                    AccessKind::Load => remember(&mut cell.reads, mark, &self.clocks[warp]),
                    AccessKind::Atomic(..) => remember(&mut cell.atomics, mark, &self.clocks[warp]),
                }
            }
        }
        &self.found
    }

    /// Barriers in shared memory: accesses before the arrivals of a phase happen before those behind a test that finds its end.
    pub(super) fn meet_barriers(&mut self, access: &Access, warp: usize, shared: &[u8]) {
        let AccessKind::Atomic(operation, _) = access.kind else { return };
        // Lanes change a word one after another.
        let mut changed = BTreeMap::new();
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let address = access.addresses[lane];
            let Some(word) = shared.get(address as usize..).and_then(<[u8]>::first_chunk) else { continue };
            let old = changed.get(&address).copied().unwrap_or(u64::from_le_bytes(*word));
            let Some(new) = barrier::apply(operation, old, access.atomic_operands(lane).0) else { return };
            changed.insert(address, new);
            let known = self.phases.entry(address).or_insert(([0; WARPS], [0; WARPS]));
            if operation == AtomicOperation::BarrierTest {
                learn(&mut self.clocks[warp], &known.1);
                continue;
            }
            learn(&mut known.0, &self.clocks[warp]);
            if barrier::parity(old) != barrier::parity(new) {
                known.1 = known.0;
            }
        }
        self.clocks[warp][warp] += 1;
    }

    /// Lanes that store different values to one place in one instruction.
    fn within(&mut self, access: &Access, warp: usize) {
        let lanes: Vec<usize> = (0..32).filter(|lane| access.mask >> lane & 1 != 0).collect();
        for (index, &lane) in lanes.iter().enumerate() {
            let differs = |&&other: &&usize| {
                access.addresses[other] == access.addresses[lane]
                    && access.values.iter().any(|row| row.0[other] != row.0[lane])
                    && bytes(access, lane as u32)
                        .any(|byte| value(access, other, byte) != value(access, lane, byte))
            };
            if let Some(&other) = lanes[..index].iter().find(differs) {
                let other = Mark::new(warp, other as u32, access.pc, self.clocks[warp][warp]);
                let (lane, byte) = (lane as u32, access.addresses[lane]);
                self.found.push(Race { lane, byte, other, did: "writes another value" });
            }
        }
    }

    /// The race of a lane at a byte, if there is one.
    fn race(&self, access: &Access, warp: usize, lane: u32, byte: u64, shared: &[u8]) -> Option<Race> {
        let cell = self.cells.get(byte as usize)?;
        let writes = access.kind == AccessKind::Store;
        let silent = || writes && shared.get(byte as usize) == Some(&value(access, lane as usize, byte));
        let races = |mark: &Mark| !self.is_ordered(*mark, warp, lane);
        let by = |other: Mark, did| Some(Race { lane, byte, other, did });
        if races(&cell.write) && !silent() {
            return by(cell.write, "writes it");
        }
        if access.kind != AccessKind::Load
            && let Some(&read) = cell.reads.iter().find(|mark| races(mark))
        {
            return by(read, "reads it");
        }
        if matches!(access.kind, AccessKind::Atomic(..)) {
            return None;
        }
        let atomic = cell.atomics.iter().find(|mark| races(mark));
        atomic.and_then(|&atomic| by(atomic, "changes it"))
    }

    /// Whether an access comes before this lane's current one.
    fn is_ordered(&self, mark: Mark, warp: usize, lane: u32) -> bool {
        let known = self.clocks[warp][mark.warp()];
        if mark.is_none() {
            true
        } else if mark.warp() != warp {
            mark.time() <= known
        } else {
            !self.independent || mark.time() < known || (mark.lane() == lane && !mark.several())
        }
    }
}

/// Takes over another one's knowledge.
fn learn(clock: &mut Clock, other: &Clock) {
    for (known, more) in clock.iter_mut().zip(other) {
        *known = (*known).max(*more);
    }
}

/// Puts an access among those that are remembered, in place of those that come before it.
fn remember(marks: &mut [Mark; 2], mut mark: Mark, clock: &Clock) {
    for place in marks.iter_mut() {
        if place.warp() == mark.warp()
            && place.time() == mark.time()
            && (place.lane() != mark.lane() || place.several())
        {
            mark = Mark(mark.0 | 1 << (Mark::PC + 10));
        }
        if place.is_none() || place.warp() == mark.warp() || place.time() <= clock[place.warp()] {
            *place = Mark::default();
        }
    }
    if let Some(place) = marks.iter_mut().find(|place| place.is_none()) {
        *place = mark;
    }
}

fn bytes(access: &Access, lane: u32) -> impl Iterator<Item = u64> {
    let start = access.addresses[lane as usize];
    start..start.saturating_add(access.width.into())
}

/// The value that a lane's store leaves in a byte.
fn value(access: &Access, lane: usize, byte: u64) -> u8 {
    let at = (byte - access.addresses[lane]) as usize;
    let piece = usize::from(access.element_bytes.min(4)).max(1);
    access.values[(at / piece) & 3].0[lane].to_le_bytes()[at % piece]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{AtomicOperation, AtomicType};
    use crate::program::Row;

    const ADD: AccessKind = AccessKind::Atomic(AtomicOperation::Add, AtomicType::U32);

    /// Lane 0 alone at an address.
    fn one(kind: AccessKind, pc: u32, address: u64, value: u32) -> Access {
        let mut access = Access { mask: 1, kind, pc, ..Access::default() };
        access.addresses[0] = address;
        access.values[0] = Row([value; 32]);
        access
    }

    /// The instructions with which a warp's access races.
    fn pcs(races: &mut Races, access: &Access, warp: usize) -> Vec<u32> {
        races.note(access, warp, &[0; 64]).iter().map(|race| race.other.pc()).collect()
    }

    fn barrier(races: &mut Races, warps: &[usize], id: u32) {
        warps.iter().for_each(|&warp| races.arrive(warp, id));
        warps.iter().for_each(|&warp| races.pass(warp, id, false));
        races.opened(id);
    }

    #[test]
    fn who_comes_first_does_not_matter() {
        let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
        for (first, second, expected) in [(&load, &store, 7), (&store, &load, 9), (&store, &store, 9)] {
            let mut races = Races::new(2, 64, 35);
            assert_eq!(pcs(&mut races, first, 0), []);
            assert_eq!(pcs(&mut races, second, 1), [expected]);
            races.restart();
            assert_eq!(pcs(&mut races, first, 0), []);
            barrier(&mut races, &[0, 1], 0);
            assert_eq!(pcs(&mut races, second, 1), [], "a barrier lies between");
        }
        let mut races = Races::new(2, 64, 35);
        assert_eq!(pcs(&mut races, &load, 0), []);
        assert_eq!(pcs(&mut races, &load, 1), []);
        assert_eq!(pcs(&mut races, &one(AccessKind::Store, 9, 12, 5), 1), [], "another place");
    }

    #[test]
    fn a_barrier_orders_those_who_meet_there_and_nobody_else() {
        let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
        let mut races = Races::new(3, 64, 35);
        pcs(&mut races, &store, 0);
        barrier(&mut races, &[0, 1], 3);
        assert_eq!(pcs(&mut races, &load, 1), []);
        assert_eq!(pcs(&mut races, &load, 2), [9]);
        // Warp 1 passes on its knowledge.
        barrier(&mut races, &[1, 2], 4);
        assert_eq!(pcs(&mut races, &load, 2), []);
        // Accesses of a warp after its arrival are not covered.
        races.restart();
        races.arrive(0, 1);
        pcs(&mut races, &store, 0);
        races.arrive(1, 1);
        races.pass(1, 1, false);
        assert_eq!(pcs(&mut races, &load, 1), [9]);
    }

    #[test]
    fn a_warp_that_has_ended_counts_where_all_are_waited_for() {
        let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
        for whole in [true, false] {
            let mut races = Races::new(2, 64, 35);
            pcs(&mut races, &store, 0);
            races.end(0);
            races.arrive(1, 0);
            races.pass(1, 0, whole);
            assert_eq!(pcs(&mut races, &load, 1).is_empty(), whole);
        }
    }

    #[test]
    fn two_readers_are_enough_for_a_writer_among_them() {
        let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
        for writer in 0..3 {
            let mut races = Races::new(3, 64, 35);
            (0..3).for_each(|warp| assert_eq!(pcs(&mut races, &load, warp), []));
            assert_eq!(pcs(&mut races, &store, writer), [7]);
        }
    }

    #[test]
    fn atomics_and_writes_of_the_same_value_do_not_race() {
        let mut races = Races::new(2, 64, 35);
        assert_eq!(pcs(&mut races, &one(ADD, 1, 8, 1), 0), []);
        assert_eq!(pcs(&mut races, &one(ADD, 1, 8, 1), 1), []);
        assert_eq!(pcs(&mut races, &one(AccessKind::Load, 2, 8, 0), 1), [1], "a read does");
        // Memory holds zeros.
        races.restart();
        pcs(&mut races, &one(AccessKind::Store, 3, 8, 0), 0);
        assert_eq!(pcs(&mut races, &one(AccessKind::Store, 4, 8, 0), 1), []);
        assert_eq!(pcs(&mut races, &one(AccessKind::Store, 5, 8, 256), 0), [4], "its second byte differs");
    }

    #[test]
    fn threads_of_a_warp_run_in_step_before_sm_70() {
        let (load, mut store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
        store.mask = 2;
        store.addresses[1] = 8;
        for (target, met, expected) in [(35, false, &[][..]), (70, false, &[7]), (70, true, &[])] {
            let mut races = Races::new(1, 64, target);
            pcs(&mut races, &load, 0);
            if met {
                races.meet(0, 1);
            }
            assert_eq!(pcs(&mut races, &store, 0), expected);
        }
        // Every lane reads; whichever writes then races with the others.
        let all = Access { mask: !0, kind: AccessKind::Load, pc: 7, ..Access::default() };
        let mut races = Races::new(1, 64, 70);
        pcs(&mut races, &all, 0);
        let mut last = one(AccessKind::Store, 9, 0, 5);
        (last.mask, last.addresses[31]) = (1 << 31, 0);
        assert_eq!(pcs(&mut races, &last, 0), [7]);
    }

    #[test]
    fn one_instruction_must_not_store_two_values_to_one_place() {
        let mut store = Access { mask: 0b111, kind: AccessKind::Store, pc: 9, ..Access::default() };
        store.addresses[..3].copy_from_slice(&[4, 8, 4]);
        let mut races = Races::new(1, 64, 35);
        store.values[0] = Row([6; 32]);
        assert_eq!(races.note(&store, 0, &[0; 64]), []);
        store.values[0].0[2] = 7;
        let [race] = races.note(&store, 0, &[0; 64]) else { panic!("one race") };
        assert_eq!((race.lane, race.byte, race.other.lane()), (2, 4, 0));
    }
}
