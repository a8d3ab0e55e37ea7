//! PPCS: the share of a kernel in the SMs is its share in the available pages (section 4.4).
//!
//! While the host's prelude goes on and there are several kernels, an SM that has become wholly idle is filled with blocks of
//! the kernel whose share of the pages exceeds its share of the SMs by most; an idle SM counts for no kernel. The first
//! kernel begins on all SMs. When the prelude has ended, and for a program of a single kernel, blocks go as under
//! `crcs-fifo`.
//!
//! Open in the paper, and decided here: only kernels with blocks left to place are considered, and of equals the oldest. As
//! described, the rule can deadlock: blocks of younger kernels occupy all SMs and wait for pages of an older one that has
//! blocks left to place and no SM. The guard gives the last idle SM to the oldest kernel that has blocks left if that kernel
//! has no SM; a statistic counts these interventions.

use std::rc::Rc;

use counterpoint::component::{Counter, Equipped, Params, Site, Stats};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, Turn, View};
use counterpoint::kernel::Fault;
use counterpoint::messages::launch::LaunchId;

use super::owners::{OwnerPorts, Owners, Rule, Tracked, kernels, on_its_own, waiting_profiler};

/// Parameters of PPCS.
#[derive(Clone, Debug, Params)]
pub(super) struct PpcsParams {
    /// Keep an SM for the oldest kernel that has blocks left to place. Without, the paper's rule can lead to a deadlock.
    #[param(default = "on")]
    guard: bool,
}

/// Statistics of PPCS.
#[derive(Default, Stats)]
pub(super) struct PpcsStats {
    /// Times that the guard acted against the rule, because the machine would have come to stand still.
    guarded: Counter,
}

/// The policy `ppcs`.
pub(super) struct Ppcs {
    guard: bool,
    stats: Rc<PpcsStats>,
    /// The SM being filled, and the launch whose blocks fill it.
    filling: Option<(usize, LaunchId)>,
    /// The SMs that have served a kernel.
    used: Vec<bool>,
}

impl Equipped<dyn CtaPolicy> for Ppcs {
    const NAME: &'static str = "ppcs";
    const DOC: &'static str = "SMs in proportion to pages: an idle SM is filled with blocks of the kernel whose share of \
                               the available pages exceeds its share of the SMs by most.";
    type Params = PpcsParams;
    type Ports = OwnerPorts;
    type Stats = PpcsStats;

    fn build(
        params: &PpcsParams,
        site: Site<'_, OwnerPorts, PpcsStats>,
    ) -> Result<Box<dyn CtaPolicy>, Fault> {
        let rule = Ppcs { guard: params.guard, stats: site.stats, filling: None, used: Vec::new() };
        Ok(Box::new(Tracked::new(site.ports, rule)))
    }
}

impl Ppcs {
    /// The kernel that an idle SM takes, by its position among the launches.
    fn choose(&self, owners: &Owners, view: &View<'_>, sm: usize) -> Option<usize> {
        let oldest = kernels(view).next().filter(|&launch| owners.may_run(view, launch))?;
        let is_first = Some(view.launches[oldest].launch.id) == owners.dependences.first();
        if is_first && !self.used[sm] {
            return Some(oldest);
        }
        let mut best: Option<(i128, usize)> = None;
        for launch in kernels(view).filter(|&launch| owners.may_run(view, launch)) {
            let advantage = owners.advantage(view, launch);
            if best.is_none_or(|(most, _)| advantage > most) {
                best = Some((advantage, launch));
            }
        }
        let (_, chosen) = best?;
        let is_last = view.sms.iter().filter(|sm| sm.resident.is_empty()).count() == 1;
        if self.guard && chosen != oldest && is_last && view.launches[oldest].sms == 0 {
            self.stats.guarded.add(1);
            return Some(oldest);
        }
        Some(chosen)
    }
}

impl Rule for Ppcs {
    fn begin(&mut self, sms: usize) {
        self.used = vec![false; sms];
    }

    fn place(&mut self, owners: &Owners, turn: &mut Turn, view: &View<'_>) -> Option<Placement> {
        if !owners.dependences.is_pipelined() {
            self.filling = None;
            return owners.oldest_first(view, turn);
        }
        if let Some(profiler) = waiting_profiler(view) {
            return on_its_own(view, profiler, turn);
        }
        if let Some((sm, id)) = self.filling {
            let launch = view.launches.iter().position(|running| running.launch.id == id);
            if let Some(launch) = launch.filter(|&launch| view.can_hold(launch, sm)) {
                return view.fits(launch, sm).then_some(Placement { launch, sm });
            }
            self.filling = None;
        }
        let idle = view.sms.iter().position(|sm| sm.resident.is_empty() && sm.ready)?;
        let launch = self.choose(owners, view, idle)?;
        self.filling = Some((idle, view.launches[launch].launch.id));
        self.used[idle] = true;
        view.fits(launch, idle).then_some(Placement { launch, sm: idle })
    }
}
