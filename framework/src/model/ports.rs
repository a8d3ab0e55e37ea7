//! A component's ports: their outside view, and the connection of the fields of its `Ports` struct.

use std::any::TypeId;

use super::faults::{FaultKind, InjectorSite, injector};
use crate::kernel::{In, Message, Out, ProcessSpec, Socket, Wiring};

/// The type of the messages that pass a port.
#[derive(Clone, Copy, Debug)]
pub struct MessageType {
    /// Identity of the Rust type.
    pub id: TypeId,
    /// Name of the port without the path, for messages.
    pub name: &'static str,
    /// Builds the injector of faults on messages of this type in the middle of a link.
    pub injector: fn(InjectorSite) -> ProcessSpec,
    duplicates: bool,
    corrupts: bool,
}

impl PartialEq for MessageType {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for MessageType {}

impl MessageType {
    /// The type `M`.
    pub fn of<M: Message>() -> Self {
        let path = std::any::type_name::<M>();
        MessageType {
            id: TypeId::of::<M>(),
            name: path.rsplit("::").next().unwrap_or(path),
            injector: injector::<M>,
            duplicates: M::DUPLICATE.is_some(),
            corrupts: M::CORRUPT.is_some(),
        }
    }

    /// Whether a fault can happen to messages of this type.
    pub fn suffers(&self, fault: FaultKind) -> bool {
        match fault {
            FaultKind::Duplicate => self.duplicates,
            FaultKind::Corrupt => self.corrupts,
            FaultKind::Drop | FaultKind::Delay | FaultKind::WithholdCredit => true,
        }
    }
}

/// Direction and message types of a port, as its component sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortShape {
    /// Receives messages; may have many senders.
    In(MessageType),
    /// Sends messages to one receiver.
    Out(MessageType),
    /// A pair of ports, one each way, joined to exactly one other socket.
    Socket {
        /// The message type that this side sends.
        sends: MessageType,
        /// The message type that this side receives.
        receives: MessageType,
    },
}

impl PortShape {
    /// The message type that leaves through the port.
    pub fn sends(&self) -> Option<MessageType> {
        match self {
            PortShape::In(_) => None,
            PortShape::Out(sends) | PortShape::Socket { sends, .. } => Some(*sends),
        }
    }
}

/// One port, or array of ports, of a component kind.
#[derive(Clone, Copy, Debug)]
pub struct PortInfo {
    /// Field name, as YAML writes it.
    pub name: &'static str,
    /// Doc comment.
    pub doc: &'static str,
    /// Direction and types.
    pub shape: PortShape,
    /// `Vec` of ports: its length follows from the links.
    pub array: bool,
    /// May stay unconnected.
    pub optional: bool,
}

/// The ports of a component, as `derive(Ports)` implements it.
pub trait Ports: 'static {
    /// The outside view of the ports, in the order of their declaration.
    fn info() -> Vec<PortInfo>;
    /// Takes the ports from the wiring.
    fn wire(wiring: &mut Wiring<'_>) -> Self;
    /// All of them, where there are none.
    fn none() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// No ports.
impl Ports for () {
    fn info() -> Vec<PortInfo> {
        Vec::new()
    }

    fn wire(_wiring: &mut Wiring<'_>) {}

    fn none() -> Option<Self> {
        Some(())
    }
}

/// A single port or socket.
pub trait Port: Sized + 'static {
    /// Direction and types.
    fn shape() -> PortShape;
    /// Takes the port, or an element of an array of ports, from the wiring.
    fn wire(wiring: &mut Wiring<'_>, name: &str, index: Option<u32>) -> Self;
}

impl<M: Message> Port for In<M> {
    fn shape() -> PortShape {
        PortShape::In(MessageType::of::<M>())
    }

    fn wire(wiring: &mut Wiring<'_>, name: &str, index: Option<u32>) -> Self {
        wiring.input(name, index)
    }
}

impl<M: Message> Port for Out<M> {
    fn shape() -> PortShape {
        PortShape::Out(MessageType::of::<M>())
    }

    fn wire(wiring: &mut Wiring<'_>, name: &str, index: Option<u32>) -> Self {
        wiring.output(name, index)
    }
}

impl<S: Message, R: Message> Port for Socket<S, R> {
    fn shape() -> PortShape {
        PortShape::Socket { sends: MessageType::of::<S>(), receives: MessageType::of::<R>() }
    }

    fn wire(wiring: &mut Wiring<'_>, name: &str, index: Option<u32>) -> Self {
        wiring.socket(name, index)
    }
}

/// A field of a `Ports` struct: a port, a `Vec` of ports, or an `Option` of a port.
pub trait PortField: Sized {
    /// The outside view of the field.
    fn info(name: &'static str, doc: &'static str) -> PortInfo;
    /// Takes the field's ports from the wiring.
    fn wire(wiring: &mut Wiring<'_>, name: &str) -> Self;
}

impl<P: Port> PortField for P {
    fn info(name: &'static str, doc: &'static str) -> PortInfo {
        PortInfo { name, doc, shape: P::shape(), array: false, optional: false }
    }

    fn wire(wiring: &mut Wiring<'_>, name: &str) -> Self {
        P::wire(wiring, name, None)
    }
}

impl<P: Port> PortField for Vec<P> {
    fn info(name: &'static str, doc: &'static str) -> PortInfo {
        PortInfo { name, doc, shape: P::shape(), array: true, optional: false }
    }

    fn wire(wiring: &mut Wiring<'_>, name: &str) -> Self {
        (0..wiring.len(name)).map(|index| P::wire(wiring, name, Some(index))).collect()
    }
}

impl<P: Port> PortField for Option<P> {
    fn info(name: &'static str, doc: &'static str) -> PortInfo {
        PortInfo { name, doc, shape: P::shape(), array: false, optional: true }
    }

    fn wire(wiring: &mut Wiring<'_>, name: &str) -> Self {
        wiring.is_connected(name).then(|| P::wire(wiring, name, None))
    }
}
