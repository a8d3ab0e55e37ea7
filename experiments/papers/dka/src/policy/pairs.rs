//! The dynamic kernel allocator's share of the CTA scheduler (Mu et al., IEICE 2013, sections 3.1 and 3.3): two neighbouring
//! kernels of a task pipeline run together on whole SMs, whose numbers the allocator decides.
//!
//! Before a pair runs, the policy sends the last times of its kernels to the allocator: at first of each alone on all SMs,
//! then of both together. Launches wait for the answer. A measurement runs from the placement of a kernel's first block to
//! the end of its last.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint::component::{Equipped, Ports, Site};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, View};
use counterpoint::kernel::{Fault, Source};
use counterpoint::messages::launch::Launch;

use super::steps::Steps;
use crate::pipeline::{AllocatorClient, Allotted, Measured, Round, Task};

/// The last run of a pair, as far as it is known.
#[derive(Clone, Copy, Default)]
struct Last {
    sms: u32,
    first: Option<u64>,
    second: Option<u64>,
}

/// The policy's link to the allocator.
#[derive(Ports)]
pub(super) struct PairPorts {
    /// The kernel allocator.
    allocator: AllocatorClient,
}

/// The policy `dka`.
pub(super) struct Pairs {
    ports: PairPorts,
    steps: Steps,
    /// Cycles of each kernel on all SMs.
    alone: BTreeMap<u32, u64>,
    /// Last run of each pair, by the pair's first kernel.
    pairs: BTreeMap<u32, Last>,
    /// The step for which the allocator was asked last.
    asked: Option<u32>,
    question: Option<Round>,
    answer: Option<Allotted>,
}

impl Equipped<dyn CtaPolicy> for Pairs {
    const NAME: &'static str = "dka";
    const DOC: &'static str = "Two neighbouring kernels of a task pipeline together, on as many whole SMs each as the \
                               kernel allocator says (DKA).";
    type Params = ();
    type Ports = PairPorts;
    type Stats = ();

    fn build((): &(), site: Site<'_, PairPorts, ()>) -> Result<Box<dyn CtaPolicy>, Fault> {
        Ok(Box::new(Pairs {
            ports: site.ports,
            steps: Steps::default(),
            alone: BTreeMap::new(),
            pairs: BTreeMap::new(),
            asked: None,
            question: None,
            answer: None,
        }))
    }
}

impl Pairs {
    /// SMs of one of two launches that run together; requests the split if that has not happened yet.
    fn allotted(&mut self, task: &Task, sms: usize) -> Result<Option<Range<usize>>, String> {
        if sms < 2 {
            return Err("two kernels cannot share one SM: `dka` needs two".to_owned());
        }
        if self.asked == Some(task.step) {
            let split = self.answer.map(|answer| answer.sms as usize);
            return Ok(split.map(|split| if task.kernel == task.first { 0..split } else { split..sms }));
        }
        let second = (task.first + 1) % task.kernels;
        let measured = match self.pairs.get(&task.first) {
            Some(&Last { sms, first: Some(first), second: Some(second) }) => {
                Measured::CoRun { sms, first, second }
            }
            _ => {
                let alone = |kernel: u32| {
                    self.alone.get(&kernel).copied().ok_or_else(|| {
                        format!("kernel {kernel} of the pipeline has not run alone: DKA begins with how long it takes then")
                    })
                };
                Measured::Alone { first: alone(task.first)?, second: alone(second)? }
            }
        };
        self.asked = Some(task.step);
        self.answer = None;
        self.question = Some(Round { table: task.first, sms: sms as u32, measured });
        Ok(None)
    }
}

impl CtaPolicy for Pairs {
    fn share(&mut self, launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        if !self.steps.includes(launch) {
            return Ok(None);
        }
        let share = match launch.extra.get::<Task>() {
            Some(Task { members: 3.., .. }) => {
                return Err(
                    "`dka` runs two kernels of a pipeline together, and this step has more".to_owned()
                );
            }
            Some(task @ Task { members: 2, .. }) => self.allotted(task, sms)?,
            _ => Some(0..sms),
        };
        if let Some(share) = &share {
            self.steps.begin(launch, share.clone());
        }
        Ok(share)
    }

    fn ended(&mut self, launch: &Launch, cycles: u64) {
        self.steps.ended(launch);
        match launch.extra.get::<Task>() {
            Some(task) if task.members == 1 => {
                self.alone.insert(task.kernel, cycles);
            }
            Some(task) => {
                let pair = self.pairs.entry(task.first).or_default();
                pair.sms = self.answer.map_or(0, |answer| answer.sms);
                if task.kernel == task.first { &mut pair.first } else { &mut pair.second }.replace(cycles);
            }
            None => {}
        }
    }

    fn speak(&mut self) -> Result<bool, String> {
        let answer = self.ports.allocator.rx.try_recv();
        self.answer = answer.or(self.answer);
        // One question at a time: the link has a credit.
        if let Some(permit) = self.question.and_then(|_| self.ports.allocator.tx.try_reserve())
            && let Some(question) = self.question.take()
        {
            permit.send(question);
        }
        Ok(answer.is_some())
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        vec![self.ports.allocator.rx.when(true)]
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.steps.place(view)
    }
}
