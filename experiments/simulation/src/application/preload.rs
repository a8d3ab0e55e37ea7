//! `preload:`: contents of devices before the run begins, from files and from kernels that take no time.

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::{DEFAULT_STREAM, Moved, Step};

use super::code::Codes;
use super::keys::LoadStep;
use super::reader::Reader;

impl Reader<'_> {
    /// Reads the `load` steps, and the launches that run on the loaded data.
    pub(super) fn read_preload(&mut self, node: Option<&Node>, codes: &mut Codes) {
        for node in self.list(node, "steps") {
            if node.get("load").is_some() {
                let Some(LoadStep { load }) = self.read(node) else { continue };
                if !self.application.preload.is_empty() {
                    let help = "files come first: what kernels leave would be overwritten";
                    let message = "a file is loaded behind a launch";
                    self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
                }
                let loaded = self.open(&load).and_then(|keys| self.load(&keys));
                let Some((input, buffer)) = loaded else { continue };
                self.preloaded.extend(input);
                self.application.preloaded.push(buffer);
                continue;
            }
            let Some(step) = self.step(node, codes) else { continue };
            if step.any(&|step| matches!(step, Step::Swap(..) | Step::Free(_))) {
                let message = "before the run, names cannot be swapped and buffers cannot be freed";
                let help = "the run begins with all buffers where their names say";
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
            let on_stream = |step: &Step| match step {
                Step::Launch(launch) => launch.stream != DEFAULT_STREAM,
                Step::Move { moved: Moved::Copy { .. }, .. } => true,
                Step::Move { stream, .. } => *stream != DEFAULT_STREAM,
                Step::Copy { .. } | Step::Record(..) | Step::Wait(..) | Step::Synchronize(_) => true,
                _ => false,
            };
            if step.any(&on_stream) {
                let message = "before the run there are neither streams nor copies";
                let help = "what comes before the run takes no time, one launch after another";
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
            if step.any(&|step| matches!(step, Step::Host(_))) {
                let message = "before the run the host does nothing";
                let help = "`load` puts a file into a buffer on its device; kernels and `memset` work on it";
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
            if step.any(&|step| matches!(step, Step::Tasks(_))) {
                let message = "before the run there are no tasks";
                let help = "write launches, in a repetition with an index";
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
            self.application.preload.push(step);
        }
    }
}
