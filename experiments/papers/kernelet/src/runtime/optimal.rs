//! The paper's OPT: the pair that saves most time, chosen as Kernelet does, but by the measured rates of all
//! pairs.

use counterpoint::component::Params;
use counterpoint::host::{Driver, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::SpanId;

use super::executor::{Decision, Scheduler};
use super::gpu::Like;
use super::program::Program;
use super::queue::{Instance, QueueParams};
use super::queued::{Policy, Queued};
use super::waiting::Waiting;
use crate::paper::APPLICATIONS;
use crate::replay::{ByMeasurement, Measured, Source};

/// A table of measured rates.
macro_rules! table {
    ($file:literal) => {
        Source { name: concat!("measured/", $file), text: include_str!(concat!("../../measured/", $file)) }
    };
}

/// The queue, and the table of rates.
#[derive(Clone, Debug, Params)]
pub(super) struct OptimalParams {
    /// Instances and their arrivals.
    queue: QueueParams,
    /// The card whose measured rates count. Slices are those of its number of SMs.
    #[param(default = "c2050")]
    table: Like,
}

/// The runtime `optimal`.
pub(super) type Optimal = Queued<OptimalParams>;

#[async_trait(?Send)]
impl Policy for OptimalParams {
    const NAME: &'static str = "optimal";
    const DOC: &'static str = "A queue of kernels, of which the two run together, in slices, that save most time by measured rates of all \
                               pairs (the best of Kernelet's scheme).";

    fn accept(&self, programs: &[Program]) -> Result<(), Fault> {
        self.by_rates(programs).map(drop)
    }

    fn queue(&self) -> &QueueParams {
        &self.queue
    }

    async fn scheduler(
        &self,
        _driver: &mut Driver<'_>,
        programs: &[Program],
        _run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault> {
        Ok(Box::new(self.by_rates(programs)?))
    }
}

impl OptimalParams {
    fn by_rates(&self, programs: &[Program]) -> Result<ByRates, Fault> {
        let names: Vec<&str> = programs.iter().map(|program| &*program.name).collect();
        ByRates::new(&measured(self.table)?, &names)
    }
}

/// The rates of kernels alone, and of pairs.
fn measured(card: Like) -> Result<Measured, Fault> {
    let (kernels, pairs) = match card {
        Like::C2050 => (table!("c2050/kernels.csv"), table!("c2050/pairs.csv")),
        Like::Gtx680 => (table!("gtx680/kernels.csv"), table!("gtx680/pairs.csv")),
    };
    Measured::read(kernels, pairs, None).map_err(|report| Fault::new(report.render()))
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
}

impl ByRates {
    /// Kernels have the names of applications, or those of the table.
    ///
    /// # Errors
    /// If a kernel is not of the table.
    fn new(measured: &Measured, names: &[&str]) -> Result<Self, Fault> {
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
        Ok(ByRates { best: ByMeasurement::new(measured), count: measured.kernels().len(), places })
    }
}

impl Scheduler for ByRates {
    fn decide(&mut self, pending: &[Instance], _random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        let waiting = Waiting::new(pending, self.count, |instance| self.places[instance.kernel]);
        let together = self.best.choose(&waiting.pending).and_then(|selected| {
            Some(Decision::together(waiting.places(selected.kernels)?, selected.together.slices))
        });
        Ok(together.unwrap_or_else(|| Decision::whole(0, &pending[0])))
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::time::SimTime;

    use super::*;

    const KERNELS: &str = "kernel,blocks,rate,instructions_per_block,memory_fraction,uncoalesced_fraction,warps_per_block,threads,\
        registers,shared,pur,mur,minimum_slice\n\
        PC,90,10,800,0.3,0,8,256,0,0,0.2,0.2,14\n\
        other,90,10,800,0.3,0,8,256,0,0,0.2,0.2,14\n\
        TEA,90,10,4000,0.01,0,4,128,0,0,0.9,0.02,14\n";

    const PAIRS: &str = "first,second,slice_first,slice_second,rate_first,rate_second\n\
        PC,TEA,14,28,6,8\nTEA,PC,14,28,9,9\nPC,other,42,14,6,6\nTEA,other,14,14,4,5\n";

    fn by_rates(names: &[&str]) -> Result<ByRates, Fault> {
        let source = |text| Source { name: "table.csv", text };
        ByRates::new(&Measured::read(source(KERNELS), source(PAIRS), None).unwrap(), names)
    }

    /// Places and slices of the decision on instances of these kernels.
    fn decision(kernels: &[usize]) -> Vec<(usize, u64)> {
        let instance = |&kernel| Instance { kernel, number: 1, arrival: SimTime::ZERO, left: 70 };
        let pending: Vec<Instance> = kernels.iter().map(instance).collect();
        let mut scheduler = by_rates(&["kernelet-tea", "kernelet-pc", "other"]).unwrap();
        let decision = scheduler.decide(&pending, &mut || 0).unwrap();
        decision.shares.iter().map(|share| (share.place, share.slice)).collect()
    }

    #[test]
    fn the_pair_and_the_slices_with_the_highest_measured_profit_run() {
        assert_eq!(decision(&[2, 0, 1, 0, 1]), [(2, 28), (1, 14)]);
        assert_eq!(decision(&[0, 2, 2, 1]), [(3, 28), (0, 14)]);
        assert_eq!(decision(&[2, 1]), [(1, 42), (0, 14)]);
        // Slower together than two instances of one kernel, which share the rate.
        assert_eq!(decision(&[0, 0, 2]), [(0, 90), (1, 90)]);
        assert_eq!(decision(&[0]), [(0, 70)]);
    }

    #[test]
    fn a_kernel_that_is_not_of_the_table_is_refused_with_those_that_are() {
        let error = by_rates(&["kernelet-pc", "vecadd"]).err().unwrap();
        let known = "it has those of `kernelet-pc`, `other`, `kernelet-tea`";
        assert_eq!(error.to_string(), format!("`optimal` has no measured rates of `vecadd`; {known}"));
    }

    #[test]
    fn the_tables_have_the_kernels_of_the_paper() {
        for card in [Like::C2050, Like::Gtx680] {
            let measured = measured(card).unwrap();
            let names: Vec<&str> = measured.kernels().iter().map(|kernel| &*kernel.name).collect();
            assert_eq!(names, APPLICATIONS.map(|(_, kernel)| kernel));
        }
    }
}
