//! Overlays of a single part: paths relative to the part, and the changes to modules in it.
//!
//! In such an overlay the name of the part's module stands for the part: `gpu.sm.threads` and `instances: { gpu: … }` mean the
//! same in a part of the module `gpu`, whatever its name, and in a machine whose part is named `gpu`. A path may begin in the
//! part, too. Changes to the enclosing machine are reported as errors.

use std::collections::BTreeMap;

use crate::model::{Diagnostic, Diagnostics, Key, Span};

use super::expression;
use super::flat::{Environment, join};
use super::module::Module;
use super::overlay::{Overlay, Patch};
use super::overrides::Override;
use super::patch::is_below;

/// The overlays of the parts that are being unfolded, outermost first.
#[derive(Default)]
pub(super) struct Layers<'a>(pub(super) Vec<Layer<'a>>);

impl<'a> Layers<'a> {
    /// Applies overlays to the part at a path; returns their settings for the part. `environment` is that of the enclosing
    /// module.
    pub(super) fn open(
        &mut self,
        overlays: &'a [Overlay],
        path: &str,
        module: &Module,
        environment: &Environment,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Override> {
        let mut settings = Vec::new();
        for overlay in overlays {
            let layer = Layer::new(overlay, path, module, diagnostics);
            settings.extend(layer.settings(module, environment, diagnostics));
            self.0.push(layer);
        }
        settings
    }

    /// Changes by all overlays to a module at a path, which is within the part of each overlay.
    pub(super) fn changes(&mut self, module: &str, path: &str) -> Vec<&'a Patch> {
        self.0.iter_mut().flat_map(|layer| layer.changes(module, path)).collect()
    }

    /// Removes the overlays of the innermost part; `count` is their number.
    pub(super) fn close(&mut self, count: usize) -> impl Iterator<Item = Layer<'a>> + use<'a> {
        self.0.split_off(self.0.len() - count).into_iter()
    }
}

/// An overlay, over a part that is being unfolded.
pub(super) struct Layer<'a> {
    overlay: &'a Overlay,
    /// The path of the part.
    path: String,
    /// The name of the part's module.
    module: String,
    /// The modules and instances whose changes were applied.
    found: Vec<Span>,
}

impl<'a> Layer<'a> {
    /// The overlay, applied to the part at a path. Reports changes to the enclosing machine.
    fn new(overlay: &'a Overlay, path: &str, module: &Module, diagnostics: &mut Diagnostics) -> Self {
        let Patch { parameters, clocks, components, links, exports: _, replace, unlink } = &overlay.machine;
        let parts = components.iter().chain(replace).map(|entry| entry.key.span);
        let parts = parts.chain(parameters.iter().map(|entry| entry.key.span));
        let parts = parts.chain(clocks.iter().map(|(key, _)| key.span));
        let parts = parts.chain(links.iter().chain(unlink).map(|link| link.span));
        let outside = parts.map(|span| (span, format!("write it under `modules: {{ {}: … }}`", module.name)));
        let faults = overlay.faults.iter().map(|fault| (fault.span, "the machine has its faults".to_owned()));
        if let Some((span, help)) = outside.chain(faults).min_by_key(|(span, _)| *span) {
            let message = format!("overlay `{}` changes one part here, and not the machine", overlay.name);
            diagnostics.report(Diagnostic::new(span, message).help(help));
        }
        Layer { overlay, path: path.to_owned(), module: module.name.clone(), found: Vec::new() }
    }

    /// Settings of the overlay, with paths that begin in the part; `environment` is that of the enclosing module.
    fn settings(
        &self,
        module: &Module,
        environment: &Environment,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Override> {
        let is_own = module.components.iter().any(|entry| entry.key.name == module.name);
        let setting = |(key, value): &(Key, _)| {
            let one = Override::new(key, expression::substitute(value, environment, diagnostics)?);
            let stands = !is_own && one.path[0].name == module.name;
            Some(if stands { one.inner(1) } else { one })
        };
        self.overlay.set.iter().filter_map(setting).collect()
    }

    /// Changes by the overlay to a module at a path, which is that of the part or below.
    fn changes(&mut self, module: &str, path: &str) -> Vec<&'a Patch> {
        let Overlay { modules, instances, .. } = self.overlay;
        let of_module = modules.iter().filter(|(key, _)| key.name == module);
        let whole = |key: &Key| within(&self.path, &self.module, &key.name) == path;
        let of_instance = instances.iter().filter(|(key, _)| whole(key));
        let all: Vec<_> = of_module.chain(of_instance).collect();
        self.found.extend(all.iter().map(|(key, _)| key.span));
        all.into_iter().map(|(_, patch)| patch).collect()
    }

    /// Reports the modules and instances that were not found in the part, and returns the names that are missing for it. `seen`
    /// are the paths of instances, `faulty` those of parts of which nothing is known.
    pub(super) fn nowhere(
        &self,
        seen: &[String],
        faulty: &[String],
        modules: &BTreeMap<String, Module>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<String> {
        let mut lost = Vec::new();
        let mut miss = |(key, patch): &(Key, Patch), message: String, near: Vec<String>| {
            if self.found.contains(&key.span) {
                return;
            }
            lost.extend(patch.names());
            let diagnostic = Diagnostic::new(key.span, message);
            diagnostics.report(diagnostic.suggest(&key.name, near.iter().map(String::as_str)));
        };
        for one in &self.overlay.modules {
            let (name, of) = (&one.0.name, &self.module);
            if modules.contains_key(name) {
                miss(one, format!("a part of module `{of}` has no instance of module `{name}`"), Vec::new());
            } else {
                miss(one, format!("unknown module `{name}`"), modules.keys().cloned().collect());
            }
        }
        for one in &self.overlay.instances {
            let path = within(&self.path, &self.module, &one.0.name);
            if faulty.iter().any(|faulty| is_below(&path, faulty)) {
                continue;
            }
            let below = seen.iter().filter(|path| is_below(path, &self.path));
            let below = below.map(|path| format!("{}{}", self.module, &path[self.path.len()..]));
            let message = format!(
                "there is no instance of a module at `{}` in a part of module `{}`",
                one.0.name, self.module
            );
            miss(one, message, below.collect());
        }
        lost
    }
}

/// The path of a name in an overlay of a part.
pub(super) fn within(part: &str, module: &str, name: &str) -> String {
    match name.strip_prefix(module) {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{part}{rest}"),
        _ => join(part, name),
    }
}
