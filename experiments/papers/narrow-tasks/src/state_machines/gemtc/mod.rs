//! GeMTC's SuperKernel (Krieder et al., HPDC 2014; as in Yeh et al., PPoPP 2017, section 6.1) as state
//! machines: the actions of its blocks on the queue of tasks, and their times.
//!
//! A block takes the lock, takes the next task, gives the lock back, executes the task, and takes the lock again to enter the result; it
//! ends when no task is left. [`lock`] determines the holder of the lock and its time. A task is executed functionally when it is taken, on
//! the memory at that time; its warps then share the SM like any others, except that their memory accesses wait behind polls of the lock.
//! Blocks of a task come one after another in the same warps. Queue, tasks and the list of finished ones are in device memory and are
//! changed as `cuda/gemtc` does.

mod costs;
mod lock;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use counterpoint::component::Variant;
use counterpoint::kernel::Fault;
use counterpoint::messages::launch::{CtaCounts, LaunchId, RunCta};

use super::task::Tasks;
use crate::task_entry::{self, SUPER_KERNEL};
use crate::throughput::state_machine::{Demands, Device, Ended, StateMachine, Warp, Work};
use costs::{SuperCosts, SuperParams};
use lock::{Lock, LockCosts, Section, Spinner};

/// Offsets of the next task, of the number of tasks, and of the number done in the queue (`TaskQueue`).
const FRONT: u64 = 4;
const REAR: u64 = 8;
const DONE: u64 = 12;

struct Super {
    tasks: Tasks,
    lock: Lock,
    /// The places of the queue, its entries and the list of finished tasks.
    queue: u64,
    entries: u64,
    done: u64,
    blocks: u32,
}

/// The state of a block.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Begins,
    /// The block holds the lock to take a task, or waits for the lock.
    Takes,
    /// The block has taken a task, and releases the lock.
    Taken(u32),
    /// This number of the block's warps work on a task.
    Runs(u32, u32),
    /// The block holds the lock to enter a task's result, or waits for the lock.
    Enters(u32),
    /// No task is left for the block.
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
pub(super) struct Supers {
    costs: SuperCosts,
    all: BTreeMap<LaunchId, Super>,
    blocks: BTreeMap<u32, Block>,
    next: u32,
}

impl Variant<dyn StateMachine> for Supers {
    const NAME: &'static str = "gemtc";
    const DOC: &'static str = "GeMTC's SuperKernel: blocks that take tasks from a queue under a lock.";
    type Params = SuperParams;

    fn build(params: &SuperParams) -> Result<Box<dyn StateMachine>, String> {
        let costs = SuperCosts::new(params);
        Ok(Box::new(Supers { costs, all: BTreeMap::new(), blocks: BTreeMap::new(), next: 0 }))
    }
}

impl Super {
    fn new(tasks: Tasks, costs: LockCosts, sms: usize) -> Result<Self, Fault> {
        let [queue, entries, done] = [tasks.parameter(0)?, tasks.parameter(1)?, tasks.parameter(2)?];
        let lock = Lock::new(costs, sms);
        Ok(Super { tasks, lock, queue, entries, done, blocks: 0 })
    }

    fn word(&self, at: u64, device: &mut Device<'_>) -> u32 {
        u32::from_le_bytes(device.bytes(self.queue + at))
    }

    fn set_word(&self, at: u64, value: u32, device: &mut Device<'_>) {
        device.put(self.queue + at, &value.to_le_bytes());
    }

    /// The next task, if one is left.
    fn take(&self, device: &mut Device<'_>) -> Option<u32> {
        let front = self.word(FRONT, device);
        // Both indices are signed in `cuda/gemtc`.
        if front as i32 >= self.word(REAR, device) as i32 {
            return None;
        }
        self.set_word(FRONT, front.wrapping_add(1), device);
        Some(front)
    }

    /// Enters a task in the list of finished ones.
    fn enter(&self, task: u32, device: &mut Device<'_>) {
        let place = self.word(DONE, device);
        device.put(self.done + 4 * u64::from(place), &task.to_le_bytes());
        self.set_word(DONE, place.wrapping_add(1), device);
    }
}

impl StateMachine for Supers {
    fn serves(&self, kernel: &str) -> bool {
        kernel == SUPER_KERNEL
    }

    fn begin(&mut self, message: RunCta, device: &mut Device<'_>) -> Result<(), Fault> {
        let RunCta { launch, index, sm, .. } = message;
        let all = match self.all.entry(launch.id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Super::new(Tasks::new(&launch), self.costs.lock, device.sms())?),
        };
        all.blocks += 1;
        let (id, sm) = (launch.id, sm as usize);
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let counts = CtaCounts::default();
        let block = Block { launch: id, index, sm, doing: Doing::Begins, since: device.cycle(), counts };
        self.blocks.insert(number, block);
        device.begin(sm, work(number), self.costs.begin, Demands::default());
        Ok(())
    }

    /// A warp of a block has done its work.
    fn done(&mut self, work: Work, device: &mut Device<'_>) -> Result<Option<Ended>, Fault> {
        let number = work.0 as u32;
        let Some(block) = self.blocks.get_mut(&number) else { return Ok(None) };
        match block.doing {
            Doing::Begins => block.doing = Doing::Takes,
            Doing::Runs(task, 1) => block.doing = Doing::Enters(task),
            Doing::Runs(task, warps) => {
                block.doing = Doing::Runs(task, warps - 1);
                return Ok(None);
            }
            Doing::Takes | Doing::Taken(_) | Doing::Enters(_) => return Ok(None),
            Doing::Ends => return Ok(self.end(number, device)),
        }
        let Some(all) = self.all.get_mut(&block.launch) else { return Ok(None) };
        let spinner = Spinner { block: number, sm: block.sm };
        if all.lock.ask(spinner, device.cycle()) {
            all.hold(block, device);
        } else {
            device.poll(block.sm, 1, &self.costs.spinning(all.lock.period()));
        }
        Ok(None)
    }

    /// Time of a lock's release.
    fn due(&self) -> Option<u64> {
        self.all.values().filter_map(|it| it.lock.due()).min()
    }

    /// Gives back the locks for which it is time.
    fn advance(&mut self, device: &mut Device<'_>) -> Result<(), Fault> {
        let Supers { costs, all, blocks, .. } = self;
        let due = |all: &Super| all.lock.due().is_some_and(|due| due <= device.cycle());
        let ids: Vec<LaunchId> = all.iter().filter(|(_, all)| due(all)).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(all) = all.get_mut(&id) else { continue };
            let Some(before) = all.lock.holder() else { continue };
            let Some(block) = blocks.get_mut(&before.block) else { continue };
            let again = block.released(before.block, all, costs, device)?;
            let next = all.lock.release(again, device.cycle(), device.random());
            let demands = costs.spinning(all.lock.period());
            if again && next != Some(before) {
                device.poll(before.sm, 1, &demands);
            }
            delay(&all.lock, device);
            let Some(next) = next else { continue };
            if next != before {
                device.poll(next.sm, -1, &demands);
            }
            if let Some(block) = blocks.get_mut(&next.block) {
                all.hold(block, device);
            }
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        !self.blocks.is_empty()
    }
}

impl Supers {
    fn end(&mut self, number: u32, device: &Device<'_>) -> Option<Ended> {
        let Block { launch, index, since, mut counts, .. } = self.blocks.remove(&number)?;
        let cycles = device.cycle() - since;
        if let Entry::Occupied(mut all) = self.all.entry(launch) {
            counts.warp_cycles = cycles * u64::from(all.get().tasks.launch.threads().div_ceil(32));
            all.get_mut().blocks -= 1;
            // Blocks that have not begun yet find the queue as it is in memory.
            if all.get().blocks == 0 {
                all.remove();
            }
        }
        Some(Ended { launch, index, counts, cycles })
    }
}

impl Super {
    /// A block has the lock and changes the queue as it needs.
    fn hold(&mut self, block: &mut Block, device: &mut Device<'_>) {
        let section = match block.doing {
            Doing::Enters(task) => {
                self.enter(task, device);
                Section::Enter
            }
            _ => match self.take(device) {
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
    fn released(
        &mut self,
        number: u32,
        all: &mut Super,
        costs: &SuperCosts,
        device: &mut Device<'_>,
    ) -> Result<bool, Fault> {
        match self.doing {
            Doing::Enters(_) => {
                self.doing = Doing::Takes;
                return Ok(true);
            }
            Doing::Taken(task) => {
                let entry = all.entries + u64::from(task) * task_entry::BYTES;
                let (demand, blocks) = all.tasks.execute(entry, device)?;
                for warp in 0..demand.warps as usize {
                    let of_warp: Vec<Warp> = blocks.iter().map(|block| block[warp].clone()).collect();
                    self.counts.warp_insn += of_warp.iter().map(|it| it.instructions).sum::<u64>();
                    self.counts.thread_insn += of_warp.iter().map(|it| it.threads).sum::<u64>();
                    let (cycles, rates) = costs.task(&of_warp);
                    device.begin(self.sm, work(number), cycles, rates);
                }
                self.doing = Doing::Runs(task, demand.warps);
            }
            _ => device.begin(self.sm, work(number), costs.end, Demands::default()),
        }
        Ok(false)
    }
}

fn work(block: u32) -> Work {
    Work(block.into())
}

/// Delays the tasks' memory requests by the polls of a lock, as the holder's requests are delayed.
fn delay(lock: &Lock, device: &mut Device<'_>) {
    for sm in 0..device.sms() {
        let delay = lock.looks_before(sm).saturating_sub(device.global_latency());
        device.delay(sm, delay as f64);
    }
}
