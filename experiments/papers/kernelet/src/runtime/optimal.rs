//! The paper's OPT: the pair that saves most time, chosen as Kernelet does, but by the measured rates of all
//! pairs.

use std::collections::BTreeMap;

use counterpoint::component::Params;
use counterpoint::host::{Driver, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::SpanId;

use super::executor::{Decision, Scheduler};
use super::gpu::{Like, card_of};
use super::program::Program;
use super::queue::{Instance, QueueParams};
use super::queued::{Policy, Queued};
use super::waiting::Waiting;
use crate::paper::APPLICATIONS;
use crate::replay::{ByMeasurement, Measured};
use crate::schedule::cut::Lanes;

/// The queue, and the table of rates.
#[derive(Clone, Debug, Params)]
pub(super) struct OptimalParams {
    /// Instances and their arrivals.
    queue: QueueParams,
    /// The card whose measured rates count; without it, the one of Table 2 with as many threads on an SM as the device has. Slices are those
    /// of its number of SMs.
    table: Option<Like>,
}

/// The runtime `optimal`.
pub(super) type Optimal = Queued<OptimalParams>;

#[async_trait(?Send)]
impl Policy for OptimalParams {
    const NAME: &'static str = "optimal";
    const DOC: &'static str = "A queue of kernels, of which the two run together, in slices, that save most time by measured rates of all \
                               pairs (the best of Kernelet's scheme).";

    fn accept(&self, programs: &[Program], devices: &BTreeMap<u32, Description>) -> Result<(), Fault> {
        self.by_rates(programs, devices).map(drop)
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
        Ok(Box::new(self.by_rates(programs, driver.devices())?))
    }
}

impl OptimalParams {
    fn by_rates(&self, programs: &[Program], devices: &BTreeMap<u32, Description>) -> Result<ByRates, Fault> {
        let names: Vec<&str> = programs.iter().map(|program| &*program.name).collect();
        let card = card_of(self.table, devices)?;
        let measured = Measured::of_card(&card, false).map_err(|report| Fault::new(report.render()))?;
        ByRates::new(&measured, &names, card.machine.sms, self.queue.lanes())
    }
}

/// The name that an application has in the tables.
fn of_table(name: &str) -> &str {
    APPLICATIONS.iter().find(|(application, _)| *application == name).map_or(name, |(_, kernel)| kernel)
}

struct ByRates {
    best: ByMeasurement,
    /// The kernels of the table.
    count: usize,
    /// Index in the table for each kernel of the queue.
    places: Vec<usize>,
    /// The smallest slice of each kernel of the table.
    smallest: Vec<u32>,
    /// SMs of the card.
    sms: u32,
    lanes: Lanes,
}

impl ByRates {
    /// Kernels have the names of applications, or those of the table.
    ///
    /// # Errors
    /// If a kernel is not of the table.
    fn new(measured: &Measured, names: &[&str], sms: u32, lanes: Lanes) -> Result<Self, Fault> {
        let wanted: Vec<&str> = names.iter().map(|name| of_table(name)).collect();
        let places = measured.places(&wanted).map_err(|unknown| {
            let known = measured.kernels().iter().map(|kernel| {
                let application = APPLICATIONS.iter().find(|(_, name)| *name == kernel.name);
                format!("`{}`", application.map_or(&*kernel.name, |(application, _)| application))
            });
            let known = known.collect::<Vec<_>>().join(", ");
            Fault::new(format!(
                "`optimal` has no measured rates of `{}`; it has those of {known}",
                unknown.name
            ))
        })?;
        let smallest = measured.kernels().iter().map(|kernel| kernel.profile.minimum_slice).collect();
        let best = ByMeasurement::new(measured);
        Ok(ByRates { best, count: measured.kernels().len(), places, smallest, sms, lanes })
    }
}

impl Scheduler for ByRates {
    fn decide(&mut self, pending: &[Instance], _random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        let waiting = Waiting::new(pending, self.count, |instance| self.places[instance.kernel]);
        let together = self.best.choose(&waiting.pending).and_then(|selected| {
            let shares = selected.together.slices;
            let cut = |at: usize| {
                let smallest = self.smallest[selected.kernels[at]];
                self.lanes.among(2).cut(shares[at], smallest, self.sms)
            };
            Some(Decision::together(waiting.places(selected.kernels)?, shares, [cut(0), cut(1)]))
        });
        Ok(together.unwrap_or_else(|| Decision::whole(0, &pending[0])))
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::time::SimTime;

    use super::*;
    use crate::replay::Source;

    const KERNELS: &str = "kernel,blocks,rate,instructions_per_block,memory_fraction,uncoalesced_fraction,warps_per_block,threads,\
        registers,shared,pur,mur,minimum_slice\n\
        PC,90,10,800,0.3,0,8,256,0,0,0.2,0.2,14\n\
        other,90,10,800,0.3,0,8,256,0,0,0.2,0.2,14\n\
        TEA,90,10,4000,0.01,0,4,128,0,0,0.9,0.02,14\n";

    const PAIRS: &str = "first,second,slice_first,slice_second,rate_first,rate_second\n\
        PC,TEA,14,28,6,8\nTEA,PC,14,28,9,9\nPC,other,42,14,6,6\nTEA,other,14,14,4,5\n";

    fn by_rates(names: &[&str]) -> Result<ByRates, Fault> {
        let source = |text| Source { name: "table.csv", text };
        let lanes = Lanes { launches: 16, ready: 0.0 };
        ByRates::new(&Measured::read(source(KERNELS), source(PAIRS), None).unwrap(), names, 14, lanes)
    }

    /// Places and windows of the decision on instances of these kernels; as none lies ready, windows are shares.
    fn decision(kernels: &[usize]) -> Vec<(usize, u64)> {
        let instance = |&kernel| Instance { kernel, number: 1, arrival: SimTime::ZERO, left: 70 };
        let pending: Vec<Instance> = kernels.iter().map(instance).collect();
        let mut scheduler = by_rates(&["kernelet-tea", "kernelet-pc", "other"]).unwrap();
        let decision = scheduler.decide(&pending, &mut || 0).unwrap();
        decision.shares.iter().map(|share| (share.place, share.cut.window)).collect()
    }

    #[test]
    fn the_pair_and_the_slices_with_the_highest_measured_profit_run() {
        assert_eq!(decision(&[2, 0, 1, 0, 1]), [(2, 28), (1, 14)]);
        assert_eq!(decision(&[0, 2, 2, 1]), [(3, 28), (0, 14)]);
        assert_eq!(decision(&[2, 1]), [(1, 42), (0, 14)]);
        // Slower together than two instances of one kernel, which share the rate.
        assert_eq!(decision(&[0, 0, 2]), [(0, 90), (1, 90)]);
        assert_eq!(decision(&[0]), [(0, 1)]);
    }

    #[test]
    fn a_kernel_that_is_not_of_the_table_is_refused_with_those_that_are() {
        let error = by_rates(&["kernelet-pc", "vecadd"]).err().unwrap();
        let known = "it has those of `kernelet-pc`, `other`, `kernelet-tea`";
        assert_eq!(error.to_string(), format!("`optimal` has no measured rates of `vecadd`; {known}"));
    }
}
