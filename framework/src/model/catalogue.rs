//! The component kinds of which a machine can be built, as the configuration sees them: names, parameters and ports,
//! without the components themselves.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::declaration::Fields;
use super::families::Families;
use super::moved::Moved;
use super::node::Node;
use super::params::Reader;
use super::ports::PortInfo;
use super::slots::Gear;

/// Description of a component kind.
#[derive(Debug)]
pub struct KindInfo {
    /// The name by which YAML chooses it.
    pub name: &'static str,
    /// Description of the model.
    pub doc: &'static str,
    /// Role of the kind in a machine; empty: none.
    pub role: &'static str,
    /// Parameters of the kind.
    pub fields: Fields,
    /// The names that parameters had before.
    pub moved: &'static [Moved],
    /// Reads the parameters, and reports problems with them.
    pub read: fn(&Node, Reader<'_>) -> Option<ReadParams>,
    /// Ports of the kind itself; [`Catalogue::ports`] includes the ports of chosen variants.
    pub ports: fn() -> Vec<PortInfo>,
}

/// The parameters of a component as the check of its machine has read them, and the gear of the variants that they choose. Components that
/// have the same parameters can share them.
#[derive(Clone)]
pub struct ReadParams {
    pub(super) params: Arc<dyn Any + Send + Sync>,
    pub(super) gear: Arc<[Gear]>,
}

impl ReadParams {
    /// The parameters, if they are of this type: that of the component's kind.
    pub fn of<P: 'static>(&self) -> Option<&P> {
        self.params.downcast_ref()
    }
}

impl fmt::Debug for ReadParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadParams")
    }
}

/// All kinds by name, and the families from which their parameters choose.
#[derive(Default)]
pub struct Catalogue {
    kinds: BTreeMap<&'static str, KindInfo>,
    /// The families.
    pub families: Families,
}

impl Catalogue {
    /// Registers a kind.
    ///
    /// # Panics
    /// If a kind of that name is registered, or a parameter has the name of a key that every component has.
    pub fn add(&mut self, kind: KindInfo) {
        for field in kind.fields.iter() {
            let reserved = ["type", "clock", "count"].contains(&field.name);
            assert!(!reserved, "{} has a parameter named `{}`", kind.name, field.name);
        }
        let name = kind.name;
        let twin = self.kinds.insert(name, kind);
        assert!(twin.is_none(), "two kinds are named {name}");
    }

    /// The kind of a name.
    pub fn get(&self, name: &str) -> Option<&KindInfo> {
        self.kinds.get(name)
    }

    /// The ports of a component of a kind with these parameters, whose values may be wrong: its own, and those of chosen
    /// variants. None of an unknown kind.
    pub fn ports(&self, kind: &str, params: &Node) -> Vec<PortInfo> {
        let Some(kind) = self.get(kind) else { return Vec::new() };
        let mut ports = (kind.ports)();
        ports.extend(self.families.ports_of(&kind.fields, params));
        ports
    }

    /// All kinds by name.
    pub fn kinds(&self) -> impl Iterator<Item = &KindInfo> {
        self.kinds.values()
    }
}
