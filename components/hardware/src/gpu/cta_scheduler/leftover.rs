//! What is left over: kernels run side by side, each SM serving one of them at a time.
//!
//! This is how GPGPU-Sim 3.0 to 3.2 places the blocks of concurrent kernels (`gpgpu_sim::select_kernel` in gpu-sim.cc,
//! `simt_core_cluster::issue_block2core` in shader.cc), and what Fermi and Kepler are usually said to do. An SM takes a
//! kernel when it is wholly empty, and keeps it until all its blocks there have ended, whether or not the kernel has more
//! blocks to give. The choice goes round the table of running kernels, from behind the one that was chosen last to the
//! first that has blocks to give: neither the oldest first, nor one until it has nothing left. (GPGPU-Sim 4 stays with
//! the kernel that it chose last while that has blocks to give.) Nothing that runs is ever taken from its SM.
//!
//! The first choice begins behind the first entry of the table, and the first block goes to the second SM, as in GPGPU-Sim.

use counterpoint_framework::model::Variant;

use super::policy::{CtaPolicy, Placement, Turn, View};

/// The policy `leftover`.
pub(super) struct LeftOver {
    turn: Turn,
    /// The entry of the table that was chosen last.
    chosen: u32,
}

impl Variant<dyn CtaPolicy> for LeftOver {
    const NAME: &'static str = "leftover";
    const DOC: &'static str = "Kernels side by side, each SM serving one at a time: it takes the next in turn when it is wholly empty.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(LeftOver { turn: Turn::new(0..0, 0), chosen: 0 }))
    }
}

/// The launch that an empty SM takes: the next behind `chosen` in the table, round and round, that has blocks to give.
fn choose(view: &View<'_>, chosen: u32) -> Option<usize> {
    let able = view.launches.iter().enumerate().filter(|(_, running)| running.waiting() > 0);
    able.min_by_key(|(_, running)| (running.slot <= chosen, running.slot)).map(|(launch, _)| launch)
}

impl CtaPolicy for LeftOver {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 1 % sms.max(1));
        Ok(())
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let chosen = self.chosen;
        let placement = self.turn.find(|sm| {
            let launch = match view.sms[sm].resident.keys().next() {
                Some(serves) => view.launches.iter().position(|running| running.launch.id == *serves),
                None => choose(view, chosen),
            }?;
            let can = view.launches[launch].waiting() > 0 && view.fits(launch, sm);
            can.then_some(Placement { launch, sm })
        })?;
        if view.sms[placement.sm].resident.is_empty() {
            self.chosen = view.launches[placement.launch].slot;
        }
        Some(placement)
    }
}
