//! Live registers by instruction; the register estimate and the sharing of rows follow from them.
//!
//! Liveness is that of one thread. It holds for a warp too, because a write touches only the lanes
//! that execute it. A register that a load has yet to fill counts as living until something reads or
//! writes it, dead or not: the value may arrive at any time and must not overwrite a row that another
//! register took over.

use super::bits::Bits;
use super::cfg::{Block, ControlFlow};

/// The effects of an instruction on registers, by id.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    pub reads: Vec<u16>,
    pub writes: Vec<u16>,
    /// Writes happen only where a guard holds, so they end no life.
    pub guarded: bool,
    /// The writes arrive later.
    pub late: bool,
}

/// Rows for registers, and the pressure.
#[derive(Debug)]
pub struct Allocation {
    /// Slot of each register within its class.
    pub slots: Vec<u16>,
    pub slot_counts: Vec<u16>,
    /// The largest sum of weights that live at once.
    pub pressure: u32,
}

/// Registers beyond this number get a row each: the interference matrix would grow too large.
const LARGEST_SHARED: usize = 8192;

/// Finds rows. `class_of` puts registers that must not share with others in classes of their own;
/// `weights` gives each register's weight in the pressure.
pub fn allocate(flow: &ControlFlow, effects: &[Effects], class_of: &[u8], weights: &[u32]) -> Allocation {
    let count = class_of.len();
    let classes = class_of.iter().map(|c| *c as usize + 1).max().unwrap_or(0);
    let of_block = |block: &Block| own(&effects[block.first as usize..block.end as usize], count);
    let owns: Vec<Own> = flow.blocks.iter().map(of_block).collect();
    let live_out = live_out_of_blocks(flow, &owns, count);
    let pending_in = pending_into_blocks(flow, effects, count);
    let share = count <= LARGEST_SHARED;
    let mut neighbours = vec![Bits::new(count); if share { count } else { 0 }];
    let mut pressure = 0;
    for (index, block) in flow.blocks.iter().enumerate() {
        // Pending sets go forward, live sets backward: changes of the former are kept, and taken back on the walk back.
        let mut pending = pending_in[index].clone();
        let block_effects = &effects[block.first as usize..block.end as usize];
        let changes: Vec<Vec<u16>> =
            block_effects.iter().map(|effect| step_pending(&mut pending, effect)).collect();
        let mut held = Held::new(live_out[index].clone(), pending, weights);
        for (effect, changed) in block_effects.iter().zip(changes).rev() {
            let news = effect.writes.iter().enumerate().filter(|&(at, &write)| {
                !held.contains(write as usize) && !effect.writes[..at].contains(&write)
            });
            let dead: u32 = news.map(|(_, &write)| weights[write as usize]).sum();
            pressure = pressure.max(held.weight + dead);
            if share {
                for &write in &effect.writes {
                    let mine = &mut neighbours[write as usize];
                    mine.union(&held.live);
                    mine.union(&held.pending);
                    effect.writes.iter().for_each(|other| mine.insert(*other as usize));
                }
            }
            held.step_back(effect, &changed);
        }
        if share && block.first == 0 {
            // A register that is read before it is written holds zero from the start, in a row of its own.
            for id in held.live.iter() {
                neighbours[id].union(&held.live);
            }
        }
    }
    if share {
        // A register looks at those before it, which have their slots.
        for id in 0..count {
            let own = std::mem::replace(&mut neighbours[id], Bits::new(0));
            own.iter_from(id + 1).for_each(|other| neighbours[other].insert(id));
            neighbours[id] = own;
        }
    }
    let mut slots = vec![u16::MAX; count];
    let mut slot_counts = vec![0u16; classes];
    let mut taken = Vec::new();
    for id in 0..count {
        let class = class_of[id];
        let slot = if share {
            taken.clear();
            taken.resize(slot_counts[class as usize] as usize, false);
            for other in neighbours[id].iter().take_while(|other| *other < id) {
                if class_of[other] == class {
                    taken[slots[other] as usize] = true;
                }
            }
            taken.iter().position(|used| !used).unwrap_or(taken.len()) as u16
        } else {
            slot_counts[class as usize]
        };
        slots[id] = slot;
        slot_counts[class as usize] = slot_counts[class as usize].max(slot + 1);
    }
    Allocation { slots, slot_counts, pressure }
}

/// The registers that hold a value behind an instruction, and their weight.
struct Held<'w> {
    live: Bits,
    pending: Bits,
    weights: &'w [u32],
    weight: u32,
}

impl<'w> Held<'w> {
    fn new(live: Bits, pending: Bits, weights: &'w [u32]) -> Self {
        let mut all = live.clone();
        all.union(&pending);
        let weight = all.iter().map(|id| weights[id]).sum();
        Held { live, pending, weights, weight }
    }

    fn contains(&self, id: usize) -> bool {
        self.live.contains(id) || self.pending.contains(id)
    }

    /// Goes in front of an instruction, which changed whether these registers are pending.
    fn step_back(&mut self, effect: &Effects, changed: &[u16]) {
        let touched = || effect.reads.iter().chain(&effect.writes).map(|id| *id as usize);
        let before: Vec<(usize, bool)> = touched().map(|id| (id, self.contains(id))).collect();
        step_live(&mut self.live, effect);
        for &id in changed {
            self.pending.toggle(id as usize);
        }
        for (at, &(id, was)) in before.iter().enumerate() {
            let is = self.contains(id);
            if is != was && before[..at].iter().all(|(other, _)| *other != id) {
                self.weight =
                    if is { self.weight + self.weights[id] } else { self.weight - self.weights[id] };
            }
        }
    }
}

fn step_live(live: &mut Bits, effect: &Effects) {
    if !effect.guarded {
        for &write in &effect.writes {
            live.remove(write as usize);
        }
    }
    for &read in &effect.reads {
        live.insert(read as usize);
    }
}

/// Goes behind an instruction; gives the registers that are now pending and were not, or the reverse.
fn step_pending(pending: &mut Bits, effect: &Effects) -> Vec<u16> {
    let mut changed = Vec::new();
    for &id in effect.reads.iter().chain(&effect.writes) {
        let arrives = effect.late && effect.writes.contains(&id);
        if pending.contains(id as usize) != arrives {
            pending.toggle(id as usize);
            changed.push(id);
        }
    }
    changed
}

/// The registers that a block reads before it writes them, and those that it writes.
pub(super) struct Own {
    pub(super) read: Bits,
    pub(super) written: Bits,
}

impl Own {
    pub(super) fn new(count: usize) -> Self {
        Own { read: Bits::new(count), written: Bits::new(count) }
    }

    /// The registers that live at the beginning of the block, given those at its end.
    pub(super) fn live_in(&self, live_out: &Bits) -> Bits {
        let mut live = live_out.clone();
        live.subtract(&self.written);
        live.union(&self.read);
        live
    }
}

/// The registers that live at the end of each block.
pub(super) fn live_out_of_blocks(flow: &ControlFlow, own: &[Own], count: usize) -> Vec<Bits> {
    let mut out = vec![Bits::new(count); flow.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in flow.blocks.iter().enumerate().rev() {
            for &next in &block.successors {
                let live = own[next as usize].live_in(&out[next as usize]);
                changed |= out[index].union(&live);
            }
        }
    }
    out
}

fn own(effects: &[Effects], count: usize) -> Own {
    let mut own = Own::new(count);
    for effect in effects.iter().rev() {
        step_live(&mut own.read, effect);
        for &write in effect.writes.iter().filter(|_| !effect.guarded) {
            own.written.insert(write as usize);
        }
    }
    own
}

fn pending_into_blocks(flow: &ControlFlow, effects: &[Effects], count: usize) -> Vec<Bits> {
    let mut into = vec![Bits::new(count); flow.blocks.len()];
    let mut own = Vec::new();
    for block in &flow.blocks {
        let (mut loaded, mut touched) = (Bits::new(count), Bits::new(count));
        for effect in &effects[block.first as usize..block.end as usize] {
            step_pending(&mut loaded, effect);
            effect.reads.iter().chain(&effect.writes).for_each(|id| touched.insert(*id as usize));
        }
        own.push((loaded, touched));
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in flow.blocks.iter().enumerate() {
            let (loaded, touched) = &own[index];
            let mut pending = into[index].clone();
            pending.subtract(touched);
            pending.union(loaded);
            for &next in &block.successors {
                changed |= into[next as usize].union(&pending);
            }
        }
    }
    into
}

#[cfg(test)]
mod tests {
    use super::super::cfg::Flow;
    use super::*;

    fn straight(effects: &[Effects], registers: usize) -> Allocation {
        let flow = vec![Flow { target: None, falls: true, exits: false }; effects.len()];
        allocate(&ControlFlow::new(&flow), effects, &vec![0; registers], &vec![1; registers])
    }

    fn effect(reads: &[u16], writes: &[u16], late: bool) -> Effects {
        Effects { reads: reads.to_vec(), writes: writes.to_vec(), guarded: false, late }
    }

    #[test]
    fn a_row_is_used_again_after_the_last_read() {
        let found =
            straight(&[effect(&[], &[0], false), effect(&[0], &[1], false), effect(&[1], &[2], false)], 3);
        assert_eq!(found.slot_counts, [1]);
        assert_eq!(found.pressure, 1);
    }

    #[test]
    fn a_dead_load_keeps_its_row_while_it_is_under_way() {
        let found =
            straight(&[effect(&[], &[0], true), effect(&[], &[1], false), effect(&[1], &[], false)], 2);
        assert_ne!(found.slots[0], found.slots[1]);
    }
}
