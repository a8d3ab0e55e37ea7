//! Live registers by place; from them the register estimate and the sharing of rows.
//!
//! Liveness is that of one thread. It holds for a warp too, because a write touches only the lanes
//! that execute it. A register that a load has yet to fill counts as living until something reads or
//! writes it, dead or not: the value may arrive at any time and must not overwrite a row that another
//! register took over.

use super::bits::Bits;
use super::cfg::ControlFlow;

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
    let live_out = live_out_of_blocks(flow, effects, count);
    let pending_in = pending_into_blocks(flow, effects, count);
    let share = count <= LARGEST_SHARED;
    let mut neighbours = vec![Bits::new(count); if share { count } else { 0 }];
    let mut pressure = 0;
    for (index, block) in flow.blocks.iter().enumerate() {
        // Pending sets go forward, live sets backward: the former are kept for the walk back.
        let mut pending = pending_in[index].clone();
        let mut pending_after = Vec::new();
        for pc in block.first..block.end {
            step_pending(&mut pending, &effects[pc as usize]);
            pending_after.push(pending.clone());
        }
        let mut live = live_out[index].clone();
        for pc in (block.first..block.end).rev() {
            let effect = &effects[pc as usize];
            let mut together = live.clone();
            together.union(&pending_after[(pc - block.first) as usize]);
            for &write in &effect.writes {
                together.insert(write as usize);
            }
            if share {
                for &write in &effect.writes {
                    neighbours[write as usize].union(&together);
                }
            }
            step_live(&mut live, effect);
            let weight: u32 = together.iter().map(|id| weights[id]).sum();
            pressure = pressure.max(weight);
        }
        if share && block.first == 0 {
            // A register that is read before it is written holds zero from the start, in a row of its own.
            for id in live.iter() {
                neighbours[id].union(&live);
            }
        }
    }
    if share {
        for id in 0..count {
            for other in neighbours[id].clone().iter() {
                neighbours[other].insert(id);
            }
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
            for other in neighbours[id].iter() {
                if other != id && class_of[other] == class && slots[other] != u16::MAX {
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

fn step_pending(pending: &mut Bits, effect: &Effects) {
    for &id in effect.reads.iter().chain(&effect.writes) {
        pending.remove(id as usize);
    }
    if effect.late {
        for &write in &effect.writes {
            pending.insert(write as usize);
        }
    }
}

fn live_out_of_blocks(flow: &ControlFlow, effects: &[Effects], count: usize) -> Vec<Bits> {
    let mut out = vec![Bits::new(count); flow.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in flow.blocks.iter().enumerate().rev() {
            for &next in &block.successors {
                let next = next as usize;
                let mut live = out[next].clone();
                for pc in (flow.blocks[next].first..flow.blocks[next].end).rev() {
                    step_live(&mut live, &effects[pc as usize]);
                }
                changed |= out[index].union(&live);
            }
        }
    }
    out
}

fn pending_into_blocks(flow: &ControlFlow, effects: &[Effects], count: usize) -> Vec<Bits> {
    let mut into = vec![Bits::new(count); flow.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in flow.blocks.iter().enumerate() {
            let mut pending = into[index].clone();
            for pc in block.first..block.end {
                step_pending(&mut pending, &effects[pc as usize]);
            }
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
