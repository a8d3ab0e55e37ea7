//! GeMTC's SuperKernel (Krieder et al., HPDC 2014; as in Yeh et al., PPoPP 2017, section 6.1) as state machines: what its blocks do to the
//! queue of tasks, and when.
//!
//! A block takes the lock, takes the next task, gives the lock back, executes the task, and takes the lock again to enter the result; it ends
//! when no task is left. Who has the lock and for how long is the business of [`lock`]. A task is executed when it is taken, on the memory
//! as it is then; its warps then share the SM like any others, but that their accesses to memory wait behind looks at the lock. Blocks of a
//! task come one after another in the same warps. Queue, tasks and the list of what is done are in device memory and are changed as
//! `experiments/applications/gemtc.h` does.

mod costs;
mod lock;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::launch::{CtaCounts, LaunchId, RunCta};
use counterpoint_protocols::pagoda;

use super::Around;
use super::blocks::Ended;
use super::demands::Demands;
use super::isolated::Warp;
use super::memory::DeviceMemory;
use super::sm::Worker;
use super::task::Tasks;
pub(super) use costs::{SuperCosts, SuperParams};
use lock::{Lock, Section, Spinner};

/// Where the queue has the next task, how many there are, and how many are done (`TaskQueue`).
const FRONT: u64 = 4;
const REAR: u64 = 8;
const DONE: u64 = 12;

/// A SuperKernel.
struct Super {
    tasks: Tasks,
    lock: Lock,
    /// Where the queue, its entries and the list of what is done lie.
    queue: u64,
    entries: u64,
    done: u64,
    /// Blocks that are there.
    blocks: u32,
}

/// What a block does.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It begins.
    Begins,
    /// It has the lock for a task, or waits for it.
    Takes,
    /// It has taken a task, and gives the lock back.
    Taken(u32),
    /// So many of its warps are at work on a task.
    Runs(u32, u32),
    /// It has the lock to enter a task's result, or waits for it.
    Enters(u32),
    /// There is no task for it.
    Ends,
}

/// A block of a SuperKernel.
struct Block {
    launch: LaunchId,
    index: u32,
    sm: usize,
    doing: Doing,
    since: u64,
    counts: CtaCounts,
}

/// The SuperKernels of a device.
#[derive(Default)]
pub(super) struct Supers {
    all: BTreeMap<LaunchId, Super>,
    /// Their blocks, by the number that the model gives them.
    blocks: BTreeMap<u32, Block>,
    next: u32,
}

impl Super {
    fn new(tasks: Tasks, around: &Around<'_>) -> Result<Self, Fault> {
        let [queue, entries, done] = [tasks.parameter(0)?, tasks.parameter(1)?, tasks.parameter(2)?];
        let lock = Lock::new(around.supers.lock, around.sms.len());
        Ok(Super { tasks, lock, queue, entries, done, blocks: 0 })
    }

    fn word(&self, at: u64, memory: &mut DeviceMemory) -> u32 {
        u32::from_le_bytes(memory.bytes(self.queue + at))
    }

    fn set_word(&self, at: u64, value: u32, memory: &mut DeviceMemory) {
        memory.put(self.queue + at, &value.to_le_bytes());
    }

    /// The next task, if one is left.
    fn take(&self, memory: &mut DeviceMemory) -> Option<u32> {
        let front = self.word(FRONT, memory);
        // Both are signed there.
        if front as i32 >= self.word(REAR, memory) as i32 {
            return None;
        }
        self.set_word(FRONT, front.wrapping_add(1), memory);
        Some(front)
    }

    /// Enters a task in the list of what is done.
    fn enter(&self, task: u32, memory: &mut DeviceMemory) {
        let place = self.word(DONE, memory);
        memory.put(self.done + 4 * u64::from(place), &task.to_le_bytes());
        self.set_word(DONE, place.wrapping_add(1), memory);
    }
}

impl Supers {
    /// Whether there are no blocks.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// A block of a SuperKernel comes to an SM.
    pub(super) fn begin(&mut self, message: RunCta, around: &mut Around<'_>) -> Result<(), Fault> {
        let RunCta { launch, index, sm, .. } = message;
        let all = match self.all.entry(launch.id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Super::new(Tasks::new(&launch), around)?),
        };
        all.blocks += 1;
        let (id, sm) = (launch.id, sm as usize);
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let counts = CtaCounts::default();
        let block = Block { launch: id, index, sm, doing: Doing::Begins, since: around.cycle, counts };
        self.blocks.insert(number, block);
        around.sms[sm].begin(Worker::Super(number), around.supers.begin, Demands::default());
        Ok(())
    }

    /// When a lock is given back.
    pub(super) fn due(&self) -> Option<u64> {
        self.all.values().filter_map(|it| it.lock.due()).min()
    }

    /// A warp of a block has done its work. Gives the block if it has ended.
    pub(super) fn worker_done(&mut self, number: u32, around: &mut Around<'_>) -> Option<Ended> {
        let block = self.blocks.get_mut(&number)?;
        match block.doing {
            Doing::Begins => block.doing = Doing::Takes,
            Doing::Runs(task, 1) => block.doing = Doing::Enters(task),
            Doing::Runs(task, warps) => {
                block.doing = Doing::Runs(task, warps - 1);
                return None;
            }
            Doing::Takes | Doing::Taken(_) | Doing::Enters(_) => return None,
            Doing::Ends => return self.end(number, around),
        }
        let all = self.all.get_mut(&block.launch)?;
        let spinner = Spinner { block: number, sm: block.sm };
        if all.lock.ask(spinner, around.cycle) {
            all.hold(block, around.memory);
        } else {
            let demands = around.supers.spinning(all.lock.period());
            around.sms[block.sm].poll(1, &demands);
        }
        None
    }

    /// Gives back the locks for which it is time; `random` gives the next random number.
    pub(super) fn release(&mut self, around: &mut Around<'_>, random: impl Fn() -> u64) -> Result<(), Fault> {
        let Supers { all, blocks, .. } = self;
        let due = |all: &Super| all.lock.due().is_some_and(|due| due <= around.cycle);
        let ids: Vec<LaunchId> = all.iter().filter(|(_, all)| due(all)).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(all) = all.get_mut(&id) else { continue };
            let Some(before) = all.lock.holder() else { continue };
            let Some(block) = blocks.get_mut(&before.block) else { continue };
            let again = block.released(before.block, all, around)?;
            let next = all.lock.release(again, around.cycle, random());
            let demands = around.supers.spinning(all.lock.period());
            if again && next != Some(before) {
                around.spin(before.sm, 1, &demands);
            }
            around.delay(&all.lock);
            let Some(next) = next else { continue };
            if next != before {
                around.spin(next.sm, -1, &demands);
            }
            if let Some(block) = blocks.get_mut(&next.block) {
                all.hold(block, around.memory);
            }
        }
        Ok(())
    }

    /// A block has ended.
    fn end(&mut self, number: u32, around: &Around<'_>) -> Option<Ended> {
        let Block { launch, index, since, mut counts, .. } = self.blocks.remove(&number)?;
        let cycles = around.cycle - since;
        if let Entry::Occupied(mut all) = self.all.entry(launch) {
            counts.warp_cycles = cycles * u64::from(all.get().tasks.launch.threads().div_ceil(32));
            all.get_mut().blocks -= 1;
            // Blocks of it that are still to come find the queue as it is in memory.
            if all.get().blocks == 0 {
                all.remove();
            }
        }
        Some(Ended { launch, index, counts, cycles })
    }
}

impl Super {
    /// A block has the lock and changes the queue as it needs.
    fn hold(&mut self, block: &mut Block, memory: &mut DeviceMemory) {
        let section = match block.doing {
            Doing::Enters(task) => {
                self.enter(task, memory);
                Section::Enter
            }
            _ => match self.take(memory) {
                Some(task) => {
                    block.doing = Doing::Taken(task);
                    Section::Take
                }
                None => {
                    block.doing = Doing::Ends;
                    Section::Empty
                }
            },
        };
        self.lock.hold(section);
    }
}

impl Block {
    /// The block has released the lock. Whether it takes it again at once.
    fn released(&mut self, number: u32, all: &mut Super, around: &mut Around<'_>) -> Result<bool, Fault> {
        around.sms[self.sm].advance(around.cycle);
        match self.doing {
            Doing::Enters(_) => {
                self.doing = Doing::Takes;
                return Ok(true);
            }
            Doing::Taken(task) => {
                let entry = all.entries + u64::from(task) * pagoda::BYTES;
                let (demand, blocks) = all.tasks.execute(entry, around)?;
                for warp in 0..demand.warps as usize {
                    let of_warp: Vec<Warp> = blocks.iter().map(|block| block[warp].clone()).collect();
                    self.counts.warp_insn += of_warp.iter().map(|it| it.instructions).sum::<u64>();
                    self.counts.thread_insn += of_warp.iter().map(|it| it.threads).sum::<u64>();
                    let (cycles, rates) = around.supers.task(&of_warp);
                    around.sms[self.sm].begin(Worker::Super(number), cycles, rates);
                }
                self.doing = Doing::Runs(task, demand.warps);
            }
            _ => around.sms[self.sm].begin(Worker::Super(number), around.supers.end, Demands::default()),
        }
        Ok(false)
    }
}

impl Around<'_> {
    /// So many blocks more, or fewer, of an SM spin.
    fn spin(&mut self, sm: usize, more: i32, demands: &Demands) {
        self.sms[sm].advance(self.cycle);
        self.sms[sm].poll(more, demands);
    }

    /// What tasks ask of memory waits behind the looks at a lock, as what its holder asks does.
    fn delay(&mut self, lock: &Lock) {
        for (number, sm) in self.sms.iter_mut().enumerate() {
            let delay = lock.looks_before(number).saturating_sub(self.costs.global);
            sm.advance(self.cycle);
            sm.delay(delay as f64);
        }
    }
}
