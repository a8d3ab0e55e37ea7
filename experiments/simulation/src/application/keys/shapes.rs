//! The shapes of values that are read later: single values, and those that have one of several.

use std::marker::PhantomData;

use counterpoint_framework::model::{Bounds, Field, Later, Node, Parameter, Reader, TypeInfo};

use crate::workloads::generate::GENERATORS;

/// A single value, which may be or contain `${…}`.
pub(in super::super) type Single = Later<Scalar>;

/// Shape of a single value.
pub(in super::super) struct Scalar;

impl Parameter for Scalar {
    fn describe() -> TypeInfo {
        TypeInfo::plain("a single value")
    }

    fn from_node(_node: &Node, _reader: &mut Reader<'_>) -> Option<Self> {
        Some(Scalar)
    }
}

/// Shape of a single value or of something else.
pub(in super::super) struct Or<T>(PhantomData<T>);

impl<T: Parameter> Parameter for Or<T> {
    fn describe() -> TypeInfo {
        let all = || vec![Scalar::describe(), T::describe()];
        TypeInfo { either: Some(all), ..TypeInfo::plain("a single value or a map") }
    }

    fn from_node(_node: &Node, _reader: &mut Reader<'_>) -> Option<Self> {
        Some(Or(PhantomData))
    }
}

/// Shape of a value or several.
pub(in super::super) type OneOrMore = Or<Vec<Scalar>>;

/// Declares shapes of values that have one of several.
macro_rules! either {
    ($($(#[$doc:meta])* $name:ident = $description:literal: $($one:ty),+;)+) => {
        $(
            $(#[$doc])*
            pub(in super::super) struct $name;

            impl counterpoint_framework::model::Parameter for $name {
                fn describe() -> counterpoint_framework::model::TypeInfo {
                    use counterpoint_framework::model::{Parameter, TypeInfo};
                    let all = || vec![$(<$one as Parameter>::describe()),+];
                    TypeInfo { either: Some(all), ..TypeInfo::plain($description) }
                }

                fn from_node(
                    _node: &counterpoint_framework::model::Node,
                    _reader: &mut counterpoint_framework::model::Reader<'_>,
                ) -> Option<Self> {
                    Some($name)
                }
            }
        )+
    };
}
pub(super) use either;

/// Shape of a generator with its parameters.
pub(in super::super) struct Rule;

impl Parameter for Rule {
    fn describe() -> TypeInfo {
        let field = |name, doc, kind| Field {
            name,
            doc,
            kind,
            default: None,
            bounds: Bounds::default(),
            required: false,
        };
        let one = |(name, _): &(&'static str, Option<f64>)| field(*name, "", Scalar::describe());
        let fields = GENERATORS.iter().map(|info| {
            let fields = info.parameters.iter().map(one).collect();
            field(info.name, info.doc, TypeInfo { fields, ..TypeInfo::plain("its parameters") })
        });
        TypeInfo { fields: fields.collect(), ..TypeInfo::plain("a generator") }
    }

    fn from_node(_node: &Node, _reader: &mut Reader<'_>) -> Option<Self> {
        Some(Rule)
    }
}
