//! The types that a module's parameter may have, and whether a value suits one.

use crate::model::{Diagnostic, Node, Parameter, Reader};
use crate::time::{Bytes, BytesPerSecond, Cycles, Hertz, SimTime};

/// The type of a parameter that takes every value.
pub(super) const ANY: &str = "any";

pub(super) const TYPES: [(&str, Check); 9] = [
    ("count", check::<u64>),
    ("number", check::<f64>),
    ("switch", check::<bool>),
    ("text", check::<String>),
    ("size", check::<Bytes>),
    ("time", check::<SimTime>),
    ("cycles", check::<Cycles>),
    ("frequency", check::<Hertz>),
    ("rate", check::<BytesPerSecond>),
];

pub(super) fn check_of(name: &str) -> Option<Check> {
    TYPES.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// Looks at a value, the bounds and the name of its parameter.
pub(super) type Check = fn(&Node, Option<&Node>, Option<&Node>, &str, &mut Reader<'_>) -> bool;

/// Whether a value is of a type, and within bounds that were written as values of the same type.
fn check<T: Parameter + PartialOrd>(
    value: &Node,
    min: Option<&Node>,
    max: Option<&Node>,
    name: &str,
    reader: &mut Reader<'_>,
) -> bool {
    let parsed = T::from_node(value, reader);
    let low = min.and_then(|min| T::from_node(min, reader));
    let high = max.and_then(|max| T::from_node(max, reader));
    let Some(parsed) = parsed else { return false };
    let text = |node: Option<&Node>| node.and_then(Node::as_scalar).unwrap_or_default().to_owned();
    let help = if low.is_some_and(|low| parsed < low) {
        format!("expected at least {}", text(min))
    } else if high.is_some_and(|high| parsed > high) {
        format!("expected at most {}", text(max))
    } else {
        return true;
    };
    let message = format!("`{}` for `{name}` is out of range", text(Some(value)));
    reader.report(Diagnostic::new(value.span, message).help(help));
    false
}
