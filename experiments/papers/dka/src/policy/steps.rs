//! Steps of a task pipeline: the launches that may begin, and whole SMs for each.
//!
//! A step is a barrier: its launches begin when those of the step before have all ended, and SMs of one that has ended stay
//! idle until then (Mu et al., section 3.1, Eq. 2). A launch that is part of no pipeline has the GPU for itself.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint::gpu::cta_scheduler::{Placement, Turn, View};
use counterpoint::messages::launch::{Launch, LaunchId};

use crate::pipeline::Task;

#[derive(Default)]
pub(super) struct Steps {
    current: Option<u32>,
    /// Launches of it that have not ended, begun or not.
    left: u32,
    /// SMs of each launch that has begun.
    turns: BTreeMap<LaunchId, Turn>,
}

impl Steps {
    /// Whether a launch belongs to the step that runs; the next step is that of the first launch that asks when none does.
    pub(super) fn includes(&mut self, launch: &Launch) -> bool {
        if self.left == 0 {
            (self.current, self.left) =
                launch.extra.get::<Task>().map_or((None, 1), |task| (Some(task.step), task.members));
            return true;
        }
        launch.extra.get::<Task>().is_some_and(|task| self.current == Some(task.step))
    }

    pub(super) fn begin(&mut self, launch: &Launch, sms: Range<usize>) {
        self.turns.insert(launch.id, Turn::new(sms.clone(), sms.start));
    }

    pub(super) fn ended(&mut self, launch: &Launch) {
        self.turns.remove(&launch.id);
        self.left -= 1;
    }

    /// The next block, each launch on its own SMs.
    pub(super) fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let waiting = view.launches.iter().enumerate().filter(|(_, running)| running.waiting() > 0);
        waiting.map(|(launch, running)| (launch, running.launch.id)).find_map(|(launch, id)| {
            self.turns.get_mut(&id)?.find(|sm| view.fits(launch, sm).then_some(Placement { launch, sm }))
        })
    }
}
