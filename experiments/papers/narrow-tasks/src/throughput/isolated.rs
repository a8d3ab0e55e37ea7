//! Time that the warps of a block would take if they had an SM to themselves, and the turns that they take there: a scoreboard that
//! observes while the block is executed without time.
//!
//! A warp issues in order, one instruction a cycle or two of different paths, when its registers are ready; a value is ready after the
//! latency of the class of its instruction. Memory answers after a fixed time, and sectors arrive one by one. Warps meet at barriers.

use counterpoint::gpu::sm::Units;
use counterpoint::messages::memory::{LINE_BYTES, line_of, sectors};
use counterpoint::ptx::functional::Observer;
use counterpoint::ptx::{Access, AccessKind, Instruction, Issue, Issued, Kernel, RegisterSet, Space};

use super::costs::Costs;
use super::demands::{Demands, Resource};

/// Instructions that a fetch brings ([`SmParams::fetch_width`](counterpoint::gpu::sm::SmParams)).
const FETCHED: u8 = 2;
/// Named barriers of a block (PTX ISA, bar).
const BARRIERS: usize = 16;
/// Resource that an instruction of a path uses.
const RESOURCE_OF_PATH: [Resource; Units::PATHS] =
    [Resource::Sp, Resource::Sfu, Resource::Dp, Resource::Tensor, Resource::LoadStore];

/// An instruction as a warp alone meets it.
pub(super) struct IsolatedInstruction {
    reads: RegisterSet,
    writes: RegisterSet,
    path: usize,
    /// Cycles for which it has the unit of its path.
    initiation: u64,
    /// Turns of the register file for which it has a collector.
    collected: u64,
    /// Cycles to the issue of an instruction that needs its value.
    latency: u64,
}

/// A warp at work.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// The cycle of its last issue, and its path if no other instruction was issued in it.
    issued: u64,
    single: Option<usize>,
    open: u64,
    buffer: Buffer,
    /// For each register, the cycle in which its value is ready.
    ready: Vec<u64>,
    /// For each path, the cycle in which the unit takes its next instruction.
    free: [u64; Units::PATHS],
    /// Cycle in which the last sector of the warp arrived, and cycle in which all its stores are acknowledged.
    sector: u64,
    stored: u64,
    /// For each instruction, how much more often it has computed than the one before it.
    computed: Vec<i32>,
    warp: Warp,
}

/// The instruction buffer of a warp, as `sm/frontend/fetch.rs` of the hardware fills it for a warp alone.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    /// The instruction behind the last one that the warp issued.
    next: u32,
    left: u8,
}

impl Buffer {
    /// Takes an instruction; gives the cycles from the warp's last issue to the first cycle in which it can issue this one. A fetch
    /// takes `fetch` cycles. `noticed` is the time from the issue of a jump until the scheduler empties a buffer that holds the
    /// instruction behind the jump.
    #[inline]
    fn take(&mut self, pc: u32, noticed: u64, fetch: u64) -> u64 {
        let jumped = pc != self.next;
        let (left, after) = match (self.left, jumped) {
            (0, false) => (FETCHED, fetch),
            // The instructions behind the jump have been fetched by then.
            (0, true) => (FETCHED, 2 * fetch),
            (left, false) => (left, 0),
            (_, true) => (FETCHED, noticed + fetch),
        };
        *self = Buffer { next: pc + 1, left: left - 1 };
        after
    }

    /// An access comes next. The one that came last is issued again, for lanes in another space, and has stayed here.
    fn keep(&mut self, pc: u32) {
        if self.next == pc + 1 {
            *self = Buffer { next: pc, left: self.left + 1 };
        }
    }
}

/// The demands of a warp whose block has an SM to itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warp {
    /// Cycles from the block's begin to its end.
    pub cycles: u64,
    /// Demands of the warp in all of these cycles.
    pub demands: Demands,
    /// Instructions of the warp.
    pub instructions: u64,
    /// Instructions of the warp's threads.
    pub threads: u64,
}

/// Looks on at one block.
pub(super) struct Isolated<'a> {
    steps: &'a [IsolatedInstruction],
    costs: &'a Costs,
    warps: Vec<Clock>,
    /// For each barrier, the cycle in which the last warp arrived.
    arrived: [u64; BARRIERS],
}

impl<'a> Isolated<'a> {
    pub(super) fn new(
        kernel: &Kernel,
        steps: &'a [IsolatedInstruction],
        costs: &'a Costs,
        warps: u32,
    ) -> Self {
        let ready = vec![0; kernel.scoreboard_registers().into()];
        let clock = Clock { ready, computed: vec![0; steps.len() + 1], ..Clock::default() };
        Isolated { steps, costs, warps: vec![clock; warps as usize], arrived: [0; BARRIERS] }
    }

    /// The warps of the block with their cycles, demands and final state: a block has ended when its stores
    /// are acknowledged.
    pub(super) fn warps(&self) -> impl Iterator<Item = Warp> + '_ {
        self.warps.iter().map(|clock| {
            let cycles = (clock.issued + 1).max(clock.stored).max(1);
            let mut warp = Warp { cycles, ..clock.warp.clone() };
            let mut times = 0;
            for (step, more) in self.steps.iter().zip(&clock.computed) {
                times += more;
                step.compute(&mut warp.demands, times as u64);
            }
            warp
        })
    }
}

impl IsolatedInstruction {
    /// The instructions of a kernel, in their order.
    pub(super) fn all_of(kernel: &Kernel, costs: &Costs) -> Vec<IsolatedInstruction> {
        kernel.instructions().iter().map(|it| IsolatedInstruction::new(it, costs)).collect()
    }

    fn new(instruction: &Instruction, costs: &Costs) -> Self {
        let &Instruction { reads, writes, accesses, unit, latency: class, .. } = instruction;
        let (latency, initiation) = costs.units.cycles_of(instruction);
        let conflicts = costs.bank_conflicts(accesses.reads());
        IsolatedInstruction {
            reads,
            writes,
            path: costs.units.path(unit, class),
            initiation: initiation.into(),
            collected: collecting(accesses.reads().len(), conflicts),
            latency: costs.later(conflicts) + u64::from(latency) + costs.pipeline,
        }
    }

    /// Operands wait for their banks side by side, and results once more.
    fn pass_banks(&self, demands: &mut Demands, times: u64) {
        for set in [&self.reads, &self.writes] {
            demands.visit_together(Resource::Banks, set.as_slice().len() as u64, times);
        }
    }

    fn compute(&self, demands: &mut Demands, times: u64) {
        if times > 0 {
            self.pass_banks(demands, times);
            demands.visit(Resource::Collectors, self.collected, times);
            demands.visit(RESOURCE_OF_PATH[self.path], self.initiation, times);
        }
    }
}

impl Clock {
    /// Issues an instruction as soon as it may; gives the cycle.
    #[inline]
    fn issue(&mut self, pc: usize, step: &IsolatedInstruction, costs: &Costs) -> u64 {
        // A scheduler that may issue a second instruction looks for it in the cycle of the first.
        let noticed = u64::from(!costs.pairs || self.single.is_none());
        let fetched = self.issued + self.buffer.take(pc as u32, noticed, costs.fetch);
        let mut at = self.open.max(self.free[step.path]).max(fetched);
        for &id in step.reads.as_slice().iter().chain(step.writes.as_slice()) {
            at = at.max(self.ready[id as usize]);
        }
        let pairs = costs.pairs && at <= self.issued && self.single.is_some_and(|single| single != step.path);
        if pairs {
            self.single = None;
            at = self.issued;
        } else {
            at = at.max(self.issued + 1);
            self.single = Some(step.path);
            // A scheduler turns to one warp in a cycle, from which it may take two.
            self.warp.demands.visit(Resource::Issue, 1, 1);
        }
        self.issued = at;
        self.warp.instructions += 1;
        at
    }

    #[inline]
    fn compute(&mut self, steps: &[IsolatedInstruction], first: usize, count: usize, costs: &Costs) {
        for (pc, step) in (first..).zip(&steps[first..first + count]) {
            let at = self.issue(pc, step, costs);
            self.free[step.path] = at + step.initiation;
            self.deliver(step, at + step.latency);
        }
        self.computed[first] += 1;
        self.computed[first + count] -= 1;
    }

    /// Issues an instruction that the load-store unit serves.
    fn issue_access(&mut self, pc: usize, step: &IsolatedInstruction, costs: &Costs) -> u64 {
        step.pass_banks(&mut self.warp.demands, 1);
        self.issue(pc, step, costs)
    }

    /// Occupies the load-store unit for `cycles` with an access, from cycle `at` on at the earliest; returns
    /// the cycle in which it begins.
    fn load_store(&mut self, at: u64, cycles: u64) -> u64 {
        let begun = at.max(self.free[Units::MEMORY]);
        self.free[Units::MEMORY] = begun + cycles;
        self.warp.demands.visit(Resource::LoadStore, cycles, 1);
        begun
    }

    /// From then on there is what it writes.
    #[inline]
    fn deliver(&mut self, step: &IsolatedInstruction, at: u64) {
        for &id in step.writes.as_slice() {
            self.ready[id as usize] = at;
        }
    }

    /// The sectors that an access touches go to their slices; gives how many they are.
    fn touch(&mut self, access: &Access, costs: &Costs) -> u64 {
        let (mut rest, mut count) = (access.lanes(), 0);
        while rest != 0 {
            let line = line_of(access.addresses[rest.trailing_zeros() as usize]);
            let group = access.lanes_within(rest, line, LINE_BYTES);
            if group == 0 {
                // An access across two lines is a fault, which the execution reports.
                return count.max(1);
            }
            let touched = u64::from(sectors(access.bytes_within(group, line)));
            self.warp.demands.message(costs.map.slice(line) as usize, touched);
            count += touched;
            rest &= !group;
        }
        debug_assert!(count <= 64 * 4, "32 lanes of 16 bytes, each in two lines");
        count
    }

    fn access(&mut self, pc: usize, step: &IsolatedInstruction, access: &Access, costs: &Costs) {
        self.buffer.keep(pc as u32);
        let issued = self.issue_access(pc, step, costs);
        match access.space {
            Space::Shared => {
                let cycles = costs.conflicts(access);
                let begun = self.load_store(issued, cycles);
                self.deliver(step, begun + cycles - 1 + costs.shared);
            }
            Space::Const => {
                let cycles = addresses(access);
                let begun = self.load_store(issued, cycles);
                self.deliver(step, begun + cycles - 1 + costs.parameter);
            }
            Space::Local => {
                let begun = self.load_store(issued, 1);
                self.deliver(step, begun + costs.parameter);
            }
            Space::Global => {
                let count = self.touch(access, costs);
                let begun = self.load_store(issued, if costs.by_sector { count } else { 1 });
                let stores = access.kind != AccessKind::Load;
                self.warp.demands.visit(Resource::MemoryPath, 0, 1);
                let latency =
                    if matches!(access.kind, AccessKind::Atomic(..)) { costs.atomic } else { costs.global };
                // One sector arrives in a cycle, whatever its load.
                let last = (begun + latency).max(self.sector + 1) + count - 1;
                if stores {
                    self.stored = self.stored.max(last);
                } else {
                    self.sector = last;
                }
                self.deliver(step, last);
            }
        }
    }
}

/// Turns for which an instruction has a collector: from the one in which it enters, over those in which its operands are read one from
/// each bank, to the one in which it leaves (`sm/operands/` of the hardware).
pub fn collecting(operands: usize, conflicts: u64) -> u64 {
    1 + u64::from(operands > 0) + conflicts
}

impl Observer for Isolated<'_> {
    #[inline]
    fn computed(&mut self, warp: usize, first: u32, count: u32, threads: u64) {
        let clock = &mut self.warps[warp];
        clock.compute(self.steps, first as usize, count as usize, self.costs);
        clock.warp.threads += threads;
    }

    fn issued(&mut self, warp: usize, pc: u32, issued: Issued, access: &Access) {
        let Isolated { steps, costs, warps, arrived } = self;
        let clock = &mut warps[warp];
        let (pc, step) = (pc as usize, &steps[pc as usize]);
        match issued.kind {
            Issue::Memory => clock.access(pc, step, access, costs),
            Issue::Parameter => {
                let at = clock.issue_access(pc, step, costs);
                let begun = clock.load_store(at, 1);
                clock.deliver(step, begun + costs.parameter);
            }
            Issue::Texture => {
                let at = clock.issue_access(pc, step, costs);
                let begun = clock.load_store(at, 1);
                clock.deliver(step, begun + costs.global);
            }
            Issue::Fence(_) | Issue::AwaitCopies { .. } => {
                clock.compute(steps, pc, 1, costs);
                clock.open = clock.stored.max(clock.sector);
            }
            Issue::Barrier { id, .. } => {
                clock.compute(steps, pc, 1, costs);
                let arrived = &mut arrived[id as usize];
                *arrived = (*arrived).max(clock.issued);
            }
            Issue::Done
            | Issue::Branch
            | Issue::Held
            | Issue::Range(_)
            | Issue::Sleep { .. }
            | Issue::CommitCopies
            | Issue::Exit { .. }
            | Issue::Nothing => {
                clock.compute(steps, pc, 1, costs);
            }
        }
        clock.warp.threads += u64::from(issued.lanes.count_ones());
    }

    fn passed(&mut self, warp: usize, barrier: u32) {
        let clock = &mut self.warps[warp];
        clock.open = clock.open.max(self.arrived[barrier as usize] + self.costs.barrier);
    }

    fn opened(&mut self, barrier: u32) {
        self.arrived[barrier as usize] = 0;
    }
}

/// Addresses that the lanes of an access name: the cache of constants reads one a cycle.
fn addresses(access: &Access) -> u64 {
    let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
    let mut named: Vec<u64> = lanes.map(|lane| access.addresses[lane]).collect();
    named.sort_unstable();
    named.dedup();
    named.len().max(1) as u64
}
