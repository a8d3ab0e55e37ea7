//! Slices of given sizes: the first two kernels that are pending run together, with the blocks on an SM that the file says. For
//! measurements, and as what a scheduler without a model does.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::telemetry::{Attribute, SpanId};
use counterpoint_host_model::Driver;
use counterpoint_host_model::program::Application;
use counterpoint_host_model::runtimes::Runtime;
use counterpoint_protocols::bus::Description;
use counterpoint_protocols::launch::SmResources;

use super::executor::{self, Decision, Prepares, Scheduler, Share};
use super::gpu::GpuParams;
use super::program::{Program, with_slices};
use super::queue::{Instance, QueueParams};
use crate::schedule::slices::{Fill, feasible, most};

/// Which slices.
#[derive(Clone, Debug, Params)]
pub(super) struct SlicesParams {
    /// What comes, and when.
    queue: QueueParams,
    /// What is known of the GPU.
    gpu: GpuParams,
    /// Blocks of a slice on an SM, of each kernel in their order. Without them they are found by `part` or `even`.
    blocks: Option<Vec<u32>>,
    /// Of the slices of two kernels that leave no room on an SM, those in which the first one has the part of its warps nearest to this.
    #[param(default = "0.5", min = "0", max = "1")]
    part: f64,
    /// As many blocks of both kernels, as many as fit.
    #[param(default = "off")]
    even: bool,
    /// Streams over which the slices of a kernel alone are spread.
    #[param(default = "1", min = "1", max = "64")]
    streams: u32,
}

/// The runtime `slices`.
pub(super) struct Slices {
    params: SlicesParams,
}

impl Variant<dyn Runtime> for Slices {
    const NAME: &'static str = "slices";
    const DOC: &'static str =
        "A queue of kernels, of which the first two run together in slices of given sizes.";
    type Params = SlicesParams;

    fn build(params: &SlicesParams) -> Result<Box<dyn Runtime>, String> {
        let zero = |blocks: &Vec<u32>| blocks.is_empty() || blocks.contains(&0);
        if params.blocks.as_ref().is_some_and(zero) {
            return Err("`blocks` of `slices` are one block on an SM at least, of each kernel".to_owned());
        }
        Ok(Box::new(Slices { params: params.clone() }))
    }
}

#[async_trait(?Send)]
impl Runtime for Slices {
    fn prepare(
        &self,
        application: &Arc<Application>,
        _devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        with_slices(application).map(Arc::new)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        executor::run(driver, &self.params.queue, self, run).await
    }
}

#[async_trait(?Send)]
impl Prepares for Slices {
    async fn prepare(
        &self,
        driver: &mut Driver<'_>,
        programs: &[Program],
        _run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault> {
        let gpu = self.params.gpu.gpu(driver.devices())?;
        let demands = programs.iter().map(|program| gpu.demand(program)).collect();
        let machine = gpu.machine;
        Ok(Box::new(Given { params: self.params.clone(), sms: machine.sms, offer: machine.offer, demands }))
    }
}

/// What decides.
struct Given {
    params: SlicesParams,
    sms: u32,
    offer: SmResources,
    /// Of a block of each kernel.
    demands: Vec<SmResources>,
}

impl Given {
    /// Blocks of two kernels on an SM.
    fn pair(&self, kernels: [usize; 2]) -> Option<[u32; 2]> {
        if let Some(blocks) = &self.params.blocks {
            return Some(kernels.map(|kernel| blocks[kernel % blocks.len()]));
        }
        let demands = kernels.map(|kernel| &self.demands[kernel]);
        if self.params.even {
            let even = feasible(&self.offer, demands, Fill::Any).into_iter().filter(|[a, b]| a == b);
            return even.max();
        }
        let warps = |blocks: &[u32; 2]| [0, 1].map(|at| f64::from(blocks[at] * demands[at].threads));
        let part = |blocks: &[u32; 2]| warps(blocks)[0] / warps(blocks).iter().sum::<f64>();
        let distance = |blocks: &[u32; 2]| (part(blocks) - self.params.part).abs();
        let all = feasible(&self.offer, demands, Fill::Full).into_iter();
        all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Blocks of a kernel alone on an SM.
    fn single(&self, kernel: usize) -> u32 {
        let given = self.params.blocks.as_ref().map(|blocks| blocks[kernel % blocks.len()]);
        given.unwrap_or_else(|| most(&self.offer, &self.demands[kernel]))
    }
}

impl Scheduler for Given {
    fn decide(&mut self, pending: &[Instance], _random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        let first = pending[0].kernel;
        let other = pending.iter().position(|instance| instance.kernel != first);
        let pair = other.and_then(|other| Some((other, self.pair([first, pending[other].kernel])?)));
        let slice = |blocks: u32| u64::from(blocks * self.sms);
        let shares = match pair {
            Some((other, [own, others])) => vec![
                Share { place: 0, slice: slice(own), streams: 1 },
                Share { place: other, slice: slice(others), streams: 1 },
            ],
            None => vec![Share { place: 0, slice: slice(self.single(first)), streams: self.params.streams }],
        };
        let names = ["slice_1", "slice_2"];
        let attributes = names.into_iter().zip(&shares);
        let attributes = attributes.map(|(name, share)| (name, Attribute::Number(share.slice))).collect();
        Ok(Decision { shares, waits: false, attributes })
    }
}
