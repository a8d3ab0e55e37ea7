//! The common state of both policies: kernels, owners of pages, and the progress of the host. The placement
//! of blocks is a [`Rule`] of each.

use counterpoint::component::Ports;
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, Running, Turn, View};
use counterpoint::kernel::{In, Source};
use counterpoint::messages::extra::Note;
use counterpoint::messages::launch::Launch;

use super::dependences::Dependences;
use crate::messages::{PageMoved, Progress};

/// The port of a policy.
#[derive(Ports)]
pub(super) struct OwnerPorts {
    /// The MMU: the owners of the available pages.
    pages: Option<In<PageMoved>>,
}

pub(super) struct Owners {
    ports: OwnerPorts,
    pub(super) dependences: Dependences,
}

impl Owners {
    /// Whether the blocks of a launch may run, as far as the kernels before it are concerned.
    pub(super) fn may_run(&self, view: &View<'_>, launch: usize) -> bool {
        self.dependences.may_run(&view.launches[launch].launch)
    }

    /// A kernel's share of the available pages less its share of the SMs, times both denominators.
    pub(super) fn advantage(&self, view: &View<'_>, launch: usize) -> i128 {
        let (available, owned) = self.dependences.pages(view.launches[launch].launch.id);
        let (sms, mine) = (view.sms.len() as i128, i128::from(view.launches[launch].sms));
        let available = i128::from(available.max(1));
        i128::from(owned) * sms - mine * available
    }

    /// The rule of `crcs-fifo`: pre-profilers, then the oldest kernel with blocks left.
    pub(super) fn oldest_first(&self, view: &View<'_>, turn: &mut Turn) -> Option<Placement> {
        let oldest = || kernels(view).next().filter(|&launch| self.may_run(view, launch));
        on_its_own(view, waiting_profiler(view).or_else(oldest)?, turn)
    }
}

/// The place of the next block, from the state.
pub(super) trait Rule {
    /// The run begins, with this number of SMs.
    fn begin(&mut self, _sms: usize) {}

    /// As [`CtaPolicy::place`]; SMs are tried in turn.
    fn place(&mut self, owners: &Owners, turn: &mut Turn, view: &View<'_>) -> Option<Placement>;
}

/// A policy with this rule.
pub(super) struct Tracked<R> {
    owners: Owners,
    turn: Turn,
    rule: R,
}

impl<R: Rule> Tracked<R> {
    pub(super) fn new(ports: OwnerPorts, rule: R) -> Self {
        let owners = Owners { ports, dependences: Dependences::default() };
        Tracked { owners, turn: Turn::new(0..0, 0), rule }
    }
}

impl<R: Rule> CtaPolicy for Tracked<R> {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        self.rule.begin(sms);
        Ok(())
    }

    fn arrived(&mut self, launch: &Launch) -> Result<(), String> {
        self.owners.dependences.arrived(launch)
    }

    fn noted(&mut self, note: &Note) {
        if let Some(progress) = note.get::<Progress>() {
            self.owners.dependences.noted(*progress);
        }
    }

    fn ended(&mut self, launch: &Launch, _cycles: u64) {
        self.owners.dependences.ended(launch);
    }

    fn speak(&mut self) -> Result<bool, String> {
        while let Some(moved) = self.owners.ports.pages.as_mut().and_then(In::try_recv) {
            self.owners.dependences.moved(moved);
        }
        Ok(false)
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        self.owners.ports.pages.iter().map(|pages| pages.when(true)).collect()
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.rule.place(&self.owners, &mut self.turn, view)
    }
}

/// The kernels that have blocks left to place, oldest first; pre-profilers are none.
pub(super) fn kernels(view: &View<'_>) -> impl Iterator<Item = usize> {
    let waits = |(_, running): &(usize, &Running)| !running.is_helper() && running.waiting() > 0;
    view.launches.iter().enumerate().filter(waits).map(|(launch, _)| launch)
}

/// The next block of a pre-profiler, if one has any left to place.
pub(super) fn waiting_profiler(view: &View<'_>) -> Option<usize> {
    view.launches.iter().position(|running| running.is_helper() && running.waiting() > 0)
}

/// Places a block of a launch on an SM that serves it or is empty.
pub(super) fn on_its_own(view: &View<'_>, launch: usize, turn: &mut Turn) -> Option<Placement> {
    turn.find(|sm| {
        (view.is_free_for(launch, sm) && view.fits(launch, sm)).then_some(Placement { launch, sm })
    })
}
