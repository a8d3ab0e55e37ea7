//! The result of configuration: component instances with their parameters, and links between their ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{FaultParams, Node, ReadParams, Span};
use crate::time::{BytesPerSecond, Hertz, Latency};

/// The source that a machine follows where sources differ: the judge of its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Another simulator's configuration, quirks included; its figures judge it.
    Simulator,
    /// A card that can be bought: data sheets and measurements of it.
    Card,
    /// A paper, and the simulator version that it names where it is silent.
    Paper,
}

impl Follows {
    /// All sources.
    pub const ALL: [Follows; 3] = [Follows::Simulator, Follows::Card, Follows::Paper];

    /// Name of the source in a machine file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Follows::Simulator => "simulator",
            Follows::Card => "card",
            Follows::Paper => "paper",
        }
    }
}

/// The author of a module's component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The module itself.
    #[default]
    Own,
    /// An overlay, which added it.
    Added,
    /// An overlay, which put it in the place of another.
    Replaced,
}

/// A machine that is sound: every kind exists, every parameter was read, every port is joined to one that suits it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name of the machine.
    pub name: String,
    /// Description of the machine, from its file.
    pub description: Option<String>,
    /// The source that decides between its parameters, if it names one.
    pub follows: Option<Follows>,
    /// Its components in the natural order of their paths, whatever the order of the lines.
    pub instances: Vec<Instance>,
    /// Its links, by sender.
    pub links: Vec<Link>,
}

/// A component.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its path, such as `gpu.sm[3]`.
    pub path: String,
    /// The name of its kind.
    pub kind: String,
    /// The role of its kind; empty: none.
    pub role: &'static str,
    /// The path of its clock, unless it has the default clock.
    pub clock_name: Option<String>,
    /// The frequency of its clock.
    pub clock: Hertz,
    /// The text that set the frequency of the clock from outside the clock's module, if any did.
    pub clock_overridden: Option<Span>,
    /// All its parameters, defaults included, in the order of their declaration; elements of an array that are set alike share them.
    pub params: Arc<Node>,
    /// Parameters as they were read; `None` for a machine with errors.
    pub read: Option<ReadParams>,
    /// The parameters that were set from outside the component's own entry, and the text that did it.
    pub overridden: Arc<[(String, Span)]>,
    /// The place of the component's name.
    pub span: Span,
    /// Author of the component.
    pub origin: Origin,
}

/// Machines are equal if they behave equally: where something was written does not matter.
impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
            && self.kind == other.kind
            && self.clock_name == other.clock_name
            && self.clock == other.clock
            && self.params.same(&other.params)
    }
}

/// A one-way link. A line that joins sockets makes two.
#[derive(Clone, Debug)]
pub struct Link {
    /// The sender.
    pub from: Endpoint,
    /// The receiver.
    pub to: Endpoint,
    /// The time a message takes.
    pub latency: Latency,
    /// The time that it takes in the other direction of a socket.
    pub back: Latency,
    /// Size of the receiver's buffer in messages, if the link sets it.
    pub capacity: Option<u32>,
    /// The rate at which bytes pass, if it is limited.
    pub bandwidth: Option<BytesPerSecond>,
    /// The sender's rank among those that share the receiver.
    pub sender_index: u32,
    /// Whether the ends are sockets: then the same line made the link back.
    pub socket: bool,
    /// Faults on it, in this order.
    pub faults: Vec<FaultParams>,
    /// The line of the overlay that added it, if one did.
    pub added: Option<Span>,
}

/// Links are equal if they behave equally.
impl PartialEq for Link {
    fn eq(&self, other: &Self) -> bool {
        let behaviour = |link: &Self| {
            (link.latency, link.back, link.capacity, link.bandwidth, link.sender_index, link.socket)
        };
        (&self.from, &self.to) == (&other.from, &other.to)
            && behaviour(self) == behaviour(other)
            && self.faults == other.faults
    }
}

/// A port of a component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Index into [`Machine::instances`].
    pub instance: usize,
    /// The name of the port.
    pub port: String,
    /// The index in an array of ports.
    pub index: Option<u32>,
}

impl Machine {
    /// The role of each component by its path; empty: none.
    pub fn roles(&self) -> BTreeMap<&str, &'static str> {
        self.instances.iter().map(|one| (one.path.as_str(), one.role)).collect()
    }

    /// Path and clock of every process of a run, in its order: the components, then the injectors of faults
    /// on links.
    pub fn processes(&self) -> impl Iterator<Item = (String, Hertz)> {
        let components = self.instances.iter().map(|instance| (instance.path.clone(), instance.clock));
        let faulty = self.links.iter().filter(|link| !link.faults.is_empty());
        let injector = |link: &Link| (self.injector(link), self.instances[link.from.instance].clock);
        components.chain(faulty.map(injector))
    }

    /// The path of the injector of faults on a link.
    pub(super) fn injector(&self, link: &Link) -> String {
        format!("{}!fault", self.path(&link.from))
    }

    /// The path of a port, such as `gpu.sm[3].memory`.
    pub fn path(&self, endpoint: &Endpoint) -> String {
        let instance = self.instances.get(endpoint.instance).map_or("", |instance| &instance.path);
        port_path(instance, &endpoint.port, endpoint.index)
    }
}

pub(super) fn port_path(instance: &str, port: &str, index: Option<u32>) -> String {
    match index {
        Some(index) => format!("{instance}.{port}[{index}]"),
        None => format!("{instance}.{port}"),
    }
}
