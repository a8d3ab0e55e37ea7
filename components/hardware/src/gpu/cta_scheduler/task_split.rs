//! A fixed split of the SMs among the kernels of a task pipeline, for those that run together; one that runs alone has all.

use std::ops::Range;

use counterpoint_framework::model::{Params, Variant};
use counterpoint_protocols::launch::Launch;

use super::policy::{CtaPolicy, Placement, View};
use super::steps::Steps;

/// How the SMs are split.
#[derive(Clone, Debug, Params)]
pub(super) struct TaskSplitParams {
    /// SMs of each kernel of the pipeline, in their order.
    sms: Vec<u32>,
}

/// The policy `task-split`.
pub(super) struct TaskSplit {
    shares: Vec<Range<usize>>,
    steps: Steps,
}

impl Variant<dyn CtaPolicy> for TaskSplit {
    const NAME: &'static str = "task-split";
    const DOC: &'static str =
        "Kernels of a task pipeline that run together, each on its own SMs, a fixed number.";
    type Params = TaskSplitParams;

    fn build(params: &TaskSplitParams) -> Result<Box<dyn CtaPolicy>, String> {
        let shares = neighbours(&params.sms)?;
        Ok(Box::new(TaskSplit { shares, steps: Steps::default() }))
    }
}

/// So many SMs for each, side by side.
pub(super) fn neighbours(sms: &[u32]) -> Result<Vec<Range<usize>>, String> {
    if sms.is_empty() || sms.contains(&0) {
        return Err("every share needs an SM, and there must be a share".to_owned());
    }
    let ends = sms.iter().scan(0, |end, &sms| {
        let start = *end;
        *end += sms as usize;
        Some(start..*end)
    });
    Ok(ends.collect())
}

/// Whether shares fit a GPU.
pub(super) fn check(shares: &[Range<usize>], policy: &str, sms: usize) -> Result<(), String> {
    match shares.last() {
        Some(last) if last.end > sms => {
            Err(format!("the shares of `{policy}` have {} SMs, the GPU has {sms}", last.end))
        }
        _ => Ok(()),
    }
}

impl CtaPolicy for TaskSplit {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        check(&self.shares, Self::NAME, sms)
    }

    fn share(&mut self, launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        if !self.steps.includes(launch) {
            return Ok(None);
        }
        let share = match &launch.task {
            Some(task) if task.kernels as usize != self.shares.len() => {
                let shares = self.shares.len();
                return Err(format!(
                    "`task-split` has {shares} shares, the pipeline {} kernels",
                    task.kernels
                ));
            }
            Some(task) if task.members > 1 => self.shares[task.kernel as usize].clone(),
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
