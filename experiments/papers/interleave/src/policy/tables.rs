//! The kernel status block and the core status block (section III, Figs. 3 and 4): which kernels run, which cores each may have blocks
//! on, and how many. Arithmetic that knows no time.
//!
//! The mapping of kernels to cores is computed anew when a kernel comes or ends. Nothing moves: blocks of a kernel that is no longer
//! assigned to a core end there. The paper has two kernels; the tables have one for each slot.

use counterpoint::gpu::cta_scheduler::occupancy::blocks;
use counterpoint::messages::launch::SmResources;

/// The mapping of kernels to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Each core has one kernel, the kernels in turn; another kernel's blocks end first.
    Spatial,
    /// Every core has all kernels, if they pass the occupancy test; else as under `Spatial`.
    Interleaved,
}

/// A row of the kernel status block whose valid bit is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The kernel's index.
    pub index: u32,
    /// Blocks of its grid in x, y and z.
    pub grid: [u32; 3],
    /// The next block.
    pub next: [u32; 3],
    /// The needs of a block on a core.
    pub resources: SmResources,
}

/// A kernel on a core: an entry of the core's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's slot in the kernel status block.
    pub slot: usize,
    /// Limit of the kernel's blocks on the core; for a kernel that is no longer assigned, the limit before that.
    pub maximum: u32,
    /// Blocks of the kernel on the core.
    pub active: u32,
    /// The mapping assigns the kernel to the core; otherwise its blocks end, and no new ones are placed.
    pub assigned: bool,
}

/// A row of the core status block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    offer: SmResources,
    /// Kernels that are assigned to the core, or have blocks on it.
    queue: Vec<Entry>,
    /// The slot that got a block last.
    last: usize,
}

/// A row of the core status block as the paper prints it, of a core with one kernel at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The core has reached its limit of blocks.
    pub full: bool,
    /// Number of the core, from 1.
    pub core: u32,
    /// The kernel whose blocks the core executes.
    pub active_kernel: u32,
    /// The kernel to which it is mapped.
    pub assigned_kernel: u32,
    /// Blocks that it may have of the active kernel.
    pub maximum: u32,
    /// Blocks of that kernel on the core.
    pub blocks: u32,
}

/// No slot of the kernel status block is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSlot;

/// The kernel status block and the core status block.
#[derive(Clone, Debug)]
pub struct Tables {
    mapping: Mapping,
    /// Kernels among which the blocks of a core are shared, even if fewer run.
    among: u32,
    kernels: Vec<Option<Kernel>>,
    cores: Vec<Core>,
    /// Whether the mapping in force has several kernels on a core.
    interleaves: bool,
    /// The core that is asked first for the next block.
    turn: usize,
}

/// The blocks of each kernel on every core under interleaving, if the kernels pass the occupancy test: over the whole GPU each kernel
/// has at least the number of blocks that it has under spatial scheduling, and a core has room for the blocks of all kernels. `offers`
/// are the cores' resources, `demands` the needs of a block of each kernel.
pub fn interleaved_blocks(offers: &[SmResources], demands: &[SmResources]) -> Option<Vec<u32>> {
    let (cores, kernels) = (offers.len() as u32, demands.len());
    if cores == 0 || kernels == 0 {
        return None;
    }
    let spatial = |kernel: usize| -> u32 {
        let own = offers.iter().skip(kernel).step_by(kernels);
        own.map(|offer| blocks(offer, &demands[kernel])).sum()
    };
    let each: Vec<u32> = (0..kernels).map(|kernel| spatial(kernel).div_ceil(cores)).collect();
    let total = |of: fn(&SmResources) -> u32| -> u64 {
        let needs =
            each.iter().zip(demands).map(|(blocks, demand)| u64::from(*blocks) * u64::from(of(demand)));
        needs.sum()
    };
    let fits = |offer: &SmResources| {
        total(|it| it.threads) <= offer.threads.into()
            && total(|it| it.ctas) <= offer.ctas.into()
            && total(|it| it.registers) <= offer.registers.into()
            && total(|it| it.shared) <= offer.shared.into()
    };
    (each.iter().all(|&blocks| blocks > 0) && offers.iter().all(fits)).then_some(each)
}

impl Tables {
    /// Tables with this many slots for kernels, of cores that offer this.
    pub fn new(mapping: Mapping, slots: usize, offers: &[SmResources]) -> Self {
        let core = |offer: &SmResources| Core { offer: *offer, queue: Vec::new(), last: 0 };
        Tables {
            mapping,
            among: 1,
            kernels: vec![None; slots],
            cores: offers.iter().map(core).collect(),
            interleaves: false,
            turn: 0,
        }
    }

    /// These tables with a core's blocks divided by `among` kernels, even if fewer run.
    pub fn among(self, among: u32) -> Self {
        Tables { among, ..self }
    }

    /// A kernel is launched: it takes the first slot whose valid bit is not set, and the mapping changes.
    ///
    /// # Errors
    /// If all slots are taken: the launch fails.
    pub fn launch(&mut self, index: u32, grid: [u32; 3], resources: SmResources) -> Result<usize, NoSlot> {
        let slot = self.kernels.iter().position(Option::is_none).ok_or(NoSlot)?;
        self.kernels[slot] = Some(Kernel { index, grid, next: [0; 3], resources });
        self.map();
        Ok(slot)
    }

    /// Notes that all blocks of a kernel have ended: its slot is free, and the mapping changes.
    pub fn complete(&mut self, slot: usize) {
        self.kernels[slot] = None;
        self.cores.iter_mut().for_each(|core| core.queue.retain(|entry| entry.slot != slot));
        self.map();
    }

    /// Maps the valid kernels to the cores.
    fn map(&mut self) {
        let valid: Vec<(usize, SmResources)> = (0..)
            .zip(&self.kernels)
            .filter_map(|(slot, kernel)| Some((slot, kernel.as_ref()?.resources)))
            .collect();
        let offers: Vec<SmResources> = self.cores.iter().map(|core| core.offer).collect();
        let demands: Vec<SmResources> = valid.iter().map(|(_, demand)| *demand).collect();
        let together = match self.mapping {
            Mapping::Spatial => None,
            Mapping::Interleaved => interleaved_blocks(&offers, &demands),
        };
        self.interleaves = valid.len() > 1 && together.is_some();
        let together = together.filter(|_| valid.len() > 1);
        let among = if valid.len() < self.among as usize { self.among } else { 1 };
        for (number, core) in self.cores.iter_mut().enumerate() {
            core.queue.iter_mut().for_each(|entry| entry.assigned = false);
            for (place, (slot, demand)) in valid.iter().enumerate() {
                match &together {
                    Some(each) => core.assign(*slot, each[place]),
                    None if number % valid.len() == place => {
                        core.assign(*slot, blocks(&core.offer, demand).div_ceil(among))
                    }
                    None => {}
                }
            }
            core.queue.retain(|entry| entry.assigned || entry.active > 0);
        }
    }

    /// Whether a core may get a block of a kernel: the core has fewer blocks of the kernel than the limit, and under spatial
    /// scheduling the active kernel is the assigned one.
    pub fn may_launch(&self, core: usize, slot: usize) -> bool {
        let queue = &self.cores[core].queue;
        let drained = || queue.iter().all(|entry| entry.slot == slot || entry.active == 0);
        let own = queue.iter().find(|entry| entry.slot == slot);
        own.is_some_and(|entry| entry.assigned && entry.active < entry.maximum)
            && (self.mapping == Mapping::Interleaved || drained())
    }

    /// The next core and kernel to launch a block, cores in turn and the kernels of a core in turn, of those that `can` take one. The
    /// block is counted.
    pub fn next(&mut self, can: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
        let (cores, slots) = (self.cores.len(), self.kernels.len());
        let found = (0..cores).map(|step| (self.turn + step) % cores).find_map(|core| {
            let first = self.cores[core].last + 1;
            let mut kernels = (0..slots).map(|step| (first + step) % slots);
            kernels.find(|&slot| self.may_launch(core, slot) && can(core, slot)).map(|slot| (core, slot))
        });
        let (core, slot) = found?;
        self.turn = (core + 1) % cores;
        self.cores[core].last = slot;
        if let Some(entry) = self.cores[core].queue.iter_mut().find(|entry| entry.slot == slot) {
            entry.active += 1;
        }
        if let Some(Kernel { grid, next, .. }) = &mut self.kernels[slot] {
            advance(next, grid);
        }
        Some((core, slot))
    }

    /// A core has this many blocks of a kernel.
    pub fn observe(&mut self, core: usize, slot: usize, blocks: u32) {
        let queue = &mut self.cores[core].queue;
        if let Some(entry) = queue.iter_mut().find(|entry| entry.slot == slot) {
            entry.active = blocks;
        }
        queue.retain(|entry| entry.assigned || entry.active > 0);
    }

    /// Whether cores have several kernels at a time.
    pub fn interleaves(&self) -> bool {
        self.interleaves
    }

    /// The kernel of a slot, if its valid bit is set.
    pub fn kernel(&self, slot: usize) -> Option<&Kernel> {
        self.kernels.get(slot)?.as_ref()
    }

    /// The slot of a kernel.
    pub fn slot_of(&self, index: u32) -> Option<usize> {
        self.kernels.iter().position(|kernel| kernel.as_ref().is_some_and(|kernel| kernel.index == index))
    }

    /// Cores on which a kernel is active: cores with its blocks, and cores that are assigned to it and have no blocks of another
    /// kernel.
    pub fn active_cores(&self, slot: usize) -> usize {
        self.cores.iter().filter(|core| core.is_active(slot)).count()
    }

    /// The queue of a core.
    pub fn queue(&self, core: usize) -> &[Entry] {
        &self.cores[core].queue
    }

    /// The row of a core under spatial scheduling, if a kernel is assigned to it.
    pub fn printed(&self, core: usize) -> Option<Printed> {
        let queue = &self.cores[core].queue;
        let assigned = queue.iter().find(|entry| entry.assigned)?;
        let active = queue.iter().find(|entry| entry.active > 0).unwrap_or(assigned);
        let index = |entry: &Entry| self.kernel(entry.slot).map_or(0, |kernel| kernel.index);
        Some(Printed {
            full: active.active == active.maximum,
            core: core as u32 + 1,
            active_kernel: index(active),
            assigned_kernel: index(assigned),
            maximum: active.maximum,
            blocks: active.active,
        })
    }
}

impl Core {
    /// Assigns a kernel with this many blocks.
    fn assign(&mut self, slot: usize, maximum: u32) {
        match self.queue.iter_mut().find(|entry| entry.slot == slot) {
            Some(entry) => (entry.maximum, entry.assigned) = (maximum, true),
            None => self.queue.push(Entry { slot, maximum, active: 0, assigned: true }),
        }
    }

    fn is_active(&self, slot: usize) -> bool {
        let Some(own) = self.queue.iter().find(|entry| entry.slot == slot) else { return false };
        let others = || self.queue.iter().any(|entry| entry.slot != slot && entry.active > 0);
        own.active > 0 || own.assigned && !others()
    }
}

/// The block behind one, x first.
fn advance(next: &mut [u32; 3], grid: &[u32; 3]) {
    for (place, size) in next.iter_mut().zip(grid) {
        *place += 1;
        if *place < *size {
            return;
        }
        *place = 0;
    }
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
