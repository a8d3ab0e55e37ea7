//! Slices of given sizes: the first two kernels that are pending run together, with the blocks per SM that
//! the parameters state. For measurements, and as a scheduler without a model.

use counterpoint::component::Params;
use counterpoint::host::{Driver, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::{Attribute, SpanId};

use super::executor::{Decision, Scheduler, Share};
use super::gpu::GpuParams;
use super::program::Program;
use super::queue::{Instance, QueueParams};
use super::queued::{Policy, Queued};
use super::room::Room;
use crate::schedule::cut::Cut;
use crate::schedule::slices::Fill;

/// Which slices.
#[derive(Clone, Debug, Params)]
pub(super) struct SlicesParams {
    /// The arrivals, and their times.
    queue: QueueParams,
    /// The GPU.
    gpu: GpuParams,
    /// Blocks of a slice on an SM, of each kernel in their order. Without them they are found by `part` or `even`.
    blocks: Option<Vec<u32>>,
    /// Of the slices of two kernels that leave no room on an SM, those in which the first one has the part of its warps nearest to this.
    #[param(default = "0.5", min = "0", max = "1")]
    part: f64,
    /// As many blocks of both kernels, as many as fit.
    #[param(default = "off")]
    even: bool,
    /// Blocks of a launch on an SM, at most the slice's. Fewer are cut off where the launches in flight would not fill the slice's share.
    #[param(default = "1", min = "1", max = "64")]
    launch: u32,
}

/// The runtime `slices`.
pub(super) type Slices = Queued<SlicesParams>;

#[async_trait(?Send)]
impl Policy for SlicesParams {
    const NAME: &'static str = "slices";
    const DOC: &'static str =
        "A queue of kernels, of which the first two run together in slices of given sizes.";

    fn check(&self) -> Result<(), String> {
        let zero = |blocks: &Vec<u32>| blocks.is_empty() || blocks.contains(&0);
        if self.blocks.as_ref().is_some_and(zero) {
            return Err("`blocks` of `slices` are one block on an SM at least, of each kernel".to_owned());
        }
        Ok(())
    }

    fn queue(&self) -> &QueueParams {
        &self.queue
    }

    async fn scheduler(
        &self,
        driver: &mut Driver<'_>,
        programs: &[Program],
        _run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault> {
        let gpu = self.gpu.gpu(driver.devices())?;
        Ok(Box::new(Given { params: self.clone(), room: Room::new(&gpu, programs) }))
    }
}

struct Given {
    params: SlicesParams,
    room: Room,
}

impl Given {
    /// Blocks of two kernels on an SM.
    fn pair(&self, kernels: [usize; 2]) -> Option<[u32; 2]> {
        if let Some(blocks) = &self.params.blocks {
            return Some(kernels.map(|kernel| blocks[kernel % blocks.len()]));
        }
        if self.params.even {
            return self.room.pairs(kernels, Fill::Any).into_iter().filter(|[a, b]| a == b).max();
        }
        let threads = kernels.map(|kernel| self.room.demands[kernel].threads);
        let warps = |blocks: &[u32; 2]| [0, 1].map(|at| f64::from(blocks[at] * threads[at]));
        let part = |blocks: &[u32; 2]| warps(blocks)[0] / warps(blocks).iter().sum::<f64>();
        let distance = |blocks: &[u32; 2]| (part(blocks) - self.params.part).abs();
        self.room.pairs(kernels, Fill::Full).into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The launches of a share, among so many kernels.
    fn cut(&self, share: u32, kernels: u32) -> Cut {
        let lanes = self.params.queue.lanes().among(kernels);
        lanes.cut(share, self.params.launch * self.room.sms, self.room.sms)
    }

    /// Blocks of a kernel alone on an SM.
    fn single(&self, kernel: usize) -> u32 {
        let given = self.params.blocks.as_ref().map(|blocks| blocks[kernel % blocks.len()]);
        given.unwrap_or_else(|| self.room.most(kernel))
    }
}

impl Scheduler for Given {
    fn decide(&mut self, pending: &[Instance], _random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        let first = pending[0].kernel;
        let other = pending.iter().position(|instance| instance.kernel != first);
        let pair = other.and_then(|other| Some((other, self.pair([first, pending[other].kernel])?)));
        if let Some((other, blocks)) = pair {
            let shares = blocks.map(|blocks| blocks * self.room.sms);
            return Ok(Decision::together([0, other], shares, shares.map(|share| self.cut(share, 2))));
        }
        let share = self.single(first) * self.room.sms;
        let shares = vec![Share { place: 0, cut: self.cut(share, 1) }];
        let attributes = vec![("slice_1", Attribute::Number(share.into()))];
        Ok(Decision { shares, waits: false, attributes })
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::component::Families;
    use counterpoint::messages::launch::SmResources;
    use counterpoint::testing;
    use counterpoint::time::SimTime;

    use super::*;

    /// Two SMs of eight block slots and 1024 threads; a block of kernel 0 has two warps, a block of kernel 1
    /// six, and a block of kernel 2 all.
    fn given(params: &str) -> Given {
        let params = testing::params::<SlicesParams>(&Families::default(), params);
        let of = |threads, ctas| SmResources { threads, ctas, registers: 0, shared: 0 };
        let demands = vec![of(64, 1), of(192, 1), of(1024, 1)];
        Given { params, room: Room { sms: 2, offer: of(1024, 8), demands } }
    }

    /// The places and shares of the decision on instances of these kernels: as none lies ready, windows are shares.
    fn decision(params: &str, kernels: &[usize]) -> Vec<(usize, u64)> {
        let instance = |&kernel| Instance { kernel, number: 1, arrival: SimTime::ZERO, left: 90 };
        let pending: Vec<Instance> = kernels.iter().map(instance).collect();
        let mut given = given(params);
        given.params.queue = testing::params(&Families::default(), "{ ready: 0 }");
        let decision = given.decide(&pending, &mut || 0).unwrap();
        decision.shares.iter().map(|share| (share.place, share.cut.window)).collect()
    }

    #[test]
    fn the_first_two_kernels_share_sms_by_the_part_of_the_first_ones_warps() {
        // Splits that fill an SM: 7 and 1 blocks, 6 and 2, 5 and 3, 4 and 4, 1 and 5.
        let slices = |params: &str| decision(params, &[0, 0, 1, 1]);
        assert_eq!(slices("{}"), [(0, 12), (2, 4)]);
        assert_eq!(slices("{ part: 1 }"), [(0, 14), (2, 2)]);
        assert_eq!(slices("{ part: 0.25 }"), [(0, 8), (2, 8)]);
        assert_eq!(slices("{ part: 0 }"), [(0, 2), (2, 10)]);
        assert_eq!(decision("{ part: 0 }", &[1, 0]), [(0, 2), (1, 14)]);
    }

    #[test]
    fn even_slices_have_as_many_blocks_of_both() {
        assert_eq!(decision("{ even: on }", &[1, 0]), [(0, 8), (1, 8)]);
    }

    #[test]
    fn given_blocks_are_those_of_the_kernels_in_turn() {
        assert_eq!(decision("{ blocks: [3, 1] }", &[1, 0]), [(0, 2), (1, 6)]);
        assert_eq!(decision("{ blocks: [3, 1] }", &[2, 2]), [(0, 6)]);
    }

    #[test]
    fn a_kernel_alone_has_all_that_sms_hold() {
        assert_eq!(decision("{}", &[1, 1]), [(0, 10)]);
        // Beside a block of the first kernel is no room for another's.
        for params in ["{}", "{ even: on }"] {
            assert_eq!(decision(params, &[2, 0]), [(0, 2)]);
        }
    }

    #[test]
    fn launches_have_a_block_for_each_sm_or_as_many_as_the_parameters_state() {
        let cut = |params: &str, kernels| given(params).cut(12, kernels);
        assert_eq!(cut("{}", 1), Cut { slice: 2, window: 18 });
        assert_eq!(cut("{ launch: 3 }", 1), Cut { slice: 6, window: 18 });
        // Three launches of a kernel in flight, of which two fill its share.
        assert_eq!(cut("{ queue: { launches: 6 } }", 2), Cut { slice: 6, window: 18 });
    }

    #[test]
    fn no_blocks_are_refused() {
        for text in ["{ blocks: [] }", "{ blocks: [1, 0] }"] {
            let params = testing::params::<SlicesParams>(&Families::default(), text);
            assert!(params.check().unwrap_err().contains("one block on an SM at least"));
        }
    }
}
