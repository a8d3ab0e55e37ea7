//! Settings from `set:`, overlays and `--set`, on their way to the parameter that they name.

use crate::model::diagnostics::nearest;
use crate::model::{Catalogue, Diagnostic, Diagnostics, Field, Key, Moved, Node, Span, Value};

/// One word of a path.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The word.
    pub name: String,
    /// Source location of the word.
    pub span: Span,
}

/// A value for the parameter that a path names.
#[derive(Clone, Debug)]
pub(super) struct Override {
    /// The rest of the path.
    pub path: Vec<Segment>,
    /// The value.
    pub value: Node,
    /// Source location of the key.
    pub key: Span,
    /// Index of the array element to which the value applies, and its source location; `None`: all elements.
    pub element: Option<(usize, Span)>,
}

impl Override {
    /// The setting of an entry of `set:`.
    pub(super) fn new(key: &Key, value: Node) -> Self {
        let mut path = Vec::new();
        let (mut start, mut depth) = (0, 0);
        for (at, c) in key.name.char_indices().chain([(key.name.len(), '.')]) {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                '.' if depth <= 0 || at == key.name.len() => {
                    let name = key.name[start..at].to_owned();
                    path.push(Segment { span: key.span.part(start, name.len()), name });
                    start = at + 1;
                }
                _ => {}
            }
        }
        Override { path, value, key: key.span, element: None }
    }

    /// The setting without the first `words` words of its path.
    pub(super) fn inner(&self, words: usize) -> Override {
        Override { path: self.path[words..].to_vec(), element: None, ..self.clone() }
    }

    /// The name of an array and an index in it, if its first words name an element: `sm[3]`.
    pub(super) fn indexed(&self, words: usize) -> Option<(String, usize)> {
        let head = self.head(words).name;
        let (name, index) = head.strip_suffix(']')?.rsplit_once('[')?;
        Some((name.to_owned(), index.parse().ok()?))
    }

    /// The first words joined, with their source location.
    pub(super) fn head(&self, words: usize) -> Segment {
        let names: Vec<&str> = self.path[..words].iter().map(|segment| segment.name.as_str()).collect();
        let (first, last) = (self.path[0].span, self.path[words - 1].span);
        Segment { name: names.join("."), span: Span { end: last.end, ..first } }
    }
}

/// Splits overrides whose path has ended at something with parts: `sm: { threads: 4 }` is `sm.threads: 4`.
pub(super) fn open(overrides: Vec<Override>, diagnostics: &mut Diagnostics) -> Vec<Override> {
    let mut opened = Vec::new();
    for one in overrides {
        if !one.path.is_empty() {
            opened.push(one);
            continue;
        }
        match &one.value.value {
            Value::Map(entries) => {
                opened.extend(entries.iter().map(|(key, value)| Override::new(key, value.clone())))
            }
            _ => {
                let message = format!("expected a map of what to set, found {}", one.value.shape());
                diagnostics.error(one.value.span, message);
            }
        }
    }
    opened
}

/// A parameter that was overridden, as a path from its component, and the key that did it.
pub(super) type Overridden = (String, Span);

/// The parameters of a component, a nested set or a variant.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    /// Parameters that can be set.
    pub fields: &'a [Field],
    /// The names that they had before.
    pub moved: &'static [Moved],
}

/// Sets a parameter of a component.
pub(super) struct Setter<'a> {
    /// The kinds and families.
    pub catalogue: &'a Catalogue,
    /// The collection of problems.
    pub diagnostics: &'a mut Diagnostics,
    /// Settings so far.
    pub overridden: &'a mut Vec<Overridden>,
}

impl Setter<'_> {
    /// Puts a value at a path below `map`, a map of the declared parameters.
    pub(super) fn set(
        &mut self,
        map: &mut Node,
        path: &[Segment],
        value: &Node,
        declared: Declared<'_>,
        place: &str,
        key: Span,
    ) {
        let Some((first, rest)) = path.split_first() else { return };
        let Some(field) = declared.fields.iter().find(|field| field.name == first.name) else {
            let unknown = || {
                let diagnostic =
                    Diagnostic::new(first.span, format!("there is no parameter `{}` to set", first.name));
                diagnostic.suggest(&first.name, declared.fields.iter().map(|field| field.name))
            };
            let moved = Moved::report(declared.moved, &first.name, first.span);
            self.diagnostics.report(moved.unwrap_or_else(unknown));
            return;
        };
        let fields = self.catalogue.families.fields_of(&field.kind);
        let inside = Declared { fields: &fields, moved: field.kind.moved };
        let place = join(place, &first.name);
        let nested = !fields.is_empty() && !field.kind.list;
        if rest.is_empty() && !(nested && matches!(value.value, Value::Map(_))) {
            *slot(map, first) = value.clone();
            self.overridden.retain(|(path, _)| !is_within(path, &place));
            self.overridden.push((place, key));
            return;
        }
        if let Some(family) = field.kind.family.filter(|_| !field.kind.every) {
            self.variant(slot(map, first), rest, value, family, &place, key);
        } else if !nested {
            let message = format!("`{}` has no parameters of its own", first.name);
            self.diagnostics.error(rest.first().map_or(first.span, |segment| segment.span), message);
        } else if rest.is_empty() {
            // A map for a nested set changes the parameters that it names and leaves the rest as it was.
            for (inner, value) in value.as_map().unwrap_or_default() {
                let one = Override::new(inner, value.clone());
                self.set(opened(slot(map, first)), &one.path, value, inside, &place, inner.span);
            }
        } else {
            self.set(opened(slot(map, first)), rest, value, inside, &place, key);
        }
    }

    /// `policy.pace.guard`: chooses the variant if it is not chosen already, and sets its parameter.
    fn variant(
        &mut self,
        node: &mut Node,
        path: &[Segment],
        value: &Node,
        family: crate::model::families::FamilyId,
        place: &str,
        key: Span,
    ) {
        let Some((name, rest)) = path.split_first() else { return };
        let variants = &self.catalogue.families;
        let Some(variant) = variants.variants(family).find(|variant| variant.name == name.name) else {
            let mut diagnostic = Diagnostic::new(name.span, format!("there is no choice `{}`", name.name));
            let names: Vec<&str> = variants.variants(family).map(|variant| variant.name).collect();
            diagnostic.suggestion = nearest(&name.name, names.iter().copied()).map(str::to_owned);
            self.diagnostics.report(diagnostic.help(format!("expected one of: {}", names.join(", "))));
            return;
        };
        let chosen = node.get(&name.name).is_some();
        if !chosen {
            let entry = (Key { name: name.name.clone(), span: name.span }, empty(name.span));
            *node = Node::map(vec![entry], name.span);
        }
        let inner = opened(slot(node, name));
        let place = join(place, &name.name);
        if rest.is_empty() {
            *inner = value.clone();
            self.overridden.push((place, key));
        } else {
            let declared = Declared { fields: &variant.fields, moved: variant.moved };
            self.set(inner, rest, value, declared, &place, key);
        }
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// Whether a path of parameters is `place` or leads on from it.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn empty(span: Span) -> Node {
    Node::map(Vec::new(), span)
}

/// The node as a map: anything else gives way.
fn opened(node: &mut Node) -> &mut Node {
    if !matches!(node.value, Value::Map(_)) {
        *node = empty(node.span);
    }
    node
}

/// The value under a name, made if it is missing.
fn slot<'n>(map: &'n mut Node, name: &Segment) -> &'n mut Node {
    let map = opened(map);
    let Value::Map(entries) = &mut map.value else { unreachable!("`opened` returns a map") };
    let at = entries.iter().position(|(key, _)| key.name == name.name).unwrap_or_else(|| {
        let key = Key { name: name.name.clone(), span: name.span };
        entries.push((key, Node { span: name.span, value: Value::Null }));
        entries.len() - 1
    });
    &mut entries[at].1
}
