//! A fixed split of the SMs among the kernels of a task pipeline, for those that run together; one that runs alone has all.

use std::ops::Range;

use counterpoint::component::{Params, Variant};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, View, check, neighbours};
use counterpoint::messages::launch::Launch;

use super::steps::Steps;
use crate::pipeline::Task;

/// How the SMs are split.
#[derive(Clone, Debug, Params)]
pub(super) struct TaskSplitParams {
    /// SMs of each kernel of the pipeline, in their order; the last may be left out, and gets the rest.
    sms: Vec<u32>,
}

/// The policy `task-split`.
pub(super) struct TaskSplit {
    shares: Vec<Range<usize>>,
    /// The SMs behind them.
    rest: Range<usize>,
    steps: Steps,
}

impl Variant<dyn CtaPolicy> for TaskSplit {
    const NAME: &'static str = "task-split";
    const DOC: &'static str =
        "Kernels of a task pipeline that run together, each on its own SMs, a fixed number.";
    type Params = TaskSplitParams;

    fn build(params: &TaskSplitParams) -> Result<Box<dyn CtaPolicy>, String> {
        let shares = neighbours(&params.sms)?;
        Ok(Box::new(TaskSplit { shares, rest: 0..0, steps: Steps::default() }))
    }
}

impl TaskSplit {
    /// The SMs of a kernel that runs beside others.
    fn share_of(&self, task: &Task) -> Result<Range<usize>, String> {
        let (shares, kernels) = (self.shares.len(), task.kernels as usize);
        if shares != kernels && (shares + 1 != kernels || self.rest.is_empty()) {
            return Err(format!(
                "`task-split` has {shares} shares and {} SMs behind them, the pipeline {kernels} kernels",
                self.rest.len()
            ));
        }
        Ok(self.shares.get(task.kernel as usize).unwrap_or(&self.rest).clone())
    }
}

impl CtaPolicy for TaskSplit {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        check(&self.shares, Self::NAME, sms)?;
        self.rest = self.shares.last().map_or(0, |last| last.end)..sms;
        Ok(())
    }

    fn share(&mut self, launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        if !self.steps.includes(launch) {
            return Ok(None);
        }
        let share = match launch.extra.get::<Task>() {
            Some(task) if task.members > 1 => self.share_of(task)?,
            _ => 0..sms,
        };
        self.steps.begin(launch, share.clone());
        Ok(Some(share))
    }

    fn ended(&mut self, launch: &Launch, _cycles: u64) {
        self.steps.ended(launch);
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.steps.place(view)
    }
}
