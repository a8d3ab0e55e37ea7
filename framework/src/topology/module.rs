//! Second pass: the tree of a machine or module to its parts. Checks which keys stand where, and nothing about values.

use crate::model::{Diagnostic, Diagnostics, Key, Node, Span, Value};

use super::machine::Follows;
use super::source::Document;

/// A machine or a module, as it was written.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// What it says of itself.
    pub description: Option<String>,
    /// What it follows; a machine's alone.
    pub follows: Option<Follows>,
    /// Its parameters, in order: a default may use those before it.
    pub parameters: Vec<ParameterEntry>,
    /// Its clocks.
    pub clocks: Vec<(Key, Node)>,
    /// Its parts.
    pub components: Vec<ComponentEntry>,
    /// What joins them.
    pub links: Vec<LinkEntry>,
    /// The ports of its parts that it offers as its own.
    pub exports: Vec<(Key, Node)>,
    /// What it sets in its parts.
    pub set: Vec<(Key, Node)>,
    /// What goes wrong on its links; a machine's alone.
    pub faults: Vec<Node>,
}

/// A declared parameter of a module.
#[derive(Clone, Debug)]
pub(super) struct ParameterEntry {
    /// Its name.
    pub key: Key,
    /// The name of its type.
    pub kind: Option<Node>,
    /// Its default.
    pub default: Option<Node>,
    /// Smallest value.
    pub min: Option<Node>,
    /// Largest value.
    pub max: Option<Node>,
}

/// An entry of `components:`.
#[derive(Clone, Debug)]
pub(super) struct ComponentEntry {
    /// Its name.
    pub key: Key,
    /// What it is made of.
    pub body: Body,
    /// How many there are, if it is an array.
    pub count: Option<Node>,
}

/// What an entry of `components:` is made of.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// A component of a kind.
    Kind {
        /// The name of the kind.
        kind: Node,
        /// The name of its clock.
        clock: Option<Node>,
        /// Its parameters.
        parameters: Vec<(Key, Node)>,
        /// The whole entry.
        span: Span,
    },
    /// A module.
    Module {
        /// Its name.
        module: Node,
        /// What is set in it.
        set: Vec<(Key, Node)>,
    },
}

/// An entry of `links:`.
#[derive(Clone, Debug)]
pub(super) struct LinkEntry {
    /// The sending end.
    pub from: Text,
    /// The receiving end.
    pub to: Text,
    /// The time a message takes.
    pub latency: Option<Node>,
    /// The time of the other direction of a socket.
    pub back: Option<Node>,
    /// The receiver's buffer, in messages.
    pub capacity: Option<Node>,
    /// The rate at which bytes pass.
    pub bandwidth: Option<Node>,
    /// How far an index ranges that stands in no array of parts.
    pub count: Option<Node>,
    /// The whole entry.
    pub span: Span,
}

/// A stretch of text with its place.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// The text, without blanks around it.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

impl Text {
    /// The text of a scalar.
    pub(super) fn of(node: &Node) -> Option<Text> {
        let Value::Scalar { text, quoted } = &node.value else { return None };
        let inset = usize::from(*quoted) + text.len() - text.trim_start().len();
        let text = text.trim();
        Some(Text { text: text.to_owned(), span: node.span.part(inset, text.len()) })
    }

    /// A part of the text.
    pub(super) fn part(&self, start: usize, end: usize) -> Text {
        let part = &self.text[start..end];
        let inset = start + part.len() - part.trim_start().len();
        Text { text: part.trim().to_owned(), span: self.span.part(inset, part.trim().len()) }
    }
}

const MACHINE_KEYS: [&str; 11] = [
    "counterpoint",
    "machine",
    "description",
    "follows",
    "include",
    "parameters",
    "clocks",
    "components",
    "links",
    "set",
    "faults",
];
const MODULE_KEYS: [&str; 10] = [
    "counterpoint",
    "module",
    "description",
    "include",
    "parameters",
    "clocks",
    "components",
    "links",
    "set",
    "exports",
];
const PARAMETER_KEYS: [&str; 5] = ["type", "default", "min", "max", "doc"];
const LINK_KEYS: [&str; 7] = ["from", "to", "latency", "back", "capacity", "bandwidth", "count"];

/// Takes a document apart.
pub(super) fn parse(document: &Document, diagnostics: &mut Diagnostics) -> Module {
    let mut parser = Parser { diagnostics };
    let node = &document.node;
    let keys: &[&str] = if node.get("machine").is_some() { &MACHINE_KEYS } else { &MODULE_KEYS };
    parser.known_keys(node, keys);
    let parameters = parser.entries(node, "parameters");
    let components = parser.entries(node, "components");
    let follows = node.get("follows").and_then(|node| parser.follows(node));
    Module {
        name: document.name.clone(),
        span: document.span,
        description: node.get("description").and_then(Node::as_scalar).map(str::to_owned),
        follows,
        parameters: parameters.iter().filter_map(|(key, node)| parser.parameter(key, node)).collect(),
        clocks: parser.entries(node, "clocks"),
        components: components.iter().filter_map(|(key, node)| parser.component(key, node)).collect(),
        links: parser.links(node),
        exports: parser.entries(node, "exports"),
        set: parser.entries(node, "set"),
        faults: parser.faults(node),
    }
}

/// Takes an overlay apart: what it sets, and what goes wrong with it.
pub(super) fn parse_overlay(
    document: &Document,
    diagnostics: &mut Diagnostics,
) -> (Vec<(Key, Node)>, Vec<Node>) {
    let mut parser = Parser { diagnostics };
    parser.known_keys(&document.node, &["counterpoint", "overlay", "description", "set", "faults"]);
    (parser.entries(&document.node, "set"), parser.faults(&document.node))
}

struct Parser<'a> {
    diagnostics: &'a mut Diagnostics,
}

impl Parser<'_> {
    fn follows(&mut self, node: &Node) -> Option<Follows> {
        let Some(name) = node.as_scalar() else {
            self.diagnostics
                .error(node.span, format!("expected what the machine follows, found {}", node.shape()));
            return None;
        };
        let found = Follows::ALL.into_iter().find(|follows| follows.as_str() == name);
        if found.is_none() {
            let names = Follows::ALL.map(Follows::as_str);
            let diagnostic = Diagnostic::new(node.span, format!("a machine cannot follow `{name}`"));
            self.diagnostics.report(diagnostic.suggest(name, names));
        }
        found
    }

    fn known_keys(&mut self, node: &Node, keys: &[&str]) {
        for (key, _) in node.as_map().unwrap_or_default() {
            if !keys.contains(&key.name.as_str()) {
                let diagnostic = Diagnostic::new(key.span, format!("unknown key `{}`", key.name));
                self.diagnostics.report(diagnostic.suggest(&key.name, keys.iter().copied()));
            }
        }
    }

    /// The entries of the map under a key; nothing where the key is missing.
    fn entries(&mut self, node: &Node, name: &str) -> Vec<(Key, Node)> {
        let Some(node) = node.get(name) else { return Vec::new() };
        match node.as_map() {
            Some(entries) => entries.to_vec(),
            None => {
                self.diagnostics
                    .error(node.span, format!("expected a map under `{name}`, found {}", node.shape()));
                Vec::new()
            }
        }
    }

    fn parameter(&mut self, key: &Key, node: &Node) -> Option<ParameterEntry> {
        self.name(key)?;
        if node.as_map().is_none() {
            let message = format!("expected the declaration of a parameter, found {}", node.shape());
            let help = "write `{ type: count, default: 4, doc: What it is. }`";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        }
        self.known_keys(node, &PARAMETER_KEYS);
        let part = |name| node.get(name).cloned();
        let (kind, default, min, max) = (part("type"), part("default"), part("min"), part("max"));
        Some(ParameterEntry { key: key.clone(), kind, default, min, max })
    }

    fn component(&mut self, key: &Key, node: &Node) -> Option<ComponentEntry> {
        self.name(key)?;
        let Some(entries) = node.as_map() else {
            let message = format!("expected a component, found {}", node.shape());
            let help = "write `{ type: kind }` or `{ module: name }`";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        };
        let count = node.get("count").cloned();
        let body = match (node.get("type"), node.get("module")) {
            (Some(kind), None) => {
                let own = ["type", "clock", "count"];
                let parameters = entries.iter().filter(|(key, _)| !own.contains(&key.name.as_str()));
                Body::Kind {
                    kind: kind.clone(),
                    clock: node.get("clock").cloned(),
                    parameters: parameters.cloned().collect(),
                    span: node.span,
                }
            }
            (None, Some(module)) => {
                self.known_keys(node, &["module", "count", "set"]);
                Body::Module { module: module.clone(), set: self.entries(node, "set") }
            }
            (both, _) => {
                let message =
                    if both.is_some() { "both `type` and `module`" } else { "neither `type` nor `module`" };
                let diagnostic = Diagnostic::new(key.span, format!("`{}` has {message}", key.name));
                self.diagnostics
                    .report(diagnostic.help("a component has a `type`, a sub-machine a `module`"));
                return None;
            }
        };
        Some(ComponentEntry { key: key.clone(), body, count })
    }

    /// Names are words joined by dots, each with an index at most: what an instance path looks like, so that a
    /// resolved machine can be written without modules.
    fn name(&mut self, key: &Key) -> Option<()> {
        let word = |word: &str| {
            let (word, index) =
                word.split_once('[').map_or((word, None), |(word, index)| (word, Some(index)));
            let index = index.is_none_or(|index| {
                index.strip_suffix(']').is_some_and(|digits| {
                    !digits.is_empty() && digits.len() < 10 && digits.chars().all(|c| c.is_ascii_digit())
                })
            });
            let inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            index && begins && !word.ends_with('-') && word.chars().all(inner)
        };
        if key.name.split('.').all(word) {
            return Some(());
        }
        let diagnostic = Diagnostic::new(key.span, format!("`{}` is not a name", key.name));
        self.diagnostics.report(diagnostic.help("a name is made of letters, digits, `_` and `-`"));
        None
    }

    fn links(&mut self, node: &Node) -> Vec<LinkEntry> {
        self.list(node, "links").iter().filter_map(|item| self.link(item)).collect()
    }

    /// The faults of a machine or an overlay. Whether each is right is for those who read parameters.
    fn faults(&mut self, node: &Node) -> Vec<Node> {
        self.list(node, "faults").to_vec()
    }

    /// The elements of the list under a key; nothing where the key is missing.
    fn list<'n>(&mut self, node: &'n Node, name: &str) -> &'n [Node] {
        let Some(node) = node.get(name) else { return &[] };
        node.as_list().unwrap_or_else(|| {
            let message = format!("expected a list under `{name}`, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            &[]
        })
    }

    fn link(&mut self, node: &Node) -> Option<LinkEntry> {
        let help = "write `a.b -> c.d` or `{ from: a.b, to: c.d, latency: 8 cycles }`";
        if let Some(text) = Text::of(node) {
            let Some(arrow) = text.text.find("->") else {
                self.diagnostics.report(Diagnostic::new(node.span, "a link without `->`").help(help));
                return None;
            };
            let (from, to) = (text.part(0, arrow), text.part(arrow + 2, text.text.len()));
            return Some(LinkEntry {
                from,
                to,
                latency: None,
                back: None,
                capacity: None,
                bandwidth: None,
                count: None,
                span: node.span,
            });
        }
        if !matches!(node.value, Value::Map(_)) {
            let message = format!("expected a link, found {}", node.shape());
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        }
        self.known_keys(node, &LINK_KEYS);
        let mut end = |name: &str| {
            let text = node.get(name).and_then(Text::of);
            if text.is_none() {
                let message = format!("a link without `{name}`");
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
            text
        };
        let (from, to) = (end("from"), end("to"));
        let part = |name| node.get(name).cloned();
        let (latency, back) = (part("latency"), part("back"));
        let (capacity, bandwidth, count) = (part("capacity"), part("bandwidth"), part("count"));
        Some(LinkEntry { from: from?, to: to?, latency, back, capacity, bandwidth, count, span: node.span })
    }
}
