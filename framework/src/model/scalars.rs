//! The types a parameter can have out of the box: quantities, counts, numbers, switches, texts, and lists, options and
//! nested sets of them.

use std::str::FromStr;

use super::declaration::{Bounds, TypeInfo};
use super::diagnostics::Diagnostic;
use super::form::Form;
use super::node::Node;
use super::params::{Parameter, Params, Reader};
use crate::time::{Bytes, BytesPerSecond, Cycles, Hertz, Latency, Quantity, SimTime};

/// The text of a scalar, or a report with the expectation.
fn scalar<'n>(node: &'n Node, expected: &str, reader: &mut Reader<'_>) -> Option<&'n str> {
    let text = node.as_scalar();
    if text.is_none() {
        reader.report(Diagnostic::new(node.span, format!("expected {expected}, found {}", node.shape())));
    }
    text
}

/// Whether a value is within bounds that its type can parse.
fn ordered<T: PartialOrd + FromStr>(value: &T, bounds: &Bounds) -> bool {
    let parse = |text: &str| {
        let plain = || text.replace('_', "").parse::<T>().ok();
        // A bound that does not parse was written by a programmer, and does not compile.
        text.parse::<T>().ok().or_else(plain).unwrap_or_else(|| panic!("the bound `{text}` does not parse"))
    };
    bounds.min.is_none_or(|min| *value >= parse(min)) && bounds.max.is_none_or(|max| *value <= parse(max))
}

macro_rules! quantities {
    ($($name:ident $expected:literal)*) => {$(
        impl Parameter for $name {
            const FORM: Form = Form::Quantity($name::UNITS, concat!($expected, " is expected, with its unit"));

            fn describe() -> TypeInfo {
                let units = $name::UNITS.iter().map(|unit| unit.0).collect();
                TypeInfo { units, ..TypeInfo::plain($name::DIMENSION) }
            }

            fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
                let text = scalar(node, $name::DIMENSION, reader)?;
                match text.parse() {
                    Ok(value) => Some(value),
                    Err(crate::time::UnitError { message, help }) => {
                        reader.report(Diagnostic::new(node.span, message).help(help));
                        None
                    }
                }
            }

            fn within(&self, bounds: &Bounds) -> bool {
                ordered(self, bounds)
            }
        }
    )*};
}

quantities!(
    Bytes "a size" Cycles "a number of cycles" Hertz "a frequency" BytesPerSecond "a data rate" SimTime "a time"
);

impl Parameter for Latency {
    const FORM: Form = Form::Latency;

    fn describe() -> TypeInfo {
        let units = Cycles::UNITS.iter().chain(SimTime::UNITS).map(|unit| unit.0).collect();
        TypeInfo { units, ..TypeInfo::plain("a latency") }
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let text = scalar(node, "a latency", reader)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(crate::time::UnitError { message, help }) => {
                reader.report(Diagnostic::new(node.span, message).help(help));
                None
            }
        }
    }
}

macro_rules! counts {
    ($($name:ident $expected:literal)*) => {$(
        impl Parameter for $name {
            const FORM: Form = Form::Whole($name::MIN as i128, $name::MAX as i128);

            fn describe() -> TypeInfo {
                TypeInfo::plain($expected)
            }

            fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
                let text = scalar(node, $expected, reader)?;
                let value = text.replace('_', "").parse().ok();
                if value.is_none() {
                    let range = concat!("a plain number from ", $expected);
                    let help = if $expected == "a number" {
                        "expected a plain decimal number".to_owned()
                    } else {
                        format!("expected {}, without a unit", range.replace($expected, &limits($name::MIN, $name::MAX)))
                    };
                    reader.report(Diagnostic::new(node.span, format!("`{text}` is not {}", $expected)).help(help));
                }
                value
            }

            fn within(&self, bounds: &Bounds) -> bool {
                ordered(self, bounds)
            }
        }
    )*};
}

fn limits<T: ToString>(min: T, max: T) -> String {
    format!("{} to {}", min.to_string(), max.to_string())
}

counts!(
    u8 "a count" u16 "a count" u32 "a count" u64 "a count" usize "a count"
    i32 "a whole number" i64 "a whole number"
);

impl Parameter for f64 {
    const FORM: Form = Form::Decimal;

    fn describe() -> TypeInfo {
        TypeInfo::plain("a number")
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let text = scalar(node, "a number", reader)?;
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        if value.is_none() {
            let diagnostic = Diagnostic::new(node.span, format!("`{text}` is not a number"));
            reader.report(diagnostic.help("expected a decimal number, without a unit"));
        }
        value
    }

    fn within(&self, bounds: &Bounds) -> bool {
        ordered(self, bounds)
    }
}

impl Parameter for bool {
    const FORM: Form = Form::Switch;

    fn describe() -> TypeInfo {
        TypeInfo::plain("a switch (on or off)")
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match scalar(node, "a switch (on or off)", reader)? {
            "on" | "true" => Some(true),
            "off" | "false" => Some(false),
            text => {
                let diagnostic = Diagnostic::new(node.span, format!("`{text}` is not a switch"));
                reader.report(diagnostic.help("expected on, off, true or false"));
                None
            }
        }
    }
}

impl Parameter for String {
    const FORM: Form = Form::Text;

    fn describe() -> TypeInfo {
        TypeInfo::plain("a text")
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        scalar(node, "a text", reader).map(str::to_owned)
    }
}

impl<T: Parameter> Parameter for Option<T> {
    const FORM: Form = Form::Optional(&T::FORM);

    fn describe() -> TypeInfo {
        T::describe()
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            super::node::Value::Null => Some(None),
            _ => T::from_node(node, reader).map(Some),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn within(&self, bounds: &Bounds) -> bool {
        self.as_ref().is_none_or(|value| value.within(bounds))
    }
}

impl<T: Parameter> Parameter for Vec<T> {
    const FORM: Form = Form::List(&T::FORM);

    fn describe() -> TypeInfo {
        let element = T::describe();
        let description = format!("a list, each element {}", element.description);
        TypeInfo { description, list: true, ..element }
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Some(items) = node.as_list() else {
            let expected = Self::describe().description;
            reader.report(Diagnostic::new(node.span, format!("expected {expected}, found {}", node.shape())));
            return None;
        };
        // Collected before it is judged: one bad element must not hide the next.
        let values: Vec<Option<T>> = items.iter().map(|item| T::from_node(item, reader)).collect();
        values.into_iter().collect()
    }

    fn within(&self, bounds: &Bounds) -> bool {
        self.iter().all(|value| value.within(bounds))
    }
}

impl<P: Params> Parameter for P {
    const FORM: Form = match P::FORMS {
        Some(fields) => Form::Set(fields),
        None => Form::Any,
    };

    fn describe() -> TypeInfo {
        let description = TypeInfo::plain(P::CALLED.unwrap_or("a map of parameters"));
        TypeInfo { called: P::CALLED, fields: P::fields(), moved: P::moved(), ..description }
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        P::read(node, reader)
    }

    fn absent() -> Option<Self> {
        None
    }
}
