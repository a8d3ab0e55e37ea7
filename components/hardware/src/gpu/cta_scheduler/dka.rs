//! The dynamic kernel allocator's share of the CTA scheduler (Mu et al., IEICE 2013, sections 3.1 and 3.3): two neighbouring
//! kernels of a task pipeline run together on whole SMs, as many for each as the allocator says.
//!
//! Before a pair runs, the allocator is asked, with how long its kernels took last: at first each alone on all SMs, then together.
//! Launches wait for the answer. What is measured goes from the placement of a kernel's first block to the end of its last.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint_framework::model::Variant;
use counterpoint_protocols::launch::Launch;
use counterpoint_protocols::pipeline::{Allotted, Measured, Round, Task};

use super::policy::{CtaPolicy, Placement, View};
use super::steps::Steps;

/// How a pair ran last, as far as it is known.
#[derive(Clone, Copy, Default)]
struct Last {
    sms: u32,
    first: Option<u64>,
    second: Option<u64>,
}

/// The policy `dka`.
#[derive(Default)]
pub(super) struct Dka {
    steps: Steps,
    /// By kernel, its cycles on all SMs.
    alone: BTreeMap<u32, u64>,
    /// By first kernel of a pair.
    pairs: BTreeMap<u32, Last>,
    /// The step for which the allocator was asked last.
    asked: Option<u32>,
    question: Option<Round>,
    answer: Option<Allotted>,
}

impl Variant<dyn CtaPolicy> for Dka {
    const NAME: &'static str = "dka";
    const DOC: &'static str = "Two neighbouring kernels of a task pipeline together, on as many whole SMs each as the \
                               kernel allocator says (DKA).";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Dka::default()))
    }
}

impl Dka {
    /// The SMs of one of two launches that run together; asks for them if nobody has.
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
                Measured::Together { sms, first, second }
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

impl CtaPolicy for Dka {
    fn share(&mut self, launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        if !self.steps.includes(launch) {
            return Ok(None);
        }
        let share = match &launch.task {
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
        match &launch.task {
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

    fn question(&mut self) -> Option<Round> {
        self.question.take()
    }

    fn answer(&mut self, allotted: Allotted) {
        self.answer = Some(allotted);
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.steps.place(view)
    }
}
