//! Variants with ports and statistics of their own, and the parameters that take them.
//!
//! A [`Choose`](super::Choose) takes a variant that only computes. A [`Slot`] also takes one that is
//! [`Equipped`]: its ports and statistics join those of the component whose parameters have the slot, under
//! the component's path. A policy can thus have a link to a component that is unknown to the family's host.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::context::Context;
use super::declaration::TypeInfo;
use super::families::{FamilyId, Make, choose, describe, every, short_name};
use super::form::Form;
use super::node::Node;
use super::params::{Parameter, Params, Reader};
use super::ports::Ports;
use super::stats::{StatVisitor, Stats};
use crate::kernel::{Fault, Wiring};

/// A member of the family of trait `F` with ports or statistics of its own; a [`Variant`](super::Variant) has neither.
pub trait Equipped<F: ?Sized + 'static>: 'static {
    /// The name by which YAML chooses it.
    const NAME: &'static str;
    /// Effect of the member, in a sentence or more.
    const DOC: &'static str;
    /// Parameters of the member.
    type Params: Params + Send + Sync + 'static;
    /// Ports of the member: a struct with `derive(Ports)`, or `()`.
    type Ports: Ports;
    /// Statistics of the member: a struct with `derive(Default, Stats)`, or `()`.
    type Stats: Stats;

    /// Checks the combination of parameters, when a machine is loaded.
    ///
    /// # Errors
    /// A sentence about the problem with the parameters; the user sees it with the source location.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// Builds it, when its component begins to run.
    ///
    /// # Errors
    /// If a slot among its own parameters cannot be filled.
    fn build(params: &Self::Params, site: Site<'_, Self::Ports, Self::Stats>) -> Result<Box<F>, Fault>;
}

/// The site of a variant in its slot.
pub struct Site<'a, P, S> {
    /// Ports of the site.
    pub ports: P,
    /// Statistics of the site: copies of it in one component share them.
    pub stats: Rc<S>,
    equipment: &'a Equipment,
}

impl<P, S> Site<'_, P, S> {
    /// Builds the variant that a slot among the variant's own parameters has chosen.
    ///
    /// # Errors
    /// As [`Slot::build`].
    pub fn fill<F: ?Sized + 'static>(&self, slot: &Slot<F>) -> Result<Box<F>, Fault> {
        slot.build_from(self.equipment)
    }
}

/// A parameter that chooses a variant, equipped or not. Its component builds it when it runs.
pub struct Slot<F: ?Sized> {
    name: &'static str,
    make: Make<F>,
}

impl<F: ?Sized + 'static> Slot<F> {
    /// The name of the chosen variant.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Builds the variant for the component that runs.
    ///
    /// # Errors
    /// If it has ports and is built a second time: a component that builds several needs one without.
    ///
    /// # Panics
    /// If the variant refuses parameters that it accepted when they were read.
    pub fn build<S: Stats>(&self, sim: &Context<S>) -> Result<Box<F>, Fault> {
        self.build_from(&sim.equipment)
    }

    /// Builds the variant outside a run, with statistics that nobody reads; `None` if the variant has ports.
    pub fn build_detached(&self) -> Option<Box<F>> {
        self.build_from(&Equipment::default()).ok()
    }

    fn build_from(&self, equipment: &Equipment) -> Result<Box<F>, Fault> {
        match &self.make {
            Make::Plain(make) => {
                let built = make();
                Ok(built
                    .unwrap_or_else(|reason| panic!("`{}` refuses what it accepted: {reason}", self.name)))
            }
            Make::Equipped(make) => make(equipment),
        }
    }
}

impl<F: ?Sized> Clone for Slot<F> {
    fn clone(&self) -> Self {
        Slot { name: self.name, make: self.make.clone() }
    }
}

impl<F: ?Sized> fmt::Debug for Slot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.name).finish()
    }
}

impl<F: ?Sized + 'static> Parameter for Slot<F> {
    const FORM: Form = Form::Variant;

    fn describe() -> TypeInfo {
        describe::<F>()
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let (name, make) = choose(node, reader, true)?;
        Some(Slot { name, make })
    }
}

/// A parameter that holds every registered variant of a family, equipped or not. YAML gives only parameters, each
/// variant's under its name. For families whose members do not exclude each other, such as members that serve different
/// messages.
pub struct Every<F: ?Sized>(Vec<Slot<F>>);

impl<F: ?Sized + 'static> Every<F> {
    /// Builds all variants for the component that runs, in the order of their names, each with its name.
    ///
    /// # Errors
    /// As [`Slot::build`].
    pub fn build<S: Stats>(&self, sim: &Context<S>) -> Result<Vec<(&'static str, Box<F>)>, Fault> {
        self.0.iter().map(|slot| Ok((slot.name, slot.build(sim)?))).collect()
    }
}

impl<F: ?Sized> Clone for Every<F> {
    fn clone(&self) -> Self {
        Every(self.0.clone())
    }
}

impl<F: ?Sized> fmt::Debug for Every<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<F: ?Sized + 'static> Parameter for Every<F> {
    const FORM: Form = Form::Every;

    fn describe() -> TypeInfo {
        let description = format!("every {}, its parameters under its name", short_name::<F>());
        TypeInfo { description, family: Some(FamilyId::of::<F>()), every: true, ..TypeInfo::default() }
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let made = every(node, reader)?;
        Some(Every(made.into_iter().map(|(name, make)| Slot { name, make }).collect()))
    }
}

/// Ports and statistics that a variant brings into a component.
#[derive(Clone, Copy)]
pub struct Gear(fn(&mut Wiring<'_>) -> Outfit);

impl Gear {
    pub(super) fn of<P: Ports, S: Stats>() -> Self {
        Gear(|wiring| Outfit::new::<P, S>(P::wire(wiring)))
    }
}

/// The statistics of a variant, whatever their type.
trait Shown {
    fn visit(&self, visitor: &mut dyn StatVisitor);
}

impl<S: Stats> Shown for S {
    fn visit(&self, visitor: &mut dyn StatVisitor) {
        Stats::visit(self, visitor);
    }
}

/// The ports and statistics of one variant in a component.
struct Outfit {
    ports: RefCell<Option<Box<dyn Any>>>,
    stats: Rc<dyn Any>,
    shown: Rc<dyn Shown>,
}

impl Outfit {
    fn new<P: Ports, S: Stats>(ports: P) -> Self {
        let stats = Rc::new(S::default());
        Outfit { ports: RefCell::new(Some(Box::new(ports))), stats: Rc::<S>::clone(&stats), shown: stats }
    }
}

/// The equipment from the variants in a component's slots, in the order in which the parameters were read.
#[derive(Default)]
pub(super) struct Equipment(Vec<Outfit>);

impl Equipment {
    /// Connects the ports.
    pub(super) fn wire(gear: &[Gear], wiring: &mut Wiring<'_>) -> Self {
        Equipment(gear.iter().map(|gear| (gear.0)(wiring)).collect())
    }

    /// Shows the statistics.
    pub(super) fn visit(&self, visitor: &mut dyn StatVisitor) {
        self.0.iter().for_each(|outfit| outfit.shown.visit(visitor));
    }

    /// The site of the variant with index `place`.
    ///
    /// # Errors
    /// If the ports of the variant were taken already, or the variant has ports and is outside a run.
    pub(super) fn site<P: Ports, S: Stats>(&self, place: usize, name: &str) -> Result<Site<'_, P, S>, Fault> {
        let Some(outfit) = self.0.get(place) else {
            let ports = P::none()
                .ok_or_else(|| Fault::new(format!("`{name}` has ports, and runs in a machine only")))?;
            return Ok(Site { ports, stats: Rc::default(), equipment: self });
        };
        let ports = outfit.ports.take().and_then(|ports| ports.downcast().ok()).map(|ports| *ports);
        let ports = ports.or_else(P::none).ok_or_else(|| {
            Fault::new(format!("`{name}` has ports, and cannot be there several times in one component"))
        })?;
        let stats = Rc::clone(&outfit.stats).downcast().unwrap_or_else(|_| Rc::default());
        Ok(Site { ports, stats, equipment: self })
    }
}
