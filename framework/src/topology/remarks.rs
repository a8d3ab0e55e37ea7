//! Remarks on a machine that is valid: parameters that an overlay sets, and an overlay before it has set to another value.
//!
//! An overlay that includes another one builds on it, and means to differ; of two that know nothing of each other, the later
//! one wins and the earlier one does not say so. Paths are compared as they are written, an array's name with those of its
//! elements, too.

use std::collections::BTreeMap;

use crate::model::{Key, Node, SourceMap, Span};

use super::flat::join;
use super::layers::within;
use super::module::{Body, Module};
use super::overrides::Override;
use super::patch::Parts;
use super::source::{Document, Sources};

/// Deeper modules are not looked into.
const DEEPEST: usize = 8;

/// A value that an overlay sets.
struct Setting<'a> {
    overlay: &'a Document,
    /// Words of the path, with the indices of elements.
    path: Vec<String>,
    value: &'a Node,
    key: Span,
}

/// An overlay where it applies: the path of the part and the name of its module, or the whole machine.
type Applied<'a> = (&'a Document, Option<(String, &'a str)>);

/// The remarks, in the order in which overlays apply.
pub(super) fn remarks(sources: &Sources, parts: &Parts, texts: &SourceMap) -> Vec<String> {
    let mut applied: Vec<Applied<'_>> = Vec::new();
    of_parts(&parts.machine, "", sources, parts, DEEPEST, &mut applied);
    applied.extend(sources.bases.iter().chain(&sources.overlays).map(|overlay| (overlay, None)));
    if applied.len() < 2 {
        return Vec::new();
    }
    let includes: BTreeMap<&str, &[String]> =
        applied.iter().map(|(overlay, _)| (overlay.path.as_str(), &overlay.includes[..])).collect();
    let mut before: BTreeMap<String, Vec<Setting<'_>>> = BTreeMap::new();
    let mut remarks = Vec::new();
    for (overlay, place) in &applied {
        let mut settings = Vec::new();
        let entries = overlay.node.get("set").and_then(Node::as_map).unwrap_or_default();
        let path = |name: &str| match place {
            Some((part, module)) => within(part, module, name),
            None => name.to_owned(),
        };
        entries.iter().for_each(|(key, value)| leaves(overlay, path(&key.name), key, value, &mut settings));
        for one in &settings {
            let Some(first) = last_before(&before, one) else { continue };
            let is_own = builds_on(overlay, &first.overlay.path, &includes, DEEPEST);
            if is_own || (first.path.len() == one.path.len() && first.value.same(one.value)) {
                continue;
            }
            let path = one.path.join(".");
            let other = first.path.join(".");
            let other = if other == path { String::new() } else { format!(" for `{other}`") };
            remarks.push(format!(
                "`{path}`: overlay `{}` ({}) sets {} in place of {}, which overlay `{}` ({}) sets{other}",
                overlay.name,
                texts.place(one.key),
                text(one.value, texts),
                text(first.value, texts),
                first.overlay.name,
                texts.place(first.key)
            ));
        }
        for one in settings {
            before.entry(bare(&one.path)).or_default().push(one);
        }
    }
    remarks
}

/// The overlays of parts: those of inner parts apply first.
fn of_parts<'a>(
    module: &'a Module,
    path: &str,
    sources: &'a Sources,
    parts: &'a Parts,
    depth: usize,
    applied: &mut Vec<Applied<'a>>,
) {
    for entry in module.components.iter().filter(|_| depth > 0) {
        let Body::Module { module, with, .. } = &entry.body else { continue };
        let Some(inner) = module.as_scalar().and_then(|name| parts.modules.get(name)) else { continue };
        let path = join(path, &entry.key.name);
        of_parts(inner, &path, sources, parts, depth - 1, applied);
        let overlays = with.and_then(|place| sources.of_parts.get(&place)).into_iter().flatten();
        applied.extend(overlays.map(|overlay| (overlay, Some((path.clone(), inner.name.as_str())))));
    }
}

/// The values under a key, each with its path.
fn leaves<'a>(
    overlay: &'a Document,
    path: String,
    key: &Key,
    value: &'a Node,
    settings: &mut Vec<Setting<'a>>,
) {
    if let Some(entries) = value.as_map().filter(|entries| !entries.is_empty()) {
        return entries
            .iter()
            .for_each(|(key, value)| leaves(overlay, join(&path, &key.name), key, value, settings));
    }
    let whole = Key { name: path, span: key.span };
    let words = Override::new(&whole, value.clone()).path.into_iter().map(|segment| segment.name);
    settings.push(Setting { overlay, path: words.collect(), value, key: key.span });
}

/// The path without indices.
fn bare(path: &[String]) -> String {
    let word = |word: &String| word.split('[').next().unwrap_or_default().to_owned();
    path.iter().map(word).collect::<Vec<_>>().join(".")
}

/// The last setting before this one of the same path, of a path below it, or of a path above it.
fn last_before<'s, 'a>(
    before: &'s BTreeMap<String, Vec<Setting<'a>>>,
    one: &Setting<'_>,
) -> Option<&'s Setting<'a>> {
    let path = bare(&one.path);
    let within = format!("{path}.");
    let inside = before.range(within.clone()..).take_while(|(other, _)| other.starts_with(&within));
    let enclosing = path.match_indices('.').filter_map(|(dot, _)| before.get_key_value(&path[..dot]));
    let all = inside.chain(enclosing).chain(before.get_key_value(&path)).flat_map(|(_, settings)| settings);
    let meets = |other: &&Setting<'_>| {
        let word = |(a, b): (&String, &String)| a == b || !a.contains('[') || !b.contains('[');
        one.path.iter().zip(&other.path).all(word)
    };
    all.filter(meets).last()
}

/// Whether an overlay includes another one, at once or through others.
fn builds_on(overlay: &Document, path: &str, includes: &BTreeMap<&str, &[String]>, depth: usize) -> bool {
    fn leads(from: &[String], path: &str, includes: &BTreeMap<&str, &[String]>, depth: usize) -> bool {
        let on = |next: &String| {
            let further = includes.get(next.as_str()).copied().unwrap_or_default();
            next == path || (depth > 0 && leads(further, path, includes, depth - 1))
        };
        from.iter().any(on)
    }
    overlay.path == path || leads(&overlay.includes, path, includes, depth)
}

/// A value as its file writes it.
fn text(value: &Node, texts: &SourceMap) -> String {
    let Span { file, start, end } = value.span;
    let text = texts.text(file).get(start as usize..end as usize).unwrap_or_default().trim();
    let line = text.lines().next().unwrap_or_default();
    if line == text { format!("`{text}`") } else { format!("`{line} …`") }
}
