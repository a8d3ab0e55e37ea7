//! The paths that settings may name in a module and below it, for suggestions.

use crate::model::diagnostics::nearest;
use crate::model::{Catalogue, Field, Node};

use super::module::{Body, Module};
use super::patch::Parts;

/// Deeper modules are not looked into; one that contains itself is an error of its own.
const DEEPEST: usize = 8;

/// The path that ends most like the written one; of several the shortest.
pub(super) fn nearest_path(
    parts: &Parts,
    catalogue: &Catalogue,
    module: &Module,
    written: &str,
) -> Option<String> {
    let mut paths = Vec::new();
    collect(parts, catalogue, module, "", DEEPEST, &mut paths);
    paths.sort_by_key(String::len);
    let words = written.split('.').count();
    let tail = |path: &'_ str| path.rmatch_indices('.').nth(words - 1).map_or(0, |(dot, _)| dot + 1);
    let near = nearest(written, paths.iter().map(|path| &path[tail(path)..]))?;
    paths.iter().find(|path| &path[tail(path)..] == near).cloned()
}

fn collect(
    parts: &Parts,
    catalogue: &Catalogue,
    module: &Module,
    place: &str,
    depth: usize,
    paths: &mut Vec<String>,
) {
    paths.extend(module.parameters.iter().map(|entry| format!("{place}{}", entry.key.name)));
    for entry in &module.components {
        let place = format!("{place}{}.", entry.key.name);
        match &entry.body {
            Body::Module { module, .. } => {
                let inner = module.as_scalar().and_then(|name| parts.modules.get(name));
                if let Some(inner) = inner.filter(|_| depth > 0) {
                    collect(parts, catalogue, inner, &place, depth - 1, paths);
                }
            }
            Body::Kind { kind, .. } => {
                let kind = Node::as_scalar(kind).and_then(|name| catalogue.get(name));
                fields(kind.map_or(&[][..], |kind| &kind.fields), &place, paths);
            }
            Body::Unknown => {}
        }
    }
}

fn fields(list: &[Field], place: &str, paths: &mut Vec<String>) {
    for field in list {
        let path = format!("{place}{}", field.name);
        fields(&field.kind.fields, &format!("{path}."), paths);
        paths.push(path);
    }
}
