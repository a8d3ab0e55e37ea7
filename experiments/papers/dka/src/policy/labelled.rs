//! Policy `labelled` wraps any policy, and reports to the slices of the L2 the lines that no kernel will read
//! any more (section 3.2): when a kernel of a task pipeline has ended, the lines with the labels that it has
//! read ([`Task::read`]).

use std::collections::VecDeque;
use std::ops::Range;

use counterpoint::component::{Equipped, Params, Ports, Site, Slot};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, View};
use counterpoint::kernel::{Fault, Out, Source};
use counterpoint::messages::extra::Note;
use counterpoint::messages::launch::Launch;

use super::pairs::Pairs;
use crate::labels::Flush;
use crate::pipeline::Task;

/// Parameters: the policy that places blocks.
#[derive(Clone, Debug, Params)]
pub(super) struct LabelledParams {
    /// The policy that places blocks.
    #[param(default = <Pairs as Equipped<dyn CtaPolicy>>::NAME)]
    of: Slot<dyn CtaPolicy>,
}

/// The receivers.
#[derive(Ports)]
pub(super) struct LabelledPorts {
    /// The slices of the L2.
    labels: Vec<Out<Flush>>,
}

/// The policy `labelled`.
pub(super) struct Labelled {
    of: Box<dyn CtaPolicy>,
    ports: LabelledPorts,
    /// Messages for the slices, all of them in one cycle.
    flushes: VecDeque<Flush>,
}

impl Equipped<dyn CtaPolicy> for Labelled {
    const NAME: &'static str = "labelled";
    const DOC: &'static str = "Another policy; the slices of the L2 are informed when nobody will read any more what a kernel of a task \
                               pipeline wrote (DKA).";
    type Params = LabelledParams;
    type Ports = LabelledPorts;
    type Stats = ();

    fn build(
        params: &LabelledParams,
        site: Site<'_, LabelledPorts, ()>,
    ) -> Result<Box<dyn CtaPolicy>, Fault> {
        let of = site.fill(&params.of)?;
        Ok(Box::new(Labelled { of, ports: site.ports, flushes: VecDeque::new() }))
    }
}

impl CtaPolicy for Labelled {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.of.begin(sms)
    }

    fn share(&mut self, launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        self.of.share(launch, sms)
    }

    fn arrived(&mut self, launch: &Launch) -> Result<(), String> {
        self.of.arrived(launch)
    }

    fn noted(&mut self, note: &Note) {
        self.of.noted(note);
    }

    fn ended(&mut self, launch: &Launch, cycles: u64) {
        self.of.ended(launch, cycles);
        self.flushes.extend(launch.extra.get::<Task>().into_iter().flat_map(Task::read).map(Flush));
    }

    fn speak(&mut self) -> Result<bool, String> {
        let changed = self.of.speak()?;
        let slices = &mut self.ports.labels;
        while let Some(&flush) = self.flushes.front()
            && slices.iter().all(|slice| slice.credits() > 0)
        {
            self.flushes.pop_front();
            for permit in slices.iter_mut().filter_map(Out::try_reserve) {
                permit.send(flush);
            }
        }
        Ok(changed)
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        let waits = !self.flushes.is_empty();
        let mut awaits = self.of.awaits();
        awaits.extend(self.ports.labels.iter().map(|slice| slice.when(waits)));
        awaits
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.of.place(view)
    }
}
