//! Open families of interchangeable kinds that a parameter chooses by name: scheduling policies, DRAM standards.
//!
//! A family is a trait; its variants register themselves under it, from any crate. A parameter of type
//! [`Choose<dyn Trait>`](Choose) reads `policy: fifo` or `policy: { ppcs: { guard: on } }`.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::diagnostics::Diagnostic;
use super::moved::Moved;
use super::node::{Node, Value};
use super::params::{Field, Parameter, Params, Reader, TypeInfo};

/// One member of the family of trait `F`.
pub trait Variant<F: ?Sized + 'static>: 'static {
    /// The name by which YAML chooses it.
    const NAME: &'static str;
    /// What it does, in a sentence or more.
    const DOC: &'static str;
    /// Its own parameters.
    type Params: Params + Send + Sync + 'static;

    /// Builds one.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the parameters taken together; the user sees it with its place.
    fn build(params: &Self::Params) -> Result<Box<F>, String>;
}

/// Which trait a family belongs to.
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
    /// What it does.
    pub doc: &'static str,
    /// Its own parameters.
    pub fields: fn() -> Vec<Field>,
    /// The names that its parameters had before.
    pub moved: &'static [Moved],
    /// Reads its parameters: a [`ReadVariant`] of the family's trait.
    read: Box<dyn Any + Send + Sync>,
}

type Make<F> = Arc<dyn Fn() -> Result<Box<F>, String> + Send + Sync>;
type ReadVariant<F> = fn(&Node, &mut Reader<'_>) -> Option<Make<F>>;

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
            Some(Arc::new(move || V::build(&params)))
        };
        let info = VariantInfo {
            name: V::NAME,
            doc: V::DOC,
            fields: V::Params::fields,
            moved: V::Params::moved(),
            read: Box::new(read),
        };
        let twin = self.families.entry(FamilyId::of::<F>()).or_default().insert(V::NAME, info);
        assert!(twin.is_none(), "{} has two variants named {}", short_name::<F>(), V::NAME);
    }

    /// The variants of a family by name.
    pub fn variants(&self, family: FamilyId) -> impl Iterator<Item = &VariantInfo> {
        self.families.get(&family).into_iter().flat_map(BTreeMap::values)
    }

    fn variant(&self, family: FamilyId, name: &str) -> Option<&VariantInfo> {
        self.families.get(&family)?.get(name)
    }
}

/// A chosen variant, read and tried, from which any number can be built.
pub struct Choose<F: ?Sized> {
    name: &'static str,
    make: Make<F>,
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
    fn describe() -> TypeInfo {
        let description = format!("the name of a {}", short_name::<F>());
        TypeInfo { description, family: Some(FamilyId::of::<F>()), ..TypeInfo::default() }
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let none = Node { span: node.span, value: Value::Null };
        let (name, span, params) = match &node.value {
            Value::Scalar { text, .. } => (text.as_str(), node.span, &none),
            Value::Map(entries) if entries.len() == 1 => {
                let (key, params) = &entries[0];
                (key.name.as_str(), key.span, params)
            }
            _ => {
                let message = format!("expected {}, found {}", Self::describe().description, node.shape());
                let help = "write `name` or `name: { parameter: value }`";
                reader.report(Diagnostic::new(node.span, message).help(help));
                return None;
            }
        };
        let families = reader.families();
        let family = FamilyId::of::<F>();
        let Some(variant) = families.variant(family, name) else {
            let diagnostic = Diagnostic::new(span, format!("unknown {} `{name}`", short_name::<F>()));
            let valid = families.variants(family).map(|variant| variant.name);
            reader.report(diagnostic.suggest(name, valid));
            return None;
        };
        let read = variant.read.downcast_ref::<ReadVariant<F>>();
        let make = read.and_then(|read| read(params, reader))?;
        if let Err(reason) = make() {
            reader.report(Diagnostic::new(node.span, format!("`{name}`: {reason}")));
            return None;
        }
        Some(Choose { name: variant.name, make })
    }
}

/// The name of a trait without its path.
fn short_name<F: ?Sized>() -> &'static str {
    let name = std::any::type_name::<F>().trim_start_matches("dyn ");
    name.rsplit("::").next().unwrap_or(name)
}
