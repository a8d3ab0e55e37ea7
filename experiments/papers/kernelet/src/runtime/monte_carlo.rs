//! Random plans, the paper's MC: two random instances of different kernels, in random slices of those that fill the SMs.

use counterpoint::application::SplitMix;
use counterpoint::component::Params;
use counterpoint::host::{Driver, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::SpanId;

use super::executor::{Decision, Scheduler};
use super::gpu::GpuParams;
use super::program::Program;
use super::queue::{Instance, QueueParams};
use super::queued::{Policy, Queued};
use super::room::Room;
use super::waiting::Waiting;
use crate::replay::random_kernels;
use crate::schedule::cut::Lanes;
use crate::schedule::slices::Fill;

/// Parameters.
#[derive(Clone, Debug, Params)]
pub(super) struct MonteCarloParams {
    /// The arrivals, and their times.
    queue: QueueParams,
    /// The GPU; only the SMs' allocation of resources counts.
    gpu: GpuParams,
}

/// The runtime `monte-carlo`.
pub(super) type MonteCarlo = Queued<MonteCarloParams>;

#[async_trait(?Send)]
impl Policy for MonteCarloParams {
    const NAME: &'static str = "monte-carlo";
    const DOC: &'static str = "A queue of kernels, of which two random ones run together, in random slices that fill the SMs. The seed of \
                               the run has the plan.";

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
        Ok(Box::new(ByChance { room: Room::new(&gpu, programs), lanes: self.queue.lanes() }))
    }
}

struct ByChance {
    room: Room,
    lanes: Lanes,
}

impl ByChance {
    /// The places of two random instances, and random slices of both on all SMs. `None` if they do not fit on an SM.
    fn choose(&self, instances: &[Instance], random: &mut SplitMix) -> Option<([usize; 2], [u32; 2])> {
        let waiting = Waiting::new(instances, self.room.demands.len(), |instance| instance.kernel);
        let kernels = random_kernels(&waiting.pending, random)?;
        let pairs = self.room.pairs(kernels, Fill::Full);
        let blocks = pairs.get(random.below(pairs.len() as u128) as usize)?;
        Some((waiting.places(kernels)?, blocks.map(|blocks| blocks * self.room.sms)))
    }
}

impl Scheduler for ByChance {
    fn decide(&mut self, pending: &[Instance], random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        let chosen = self.choose(pending, &mut SplitMix::new(random()));
        let alone = || Decision::whole(0, &pending[0]);
        let cut = |share| self.lanes.among(2).cut(share, 0, self.room.sms);
        let together =
            |(places, shares): ([usize; 2], [u32; 2])| Decision::together(places, shares, shares.map(cut));
        Ok(chosen.map_or_else(alone, together))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use counterpoint::messages::launch::SmResources;
    use counterpoint::time::SimTime;

    use super::*;

    /// An SM has four slots; a block of kernel 0 or 1 needs one slot, a block of kernel 2 all.
    fn by_chance() -> ByChance {
        let slots = |ctas| SmResources { threads: 32, ctas, registers: 0, shared: 0 };
        let offer = SmResources { threads: 1024, ..slots(4) };
        let room = Room { sms: 2, offer, demands: vec![slots(1), slots(1), slots(4)] };
        ByChance { room, lanes: Lanes { launches: 16, ready: 0.0 } }
    }

    /// Decisions on instances of these kernels: places and windows.
    fn decisions(kernels: &[usize]) -> BTreeSet<Vec<(usize, u64)>> {
        let instance = |&kernel| Instance { kernel, number: 1, arrival: SimTime::ZERO, left: 9 };
        let pending: Vec<Instance> = kernels.iter().map(instance).collect();
        let mut seed = 0;
        let mut decide = || {
            let mut random = || {
                seed += 1;
                seed
            };
            let decision = by_chance().decide(&pending, &mut random).unwrap();
            decision.shares.iter().map(|share| (share.place, share.cut.window)).collect()
        };
        (0..300).map(|_| decide()).collect()
    }

    #[test]
    fn different_kernels_run_in_all_slices_that_fill_the_sms() {
        let all = |places: [usize; 2]| {
            [[2, 6], [4, 4], [6, 2]].map(|slices| places.into_iter().zip(slices).collect::<Vec<_>>())
        };
        assert_eq!(decisions(&[1, 0, 1]), BTreeSet::from(all([1, 0])));
        assert_eq!(decisions(&[1, 1, 1]), BTreeSet::from(all([0, 1])));
    }

    #[test]
    fn one_alone_and_two_that_do_not_fit_run_whole() {
        assert_eq!(decisions(&[1]), BTreeSet::from([vec![(0, 1)]]));
        assert_eq!(decisions(&[2, 0]), BTreeSet::from([vec![(0, 1)]]));
    }
}
