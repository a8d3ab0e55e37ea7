//! Kernels one after another, on the SMs that the governor has made available.

use counterpoint::component::{Equipped, Ports, Site};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, Turn, View};
use counterpoint::kernel::{Fault, In, Source};

use crate::governor::Limit;

/// The port that the policy brings into the CTA scheduler.
#[derive(Ports)]
pub struct GovernedPorts {
    /// The number of SMs that may have blocks.
    governor: In<Limit>,
}

/// The policy `governed`.
pub struct Governed {
    ports: GovernedPorts,
    limit: usize,
    turn: Turn,
}

impl Equipped<dyn CtaPolicy> for Governed {
    const NAME: &'static str = "governed";
    const DOC: &'static str = "Kernels one after another, on the SMs that a governor has made available.";
    type Params = ();
    type Ports = GovernedPorts;
    type Stats = ();

    fn build((): &(), site: Site<'_, GovernedPorts, ()>) -> Result<Box<dyn CtaPolicy>, Fault> {
        Ok(Box::new(Governed { ports: site.ports, limit: 0, turn: Turn::new(0..0, 0) }))
    }
}

impl CtaPolicy for Governed {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn speak(&mut self) -> Result<bool, String> {
        while let Some(Limit(sms)) = self.ports.governor.try_recv() {
            self.limit = sms as usize;
        }
        Ok(false)
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        vec![self.ports.governor.when(true)]
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let limit = self.limit;
        view.launches.first().filter(|oldest| oldest.waiting() > 0)?;
        self.turn.find(|sm| (sm < limit && view.fits(0, sm)).then_some(Placement { launch: 0, sm }))
    }
}
