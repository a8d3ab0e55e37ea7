//! All component kinds that a machine can be built of, with the way to build each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalogue::{Catalogue, KindInfo};
use super::component::{Component, Environment, process};
use super::diagnostics::{Diagnostic, Diagnostics};
use super::families::{Families, Variant};
use super::node::Node;
use super::params::{Params, Reader};
use super::ports::Ports;
use crate::kernel::ProcessSpec;
use crate::time::Clock;

type Build = fn(&Arc<Registry>, String, Clock, Environment, Node) -> ProcessSpec;

/// The registered kinds and families.
#[derive(Default)]
pub struct Registry {
    /// What the configuration needs to know of them.
    pub catalogue: Catalogue,
    builds: BTreeMap<&'static str, Build>,
}

/// Reads the parameters and builds the component, or reports why not.
fn make<C: Component>(node: &Node, reader: &mut Reader<'_>) -> Option<C> {
    let params = C::Params::read(node, reader)?;
    match C::new(params) {
        Ok(component) => Some(component),
        Err(invalid) => {
            reader.report(Diagnostic::new(node.span, invalid.0));
            None
        }
    }
}

impl Registry {
    /// Registers a component kind.
    ///
    /// # Panics
    /// If a kind of that name is registered, or a parameter has the name of a key that every component has (`type`,
    /// `clock`, `count`).
    pub fn component<C: Component>(&mut self) -> &mut Self {
        self.catalogue.add(KindInfo {
            name: C::KIND,
            doc: C::DOC,
            fields: C::Params::fields,
            moved: C::Params::moved(),
            check: |node, reader| {
                make::<C>(node, reader);
            },
            ports: C::Ports::info,
        });
        self.builds.insert(C::KIND, |registry, path, clock, environment, node| {
            let registry = Arc::clone(registry);
            process::<C>(path, clock, environment, move || {
                let mut diagnostics = Diagnostics::default();
                let made = make(&node, &mut Reader::new(registry.families(), &mut diagnostics));
                made.unwrap_or_else(|| panic!("{} refuses parameters that it accepted when checked", C::KIND))
            })
        });
        self
    }

    /// Registers a member of the family of trait `F`.
    ///
    /// # Panics
    /// If the family has a member of that name.
    pub fn variant<F: ?Sized + 'static, V: Variant<F>>(&mut self) -> &mut Self {
        self.catalogue.families.add::<F, V>();
        self
    }

    /// The registered families.
    pub fn families(&self) -> &Families {
        &self.catalogue.families
    }

    /// The process of a component whose kind and parameters have been checked.
    ///
    /// # Panics
    /// If the kind is not registered. The process panics when it starts if the component refuses its parameters.
    pub fn build(
        self: &Arc<Self>,
        kind: &str,
        path: String,
        clock: Clock,
        environment: Environment,
        params: Node,
    ) -> ProcessSpec {
        let build = self.builds.get(kind).unwrap_or_else(|| panic!("{path}: kind {kind} was checked before"));
        build(self, path, clock, environment, params)
    }
}
