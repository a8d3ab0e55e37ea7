//! Parameters whose names the user chooses, and values with a meaning outside their component.

use std::marker::PhantomData;
use std::ops::Deref;

use super::declaration::TypeInfo;
use super::diagnostics::Diagnostic;
use super::node::{Key, Node};
use super::params::{Parameter, Reader};

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
        let info = TypeInfo::open(&format!("a map from names, each to {}", T::describe().description));
        TypeInfo { values: Some(T::describe), ..info }
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

/// A value of a type as it is written. It is read later, when the names in it are known; the type gives its valid forms.
pub struct Later<T>(Node, PhantomData<fn() -> T>);

impl<T> Deref for Later<T> {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.0
    }
}

impl<T: Parameter> Parameter for Later<T> {
    fn describe() -> TypeInfo {
        T::describe()
    }

    fn from_node(node: &Node, _reader: &mut Reader<'_>) -> Option<Self> {
        Some(Later(node.clone(), PhantomData))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Diagnostics, Families, Params, Report, SourceMap, yaml};

    #[derive(Params)]
    struct Place {
        /// Where it begins.
        start: Option<Later<u32>>,
    }

    #[derive(Params)]
    #[params(called = "a move")]
    struct Move {
        /// What is moved.
        what: Later<String>,
        #[param(flatten)]
        place: Place,
        /// What comes with it.
        with: Option<Later<Named<Place>>>,
        /// What is left out as a whole has no value, although all in it may be left out.
        rest: Option<Place>,
    }

    fn read(text: &str) -> Result<Move, String> {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let file = sources.add("m.yaml", text);
        let node = yaml::parse(file, &sources, &mut diagnostics).unwrap();
        let found = Move::read(&node, &mut Reader::new(&Families::default(), &mut diagnostics));
        found.ok_or_else(|| Report::new(&diagnostics, sources).render())
    }

    #[test]
    fn a_set_stands_beside_other_keys_and_values_are_read_later() {
        let found = read("{ start: '${n}', what: x, with: { a: [] } }").unwrap();
        assert_eq!(
            (found.what.as_scalar(), found.place.start.unwrap().as_scalar()),
            (Some("x"), Some("${n}"))
        );
        assert!(found.with.unwrap().get("a").is_some() && found.rest.is_none());
        assert_eq!(Move::names(), ["what", "with", "rest", "start"]);
        let fields = Move::fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        assert_eq!(names, ["what", "start", "with", "rest"]);
        let within = fields[2].kind.values.unwrap()();
        assert_eq!((within.called, within.fields[0].name), (None, "start"));
        assert_eq!(Move::describe().called, Some("a move"));
    }

    #[test]
    fn messages_call_a_set_by_its_name() {
        let Err(report) = read("{ begin: 1 }") else { panic!("accepted") };
        assert!(report.contains("unknown key `begin` in a move"), "{report}");
        assert!(report.contains("a move needs the key `what`"), "{report}");
        let Err(report) = read("[]") else { panic!("accepted") };
        assert!(
            report.contains("expected a move as a map") && report.contains("its keys are: what"),
            "{report}"
        );
    }
}
