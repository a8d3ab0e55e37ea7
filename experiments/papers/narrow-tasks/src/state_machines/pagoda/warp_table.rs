//! A MasterKernel block's knowledge of its warps: the WarpTable, counters and barrier ids (Pagoda, PPoPP
//! 2017, sections 4.3 and 5).
//!
//! This is the pure twin of the state of `cuda/pagoda` in shared memory. Warp 0 schedules: it places one block of a task that needs
//! memory or a barrier before the next, and all warps of any other task at once, on any free slots, and does nothing else until all
//! are placed. The other warps execute; they release barriers at once, and memory by marking it.
//!
//! Corrections of Algorithms 1 and 2: `pSched` goes over the 31 slots and not over the rows; a slot is tested and written by the same
//! index; a warp is placed if the counter was above zero; and a count per block, which the paper does not show, detects the end of a
//! block.

use crate::task_entry::Demand;

use super::buddy::{Buddy, BuddyNode};

/// Executor warps of a block of 1024 threads: all but the scheduler.
pub const SLOTS: usize = 31;
/// Named barriers of a block (PTX ISA, bar).
pub const BARRIERS: u32 = 16;

/// The work of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Number of the warp in the task.
    pub warp: u32,
    /// The row of the task.
    pub row: u32,
    /// The memory of its block.
    pub memory: Option<BuddyNode>,
    /// The barrier of its block.
    pub barrier: Option<u32>,
    /// Block of the task, counted from 0.
    pub block: u32,
}

/// A task that the scheduler warp is busy with.
#[derive(Clone, Copy, Debug)]
struct Placing {
    row: u32,
    demand: Demand,
    blocks: u32,
    /// The barrier and the memory that the next one has so far.
    barrier: Option<u32>,
    memory: Option<BuddyNode>,
    /// Warps still to be placed of the block, or of the task, whose needs are met.
    left: Option<u32>,
}

/// A task some of whose warps have not ended.
#[derive(Clone, Debug)]
struct Running {
    /// Warps that have not ended (`doneCtr`).
    warps: u32,
    /// Running warps of each block.
    of_block: Vec<u32>,
}

/// A block of the MasterKernel.
#[derive(Clone, Debug)]
pub struct MasterBlock {
    slots: Vec<Option<Slot>>,
    /// Running task of each row.
    running: Vec<Option<Running>>,
    memory: Buddy,
    /// A bit for each barrier that nobody has.
    barriers: u32,
    placing: Option<Placing>,
}

impl MasterBlock {
    /// A block with this number of slots, rows and bytes of memory.
    ///
    /// # Errors
    /// If the memory has no tree.
    pub fn new(slots: usize, rows: usize, pool: u32) -> Result<Self, String> {
        Ok(MasterBlock {
            slots: vec![None; slots],
            running: vec![None; rows],
            memory: Buddy::new(pool)?,
            barriers: (1 << BARRIERS) - 1,
            placing: None,
        })
    }

    /// The slots.
    pub fn slots(&self) -> &[Option<Slot>] {
        &self.slots
    }

    /// Whether the scheduler warp is free to sweep the table.
    pub fn is_free(&self) -> bool {
        self.placing.is_none()
    }

    /// The scheduler warp turns to the task of a row, and places all that it can.
    pub fn begin(&mut self, row: u32, demand: Demand) {
        let Demand { blocks, warps, .. } = demand;
        self.running[row as usize] =
            Some(Running { warps: blocks * warps, of_block: vec![warps; blocks as usize] });
        let left = (!demand.by_block()).then_some(blocks * warps);
        self.placing = Some(Placing { row, demand, blocks: 0, barrier: None, memory: None, left });
        self.advance();
    }

    /// The scheduler warp continues to place the task, until all its warps are placed.
    pub fn advance(&mut self) {
        while let Some(mut placing) = self.placing {
            let Demand { blocks, warps, shared, barrier } = placing.demand;
            let by_block = placing.demand.by_block();
            if placing.left.is_none() {
                if barrier && placing.barrier.is_none() {
                    placing.barrier = self.take_barrier();
                }
                if shared > 0 && placing.memory.is_none() && (!barrier || placing.barrier.is_some()) {
                    self.memory.free_returned();
                    placing.memory = self.memory.allocate(shared);
                }
                let has_all =
                    barrier == placing.barrier.is_some() && (shared > 0) == placing.memory.is_some();
                placing.left = has_all.then_some(warps);
            }
            placing.left = placing.left.map(|left| self.place(placing, left));
            self.placing = Some(placing);
            if placing.left != Some(0) {
                return;
            }
            let placed = if by_block { placing.blocks + 1 } else { blocks };
            let next = Placing { blocks: placed, barrier: None, memory: None, left: None, ..placing };
            self.placing = (placed < blocks).then_some(next);
        }
    }

    /// `pSched`: every free slot takes a warp while there is one. Gives the warps that are left.
    fn place(&mut self, placing: Placing, mut left: u32) -> u32 {
        let Placing { row, demand, blocks, memory, barrier, .. } = placing;
        let (base, whole) = match demand.by_block() {
            true => (blocks * demand.warps, demand.warps),
            false => (0, demand.blocks * demand.warps),
        };
        for slot in self.slots.iter_mut().filter(|slot| slot.is_none()) {
            if left == 0 {
                break;
            }
            let warp = base + whole - left;
            *slot = Some(Slot { warp, row, memory, barrier, block: warp / demand.warps });
            left -= 1;
        }
        left
    }

    /// An executor's warp ends. Returns the row of its task if the warp was the task's last.
    pub fn finish(&mut self, slot: usize) -> Option<u32> {
        let Slot { row, memory, barrier, block, .. } = self.slots[slot].take()?;
        let running = self.running[row as usize].as_mut()?;
        running.warps -= 1;
        running.of_block[block as usize] -= 1;
        if running.of_block[block as usize] == 0 {
            if let Some(node) = memory {
                self.memory.give_back(node);
            }
            self.barriers |= barrier.map_or(0, |id| 1 << id);
        }
        let is_last = running.warps == 0;
        if is_last {
            self.running[row as usize] = None;
        }
        is_last.then_some(row)
    }

    fn take_barrier(&mut self) -> Option<u32> {
        let id = (self.barriers != 0).then(|| self.barriers.trailing_zeros())?;
        self.barriers &= !(1 << id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const PLAIN: Demand = Demand { blocks: 1, warps: 1, shared: 0, barrier: false };

    fn block() -> MasterBlock {
        MasterBlock::new(SLOTS, 32, 32 << 10).unwrap()
    }

    fn busy(block: &MasterBlock) -> usize {
        block.slots().iter().flatten().count()
    }

    fn of_row(block: &MasterBlock, row: u32) -> Vec<usize> {
        let all = block.slots().iter().enumerate();
        all.filter(|(_, slot)| slot.is_some_and(|slot| slot.row == row)).map(|(at, _)| at).collect()
    }

    #[test]
    fn blocks_have_barriers_of_their_own_and_the_seventeenth_waits() {
        let mut block = block();
        block.begin(0, Demand { blocks: 17, barrier: true, ..PLAIN });
        let ids: BTreeSet<_> = block.slots().iter().flatten().map(|slot| slot.barrier.unwrap()).collect();
        assert_eq!((ids.len(), busy(&block), block.is_free()), (16, 16, false));
        assert_eq!(block.finish(5), None);
        block.advance();
        assert!(block.is_free());
        assert_eq!(
            block.slots()[5].map(|slot| (slot.warp, slot.barrier)),
            Some((16, Some(5))),
            "the id is used again"
        );
    }

    #[test]
    fn all_warps_of_a_block_have_its_barrier() {
        let mut block = block();
        block.begin(3, Demand { blocks: 3, warps: 8, barrier: true, ..PLAIN });
        for slot in block.slots().iter().flatten() {
            assert_eq!((slot.barrier, slot.block), (Some(slot.warp / 8), slot.warp / 8));
        }
        assert_eq!((busy(&block), block.is_free()), (24, true));
    }

    #[test]
    fn warps_are_placed_one_by_one_as_slots_become_free() {
        let mut block = block();
        block.begin(0, Demand { warps: 26, ..PLAIN });
        block.begin(1, Demand { warps: 8, ..PLAIN });
        assert_eq!(
            (of_row(&block, 1).len(), block.is_free()),
            (5, false),
            "five slots are free, and five start"
        );
        for (ended, placed) in [(0, 6), (1, 7), (2, 8)] {
            block.finish(ended);
            block.advance();
            assert_eq!((of_row(&block, 1).len(), block.is_free()), (placed, placed == 8));
        }
        let warps: BTreeSet<u32> =
            of_row(&block, 1).iter().map(|&at| block.slots()[at].unwrap().warp).collect();
        assert!(warps.into_iter().eq(0..8));
    }

    #[test]
    fn a_task_of_more_warps_than_slots_runs_in_waves() {
        let mut block = block();
        block.begin(0, Demand { blocks: 4, warps: 16, ..PLAIN });
        let (mut done, mut waves) = (None, 0);
        while done.is_none() {
            waves += 1;
            for slot in 0..SLOTS {
                done = block.finish(slot).or(done);
            }
            block.advance();
        }
        assert_eq!((waves, done), (3, Some(0)), "64 warps in 31 slots");
    }

    #[test]
    fn the_scheduler_looks_at_no_other_row_until_all_is_placed() {
        let mut block = block();
        block.begin(0, Demand { blocks: 2, shared: 20 << 10, ..PLAIN });
        assert_eq!((busy(&block), block.is_free()), (1, false), "30 warps are free, the memory is not");
        block.finish(0);
        block.advance();
        assert!(block.is_free());
    }

    #[test]
    fn blocks_of_64_threads_with_8_kib_occupy_a_quarter() {
        let mut block = block();
        for row in 0..5 {
            assert!(block.is_free(), "four blocks have memory");
            block.begin(row, Demand { warps: 2, shared: 8 << 10, barrier: true, ..PLAIN });
        }
        assert_eq!((busy(&block), block.is_free()), (8, false), "the fifth waits");
        assert_eq!(
            100 * busy(&block) / (SLOTS + 1),
            25,
            "of the warps of the block, the scheduler's among them"
        );
    }

    proptest! {
        /// For any tasks, and any order of ends: every warp runs once, live blocks have barriers and memory of their own, and when
        /// all blocks have ended, all resources are free again.
        #[test]
        fn every_warp_runs_once_and_nothing_is_shared(
            tasks in prop::collection::vec((1_u32..6, 1_u32..=31, 0_u32..20_000, any::<bool>()), 1..20),
            choices in prop::collection::vec(any::<u16>(), 50),
        ) {
            let mut block = block();
            let mut choices = choices.into_iter().cycle();
            for (number, &(blocks, warps, shared, barrier)) in tasks.iter().enumerate() {
                let demand = Demand { blocks, warps, shared: shared.saturating_sub(5_000), barrier };
                let row = number as u32 % 32;
                block.begin(row, demand);
                let mut ran = BTreeSet::new();
                let mut done = false;
                while !done {
                    let live: Vec<Slot> = block.slots().iter().flatten().copied().collect();
                    for (a, b) in live.iter().flat_map(|a| live.iter().map(move |b| (a, b))) {
                        let same = a.block == b.block;
                        prop_assert!(same || a.barrier.is_none() || a.barrier != b.barrier);
                        prop_assert!(same || a.memory.is_none_or(|a| b.memory.is_some_and(|b| !a.overlaps(b))));
                    }
                    let busy = of_row(&block, row);
                    prop_assert!(!busy.is_empty(), "nothing runs and the task has not ended");
                    let slot = busy[choices.next().unwrap() as usize % busy.len()];
                    prop_assert!(ran.insert(block.slots()[slot].unwrap().warp));
                    done = block.finish(slot) == Some(row);
                    block.advance();
                }
                prop_assert_eq!(ran.len() as u32, blocks * warps);
            }
            block.memory.free_returned();
            prop_assert_eq!((block.memory.marked().count(), block.barriers), (0, (1 << BARRIERS) - 1));
        }
    }
}
