//! All component kinds of which a machine can be built, with their constructors.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalogue::{Catalogue, KindInfo, ReadParams};
use super::component::{Component, Environment, equipped_process};
use super::declaration::Fields;
use super::diagnostics::Diagnostic;
use super::families::{Families, Variant};
use super::form::{is_kind, is_word};
use super::node::Node;
use super::params::{Params, Reader};
use super::ports::Ports;
use super::slots::Equipped;
use crate::kernel::ProcessSpec;
use crate::time::Clock;

type Build = fn(String, Clock, Environment, ReadParams) -> ProcessSpec;

/// The registered kinds and families, and further additions of extensions for tools.
#[derive(Default)]
pub struct Registry {
    /// Their descriptions for the configuration.
    pub catalogue: Catalogue,
    builds: BTreeMap<&'static str, Build>,
    /// For each type, in the order in which they were added: each a value of the type.
    additions: BTreeMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>,
}

/// Registers all that a crate brings along.
pub type Extension = fn(&mut Registry);

/// Reads the parameters, and reports why no component can be built of them.
fn read<C: Component>(node: &Node, mut reader: Reader<'_>) -> Option<ReadParams> {
    let params = C::Params::read(node, &mut reader)?;
    match C::new(params.clone()) {
        Ok(_) => Some(ReadParams { params: Arc::new(params), gear: reader.into_gear().into() }),
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
        const { assert!(is_kind(C::KIND), "a kind is words of small letters, joined by `/`: gpu/cta-scheduler") };
        const { assert!(!C::DOC.is_empty(), "a kind says what it models") };
        self.catalogue.add(KindInfo {
            name: C::KIND,
            doc: C::DOC,
            role: C::ROLE,
            fields: Fields::new(C::Params::fields),
            moved: C::Params::moved(),
            read: read::<C>,
            ports: C::Ports::info,
        });
        self.builds.insert(C::KIND, |path, clock, environment, ReadParams { params, gear }| {
            equipped_process::<C>(path, clock, environment, move || {
                let params: Option<&C::Params> = params.downcast_ref();
                let made = params.and_then(|params| C::new(params.clone()).ok());
                (made.unwrap_or_else(|| panic!("{} refuses parameters that it accepted", C::KIND)), gear)
            })
        });
        self
    }

    /// Registers a member of the family of trait `F`.
    ///
    /// # Panics
    /// If the family has a member of that name.
    pub fn variant<F: ?Sized + 'static, V: Variant<F>>(&mut self) -> &mut Self {
        const { assert!(is_word(V::NAME), "a variant's name is small letters, digits and `-`: fixed-split") };
        const { assert!(!V::DOC.is_empty(), "a variant says what it does") };
        self.catalogue.families.add::<F, V>();
        self
    }

    /// Registers a member of the family of trait `F` with ports or statistics of its own.
    ///
    /// # Panics
    /// If the family has a member of that name.
    pub fn equipped<F: ?Sized + 'static, V: Equipped<F>>(&mut self) -> &mut Self {
        const { assert!(is_word(V::NAME), "a variant's name is small letters, digits and `-`: fixed-split") };
        const { assert!(!V::DOC.is_empty(), "a variant says what it does") };
        self.catalogue.families.add_equipped::<F, V>();
        self
    }

    /// Adds an item for a tool that looks it up by type, such as files or a report.
    pub fn add<T: Send + Sync + 'static>(&mut self, addition: T) -> &mut Self {
        self.additions.entry(TypeId::of::<T>()).or_default().push(Box::new(addition));
        self
    }

    /// The additions of a type, in the order in which they were made.
    pub fn all<T: 'static>(&self) -> impl Iterator<Item = &T> {
        let additions = self.additions.get(&TypeId::of::<T>()).into_iter().flatten();
        additions.filter_map(|addition| addition.downcast_ref())
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
        &self,
        kind: &str,
        path: String,
        clock: Clock,
        environment: Environment,
        params: ReadParams,
    ) -> ProcessSpec {
        let build = self.builds.get(kind).unwrap_or_else(|| panic!("{path}: kind {kind} was checked before"));
        build(path, clock, environment, params)
    }
}
