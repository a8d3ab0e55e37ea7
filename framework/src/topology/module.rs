//! Second pass: the tree of a machine or module to its parts. Checks the places of keys, and nothing about
//! values.

use std::borrow::Cow;

use crate::model::diagnostics::nearest;
use crate::model::{Diagnostic, Diagnostics, Key, Node, Span, Value, has_moved};

use super::keys::{self, names};
use super::machine::{Follows, Origin};
use super::source::Document;

/// A machine or a module, as it was written.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// Name of the module.
    pub name: String,
    /// The place of the name.
    pub span: Span,
    /// Its description of itself.
    pub description: Option<String>,
    /// The source that it follows; a machine's alone.
    pub follows: Option<Follows>,
    /// Parameters of the module, in order: a default may use those before it.
    pub parameters: Vec<ParameterEntry>,
    /// Clocks of the module.
    pub clocks: Vec<(Key, Node)>,
    /// Parts of the module.
    pub components: Vec<ComponentEntry>,
    /// The links between them.
    pub links: Vec<LinkEntry>,
    /// The ports of its parts that it offers as its own.
    pub exports: Vec<(Key, Node)>,
    /// Settings of its parts.
    pub set: Vec<(Key, Node)>,
    /// Faults on its links; a machine's alone.
    pub faults: Vec<Node>,
    /// Parameters and parts that are no longer here, each with a sentence that says where they are.
    pub moved: Vec<(Key, String)>,
    /// The entries of overlays that took links away.
    pub unlinked: Vec<LinkEntry>,
}

impl Module {
    /// The report on a name that is not here, if it was once.
    pub(super) fn moved(&self, name: &str, span: Span) -> Option<Diagnostic> {
        moved(&self.moved, name, span)
    }
}

/// The report on a name among those that have moved; it may have the index of an element.
pub(super) fn moved(list: &[(Key, String)], name: &str, span: Span) -> Option<Diagnostic> {
    let whole =
        name.strip_suffix(']').and_then(|name| name.rsplit_once('[')).map_or(name, |(whole, _)| whole);
    let (key, hint) = list.iter().find(|(key, _)| key.name == whole)?;
    Some(has_moved(&key.name, span, hint))
}

/// A declared parameter of a module.
#[derive(Clone, Debug)]
pub(super) struct ParameterEntry {
    /// Name of the parameter.
    pub key: Key,
    /// The name of its type.
    pub kind: Option<Node>,
    /// Default of the parameter.
    pub default: Option<Node>,
    /// Smallest value.
    pub min: Option<Node>,
    /// Largest value.
    pub max: Option<Node>,
}

#[derive(Clone, Debug)]
pub(super) struct ComponentEntry {
    /// Its name.
    pub key: Key,
    /// Its body.
    pub body: Body,
    /// Its length, if it is an array.
    pub count: Option<Node>,
    /// Its author.
    pub origin: Origin,
}

/// The body of an entry of `components:`.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Kind {
        kind: Node,
        clock: Option<Node>,
        parameters: Vec<(Key, Node)>,
        /// The whole entry.
        span: Span,
    },
    Module {
        module: Node,
        /// The place that names overlays of this part.
        with: Option<Span>,
        set: Vec<(Key, Node)>,
    },
    /// Not known: the entry is faulty, which was reported.
    Unknown,
}

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
    /// The range of an index that belongs to no array of parts.
    pub count: Option<Node>,
    /// The whole entry.
    pub span: Span,
    /// Whether an overlay added it.
    pub added: bool,
    /// Whether it may have been meant to go: it joins nothing, and its ends are not called unconnected.
    pub doubtful: bool,
}

impl LinkEntry {
    /// Whether it joins the same ends, blanks aside.
    pub(super) fn same_ends(&self, other: &LinkEntry) -> bool {
        self.from.same(&other.from) && self.to.same(&other.to)
    }

    /// As a line joins two ports.
    pub(super) fn line(&self) -> String {
        format!("{} -> {}", self.from.text, self.to.text)
    }
}

/// A piece of text with its source location.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// The text, without blanks around it.
    pub text: String,
    /// Its place.
    pub span: Span,
}

impl Text {
    pub(super) fn of(node: &Node) -> Option<Text> {
        let Value::Scalar { text, quoted } = &node.value else { return None };
        let inset = usize::from(*quoted) + text.len() - text.trim_start().len();
        let text = text.trim();
        Some(Text { text: text.to_owned(), span: node.span.part(inset, text.len()) })
    }

    /// Whether it is the same text, blanks aside.
    pub(super) fn same(&self, other: &Text) -> bool {
        let letters = |text: &Text| text.text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        letters(self) == letters(other)
    }

    pub(super) fn part(&self, start: usize, end: usize) -> Text {
        let part = &self.text[start..end];
        let inset = start + part.len() - part.trim_start().len();
        Text { text: part.trim().to_owned(), span: self.span.part(inset, part.trim().len()) }
    }
}

/// Takes a document apart.
pub(super) fn parse(document: &Document, diagnostics: &mut Diagnostics) -> Module {
    let mut parser = Parser { diagnostics };
    let node = &document.node;
    let keys = if node.get("machine").is_some() { &keys::MACHINE[..] } else { &keys::MODULE };
    parser.known_keys(node, &names(keys));
    let parameters = parser.parameters(node);
    let components = parser.components(node, "components");
    let follows = node.get("follows").and_then(|node| parser.follows(node));
    let keys = parameters.iter().map(|entry| &entry.key).chain(components.iter().map(|entry| &entry.key));
    let moved = parser.moved(node, &keys.collect::<Vec<_>>());
    Module {
        name: document.name.clone(),
        span: document.span,
        description: node.get("description").and_then(Node::as_scalar).map(str::to_owned),
        follows,
        parameters,
        clocks: parser.entries(node, "clocks"),
        components,
        links: parser.links(node, "links"),
        exports: parser.entries(node, "exports"),
        set: parser.entries(node, "set"),
        faults: parser.faults(node),
        moved,
        unlinked: Vec::new(),
    }
}

/// Reads the parts of machines, modules and overlays.
pub(super) struct Parser<'a> {
    pub diagnostics: &'a mut Diagnostics,
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

    /// The map with each misspelt key under the name that was meant: its content is read, too, and not missed
    /// elsewhere.
    pub(super) fn mended<'n>(&mut self, node: &'n Node, keys: &[&str]) -> Cow<'n, Node> {
        self.known_keys(node, keys);
        let is_known = |key: &Key| keys.contains(&key.name.as_str());
        if let Value::Map(entries) = &node.value
            && entries.iter().all(|(key, _)| is_known(key))
        {
            return Cow::Borrowed(node);
        }
        let meant = |(key, value): &(Key, Node)| {
            let near = nearest(&key.name, keys.iter().copied()).filter(|near| node.get(near).is_none());
            let name = near.filter(|_| !is_known(key)).unwrap_or(&key.name);
            (Key { name: name.to_owned(), span: key.span }, value.clone())
        };
        let entries = node.as_map().unwrap_or_default().iter().map(meant).collect();
        Cow::Owned(Node::map(entries, node.span))
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
    pub(super) fn entries(&mut self, node: &Node, name: &str) -> Vec<(Key, Node)> {
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

    /// The entries of `parameters:`.
    pub(super) fn parameters(&mut self, node: &Node) -> Vec<ParameterEntry> {
        let entries = self.entries(node, "parameters");
        entries.iter().filter_map(|(key, node)| self.parameter(key, node)).collect()
    }

    /// The components under a key.
    pub(super) fn components(&mut self, node: &Node, name: &str) -> Vec<ComponentEntry> {
        let entries = self.entries(node, name);
        entries.iter().map(|(key, node)| self.component(key, node)).collect()
    }

    /// Moved names; `keys` are those of the present ones.
    fn moved(&mut self, node: &Node, keys: &[&Key]) -> Vec<(Key, String)> {
        let mut moved = Vec::new();
        for (key, hint) in self.entries(node, "moved") {
            if let Some(here) = keys.iter().find(|here| here.name == key.name) {
                let diagnostic = Diagnostic::new(key.span, format!("`{}` has not moved", key.name));
                self.diagnostics.report(diagnostic.note(here.span, "it is here"));
            }
            match hint.as_scalar() {
                Some(text) => moved.push((key, text.to_owned())),
                None => {
                    let message = format!("expected a sentence, found {}", hint.shape());
                    let help = "say what to write instead";
                    self.diagnostics.report(Diagnostic::new(hint.span, message).help(help));
                }
            }
        }
        moved
    }

    fn parameter(&mut self, key: &Key, node: &Node) -> Option<ParameterEntry> {
        self.name(key)?;
        if node.as_map().is_none() {
            let message = format!("expected the declaration of a parameter, found {}", node.shape());
            let help = "write `{ type: count, default: 4, doc: What it is. }`";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        }
        self.known_keys(node, &names(&keys::PARAMETER));
        let part = |name| node.get(name).cloned();
        let (kind, default, min, max) = (part("type"), part("default"), part("min"), part("max"));
        Some(ParameterEntry { key: key.clone(), kind, default, min, max })
    }

    fn component(&mut self, key: &Key, node: &Node) -> ComponentEntry {
        let body = self.name(key).and_then(|()| self.body(key, node)).unwrap_or(Body::Unknown);
        ComponentEntry { key: key.clone(), body, count: node.get("count").cloned(), origin: Origin::Own }
    }

    fn body(&mut self, key: &Key, node: &Node) -> Option<Body> {
        let Some(entries) = node.as_map() else {
            let message = format!("expected a component, found {}", node.shape());
            let help = "write `{ type: kind }` or `{ module: name }`";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        };
        match (node.get("type"), node.get("module")) {
            (Some(kind), None) => {
                let own = names(&keys::COMPONENT);
                let parameters = entries.iter().filter(|(key, _)| !own.contains(&key.name.as_str()));
                Some(Body::Kind {
                    kind: kind.clone(),
                    clock: node.get("clock").cloned(),
                    parameters: parameters.cloned().collect(),
                    span: node.span,
                })
            }
            (None, Some(module)) => {
                self.known_keys(node, &names(&keys::USE));
                let with = node.get("with").map(|with| with.span);
                Some(Body::Module { module: module.clone(), with, set: self.entries(node, "set") })
            }
            (both, _) => {
                let message =
                    if both.is_some() { "both `type` and `module`" } else { "neither `type` nor `module`" };
                let diagnostic = Diagnostic::new(key.span, format!("`{}` has {message}", key.name));
                self.diagnostics
                    .report(diagnostic.help("a component has a `type`, a sub-machine a `module`"));
                None
            }
        }
    }

    /// Names are words joined by dots, each with an index at most: the form of an instance path, so that a
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

    /// The links under a key.
    pub(super) fn links(&mut self, node: &Node, name: &str) -> Vec<LinkEntry> {
        self.list(node, name).iter().filter_map(|item| self.link(item)).collect()
    }

    /// The faults of a machine or an overlay. Their parameters are checked later, when parameters are read.
    pub(super) fn faults(&mut self, node: &Node) -> Vec<Node> {
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
                added: false,
                doubtful: false,
            });
        }
        if !matches!(node.value, Value::Map(_)) {
            let message = format!("expected a link, found {}", node.shape());
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        }
        self.known_keys(node, &names(&keys::LINK));
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
        Some(LinkEntry {
            from: from?,
            to: to?,
            latency,
            back,
            capacity,
            bandwidth,
            count,
            span: node.span,
            added: false,
            doubtful: false,
        })
    }
}
