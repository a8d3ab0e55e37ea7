//! Parameters whose names the user chooses, and values that mean something to others.

use super::diagnostics::Diagnostic;
use super::node::{Key, Node};
use super::params::{Parameter, Reader, TypeInfo};

/// A map from names of the user's choice to values, in the order in which they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(Key, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.name.as_str())
    }
}

impl<T: Parameter> Parameter for Named<T> {
    fn describe() -> TypeInfo {
        TypeInfo::open(&format!("a map from names, each to {}", T::describe().description))
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Some(entries) = node.as_map() else {
            let expected = Self::describe().description;
            reader.report(Diagnostic::new(node.span, format!("expected {expected}, found {}", node.shape())));
            return None;
        };
        for (index, (key, _)) in entries.iter().enumerate() {
            if let Some((first, _)) = entries[..index].iter().find(|(other, _)| other.name == key.name) {
                let diagnostic = Diagnostic::new(key.span, format!("duplicate key `{}`", key.name));
                reader.report(diagnostic.note(first.span, "first given here"));
            }
        }
        let values: Vec<Option<(Key, T)>> =
            entries.iter().map(|(key, value)| Some((key.clone(), T::from_node(value, reader)?))).collect();
        values.into_iter().collect::<Option<Vec<_>>>().map(Named)
    }
}

/// A value as it is written, for readers who know its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Raw(pub Node);

impl Parameter for Raw {
    fn describe() -> TypeInfo {
        TypeInfo::open("a value")
    }

    fn from_node(node: &Node, _reader: &mut Reader<'_>) -> Option<Self> {
        Some(Raw(node.clone()))
    }
}
