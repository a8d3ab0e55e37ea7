//! `counts:`: the work of each launch of an application, stated by hand and compared by tests, so that a
//! kernel whose code or shape changes unnoticed is noticed.

use std::collections::{BTreeMap, BTreeSet};

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::Step;

use super::keys::{CountKeys, TotalKeys};
use super::loaded::{Counts, PerLaunch};
use super::parameters::DEFAULT;
use super::reader::Reader;

impl Reader<'_> {
    /// Reads `counts:`; gives those of the size that applies, by kernel.
    pub(super) fn read_counts(
        &mut self,
        node: Option<&Node>,
        sizes: Option<&Node>,
    ) -> Option<BTreeMap<String, Counts>> {
        let node = node?;
        let Some(entries) = node.as_map() else {
            let message = format!("expected counts as a map from sizes to kernels, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return None;
        };
        let launches = Step::launches(&self.application.steps);
        let kernels: BTreeSet<String> =
            launches.into_iter().map(|launch| launch.kernel.name().to_owned()).collect();
        let sizes = sizes.and_then(Node::as_map).unwrap_or_default();
        let mut chosen = None;
        for (size, kernel_counts) in entries {
            if size.name != DEFAULT && !sizes.iter().any(|(known, _)| known.name == size.name) {
                let message = format!("the application has no size `{}`", size.name);
                let names = sizes.iter().map(|(known, _)| known.name.as_str()).chain([DEFAULT]);
                self.diagnostics.report(Diagnostic::new(size.span, message).suggest(&size.name, names));
            }
            let counts = self.counts_of(kernel_counts, &kernels);
            if self.size.as_ref() == Some(&size.name) {
                chosen = Some(counts);
            }
        }
        chosen
    }

    fn counts_of(&mut self, node: &Node, kernels: &BTreeSet<String>) -> BTreeMap<String, Counts> {
        let mut found = BTreeMap::new();
        let Some(entries) = node.as_map() else {
            let message = format!("expected counts as a map from kernels, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return found;
        };
        for (kernel, counts) in entries {
            if !kernels.contains(&kernel.name) {
                // A launch that has a problem is not among the launches.
                if self.lacks_code || !self.diagnostics.is_empty() {
                    continue;
                }
                let message = format!("no launch runs a kernel `{}`", kernel.name);
                let names = kernels.iter().map(String::as_str);
                self.diagnostics.report(Diagnostic::new(kernel.span, message).suggest(&kernel.name, names));
            }
            let Some(CountKeys { ctas, warp_insn }) = self.read(counts) else { continue };
            let counts = (self.per_launch(&ctas, "ctas"), self.per_launch(&warp_insn, "warp_insn"));
            if let (Some(ctas), Some(warp_insn)) = counts {
                found.insert(kernel.name.clone(), Counts { ctas, warp_insn });
            }
        }
        found
    }

    fn per_launch(&mut self, node: &Node, what: &str) -> Option<PerLaunch> {
        if node.as_scalar().is_some() {
            return self.count(node, what, 0, u64::MAX).map(PerLaunch::Each);
        }
        if node.as_map().is_some() {
            let TotalKeys { total } = self.read(node)?;
            return self.count(&total, what, 0, u64::MAX).map(PerLaunch::Total);
        }
        let nodes = self.list(Some(node), "numbers");
        nodes
            .iter()
            .map(|node| self.count(node, what, 0, u64::MAX))
            .collect::<Option<_>>()
            .map(PerLaunch::Listed)
    }
}
