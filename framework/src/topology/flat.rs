//! A machine without modules, as made by the passes that unfold it: instances, joined ports, and the scopes in which names are
//! looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::ports::PortInfo;
use crate::model::{Diagnostic, Key, Node, Span};
use crate::time::{Bytes, BytesPerSecond, Hertz, Latency};

use super::expression::{self, Names, Number};
use super::machine::{Follows, Origin};
use super::module;
use super::overrides::Overridden;
use super::patch::is_below;

/// A machine without modules, not yet checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Flat {
    /// The machine's name.
    pub name: String,
    /// Its description of itself.
    pub description: Option<String>,
    /// The source that it follows.
    pub follows: Option<Follows>,
    /// Components of the machine.
    pub instances: Vec<FlatInstance>,
    /// The links between them.
    pub wires: Vec<Wire>,
    /// Faults on them: the machine's entries, then those of the overlays.
    pub faults: Vec<Node>,
    /// Ports that a faulty link names: whether they are connected is unknown.
    pub doubtful: Vec<(usize, String)>,
    /// Messages for missing names, each with the path that was written, unless it is for an overlay whose own
    /// place is missing.
    pub missing: Vec<(String, Diagnostic)>,
    /// The places where overlays put components that do not suit a link: their ports are not called
    /// unconnected.
    pub unsuited: BTreeSet<Span>,
}

/// A component of the flat machine. Elements of an array that are set alike share what does not name them.
#[derive(Clone, Debug)]
pub(super) struct FlatInstance {
    /// Path of the component.
    pub path: String,
    /// The name of its kind.
    pub kind: String,
    /// The place of the kind's name.
    pub kind_span: Span,
    /// The place of the component's name.
    pub span: Span,
    /// Author of the component.
    pub origin: Origin,
    /// Clock of the component.
    pub clock: Option<ClockUse>,
    /// Parameters of the component.
    pub parameters: Arc<Node>,
    /// Whether the arithmetic of a parameter failed, so that it is missing.
    pub incomplete: bool,
    /// Parameters that were set from elsewhere.
    pub overridden: Arc<[Overridden]>,
    /// Ports of the component.
    pub ports: Arc<[PortInfo]>,
}

/// The parts of one unfolded module, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// The parts.
    pub parts: BTreeMap<String, UnfoldedEntry>,
    /// The exports: the text of the port, by exported name.
    pub exports: BTreeMap<String, module::Text>,
    /// The parameters.
    pub environment: Environment,
    /// Moved names, each with a sentence about the new place.
    pub moved: Vec<(Key, String)>,
}

impl Scope {
    /// The place where an overlay put a component in the place of the one that an end of a link names, if one
    /// did.
    pub(super) fn replaced(&self, end: &module::Text) -> Option<Span> {
        let named = self.parts.iter().filter(|(name, _)| is_below(&end.text, name));
        named.max_by_key(|(name, _)| name.len())?.1.replaced
    }
}

/// An entry of `components:`, unfolded.
#[derive(Clone, Debug)]
pub(super) struct UnfoldedEntry {
    /// Whether it has a `count`.
    pub array: bool,
    /// Elements of the entry: one if it is no array.
    pub elements: Vec<Element>,
    /// Whether something about it is wrong, so that its length is not known.
    pub faulty: bool,
    /// The place where an overlay put it in the place of another, if one did.
    pub replaced: Option<Span>,
}

#[derive(Clone, Debug)]
pub(super) enum Element {
    /// The index of a component instance.
    Component(usize),
    /// A sub-machine.
    Module(Box<Scope>),
}

/// The values of a module's parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// The values by name.
    pub values: BTreeMap<String, Node>,
}

impl Names for Environment {
    fn value(&self, name: &str) -> Option<Number> {
        let text = self.values.get(name)?.as_scalar()?;
        let bytes = || text.parse::<Bytes>().ok().and_then(|size| i64::try_from(size.get()).ok());
        Number::parse(text).or_else(|| bytes().map(Number::whole))
    }

    fn names(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }
}

impl expression::Scope for Environment {
    fn node(&self, name: &str) -> Option<&Node> {
        self.values.get(name)
    }
}

/// Two joined ports.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    /// The left end.
    pub from: Leaf,
    /// The right end.
    pub to: Leaf,
    /// The time a message takes.
    pub latency: Latency,
    /// The time of the other direction of a socket, if the link gives one, and where.
    pub back: Option<(Latency, Span)>,
    /// The receiver's buffer, in messages.
    pub capacity: Option<u32>,
    /// The rate at which bytes pass.
    pub bandwidth: Option<BytesPerSecond>,
    /// The line that says so.
    pub span: Span,
    /// Whether an overlay added the line.
    pub added: bool,
}

/// A port of a component instance.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Index of the instance.
    pub instance: usize,
    /// Name of the port.
    pub port: String,
    /// Index in an array of ports.
    pub index: Option<u32>,
    /// The text that names it.
    pub span: Span,
}

/// A clock in the flat machine.
#[derive(Clone, Debug)]
pub(super) struct ClockUse {
    /// Path of the clock.
    pub path: String,
    /// Frequency of the clock.
    pub frequency: Hertz,
    /// The text that set the frequency from outside the module, if any did.
    pub overridden: Option<Span>,
}

/// The clocks of a module by name; nothing where the frequency is faulty.
pub(super) type Clocks = BTreeMap<String, Option<ClockUse>>;

/// The path of a name within a module at a path.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
