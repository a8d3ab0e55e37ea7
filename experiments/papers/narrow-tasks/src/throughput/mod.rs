//! A GPU behind its CTA scheduler and its copy engine as a model of throughput: for task counts at which
//! cycle-level SMs would take hours.
//!
//! The model serves the CTA scheduler's ports as that number of SMs, and the copy engine's as a flat memory. A block is executed
//! without time when it arrives at an SM, so its values are real; meanwhile, `isolated` computes the time that each of its warps would
//! take if it had the SM to itself. Then the warps share the SM (`sm`, `share`), SMs share network and L2 (`network`), and the block
//! ends with the last of its warps. Not modelled: caches, DRAM, and the warp that a scheduler prefers.
//!
//! Blocks that wait for each other in a loop never end when they are executed one after another: that is an error which says so. Blocks
//! that share out work by atomics as they go leave all of it to the first. Extensions may serve such kernels as state machines
//! ([`state_machine`]).

mod blocks;
mod costs;
mod demands;
mod execute;
mod isolated;
mod memory;
mod network;
mod search;
mod share;
mod sm;
pub mod state_machine;
mod traffic;

use std::collections::VecDeque;

use counterpoint::component::{
    Component, Context, Counter, Every, Invalid, Params, Ports, Registry, Stats, roles,
};
use counterpoint::gpu::sm::{ModelledSms, SmParams};
use counterpoint::kernel::Fault;
use counterpoint::memory::address_map::AddressMapParams;
use counterpoint::messages::launch::{RunCta, SmEvent, SmResources, SmServer};
use counterpoint::messages::memory::{MemAccess, MemoryServer};
use counterpoint::time::SimTime;

use blocks::{Blocks, Ended};
use costs::{CostParams, Costs};
use memory::{CopyParams, DeviceMemory};
use network::Network;
use sm::{Sm, Worker};
use state_machine::{Device, StateMachine};

/// The SMs, and the costs of the model.
#[derive(Clone, Debug, Params)]
pub struct ThroughputModelParams {
    /// Capacity, units and latencies of an SM. Parameters of buffers, caches and schedulers are ignored.
    sm: SmParams,
    /// Costs beyond the SM's parameters.
    costs: CostParams,
    /// Map from addresses to slices of the L2.
    map: AddressMapParams,
    /// Latency and rate of device memory for the copy engine.
    copies: CopyParams,
    /// State machines that serve kernels in place of their execution.
    state_machines: Every<dyn StateMachine>,
}

/// Registers the model.
pub(crate) fn register(registry: &mut Registry) {
    registry.component::<ThroughputModel>().add(ModelledSms::of::<ThroughputModel>(|params| &params.sm));
}

/// The ports of the model.
#[derive(Ports)]
pub struct ThroughputModelPorts {
    /// Blocks from the CTA scheduler, and their ends: of each SM.
    sms: Vec<SmServer>,
    /// The copy engine.
    copies: MemoryServer,
}

/// Statistics of the model.
#[derive(Default, Stats)]
pub struct ThroughputModelStats {
    /// Cycles from arrival to end of the blocks that have ended, summed up.
    #[stat(unit = "cycles")]
    cta_cycles: Counter,
    /// Warp instructions of blocks that have ended, and of the work that state machines have executed.
    #[stat(unit = "instructions")]
    warp_insn: Counter,
    /// Thread instructions of these warp instructions.
    #[stat(name = "gpu_sim_insn", unit = "instructions")]
    thread_insn: Counter,
    /// Blocks that have ended.
    #[stat(unit = "CTAs")]
    ctas: Counter,
}

/// The model.
pub struct ThroughputModel {
    resources: SmResources,
    costs: Costs,
    limit: u64,
    memory: DeviceMemory,
    sms: Vec<Sm>,
    network: Network,
    slices: usize,
    blocks: Blocks,
    state_machines: Every<dyn StateMachine>,
    machines: Machines,
    /// For each SM, the events to report to the CTA scheduler.
    events: Vec<VecDeque<SmEvent>>,
}

/// The parts of the GPU that the execution of blocks uses.
struct GpuContext<'a> {
    sms: &'a mut [Sm],
    memory: &'a mut DeviceMemory,
    costs: &'a Costs,
    /// Instructions after which a warp is taken to run forever.
    limit: u64,
    cycle: u64,
}

/// State machines with their names, which all GPUs of a machine have.
type Machines = Vec<(&'static str, Box<dyn StateMachine>)>;

impl ThroughputModel {
    /// Ordinary blocks, state machines, and the resources that both use.
    fn parts(&mut self, cycle: u64) -> (&mut Blocks, &mut Machines, GpuContext<'_>) {
        let ThroughputModel { sms, memory, costs, limit, blocks, machines, .. } = self;
        (blocks, machines, GpuContext { sms, memory, costs, limit: *limit, cycle })
    }

    /// Lets the state machines that pass a test do something, each with the context of the GPU.
    fn each_machine(
        &mut self,
        sim: &Context<ThroughputModelStats>,
        test: impl Fn(&dyn StateMachine) -> bool,
        mut act: impl FnMut(&mut dyn StateMachine, &mut Device<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (_, machines, gpu) = self.parts(sim.cycle());
        let mut device = Device { gpu, machine: 0, random: &|| sim.random() };
        for ((_, machine), number) in machines.iter_mut().zip(0..) {
            if test(&**machine) {
                device.machine = number;
                act(&mut **machine, &mut device)?;
            }
        }
        Ok(())
    }

    /// A block arrives at an SM.
    fn begin(&mut self, block: RunCta, sim: &Context<ThroughputModelStats>) -> Result<(), Fault> {
        let (blocks, machines, mut gpu) = self.parts(sim.cycle());
        gpu.sms[block.sm as usize].advance(gpu.cycle);
        let kernel = block.launch.kernel.name();
        let mut serving = machines.iter_mut().zip(0..).filter(|((_, machine), _)| machine.serves(kernel));
        let Some(((name, machine), number)) = serving.next() else { return blocks.begin(block, &mut gpu) };
        if let Some(((other, _), _)) = serving.next() {
            return Err(Fault::new(format!("`{name}` and `{other}` both serve the kernel `{kernel}`")));
        }
        machine.begin(block, &mut Device { gpu, machine: number, random: &|| sim.random() })
    }

    /// Everything that happens in one cycle.
    fn step(
        &mut self,
        io: &mut ThroughputModelPorts,
        sim: &Context<ThroughputModelStats>,
    ) -> Result<(), Fault> {
        let cycle = sim.cycle();
        for number in 0..self.sms.len() {
            if self.sms[number].due().is_some_and(|due| due <= cycle) {
                self.finish(number, sim)?;
            }
        }
        let is_due = |machine: &dyn StateMachine| machine.due().is_some_and(|due| due <= cycle);
        self.each_machine(sim, is_due, |machine, device| machine.advance(device))?;
        while let Some(request) = io.copies.rx.try_recv() {
            let line = request.line;
            let writes = matches!(request.access, MemAccess::Write(..));
            self.memory.serve(request, cycle)?;
            if writes {
                self.each_machine(sim, |_| true, |machine, device| machine.written(line, device))?;
            }
        }
        for number in 0..self.sms.len() {
            while let Some(message) = io.sms[number].rx.try_recv() {
                let Some(block) = message.run() else {
                    return Err(Fault::new("blocks of the throughput model cannot be preempted or sampled"));
                };
                self.begin(block, sim)?;
            }
            io.sms[number].tx.send_front(&mut self.events[number], SimTime::ZERO);
        }
        if self.memory.due().is_some_and(|due| due <= cycle)
            && let Some(permit) = io.copies.tx.try_reserve()
            && let Some(reply) = self.memory.answer(cycle)
        {
            permit.send(reply);
        }
        self.network.settle(&mut self.sms, cycle);
        Ok(())
    }

    /// Ends the work that has been done on an SM.
    fn finish(&mut self, number: usize, sim: &Context<ThroughputModelStats>) -> Result<(), Fault> {
        let cycle = sim.cycle();
        self.sms[number].advance(cycle);
        while let Some(worker) = self.sms[number].take_done() {
            let (blocks, machines, gpu) = self.parts(cycle);
            let ended = match worker {
                Worker::Warp(block) => blocks.end_warp(block, cycle),
                Worker::Machine(machine, work) => {
                    let (_, known) = &mut machines[machine as usize];
                    known.done(work, &mut Device { gpu, machine, random: &|| sim.random() })?
                }
            };
            if let Some(Ended { launch, index, counts, cycles }) = ended {
                sim.stats.ctas.add(1);
                sim.stats.warp_insn.add(counts.warp_insn);
                sim.stats.thread_insn.add(counts.thread_insn);
                sim.stats.cta_cycles.add(cycles);
                self.events[number].push_back(SmEvent::CtaDone { launch, index, counts });
            }
        }
        Ok(())
    }

    /// The next cycle with work to do, if no message arrives.
    fn next(&mut self) -> Option<u64> {
        let of_sms = self.sms.iter_mut().filter_map(Sm::due).min();
        let of_machines = self.machines.iter().filter_map(|(_, machine)| machine.due());
        of_sms.into_iter().chain(self.memory.due()).chain(of_machines).min()
    }
}

impl Component for ThroughputModel {
    const KIND: &'static str = "gpu/throughput-model";
    const DOC: &'static str = "SMs and device memory as a throughput model: blocks are executed without time, then their warps share the \
                               resources of an SM.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 1000;
    const ROLE: &'static str = roles::THROUGHPUT_MODEL;
    type Params = ThroughputModelParams;
    type Ports = ThroughputModelPorts;
    type Stats = ThroughputModelStats;

    fn new(params: ThroughputModelParams) -> Result<Self, Invalid> {
        let ThroughputModelParams { sm, costs, map, copies, state_machines } = params;
        if !sm.threads.is_multiple_of(32) {
            return Err("threads must be whole warps of 32".into());
        }
        Ok(ThroughputModel {
            resources: sm.resources()?,
            costs: Costs::new(&sm, &costs, &map)?,
            limit: sm.instruction_limit(),
            memory: DeviceMemory::new(copies),
            sms: Vec::new(),
            network: Network::default(),
            slices: map.slices as usize,
            blocks: Blocks::default(),
            state_machines,
            machines: Vec::new(),
            events: Vec::new(),
        })
    }

    async fn run(
        &mut self,
        io: &mut ThroughputModelPorts,
        sim: &Context<ThroughputModelStats>,
    ) -> Result<(), Fault> {
        self.machines = self.state_machines.build(sim)?;
        let packet = self.costs.packet;
        let sm = Sm::new(self.costs.capacity, self.slices).behind(packet);
        self.sms = vec![sm; io.sms.len()];
        self.network = Network::new(io.sms.len(), self.slices, packet);
        self.events = vec![VecDeque::from([SmEvent::Resources(self.resources)]); io.sms.len()];
        self.memory.begin(sim);
        loop {
            self.step(io, sim)?;
            let cycle = sim.cycle();
            let next = self.next().map(|next| next.max(cycle + 1));
            let at_work = self.machines.iter().any(|(_, machine)| machine.is_busy());
            sim.set_busy(at_work || !self.blocks.is_empty());
            let deadline = next.map_or(SimTime::MAX, |next| sim.cycles_from_now(next - cycle));
            sim.wait_tried(deadline, io).await;
        }
    }
}
