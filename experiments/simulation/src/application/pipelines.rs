//! `pipeline:`: batches of data that pass through the same kernels, as in stream programs.

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::{DEFAULT_STREAM, LaunchStep, Step};

use super::code::Codes;
use super::keys::PipelineStep;
use super::launches::MOST_INDEXED;
use super::reader::Reader;

impl Reader<'_> {
    pub(super) fn pipeline(&mut self, keys: &PipelineStep, node: &Node, codes: &mut Codes) -> Option<Step> {
        let batches = self.count(&keys.pipeline, "pipeline", 1, MOST_INDEXED);
        self.required(keys.round.index.as_deref(), node, "index", "a pipeline");
        let (batches, inner) = (batches?, &keys.r#do);
        let before = self.diagnostics.reports();
        let rounds = self.indexed_rounds(&keys.round, batches as u32, inner, codes)?;
        if self.diagnostics.reports() > before {
            return None;
        }
        let first = rounds.first()?;
        self.check_kernels(inner, first)?;
        Some(Step::Pipeline { kernels: first.len() as u32, launches: rounds.concat() })
    }

    /// A pipeline has kernels and nothing else, all on one device.
    fn check_kernels(&mut self, inner: &Node, steps: &[Step]) -> Option<()> {
        let nodes = inner.as_list().unwrap_or_default();
        if steps.is_empty() {
            self.diagnostics.error(inner.span, "a pipeline needs a kernel");
            return None;
        }
        let mut device = None;
        let mut sound = true;
        for (step, node) in steps.iter().zip(nodes) {
            let problem = match step {
                Step::Launch(LaunchStep { stream, .. }) if *stream != DEFAULT_STREAM => {
                    Some("the runtime says on which stream a kernel of a pipeline runs")
                }
                Step::Launch(launch) if *device.get_or_insert(launch.device) != launch.device => {
                    Some("the kernels of a pipeline run on one device")
                }
                Step::Launch(_) => None,
                _ => Some("a pipeline has launches only"),
            };
            if let Some(problem) = problem {
                let help = "every launch under `do` is one kernel of the pipeline, and every batch goes through all of them";
                self.diagnostics.report(Diagnostic::new(node.span, problem).help(help));
                sound = false;
            }
        }
        sound.then_some(())
    }
}
