//! Kernelet: profiles all kernels, and then always runs the pair that saves most time according to the Markov model, in slices
//! that end together (Algorithm 1).

use counterpoint::component::{Choice, Params};
use counterpoint::host::{Driver, async_trait};
use counterpoint::kernel::Fault;
use counterpoint::telemetry::{Attribute, Attributes, Level, SpanId};

use super::executor::{Decision, Scheduler, real};
use super::gpu::GpuParams;
use super::profiler::{Profiler, ProfilerParams};
use super::program::Program;
use super::queue::{Instance, QueueParams};
use super::queued::{Policy, Queued};
use crate::model::{Unit, Unsolvable};
use crate::schedule::cut::Lanes;
use crate::schedule::prune::Thresholds;
use crate::schedule::{Choices, Options, Profile};

/// The span of all profiles; of one kernel it shows the profile, and of two their use of the GPU.
pub(crate) const PROFILES: &str = "profiles";

/// The unit that gets idle and ready as a whole in the model.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum UnitParam {
    /// A thread block.
    Block,
    /// A warp.
    Warp,
}

/// How pairs are chosen.
#[derive(Clone, Debug, Params)]
pub(super) struct KerneletParams {
    /// The arrivals, and their times.
    queue: QueueParams,
    /// The model's knowledge of the GPU.
    gpu: GpuParams,
    /// How kernels are profiled.
    profile: ProfilerParams,
    /// `alpha_p`: pairs whose PUR differ by less are pruned, if the MUR do so, too.
    #[param(default = "0.4", min = "0", max = "100")]
    pur: f64,
    /// `alpha_m`: the same of MUR; the card's where it is not given.
    #[param(min = "0", max = "100")]
    mur: Option<f64>,
    /// The unit of the model.
    #[param(default = "block")]
    unit: UnitParam,
    /// Whether the model knows uncoalesced accesses; else they count as coalesced ones.
    #[param(default = "on")]
    uncoalesced: bool,
}

/// The runtime `kernelet`.
pub(super) type Kernelet = Queued<KerneletParams>;

#[async_trait(?Send)]
impl Policy for KerneletParams {
    const NAME: &'static str = "kernelet";
    const DOC: &'static str = "A queue of kernels, of which the two run together, in slices, that a Markov model says save most time \
                               (Kernelet).";

    fn queue(&self) -> &QueueParams {
        &self.queue
    }

    async fn scheduler(
        &self,
        driver: &mut Driver<'_>,
        programs: &[Program],
        run: SpanId,
    ) -> Result<Box<dyn Scheduler>, Fault> {
        let gpu = self.gpu.gpu(driver.devices())?;
        let unit = match self.unit {
            UnitParam::Block => Unit::Block,
            UnitParam::Warp => Unit::Warp,
        };
        let span = driver.begin(Some(run), Level::Phases, PROFILES);
        let mut profiles = Vec::new();
        let lanes = self.queue.lanes();
        let mut profiler =
            Profiler { params: &self.profile, driver: &mut *driver, gpu: &gpu, lanes, parent: span };
        for program in programs {
            profiles.push(profiler.profile(program).await?);
        }
        let attributes = match &profiles[..] {
            [profile] => shown(profile),
            [first, second] => vec![
                ("pur_1", real(first.pur)),
                ("mur_1", real(first.mur)),
                ("pur_2", real(second.pur)),
                ("mur_2", real(second.mur)),
            ],
            _ => Attributes::new(),
        };
        driver.end_with(span, attributes);
        if !self.uncoalesced {
            profiles.iter_mut().for_each(|profile| profile.uncoalesced_fraction = 0.0);
        }
        let thresholds = Thresholds { pur: self.pur, mur: self.mur.unwrap_or(gpu.mur) };
        let options = Options { thresholds, unit, ..Options::default() };
        let smallest = profiles.iter().map(|profile| profile.minimum_slice).collect();
        let choices = Choices::new(profiles, gpu.machine, options);
        Ok(Box::new(ByModel { choices, smallest, sms: gpu.machine.sms, lanes }))
    }
}

/// The attributes of a profile's span.
fn shown(profile: &Profile) -> Attributes {
    vec![
        ("instructions_per_block", real(profile.instructions_per_block)),
        ("memory_fraction", real(profile.memory_fraction)),
        ("uncoalesced_fraction", real(profile.uncoalesced_fraction)),
        ("pur", real(profile.pur)),
        ("mur", real(profile.mur)),
        ("threads", Attribute::Number(profile.resources.threads.into())),
        ("warps_per_block", Attribute::Number(profile.warps_per_block.into())),
        ("registers", Attribute::Number(profile.resources.registers.into())),
        ("shared", Attribute::Number(profile.resources.shared.into())),
        ("minimum_slice", Attribute::Number(profile.minimum_slice.into())),
    ]
}

struct ByModel {
    choices: Choices,
    /// The smallest slice of each kernel.
    smallest: Vec<u32>,
    sms: u32,
    lanes: Lanes,
}

impl Scheduler for ByModel {
    fn decide(&mut self, pending: &[Instance], _random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault> {
        let unsolvable = |error: Unsolvable| Fault::new(format!("the model has no solution: {error}"));
        let kernels: Vec<usize> = pending.iter().map(|instance| instance.kernel).collect();
        let found = self.choices.choose(&kernels).map_err(unsolvable)?;
        let alone = |place: usize| self.choices.alone(kernels[place]).map(real).map_err(unsolvable);
        let Some(found) = found else {
            let attributes = vec![("predicted_alone_1", alone(0)?)];
            return Ok(Decision { attributes, ..Decision::whole(0, &pending[0]) });
        };
        let places = [found.first, found.second];
        let cut = |at: usize| {
            let smallest = self.smallest[kernels[places[at]]];
            self.lanes.among(2).cut(found.slices[at], smallest, self.sms)
        };
        let mut decision = Decision::together(places, found.slices, [cut(0), cut(1)]);
        decision.attributes.extend([
            ("predicted_1", real(found.predicted[0])),
            ("predicted_2", real(found.predicted[1])),
            ("predicted_alone_1", alone(found.first)?),
            ("predicted_alone_2", alone(found.second)?),
            ("predicted_profit", real(found.profit)),
        ]);
        Ok(decision)
    }
}
