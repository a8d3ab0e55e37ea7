//! Open families of interchangeable kinds that a parameter chooses by name: scheduling policies, DRAM standards.
//!
//! A family is a trait; its variants register themselves under it, from any crate. A parameter of type
//! [`Choose<dyn Trait>`](Choose) or [`Slot<dyn Trait>`](super::Slot) reads `policy: fifo` or `policy: { pace: { guard: on } }`.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::declaration::{Bounds, Field, Fields, TypeInfo};
use super::diagnostics::Diagnostic;
use super::form::Form;
use super::moved::Moved;
use super::node::{Node, Span, Value};
use super::params::{Parameter, Params, Reader, default_node};
use super::ports::{PortInfo, Ports};
use super::slots::{Equipment, Equipped, Gear};
use crate::kernel::Fault;

/// One member of the family of trait `F`.
pub trait Variant<F: ?Sized + 'static>: 'static {
    /// Name by which YAML chooses the variant.
    const NAME: &'static str;
    /// Its effect, in a sentence or more.
    const DOC: &'static str;
    /// Parameters of the variant.
    type Params: Params + Send + Sync + 'static;

    /// Builds the variant.
    ///
    /// # Errors
    /// A sentence about the problem with the combination of parameters; the user sees it with the source location.
    fn build(params: &Self::Params) -> Result<Box<F>, String>;
}

/// The trait of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FamilyId(TypeId);

impl FamilyId {
    /// The family of a trait.
    pub fn of<F: ?Sized + 'static>() -> Self {
        FamilyId(TypeId::of::<F>())
    }
}

/// A registered variant, for documentation.
pub struct VariantInfo {
    /// The name by which YAML chooses it.
    pub name: &'static str,
    /// Effect of the variant.
    pub doc: &'static str,
    /// Parameters of the variant.
    pub fields: Fields,
    /// The names that its parameters had before.
    pub moved: &'static [Moved],
    /// The ports that it brings into its component.
    pub ports: fn() -> Vec<PortInfo>,
    is_equipped: bool,
    /// Reads its parameters: a [`ReadVariant`] of the family's trait.
    read: Box<dyn Any + Send + Sync>,
}

/// Builds a variant.
pub(super) enum Make<F: ?Sized> {
    /// Without anything.
    Plain(Arc<dyn Fn() -> Result<Box<F>, String> + Send + Sync>),
    /// With the equipment that it has brought into its component.
    Equipped(Arc<Equip<F>>),
}

/// Builds a variant with the equipment that it has brought into its component.
type Equip<F> = dyn Fn(&Equipment) -> Result<Box<F>, Fault> + Send + Sync;

impl<F: ?Sized> Clone for Make<F> {
    fn clone(&self) -> Self {
        match self {
            Make::Plain(make) => Make::Plain(Arc::clone(make)),
            Make::Equipped(make) => Make::Equipped(Arc::clone(make)),
        }
    }
}

/// Reads a variant's parameters, and reports problems with them taken together.
type ReadVariant<F> = fn(&Node, &mut Reader<'_>) -> Option<Result<Make<F>, String>>;

/// All registered families.
#[derive(Default)]
pub struct Families {
    families: BTreeMap<FamilyId, BTreeMap<&'static str, VariantInfo>>,
}

impl Families {
    /// Registers a variant.
    ///
    /// # Panics
    /// If the family has a variant of that name.
    pub fn add<F: ?Sized + 'static, V: Variant<F>>(&mut self) {
        let read: ReadVariant<F> = |node, reader| {
            let params = V::Params::read(node, reader)?;
            let checked = V::build(&params).map(|_| ());
            Some(checked.map(|()| Make::Plain(Arc::new(move || V::build(&params)))))
        };
        self.insert::<F>(VariantInfo {
            name: V::NAME,
            doc: V::DOC,
            fields: Fields::new(V::Params::fields),
            moved: V::Params::moved(),
            ports: Vec::new,
            is_equipped: false,
            read: Box::new(read),
        });
    }

    /// Registers a variant with ports or statistics of its own.
    ///
    /// # Panics
    /// If the family has a variant of that name.
    pub fn add_equipped<F: ?Sized + 'static, V: Equipped<F>>(&mut self) {
        let read: ReadVariant<F> = |node, reader| {
            // Before those of its own parameters: the order is that of the tree.
            let place = reader.equip(Gear::of::<V::Ports, V::Stats>());
            let params = V::Params::read(node, reader)?;
            let make = V::check(&params).map(|()| {
                let make = move |equipment: &Equipment| V::build(&params, equipment.site(place, V::NAME)?);
                Make::Equipped(Arc::new(make))
            });
            Some(make)
        };
        self.insert::<F>(VariantInfo {
            name: V::NAME,
            doc: V::DOC,
            fields: Fields::new(V::Params::fields),
            moved: V::Params::moved(),
            ports: V::Ports::info,
            is_equipped: true,
            read: Box::new(read),
        });
    }

    fn insert<F: ?Sized + 'static>(&mut self, info: VariantInfo) {
        let name = info.name;
        let twin = self.families.entry(FamilyId::of::<F>()).or_default().insert(name, info);
        assert!(twin.is_none(), "{} has two variants named {name}", short_name::<F>());
    }

    /// The ports that chosen variants bring into a component with these parameters, whose values may be wrong.
    pub fn ports_of(&self, fields: &[Field], params: &Node) -> Vec<PortInfo> {
        let mut ports = Vec::new();
        self.collect_ports(fields, params, &mut ports);
        ports
    }

    /// The choice of a variant that lacks a port which other variants would bring: the parameter, the source location of the
    /// choice if one was made, the chosen variant, and the variants with the port.
    pub fn lacking(&self, fields: &[Field], params: &Node, port: &str) -> Option<Lacking> {
        fields.iter().filter(|field| !field.kind.list).find_map(|field| {
            let given = params.get(field.name);
            let value = given.cloned().or_else(|| Some(default_node(field.default?, params.span)))?;
            let Some(family) = field.kind.family else {
                return self.lacking(&field.kind.fields, &value, port);
            };
            let none = Node { span: value.span, value: Value::Null };
            let (name, _, params) = chosen(&value, &none)?;
            let brings = |variant: &VariantInfo| (variant.ports)().iter().any(|info| info.name == port);
            let variants: Vec<&'static str> =
                self.variants(family).filter(|variant| brings(variant)).map(|variant| variant.name).collect();
            if variants.is_empty() {
                return self.lacking(&self.variant(family, name)?.fields, params, port);
            }
            let place = given.map(|node| node.span);
            Some(Lacking { parameter: field.name, place, chosen: name.to_owned(), variants })
        })
    }

    fn collect_ports(&self, fields: &[Field], params: &Node, ports: &mut Vec<PortInfo>) {
        for field in fields.iter().filter(|field| !field.kind.list) {
            if field.kind.family.is_none() && field.kind.fields.is_empty() {
                continue;
            }
            let default = || field.default.map(|default| default_node(default, params.span));
            let Some(value) = params.get(field.name).cloned().or_else(default) else { continue };
            let Some(family) = field.kind.family else {
                self.collect_ports(&field.kind.fields, &value, ports);
                continue;
            };
            let none = Node { span: value.span, value: Value::Null };
            if field.kind.every {
                for variant in self.variants(family) {
                    ports.extend((variant.ports)());
                    self.collect_ports(&variant.fields, value.get(variant.name).unwrap_or(&none), ports);
                }
            } else if let Some((name, _, params)) = chosen(&value, &none)
                && let Some(variant) = self.variant(family, name)
            {
                ports.extend((variant.ports)());
                self.collect_ports(&variant.fields, params, ports);
            }
        }
    }

    /// The variants of a family by name.
    pub fn variants(&self, family: FamilyId) -> impl Iterator<Item = &VariantInfo> {
        self.families.get(&family).into_iter().flat_map(BTreeMap::values)
    }

    /// The parameters of a nested set; of a type that has every variant of a family one for each of these, which is the set of its own.
    pub fn fields_of<'k>(&self, kind: &'k TypeInfo) -> Cow<'k, [Field]> {
        let Some(family) = kind.family.filter(|_| kind.every) else { return Cow::Borrowed(&kind.fields) };
        let of_variant = |variant: &VariantInfo| {
            let fields = variant.fields.to_vec();
            let kind = TypeInfo { fields, moved: variant.moved, ..TypeInfo::plain("a map of parameters") };
            let (name, doc) = (variant.name, variant.doc);
            Field { name, doc, kind, default: Some("{}"), bounds: Bounds::default(), required: false }
        };
        Cow::Owned(self.variants(family).map(of_variant).collect())
    }

    fn variant(&self, family: FamilyId, name: &str) -> Option<&VariantInfo> {
        self.families.get(&family)?.get(name)
    }
}

/// The families as a description goes through them, from choice to choice. A family within itself is not described again: its
/// variants may have each other.
#[derive(Clone, Copy)]
pub(crate) struct Described<'a> {
    families: &'a Families,
    enclosing: Option<(FamilyId, &'a Described<'a>)>,
}

impl<'a> Described<'a> {
    pub(crate) fn new(families: &'a Families) -> Self {
        Described { families, enclosing: None }
    }

    /// Within the variants of a family; nothing if it is within them already.
    pub(crate) fn within(&'a self, family: FamilyId) -> Option<Self> {
        let mut enclosing = self.enclosing;
        while let Some((known, outer)) = enclosing {
            if known == family {
                return None;
            }
            enclosing = outer.enclosing;
        }
        Some(Described { families: self.families, enclosing: Some((family, self)) })
    }

    pub(crate) fn families(&self) -> &'a Families {
        self.families
    }

    pub(crate) fn variants(&self, family: FamilyId) -> impl Iterator<Item = &'a VariantInfo> {
        self.families.variants(family)
    }
}

/// A chosen variant, read and tried, from which any number can be built. It has neither ports nor statistics.
pub struct Choose<F: ?Sized> {
    name: &'static str,
    make: Arc<dyn Fn() -> Result<Box<F>, String> + Send + Sync>,
}

impl<F: ?Sized + 'static> Choose<F> {
    /// The name of the chosen variant.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Builds one.
    ///
    /// # Panics
    /// If the variant refuses parameters that it accepted when they were read.
    pub fn build(&self) -> Box<F> {
        match (self.make)() {
            Ok(built) => built,
            Err(reason) => panic!("{} `{}` changed its mind: {reason}", short_name::<F>(), self.name),
        }
    }
}

impl<F: ?Sized> Clone for Choose<F> {
    fn clone(&self) -> Self {
        Choose { name: self.name, make: Arc::clone(&self.make) }
    }
}

impl<F: ?Sized> fmt::Debug for Choose<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Choose").field(&self.name).finish()
    }
}

impl<F: ?Sized + 'static> Parameter for Choose<F> {
    const FORM: Form = Form::Variant;

    fn describe() -> TypeInfo {
        describe::<F>()
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match choose(node, reader, false)? {
            (name, Make::Plain(make)) => Some(Choose { name, make }),
            (_, Make::Equipped(_)) => None,
        }
    }
}

/// A parameter that chooses from the family of a trait, in words.
pub(super) fn describe<F: ?Sized + 'static>() -> TypeInfo {
    let name = spoken::<F>();
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let description = format!("the name of {article} {name}");
    TypeInfo { description, family: Some(FamilyId::of::<F>()), ..TypeInfo::default() }
}

/// Name, place and parameters of the variant that a value chooses; `none` where it gives it no parameters.
fn chosen<'n>(node: &'n Node, none: &'n Node) -> Option<(&'n str, Span, &'n Node)> {
    match &node.value {
        Value::Scalar { text, .. } => Some((text.as_str(), node.span, none)),
        Value::Map(entries) if entries.len() == 1 => {
            let (key, params) = &entries[0];
            Some((key.name.as_str(), key.span, params))
        }
        _ => None,
    }
}

/// A choice of a variant that lacks a port which others bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The parameter.
    pub parameter: &'static str,
    /// The place where it is set, unless it has its default.
    pub place: Option<Span>,
    /// The chosen variant.
    pub chosen: String,
    /// The variants that bring the port.
    pub variants: Vec<&'static str>,
}

/// Reads the choice of a variant, which may be equipped or not.
pub(super) fn choose<F: ?Sized + 'static>(
    node: &Node,
    reader: &mut Reader<'_>,
    may_be_equipped: bool,
) -> Option<(&'static str, Make<F>)> {
    let none = Node { span: node.span, value: Value::Null };
    let Some((name, span, params)) = chosen(node, &none) else {
        let message = format!("expected {}, found {}", describe::<F>().description, node.shape());
        let help = "write `name` or `name: { parameter: value }`";
        reader.report(Diagnostic::new(node.span, message).help(help));
        return None;
    };
    let families = reader.families();
    let family = FamilyId::of::<F>();
    let Some(variant) = families.variant(family, name) else {
        let diagnostic = Diagnostic::new(span, format!("there is no {} `{name}`", spoken::<F>()));
        let valid = families.variants(family).map(|variant| variant.name);
        reader.report(diagnostic.suggest(name, valid));
        return None;
    };
    if variant.is_equipped && !may_be_equipped {
        let message =
            format!("`{name}` has ports or statistics of its own, for which there is no place here");
        reader.report(Diagnostic::new(span, message));
        return None;
    }
    Some((variant.name, read(variant, params, node.span, reader)?))
}

/// Reads every variant of a family, each with the parameters that a map has under its name.
pub(super) fn every<F: ?Sized + 'static>(
    node: &Node,
    reader: &mut Reader<'_>,
) -> Option<Vec<(&'static str, Make<F>)>> {
    let families = reader.families();
    let variants = || families.variants(FamilyId::of::<F>());
    reader.map(node, None, variants().map(|variant| variant.name).collect(), &[])?;
    let none = Node { span: node.span, value: Value::Null };
    // Collected before it is judged: one bad set of parameters must not hide the next.
    let made: Vec<_> = variants()
        .map(|variant| {
            let params = node.get(variant.name).unwrap_or(&none);
            Some((variant.name, read(variant, params, params.span, reader)?))
        })
        .collect();
    made.into_iter().collect()
}

/// Reads a variant's parameters; a problem with them taken together is reported at `span`.
fn read<F: ?Sized + 'static>(
    variant: &VariantInfo,
    params: &Node,
    span: Span,
    reader: &mut Reader<'_>,
) -> Option<Make<F>> {
    match variant.read.downcast_ref::<ReadVariant<F>>()?(params, reader)? {
        Ok(make) => Some(make),
        Err(reason) => {
            reader.report(Diagnostic::new(span, format!("`{}`: {reason}", variant.name)));
            None
        }
    }
}

/// A family as people call it: the words of its trait, `warp policy`.
fn spoken<F: ?Sized>() -> String {
    let mut words = String::new();
    for c in short_name::<F>().chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words.replace("cta ", "CTA ")
}

/// The name of a trait without its path.
pub(super) fn short_name<F: ?Sized>() -> &'static str {
    let name = std::any::type_name::<F>().trim_start_matches("dyn ");
    name.rsplit("::").next().unwrap_or(name)
}
