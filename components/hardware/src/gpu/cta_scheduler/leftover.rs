//! The leftover policy: kernels run side by side, each SM serving one of them at a time.
//!
//! GPGPU-Sim places the blocks of concurrent kernels in this way (`gpgpu_sim::select_kernel` in gpu-sim.cc,
//! `simt_core_cluster::issue_block2core` in shader.cc), and Fermi and Kepler are usually described so. An SM takes a
//! kernel when it is wholly empty, and keeps it until all its blocks there have ended, whether or not the kernel has more
//! blocks to give. Nothing that runs is ever taken from its SM. Which kernel an empty SM takes depends on the version: the
//! next one in the table of running kernels (3.0 to 3.2), or the one that was chosen last while it has blocks to give (4).
//! Neither is the oldest first.
//!
//! A cluster has one SM here, as in GPGPU-Sim's Fermi configurations: a cluster is given a block a cycle, whatever its number of
//! SMs. The first choice begins behind the first entry of the table, and the first block goes to the second SM, as in GPGPU-Sim.

use counterpoint_framework::model::{Choice, Params, Variant};

use super::policy::{CtaPolicy, Placement, Turn, View};

/// Choice of the kernel for an empty SM.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The kernel behind the last chosen one in the table (GPGPU-Sim 3.0 to 3.2).
    Next,
    /// The last chosen kernel while it has blocks to place, then the next kernel in the table (GPGPU-Sim 4).
    Same,
}

/// The choice of a kernel.
#[derive(Clone, Debug, Params)]
pub(super) struct LeftOverParams {
    /// Choice of the kernel for an empty SM, among running kernels with unplaced blocks.
    #[param(default = "next")]
    choice: Order,
}

/// The policy `leftover`.
pub(super) struct LeftOver {
    choice: Order,
    turn: Turn,
    /// The entry of the table that was chosen last.
    chosen: u32,
}

impl Variant<dyn CtaPolicy> for LeftOver {
    const NAME: &'static str = "leftover";
    const DOC: &'static str =
        "Kernels run concurrently, one per SM: an SM takes another kernel only when it is empty.";
    type Params = LeftOverParams;

    fn build(params: &LeftOverParams) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(LeftOver { choice: params.choice, turn: Turn::new(0..0, 0), chosen: 0 }))
    }
}

/// The launch that an empty SM takes: round the table, from the entry that was chosen last or from behind it.
fn choose(view: &View<'_>, choice: Order, chosen: u32) -> Option<usize> {
    let first = if choice == Order::Same { chosen } else { chosen + 1 };
    let able = view.launches.iter().enumerate().filter(|(_, running)| running.waiting() > 0);
    able.min_by_key(|(_, running)| (running.slot < first, running.slot)).map(|(launch, _)| launch)
}

impl CtaPolicy for LeftOver {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 1 % sms.max(1));
        Ok(())
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let (choice, chosen) = (self.choice, self.chosen);
        let placement = self.turn.find(|sm| {
            let launch = match view.sms[sm].resident.keys().next() {
                Some(serves) => view.launches.iter().position(|running| running.launch.id == *serves),
                None => choose(view, choice, chosen),
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
