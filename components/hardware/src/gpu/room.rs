//! Resources of a machine's SMs and the blocks that fit on them, from its parameters before a run.

use std::fmt;

use counterpoint_framework::model::{Component, ReadParams, Registry};
use counterpoint_framework::topology::{Instance, Machine};
use counterpoint_protocols::bus::Description;
use counterpoint_protocols::launch::SmResources;
use counterpoint_protocols::local::Capacity;
use counterpoint_protocols::roles;
use counterpoint_ptx::{Kernel, Unit};

use super::cta_scheduler::occupancy::blocks;
use super::cta_scheduler::running::{capacity, least};
use super::cta_scheduler::{CtaSchedulerParams, Occupancy};
use super::sm::params::SmParams;

/// Sizes of the SMs of a component kind that has SMs of its own in the place of `gpu/sm`. An extension adds it with [`Registry::add`], so that
/// a run knows before it begins what fits on them.
pub struct ModelledSms(Box<FindSm>);

/// Finds the parameters of a kind's SM among those of a component, if it is of that kind.
type FindSm = dyn Fn(&ReadParams) -> Option<&SmParams> + Send + Sync;

impl ModelledSms {
    /// The SMs of a kind, from its parameters.
    pub fn of<C: Component>(sm: fn(&C::Params) -> &SmParams) -> Self {
        ModelledSms(Box::new(move |read| read.of::<C::Params>().map(sm)))
    }
}

impl fmt::Debug for ModelledSms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelledSms")
    }
}

/// The SMs of a GPU, and the allotment of their resources to blocks.
#[derive(Debug)]
pub struct Room {
    gpu: String,
    occupancy: Occupancy,
    sms: Vec<SmResources>,
    /// Some SM has units for products of matrices.
    multiplies: bool,
}

impl Room {
    /// The rooms of a machine's GPUs, in the order of its devices.
    pub fn of(machine: &Machine, registry: &Registry) -> Vec<Room> {
        let schedulers = machine.instances.iter().filter(|one| one.role == roles::CTA_SCHEDULER);
        schedulers.filter_map(|scheduler| Room::beside(scheduler, machine, registry)).collect()
    }

    /// The room of the SMs that belong to the same GPU as a scheduler.
    fn beside(scheduler: &Instance, machine: &Machine, registry: &Registry) -> Option<Room> {
        let gpu = scheduler.path.rsplit_once('.').map_or("", |(gpu, _)| gpu);
        let is_beside = |one: &&Instance| one.path.rsplit_once('.').map_or("", |(parent, _)| parent) == gpu;
        let beside = machine.instances.iter().filter(is_beside).filter_map(|one| one.read.as_ref());
        let modelled = |read| registry.all::<ModelledSms>().find_map(|sms| (sms.0)(read));
        let sms: Vec<&SmParams> =
            beside.filter_map(|read| read.of::<SmParams>().or_else(|| modelled(read))).collect();
        let multiplies = sms.iter().any(|params| params.tensor.units > 0);
        let sms = sms.iter().filter_map(|params| params.resources().ok()).collect();
        let occupancy = scheduler.read.as_ref()?.of::<CtaSchedulerParams>()?.occupancy().clone();
        Some(Room { gpu: gpu.to_owned(), occupancy, sms, multiplies })
    }

    /// Warps that the SMs hold at once.
    pub fn capacity(&self) -> Capacity {
        capacity(self.sms.iter())
    }

    /// Description of the GPU at the beginning of a run, with this many bytes of memory.
    pub fn description(&self, memory: u64) -> Description {
        let (capacity, sm, path) = (self.capacity(), least(self.sms.iter()), self.gpu.clone());
        Description { memory, capacity, sm, path }
    }

    /// Reason for which the SMs cannot execute a kernel, if they cannot: they may lack units for matrix products.
    pub fn lacks_unit(&self, kernel: &Kernel) -> Option<String> {
        let product = kernel.instructions().iter().find(|it| it.unit == Unit::Tensor)?;
        let place = kernel.quote(product.line);
        let gpu = &self.gpu;
        (!self.multiplies)
            .then(|| format!("multiplies matrices ({place}), and the SMs of `{gpu}` have no units for it"))
    }

    /// Blocks that the SMs hold at once: by their threads, registers of a thread and bytes of shared memory.
    pub fn blocks(&self, threads: u32, registers: u32, shared: u32) -> u64 {
        let demand = self.occupancy.allotted(threads, registers, shared);
        self.sms.iter().map(|sm| u64::from(blocks(sm, &demand))).sum()
    }

    /// Reason for which a block fits on no SM, if it does not: by its threads, registers of a thread and bytes of shared memory.
    pub fn lacks(&self, threads: u32, registers: u32, shared: u32) -> Option<String> {
        let demand = self.occupancy.allotted(threads, registers, shared);
        let largest = self.sms.iter().max_by_key(|sm| (sm.shared, sm.registers, sm.threads))?;
        if self.sms.iter().any(|sm| blocks(sm, &demand) > 0) {
            return None;
        }
        let all = [
            ("threads", demand.threads, largest.threads),
            ("registers", demand.registers, largest.registers),
            ("bytes of shared memory", demand.shared, largest.shared),
        ];
        let lacking = all.into_iter().filter(|(_, need, have)| need > have);
        let words: Vec<_> =
            lacking.map(|(name, need, have)| format!("{need} {name}, an SM has {have}")).collect();
        Some(format!("fits on no SM of `{}`: it needs {}", self.gpu, words.join("; ")))
    }
}
