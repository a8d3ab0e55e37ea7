//! A warp that runs ahead by itself until it returns to an earlier state.
//!
//! States are compared by Brent's algorithm: the state after a power of two of instructions is kept and compared with all that
//! follow up to the next power of two, so that a round is found within a few times the length of the round and of the path to it.
//! Most warps do not loop: the words that a warp reads and changes are noted only when it executes the round once more.

use std::collections::{BTreeMap, BTreeSet};

use super::{Memories, Moment, Unproven};
use crate::execute::repeat::{Deciding, LoopRole, part};
use crate::execute::{Access, AccessKind, Issue, Warp};
use crate::isa::Space;
use crate::program::{Kernel, Row};

/// Words of memory: a bit each in shared memory, addresses in global memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    shared: Vec<u64>,
    global: BTreeSet<u64>,
}

impl Words {
    fn add(&mut self, word: usize) {
        if self.shared.len() <= word / 64 {
            self.shared.resize(word / 64 + 1, 0);
        }
        self.shared[word / 64] |= 1 << (word % 64);
    }

    fn merge(&mut self, other: &Words) {
        if self.shared.len() < other.shared.len() {
            self.shared.resize(other.shared.len(), 0);
        }
        self.shared.iter_mut().zip(&other.shared).for_each(|(bits, more)| *bits |= more);
        self.global.extend(&other.global);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shared.iter().all(|bits| *bits == 0) && self.global.is_empty()
    }

    pub(super) fn meets(&self, other: &Words) -> bool {
        let shared = self.shared.iter().zip(&other.shared).any(|(a, b)| a & b != 0);
        shared || !self.global.is_disjoint(&other.global)
    }
}

/// A round that a warp goes forever.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) period: u64,
    /// Lanes that execute it.
    pub(super) lanes: u32,
    pub(super) pcs: Vec<u32>,
    /// Words that the warp reads, on the way to it and in it, or writes without changing them.
    pub(super) reads: Words,
    pub(super) writes: Words,
    /// Words that it reads in the round, and those that it changes in it.
    waits: Words,
    changes: Words,
}

impl Round {
    /// Whether it reads global memory in the round.
    pub(super) fn waits_for_global(&self) -> bool {
        !self.waits.global.is_empty()
    }

    /// Whether it changes global memory, on the way to the round or in it.
    pub(super) fn changes_global(&self) -> bool {
        !self.writes.global.is_empty()
    }

    /// The words that are read in the round and that the warp does not write itself: the addresses of those in shared memory,
    /// and of those in global memory.
    pub(super) fn words_of_period(&self) -> (Vec<u64>, Vec<u64>) {
        let bits = |(index, bits): (usize, &u64)| {
            let bits = *bits & !self.changes.shared.get(index).copied().unwrap_or_default();
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| 4 * (64 * index as u64 + bit))
        };
        let shared = self.waits.shared.iter().enumerate().flat_map(bits).collect();
        (shared, self.waits.global.difference(&self.changes.global).copied().collect())
    }
}

/// A warp's local memory, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Local {
    bytes: Vec<u8>,
    known: Vec<bool>,
}

/// A warp that runs ahead, with copies of the memory it touches.
struct Ahead {
    warp: Warp,
    shared: Vec<u8>,
    local: Local,
    /// Bytes of global memory that it has changed.
    global: BTreeMap<u64, u8>,
}

/// The instruction, and the events since.
struct Mark {
    warp: Warp,
    shared: Vec<u8>,
    local: Local,
    global: BTreeMap<u64, u8>,
    step: u64,
    /// Instructions executed since, in the order of their first execution.
    pcs: Vec<u32>,
    executed: Vec<bool>,
    lanes: u32,
    waits: Words,
    changes: Words,
    /// The deciding instructions among a first number of these.
    deciding: (usize, Deciding),
}

impl Mark {
    fn new(ahead: &Ahead, step: u64, kernel: &Kernel) -> Self {
        Mark {
            warp: ahead.warp.clone(),
            shared: ahead.shared.clone(),
            local: ahead.local.clone(),
            global: ahead.global.clone(),
            step,
            pcs: Vec::new(),
            executed: vec![false; kernel.instructions().len()],
            lanes: 0,
            waits: Words::default(),
            changes: Words::default(),
            deciding: (0, Deciding::default()),
        }
    }

    fn is_met(&mut self, ahead: &Ahead, kernel: &Kernel) -> bool {
        if self.warp.pc() != ahead.warp.pc() || self.warp.active() != ahead.warp.active() {
            return false;
        }
        if self.deciding.0 != self.pcs.len() {
            self.deciding = (self.pcs.len(), Deciding::of(kernel, &self.pcs));
        }
        ahead.warp.repeats(&self.warp, &self.deciding.1)
            && self.local == ahead.local
            && self.global == ahead.global
            && self.shared == ahead.shared
    }
}

/// Runs a warp ahead until it is where it was.
pub(super) fn find(
    moment: &Moment<'_>,
    index: usize,
    warp: &Warp,
    memories: &mut impl Memories,
    budget: u64,
) -> Result<Round, Unproven> {
    run_ahead(moment, (index, warp), memories, budget, false)?;
    run_ahead(moment, (index, warp), memories, budget, true)
}

/// Runs a warp ahead to its round; `notes`: the words of the round are noted.
fn run_ahead(
    moment: &Moment<'_>,
    (index, warp): (usize, &Warp),
    memories: &mut impl Memories,
    budget: u64,
    notes: bool,
) -> Result<Round, Unproven> {
    let Moment { kernel, env, shared, .. } = moment;
    let mut warp = warp.clone();
    warp.execute_polls();
    let bytes = kernel.local_bytes(env.stack) as usize * 32;
    let local = Local { bytes: vec![0; bytes], known: vec![false; bytes] };
    let mut ahead = Ahead { warp, shared: shared.clone(), local, global: BTreeMap::new() };
    let (mut reads, mut writes) = (Words::default(), Words::default());
    let mut mark = Mark::new(&ahead, 0, kernel);
    let mut access = Access::default();
    for step in 0..budget {
        if step > 0 && mark.is_met(&ahead, kernel) {
            let Mark { pcs, lanes, waits, changes, .. } = mark;
            writes.merge(&changes);
            return Ok(Round { period: step - mark.step, lanes, pcs, reads, writes, waits, changes });
        }
        if step.is_power_of_two() {
            writes.merge(&mark.changes);
            mark = Mark::new(&ahead, step, kernel);
        }
        let Some(pc) = ahead.warp.pc() else { return Err(Unproven::Open) };
        let action = kernel.instructions[pc as usize].action;
        if part(action) == LoopRole::Outside {
            return Err(Unproven::Open);
        }
        if !std::mem::replace(&mut mark.executed[pc as usize], true) {
            mark.pcs.push(pc);
        }
        mark.lanes |= ahead.warp.active();
        // A mistake that comes is reported when it has come.
        let issued = ahead.warp.issue(kernel, env, &mut access).map_err(|_| Unproven::Open)?;
        match issued.kind {
            Issue::Done
            | Issue::Branch
            | Issue::Fence(_)
            | Issue::Parameter
            | Issue::Sleep { .. }
            | Issue::Nothing => {}
            Issue::Exit { finished: false } => {}
            Issue::Memory => {
                let mut words = [Row::ZERO; 4];
                let notes = notes.then_some((&mut reads, &mut mark.waits, &mut mark.changes));
                match access.space {
                    Space::Shared => ahead.shared(&access, &mut words, notes)?,
                    Space::Local => ahead.local(index, &access, &mut words, memories)?,
                    Space::Const => constant(&access, &mut words, memories)?,
                    Space::Global => ahead.global(&access, &mut words, notes, memories)?,
                }
                if access.wants_value {
                    ahead.warp.complete_load(kernel, pc, access.mask, &words);
                }
            }
            Issue::Barrier { .. }
            | Issue::CommitCopies
            | Issue::AwaitCopies { .. }
            | Issue::Held
            | Issue::Texture
            | Issue::Range(_)
            | Issue::Exit { finished: true } => return Err(Unproven::Open),
        }
    }
    Err(Unproven::Open)
}

/// The words that are read, those read in the round, and those changed in it.
type Notes<'a> = (&'a mut Words, &'a mut Words, &'a mut Words);

impl Ahead {
    /// Performs an access to shared memory, and notes the words that it reads and those that it changes.
    fn shared(
        &mut self,
        access: &Access,
        words: &mut [Row; 4],
        notes: Option<Notes<'_>>,
    ) -> Result<(), Unproven> {
        let (low, high) = access.extent();
        let end = high.saturating_add(access.width.into());
        if end > self.shared.len() as u64 {
            return Err(Unproven::Open);
        }
        let range = low as usize & !3..(end as usize).next_multiple_of(4).min(self.shared.len());
        let keeps = notes.is_some() && access.kind != AccessKind::Load;
        let before = if keeps { self.shared[range.clone()].to_vec() } else { Vec::new() };
        match access.kind {
            AccessKind::Load => access.gather(access.mask, 0, &self.shared, words),
            AccessKind::Store => access.store(access.mask, 0, &mut self.shared),
            AccessKind::Atomic(..) => access.atomic(access.mask, 0, &mut self.shared, words),
        };
        let Some((reads, waits, writes)) = notes else { return Ok(()) };
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let first = access.addresses[lane] as usize / 4;
            let last = (access.addresses[lane] as usize + usize::from(access.width) - 1) / 4;
            for word in first..=last {
                let at = 4 * word - range.start;
                let changed = before.get(at..).is_some_and(|before| {
                    let length = before.len().min(4);
                    before[..length] != self.shared[4 * word..4 * word + length]
                });
                if changed {
                    writes.add(word);
                }
                // A store that changes nothing does so only while the word is the same.
                reads.add(word);
                if access.kind != AccessKind::Store {
                    waits.add(word);
                }
            }
        }
        Ok(())
    }

    /// An access to global memory, lane by lane.
    fn global(
        &mut self,
        access: &Access,
        words: &mut [Row; 4],
        mut notes: Option<Notes<'_>>,
        memories: &mut impl Memories,
    ) -> Result<(), Unproven> {
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let (address, width) = (access.addresses[lane], usize::from(access.width));
            let mut bytes = [0; 16];
            let bytes = &mut bytes[..width];
            if !memories.global(address, bytes) {
                return Err(Unproven::Open);
            }
            let range = address..address + width as u64;
            for (at, byte) in self.global.range(range.clone()) {
                bytes[(at - address) as usize] = *byte;
            }
            let mut after = [0; 16];
            let after = &mut after[..width];
            after.copy_from_slice(bytes);
            match access.kind {
                AccessKind::Load => access.gather(1 << lane, address, after, words),
                AccessKind::Store => access.store(1 << lane, address, after),
                AccessKind::Atomic(..) => access.atomic(1 << lane, address, after, words),
            };
            for ((at, before), after) in range.zip(&*bytes).zip(&*after) {
                let word = at & !3;
                if before != after {
                    self.global.insert(at, *after);
                }
                let Some((reads, waits, writes)) = &mut notes else { continue };
                if before != after {
                    writes.global.insert(word);
                }
                reads.global.insert(word);
                if access.kind != AccessKind::Store {
                    waits.global.insert(word);
                }
            }
        }
        Ok(())
    }

    fn local(
        &mut self,
        warp: usize,
        access: &Access,
        words: &mut [Row; 4],
        memories: &mut impl Memories,
    ) -> Result<(), Unproven> {
        let size = self.local.bytes.len() / 32;
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let offset = access.addresses[lane] as usize;
            let end = offset.saturating_add(access.width.into());
            if end > size {
                return Err(Unproven::Open);
            }
            let range = lane * size + offset..lane * size + end;
            let known = &mut self.local.known[range.clone()];
            if access.kind == AccessKind::Load && known.contains(&false) {
                let mut bytes = [0; 16];
                let bytes = &mut bytes[..range.len()];
                if !memories.local(warp, lane, offset, bytes) {
                    return Err(Unproven::Later);
                }
                let places = self.local.bytes[range.clone()].iter_mut().zip(known.iter());
                places
                    .zip(bytes)
                    .filter(|((_, known), _)| !**known)
                    .for_each(|((place, _), byte)| *place = *byte);
            }
            known.fill(true);
            let bytes = &mut self.local.bytes[lane * size..][..size];
            match access.kind {
                AccessKind::Store => access.store(1 << lane, 0, bytes),
                _ => access.gather(1 << lane, 0, bytes, words),
            };
        }
        Ok(())
    }
}

fn constant(access: &Access, words: &mut [Row; 4], memories: &mut impl Memories) -> Result<(), Unproven> {
    for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..usize::from(access.width)];
        if !memories.constant(access.addresses[lane], bytes) {
            return Err(Unproven::Later);
        }
        access.gather(1 << lane, access.addresses[lane], bytes, words);
    }
    Ok(())
}
