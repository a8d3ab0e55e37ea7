//! Third pass: additions, replacements and unlinks of overlays, put into the machine and its modules before
//! they are unfolded.
//!
//! Overlays apply in their order: first those that the machine includes, then those of the command line. Each overlay
//! first replaces and unlinks, and then adds. A part that one overlay has replaced or unlinked is closed to all others;
//! a later overlay may build on an added part. Every part keeps its source location, so a later problem with it is
//! reported in the file of the overlay.

use std::collections::BTreeMap;

use crate::model::diagnostics::nearest;
use crate::model::{Diagnostic, Diagnostics, FileId, Key, Node, Span};

use super::machine::Origin;
use super::module::{self, Body, ComponentEntry, LinkEntry, Module, Text};
use super::overlay::{self, Overlay, Patch};
use super::source::{Document, Sources};

/// Machine and modules with the changes of all overlays.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The machine.
    pub machine: Module,
    /// All modules that it includes.
    pub modules: BTreeMap<String, Module>,
    /// Whether these are all that it means to include.
    pub complete: bool,
    /// Settings from the overlays of the command line and from the command line itself, in the order in which
    /// they apply.
    pub set: Vec<(Key, Node)>,
    /// Faults of the overlays of the command line.
    pub faults: Vec<Node>,
    /// Parts that single instances of modules have and others lack.
    pub single: Single,
    /// The overlays of single parts, by the place that names them.
    pub of_parts: BTreeMap<Span, Vec<Overlay>>,
    /// Names that are missing because the part that would bring them was reported: they are not reported as
    /// well.
    pub lost: Vec<String>,
}

/// Changes of overlays in single instances of modules.
#[derive(Clone, Debug, Default)]
pub(super) struct Single {
    /// By path: the places that name it, and the changes.
    patches: BTreeMap<String, Vec<(Key, Patch)>>,
    authors: Authors,
}

/// The names of overlays by their files.
type Authors = BTreeMap<FileId, String>;

/// Takes machine, modules and overlays apart, and merges the overlays into the others.
pub(super) fn merge(sources: &Sources, diagnostics: &mut Diagnostics) -> Parts {
    let mut machine = module::parse(&sources.machine, diagnostics);
    let mut modules = BTreeMap::new();
    for (name, document) in &sources.modules {
        modules.insert(name.clone(), module::parse(document, diagnostics));
    }
    let bases: Vec<Overlay> = sources.bases.iter().map(|base| overlay::parse(base, diagnostics)).collect();
    let overlays: Vec<Overlay> =
        sources.overlays.iter().map(|overlay| overlay::parse(overlay, diagnostics)).collect();
    // The machine's own settings override the settings of its bases.
    machine.set.splice(0..0, bases.iter().flat_map(|base| base.set.clone()));
    machine.faults.splice(0..0, bases.iter().flat_map(|base| base.faults.clone()));
    let set = overlays.iter().flat_map(|overlay| overlay.set.clone()).chain(sources.sets.iter().cloned());
    let mut read = |documents: &[Document]| -> Vec<Overlay> {
        documents.iter().map(|document| overlay::parse(document, diagnostics)).collect()
    };
    let of_parts = sources.of_parts.iter().map(|(place, documents)| (*place, read(documents))).collect();
    let mut parts = Parts {
        machine,
        modules,
        complete: sources.complete,
        set: set.collect(),
        faults: overlays.iter().flat_map(|overlay| overlay.faults.clone()).collect(),
        single: Single::default(),
        of_parts,
        lost: Vec::new(),
    };
    let all = || bases.iter().chain(&overlays);
    let authors: Authors = all()
        .chain(parts.of_parts.values().flatten())
        .map(|overlay| (overlay.span.file, overlay.name.clone()))
        .collect();
    let mut lost = Vec::new();
    for overlay in all() {
        parts.apply(overlay, &mut Merger { authors: &authors, lost: &mut lost, diagnostics });
    }
    parts.single.authors = authors;
    parts.lost = lost;
    parts
}

impl Parts {
    fn apply(&mut self, overlay: &Overlay, merger: &mut Merger<'_>) {
        merger.apply(&mut self.machine, &overlay.machine);
        for (key, patch) in &overlay.modules {
            if let Some(module) = self.modules.get_mut(&key.name) {
                merger.apply(module, patch);
                continue;
            }
            merger.lost.extend(patch.names());
            if self.complete {
                let names = self.modules.keys().map(String::as_str);
                let diagnostic = Diagnostic::new(key.span, format!("unknown module `{}`", key.name));
                let mut diagnostic = diagnostic.suggest(&key.name, names);
                if self.modules.is_empty() {
                    diagnostic = diagnostic.help("the machine includes no module");
                }
                merger.diagnostics.report(diagnostic);
            }
        }
        for (key, patch) in &overlay.instances {
            let patches = self.single.patches.entry(key.name.clone()).or_default();
            patches.push((key.clone(), patch.clone()));
        }
    }
}

impl Single {
    /// Whether there are no patches.
    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// The module of the instance at a path, if overlays change this instance, after changes by overlays of the part. `lost`
    /// receives the names that are missing because the part that would bring them was reported.
    pub(super) fn at(
        &self,
        path: &str,
        module: &Module,
        of_part: &[&Patch],
        lost: &mut Vec<String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Module> {
        let patches = self.patches.get(path).map(Vec::as_slice).unwrap_or_default();
        if patches.is_empty() && of_part.is_empty() {
            return None;
        }
        let mut module = module.clone();
        let mut merger = Merger { authors: &self.authors, lost, diagnostics };
        let all = of_part.iter().copied().chain(patches.iter().map(|(_, patch)| patch));
        all.for_each(|patch| merger.apply(&mut module, patch));
        Some(module)
    }

    /// Reports every path at which there is no instance, and returns the names that are missing for it.
    /// `faulty` are paths with a problem, so that nothing is known of the parts below.
    pub(super) fn nowhere(
        &self,
        paths: &[String],
        faulty: &[String],
        diagnostics: &mut Diagnostics,
    ) -> Vec<String> {
        let mut lost = Vec::new();
        for (path, patches) in self.patches.iter().filter(|(path, _)| !paths.contains(path)) {
            lost.extend(patches.iter().flat_map(|(_, patch)| patch.names()));
            if faulty.iter().any(|faulty| is_below(path, faulty)) {
                continue;
            }
            for (key, _) in patches {
                let message = format!("there is no instance of a module at `{path}`");
                let mut diagnostic = Diagnostic::new(key.span, message);
                diagnostic = diagnostic.suggest(path, paths.iter().map(String::as_str));
                if paths.is_empty() {
                    diagnostic = diagnostic.help("the machine has no instance of a module");
                }
                diagnostics.report(diagnostic);
            }
        }
        lost
    }
}

impl Patch {
    /// The parts that it brings, by name.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let parts = self.components.iter().chain(&self.replace).map(|entry| &entry.key);
        let parts = parts.chain(self.parameters.iter().map(|entry| &entry.key));
        parts.chain(self.exports.iter().map(|(key, _)| key)).map(|key| key.name.clone())
    }
}

/// Whether a path is another one, an element of it, or leads on from it.
pub(super) fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The problem with a module's own link, if an overlay has put a component in the place of one of its ends:
/// then it is mended there.
pub(super) fn caused(problem: Diagnostic, replaced: Option<Span>) -> Diagnostic {
    let Some(span) = replaced else { return problem };
    let message = format!("this replacement does not fit a link: {}", problem.message);
    let diagnostic = Diagnostic::new(span, message).note(problem.span, "the link");
    diagnostic.help("remove the link under `unlink:`, or choose a kind with the ports of the former one")
}

/// Merges into one module after the other.
struct Merger<'a> {
    authors: &'a Authors,
    /// Names that are missing because the part that would bring them was reported.
    lost: &'a mut Vec<String>,
    diagnostics: &'a mut Diagnostics,
}

impl Merger<'_> {
    fn apply(&mut self, module: &mut Module, patch: &Patch) {
        patch.replace.iter().for_each(|entry| self.replace(module, entry));
        patch.unlink.iter().for_each(|link| self.unlink(module, link));
        let Module { name, parameters, clocks, exports, .. } = module;
        for entry in &patch.parameters {
            if self.is_new("parameter", &entry.key, parameters.iter().map(|entry| &entry.key), name) {
                parameters.push(entry.clone());
            }
        }
        for (kind, added, entries) in [("clock", &patch.clocks, clocks), ("export", &patch.exports, exports)]
        {
            for (key, node) in added {
                if self.is_new(kind, key, entries.iter().map(|(key, _)| key), name) {
                    entries.push((key.clone(), node.clone()));
                }
            }
        }
        patch.components.iter().for_each(|entry| self.add(module, entry));
        module.links.extend(patch.links.iter().map(|link| LinkEntry { added: true, ..link.clone() }));
    }

    /// Whether a name is not taken; reports it otherwise.
    fn is_new<'k>(
        &mut self,
        kind: &str,
        key: &Key,
        mut taken: impl Iterator<Item = &'k Key>,
        module: &str,
    ) -> bool {
        let Some(first) = taken.find(|taken| taken.name == key.name) else { return true };
        let diagnostic = self.taken(&format!("the {kind} `{}`", key.name), key.span, first.span, module);
        self.diagnostics.report(diagnostic.help("give it another name"));
        false
    }

    fn add(&mut self, module: &mut Module, entry: &ComponentEntry) {
        let twin = module.components.iter_mut().find(|twin| twin.key.name == entry.key.name);
        let Some(twin) = twin else {
            module.components.push(ComponentEntry { origin: Origin::Added, ..entry.clone() });
            return;
        };
        if !matches!(twin.body, Body::Unknown) {
            let name = format!("`{}`", entry.key.name);
            let diagnostic = self.taken(&name, entry.key.span, twin.key.span, &module.name);
            let help = format!("to replace {name}, write it under `replace:`");
            self.diagnostics.report(diagnostic.help(help));
        }
        // It is not known to which of the two parts links and settings refer.
        twin.body = Body::Unknown;
    }

    fn replace(&mut self, module: &mut Module, entry: &ComponentEntry) {
        let name = &entry.key.name;
        let Some(at) = module.components.iter().position(|other| other.key.name == *name) else {
            self.nothing_to_replace(module, entry);
            return;
        };
        let conflict = self.replaced_twice(&module.components[at], entry);
        let conflict = conflict.or_else(|| self.replaced_and_unlinked(module, entry));
        let old = &mut module.components[at];
        if matches!(old.body, Body::Unknown) {
            return;
        }
        if let Some(conflict) = conflict {
            self.diagnostics.report(conflict);
            old.body = Body::Unknown;
            return;
        }
        let mut new = ComponentEntry { origin: Origin::Replaced, ..entry.clone() };
        // The length of an array and the clock belong to the position in the machine, regardless of its component.
        new.count = new.count.or(old.count.take());
        if let (Body::Kind { clock: new @ None, .. }, Body::Kind { clock, .. }) =
            (&mut new.body, &mut old.body)
        {
            *new = clock.take();
        }
        *old = new;
    }

    fn nothing_to_replace(&mut self, module: &mut Module, entry: &ComponentEntry) {
        let Key { name, span } = &entry.key;
        let names: Vec<String> = module.components.iter().map(|other| other.key.name.clone()).collect();
        let names = || names.iter().map(String::as_str);
        let nothing = || {
            let message = format!("there is no `{name}` to replace in `{}`", module.name);
            Diagnostic::new(*span, message).suggest(name, names())
        };
        let diagnostic = module.moved(name, *span).unwrap_or_else(nothing);
        self.diagnostics.report(diagnostic);
        // Links and settings speak of the new component by this name, or by the one that was meant.
        self.lost.push(name.clone());
        let meant = nearest(name, names());
        for other in module.components.iter_mut().filter(|other| Some(other.key.name.as_str()) == meant) {
            other.body = Body::Unknown;
        }
    }

    /// The report on a component that is replaced a second time.
    fn replaced_twice(&self, first: &ComponentEntry, second: &ComponentEntry) -> Option<Diagnostic> {
        let (a, b) = (self.author(first.key.span)?, self.author(second.key.span)?);
        if first.origin != Origin::Replaced {
            return None;
        }
        let name = &second.key.name;
        let message = match a == b {
            true => format!("overlay `{b}` replaces `{name}` twice"),
            false => format!("overlay `{b}` replaces `{name}`, which overlay `{a}` replaces, too"),
        };
        Some(
            Diagnostic::new(second.key.span, message)
                .note(first.key.span, format!("overlay `{a}` does it here")),
        )
    }

    /// The report on a component that is replaced although another overlay removes one of its links.
    fn replaced_and_unlinked(&self, module: &Module, entry: &ComponentEntry) -> Option<Diagnostic> {
        let Key { name, span } = &entry.key;
        let of_this = |link: &&LinkEntry| ends(link).any(|end| part(module, end) == Some(name));
        let mut others = module.unlinked.iter().filter(|link| link.span.file != span.file);
        let link = others.find(of_this)?;
        let (a, b) = (self.author(link.span)?, self.author(*span)?);
        let message = format!("overlay `{b}` replaces `{name}`, but overlay `{a}` removes one of its links");
        Some(Diagnostic::new(*span, message).note(link.span, format!("overlay `{a}` does it here")))
    }

    fn unlink(&mut self, module: &mut Module, entry: &LinkEntry) {
        if !module.links.iter().any(|link| link.same_ends(entry)) {
            self.nothing_to_unlink(module, entry);
            return;
        }
        if let Some(conflict) = self.unlinked_from_replaced(module, entry) {
            self.diagnostics.report(conflict);
            module
                .links
                .iter_mut()
                .filter(|link| link.same_ends(entry))
                .for_each(|link| link.doubtful = true);
            return;
        }
        module.links.retain(|link| !link.same_ends(entry));
        module.unlinked.push(entry.clone());
    }

    fn nothing_to_unlink(&mut self, module: &mut Module, entry: &LinkEntry) {
        let line = entry.line();
        if let Some(first) = module.unlinked.iter().find(|first| first.same_ends(entry)) {
            let (a, b) = (self.author(first.span), self.author(entry.span));
            let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
            let message = match a == b {
                true => format!("overlay `{b}` removes the link `{line}` twice"),
                false => format!("overlay `{b}` removes the link `{line}`, which overlay `{a}` removes, too"),
            };
            let diagnostic = Diagnostic::new(entry.span, message);
            self.diagnostics.report(diagnostic.note(first.span, format!("overlay `{a}` does it here")));
            return;
        }
        let lines: Vec<String> = module.links.iter().map(LinkEntry::line).collect();
        // Without a link that is spelt alike, one that begins or ends at the same port is meant.
        let shares = |link: &LinkEntry| ends(link).any(|end| ends(entry).any(|other| end.same(other)));
        let near = nearest(&line, lines.iter().map(String::as_str));
        let near = near.and_then(|near| lines.iter().position(|other| other == near));
        let meant = near.or_else(|| module.links.iter().position(shares));
        let diagnostic =
            Diagnostic::new(entry.span, format!("there is no link `{line}` in `{}`", module.name));
        self.diagnostics.report(match meant {
            Some(meant) => Diagnostic { suggestion: Some(lines[meant].clone()), ..diagnostic },
            None => diagnostic.suggest(&line, lines.iter().map(String::as_str)),
        });
        if let Some(meant) = meant {
            module.links[meant].doubtful = true;
        }
    }

    /// The report on a link that is removed although another overlay replaces one of its ends.
    fn unlinked_from_replaced(&self, module: &Module, entry: &LinkEntry) -> Option<Diagnostic> {
        let ends = ends(entry).filter_map(|end| part(module, end));
        let mut ends = ends.filter_map(|name| module.components.iter().find(|one| one.key.name == name));
        let other = ends.find(|one| {
            let contends = one.origin == Origin::Replaced && one.key.span.file != entry.span.file;
            contends && !matches!(one.body, Body::Unknown)
        })?;
        let (a, b) = (self.author(other.key.span)?, self.author(entry.span)?);
        let name = &other.key.name;
        let message =
            format!("overlay `{b}` removes a link of `{name}`, but overlay `{a}` replaces `{name}`");
        let note = format!("overlay `{a}` does it here");
        Some(Diagnostic::new(entry.span, message).note(other.key.span, note))
    }

    /// The report on a name that is taken.
    fn taken(&self, what: &str, second: Span, first: Span, module: &str) -> Diagnostic {
        match (self.author(first), self.author(second)) {
            (Some(a), Some(b)) if a != b => {
                let message =
                    format!("overlay `{b}` adds {what} to `{module}`, which overlay `{a}` adds, too");
                Diagnostic::new(second, message).note(first, format!("overlay `{a}` does it here"))
            }
            _ => Diagnostic::new(second, format!("`{module}` has {what} already")).note(first, "it is here"),
        }
    }

    /// The name of the overlay that contains a text.
    fn author(&self, span: Span) -> Option<&str> {
        self.authors.get(&span.file).map(String::as_str)
    }
}

fn ends(link: &LinkEntry) -> impl Iterator<Item = &Text> {
    [&link.from, &link.to].into_iter()
}

/// The component that an end of a link names.
fn part<'m>(module: &'m Module, end: &Text) -> Option<&'m str> {
    let names = module.components.iter().map(|entry| entry.key.name.as_str());
    names.filter(|name| is_below(&end.text, name)).max_by_key(|name| name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_on_at_dots_and_brackets() {
        for (path, other) in [("gpu", "gpu"), ("gpu[1]", "gpu"), ("gpu.sm[0]", "gpu"), ("a.b.c", "a.b")] {
            assert!(is_below(path, other), "{path} {other}");
        }
        for (path, other) in [("gpus", "gpu"), ("gpu", "gpu.sm"), ("cpu.sm", "gpu")] {
            assert!(!is_below(path, other), "{path} {other}");
        }
    }
}
