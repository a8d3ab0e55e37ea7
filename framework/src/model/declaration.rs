//! Declaration of a parameter: its type, its default and its range, for messages, documentation and schemas. Values are not here.

use std::sync::LazyLock;

use super::families::FamilyId;
use super::moved::Moved;
use super::params::Parameter;

/// A parameter's type, for messages and documentation.
#[derive(Clone, Debug, Default)]
pub struct TypeInfo {
    /// The type with its article: "a size".
    pub description: String,
    /// The units it may be written in, smallest first.
    pub units: Vec<&'static str>,
    /// Name of a nested set in messages, if it has one.
    pub called: Option<&'static str>,
    /// The parameters of a nested set.
    pub fields: Vec<Field>,
    /// The former names of parameters of a nested set.
    pub moved: &'static [Moved],
    /// The names of an enumeration.
    pub choices: Vec<ChoiceInfo>,
    /// Whether the value may have any shape.
    pub open: bool,
    /// The type of each value of a map from names of the user's choice.
    pub values: Option<fn() -> TypeInfo>,
    /// The alternative types, of which the value has one. They are resolved on demand, since they may contain this type.
    pub either: Option<fn() -> Vec<TypeInfo>>,
    /// The open family of kinds from which one is chosen by name.
    pub family: Option<FamilyId>,
    /// Whether the value holds all variants of the family, each with its parameters under its name; none is chosen.
    pub every: bool,
    /// Whether it is a list of the described type.
    pub list: bool,
}

impl TypeInfo {
    /// A type of any shape, whose parts the schema does not know.
    pub fn open(description: &str) -> Self {
        TypeInfo { open: true, ..TypeInfo::plain(description) }
    }

    /// A type for which the description says everything.
    pub fn plain(description: &str) -> Self {
        TypeInfo { description: description.to_owned(), ..TypeInfo::default() }
    }
}

impl TypeInfo {
    /// A nested set without required parameters may be left out as a whole.
    pub(super) fn when_absent(&self) -> Option<&'static str> {
        let optional = !self.fields.is_empty() && self.fields.iter().all(|field| !field.required);
        ((optional || self.every) && !self.list).then_some("{}")
    }
}

/// One name of an enumeration.
#[derive(Clone, Debug)]
pub struct ChoiceInfo {
    /// As YAML writes it.
    pub name: &'static str,
    /// Doc comment.
    pub doc: &'static str,
}

/// The declared range of a parameter, as texts that its type reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Smallest value allowed.
    pub min: Option<&'static str>,
    /// Largest value allowed.
    pub max: Option<&'static str>,
}

/// The declaration of one parameter besides its type.
#[derive(Clone, Copy, Debug)]
pub struct FieldSpec {
    /// As YAML writes it.
    pub name: &'static str,
    /// Doc comment.
    pub doc: &'static str,
    /// The value when the key is missing, as YAML.
    pub default: Option<&'static str>,
    /// The range.
    pub bounds: Bounds,
}

/// The parameters of a kind or a variant, described when they are first wanted: a machine uses few of all kinds.
pub type Fields = LazyLock<Vec<Field>>;

/// One declared parameter.
#[derive(Clone, Debug)]
pub struct Field {
    /// As YAML writes it.
    pub name: &'static str,
    /// Doc comment.
    pub doc: &'static str,
    /// Its type.
    pub kind: TypeInfo,
    /// The value when the key is missing, as YAML.
    pub default: Option<&'static str>,
    /// The range.
    pub bounds: Bounds,
    /// Whether the key must be given.
    pub required: bool,
}

impl Field {
    /// The declaration of a parameter of type `T`.
    pub fn of<T: Parameter>(spec: &FieldSpec) -> Field {
        let kind = T::describe();
        let is_optional = T::absent().is_some();
        let default = spec.default.or_else(|| kind.when_absent().filter(|_| !is_optional));
        let required = default.is_none() && !is_optional;
        Field { name: spec.name, doc: spec.doc, kind, default, bounds: spec.bounds, required }
    }
}
