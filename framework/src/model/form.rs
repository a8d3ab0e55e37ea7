//! The form of a parameter's values, known when its declaration is compiled.
//!
//! `derive(Params)` compares what a declaration writes (default, smallest and largest value) with the form of the field's
//! type, in constants: a value that no machine could read is a compile error, at the attribute. Everything here is
//! therefore `const`, and a problem is a sentence without parts. Families are open, so that a text cannot be compared with
//! the names of their variants; a declaration that names a variant by its constant is sound once it compiles:
//!
//! ```
//! use counterpoint_framework::model::{Params, Slot, Variant};
//!
//! trait Taste {}
//! struct Sweet;
//! impl Taste for Sweet {}
//!
//! impl Variant<dyn Taste> for Sweet {
//!     const NAME: &'static str = "sweet";
//!     const DOC: &'static str = "Sweet.";
//!     type Params = ();
//!
//!     fn build((): &()) -> Result<Box<dyn Taste>, String> {
//!         Ok(Box::new(Sweet))
//!     }
//! }
//!
//! /// A dish.
//! #[derive(Clone, Params)]
//! struct Dish {
//!     /// How it tastes.
//!     #[param(default = <Sweet as Variant<dyn Taste>>::NAME)]
//!     taste: Slot<dyn Taste>,
//! }
//! ```

use super::declaration::Bounds;
use crate::time::{Cycles, Quantity, SimTime, Unit, base_units, decimal, same};

/// A value as a declaration writes it.
#[derive(Clone, Copy, Debug)]
pub enum Written {
    /// Nothing.
    Null,
    /// A text.
    Scalar(&'static str),
    /// Values in their order.
    List(&'static [Written]),
    /// Values by name.
    Map(&'static [(&'static str, Written)]),
}

/// The values that a type reads.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Whatever its reader takes: it is known when the value is read.
    Any,
    /// A number with one of these units, and the sentence for a problem with it.
    Quantity(&'static [Unit], &'static str),
    /// Cycles or a time.
    Latency,
    /// A whole number of a range.
    Whole(i128, i128),
    /// A number with or without decimals.
    Decimal,
    /// On or off.
    Switch,
    /// Any text.
    Text,
    /// One of the listed names.
    Choice(&'static [&'static str]),
    /// The name of a variant, with parameters or without.
    Variant,
    /// Every variant of a family, its parameters under its name.
    Every,
    /// A value or nothing.
    Optional(&'static Form),
    /// Values of one form.
    List(&'static Form),
    /// A nested set.
    Set(&'static [FieldForm]),
}

/// The form of one field of a set.
#[derive(Clone, Copy, Debug)]
pub struct FieldForm {
    /// As YAML writes it.
    pub name: &'static str,
    /// The form of its values.
    pub form: Form,
    /// Their range.
    pub bounds: Bounds,
    /// Whether it has a default.
    pub has_default: bool,
}

impl FieldForm {
    const fn may_be_left_out(&self) -> bool {
        self.has_default
            || match self.form {
                Form::Any | Form::Every | Form::Optional(_) => true,
                Form::Set(fields) => {
                    let mut at = 0;
                    while at < fields.len() && fields[at].may_be_left_out() {
                        at += 1;
                    }
                    at == fields.len()
                }
                _ => false,
            }
    }
}

/// Problem with a default, if there is one.
pub const fn wrong_default(form: &Form, value: &Written, bounds: &Bounds) -> Option<&'static str> {
    match (form, value) {
        (Form::Any, _) | (Form::Optional(_), Written::Null) => None,
        (Form::Optional(inner), value) => wrong_default(inner, value, bounds),
        (Form::List(inner), Written::List(items)) => {
            let mut at = 0;
            while at < items.len() {
                if let Some(problem) = wrong_default(inner, &items[at], bounds) {
                    return Some(problem);
                }
                at += 1;
            }
            None
        }
        (Form::List(_), _) => Some("a list is expected: `[…]`"),
        (Form::Set(fields), Written::Map(entries)) => wrong_set(fields, entries),
        (Form::Set(_), _) => Some("a map of parameters is expected: `{ … }`"),
        (Form::Every, Written::Map(_)) => None,
        (Form::Every, _) => Some("a map from names of variants is expected: `{ … }`"),
        (Form::Variant, Written::Scalar(_)) => None,
        (Form::Variant, Written::Map(entries)) if entries.len() == 1 => None,
        (Form::Variant, _) => Some("the name of a variant is expected, or `{ name: { … } }`"),
        (form, Written::Scalar(text)) => match wrong_scalar(form, text) {
            None => outside(form, text, bounds),
            problem => problem,
        },
        _ => Some("a single value is expected"),
    }
}

const fn wrong_set(fields: &[FieldForm], entries: &[(&str, Written)]) -> Option<&'static str> {
    let (mut given, mut at) = (0, 0);
    while at < fields.len() {
        let (field, mut entry) = (&fields[at], 0);
        while entry < entries.len() && !same(entries[entry].0.as_bytes(), field.name.as_bytes()) {
            entry += 1;
        }
        if entry < entries.len() {
            given += 1;
            if let Some(problem) = wrong_default(&field.form, &entries[entry].1, &field.bounds) {
                return Some(problem);
            }
        } else if !field.may_be_left_out() {
            return Some("a parameter is missing that has no default");
        }
        at += 1;
    }
    if given < entries.len() { Some("there is no parameter of such a name") } else { None }
}

const fn wrong_scalar(form: &Form, text: &str) -> Option<&'static str> {
    match form {
        Form::Quantity(units, expected) if base_units(text, units).is_err() => Some(*expected),
        Form::Latency
            if base_units(text, Cycles::UNITS).is_err() && base_units(text, SimTime::UNITS).is_err() =>
        {
            Some("cycles or a time are expected, with their unit")
        }
        Form::Whole(least, most) => match measure(form, text) {
            None => Some("a whole number is expected, without a unit"),
            Some((number, _)) if number < *least || number > *most => {
                Some("the type has no room for this number")
            }
            Some(_) => None,
        },
        Form::Decimal if measure(form, text).is_none() => {
            Some("a decimal number is expected, without a unit")
        }
        Form::Switch => match text.as_bytes() {
            b"on" | b"off" | b"true" | b"false" => None,
            _ => Some("on or off is expected"),
        },
        Form::Choice(names) => {
            let mut at = 0;
            while at < names.len() && !same(names[at].as_bytes(), text.as_bytes()) {
                at += 1;
            }
            if at == names.len() { Some("there is no choice of this name") } else { None }
        }
        _ => None,
    }
}

/// Problem with the smallest or the largest value, if there is one.
pub const fn wrong_bound(form: &Form, text: &str) -> Option<&'static str> {
    match form {
        Form::Any => None,
        Form::Optional(inner) | Form::List(inner) => wrong_bound(inner, text),
        Form::Quantity(..) | Form::Whole(..) | Form::Decimal => wrong_scalar(form, text),
        _ => Some("values of this type have no order, so that none is the smallest or the largest"),
    }
}

/// Whether no value is within a range, each of whose ends is sound.
pub const fn wrong_range(form: &Form, bounds: &Bounds) -> Option<&'static str> {
    match (form, bounds.min) {
        (Form::Optional(inner) | Form::List(inner), _) => wrong_range(inner, bounds),
        (form, Some(min)) if outside(form, min, bounds).is_some() => {
            Some("the smallest value is above the largest")
        }
        _ => None,
    }
}

/// Whether a value is out of a range; a value without a measure is not.
const fn outside(form: &Form, text: &str, bounds: &Bounds) -> Option<&'static str> {
    let Some(value) = measure(form, text) else { return None };
    if let Some(min) = bounds.min
        && let Some(min) = measure(form, min)
        && is_less(value, min)
    {
        return Some("the default is below the smallest value");
    }
    if let Some(max) = bounds.max
        && let Some(max) = measure(form, max)
        && is_less(max, value)
    {
        return Some("the default is above the largest value");
    }
    None
}

/// The size of a value: a whole number, and how many of its digits are decimals.
const fn measure(form: &Form, text: &str) -> Option<(i128, u32)> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', ..] => (-1, text.split_at(1).1),
        _ => (1, text),
    };
    match form {
        Form::Quantity(units, _) => match base_units(text, units) {
            Ok(base) => Some((base as i128, 0)),
            Err(_) => None,
        },
        Form::Whole(..) | Form::Decimal => match decimal(digits) {
            Some((number, decimals))
                if number <= i128::MAX as u128 && (decimals == 0 || matches!(form, Form::Decimal)) =>
            {
                Some((sign * number as i128, decimals))
            }
            _ => None,
        },
        _ => None,
    }
}

const fn is_less(a: (i128, u32), b: (i128, u32)) -> bool {
    let most = if a.1 > b.1 { a.1 } else { b.1 };
    match (a.0.checked_mul(10i128.pow(most - a.1)), b.0.checked_mul(10i128.pow(most - b.1))) {
        (Some(a), Some(b)) => a < b,
        // For numbers this large, the one with the larger whole part is larger.
        _ => a.0 / 10i128.pow(a.1) < b.0 / 10i128.pow(b.1),
    }
}

/// Whether a name is a word as YAML's paths have it: small letters, digits and single `-`, a letter first.
pub const fn is_word(name: &str) -> bool {
    is_name(name.as_bytes(), false)
}

/// Whether a name is that of a kind: words joined by `/`.
pub const fn is_kind(name: &str) -> bool {
    is_name(name.as_bytes(), true)
}

const fn is_name(name: &[u8], several: bool) -> bool {
    let (mut at, mut before) = (0, b'/');
    while at < name.len() {
        let fits = match name[at] {
            b'a'..=b'z' => true,
            b'0'..=b'9' => before != b'/',
            b'-' => before != b'/' && before != b'-',
            b'/' => several && before != b'/' && before != b'-',
            _ => false,
        };
        if !fits {
            return false;
        }
        before = name[at];
        at += 1;
    }
    before != b'/' && before != b'-'
}

/// Declarations that do not compile, each with one that does.
#[cfg(doctest)]
macro_rules! refused {
    ($($field:literal, $wrong:literal, $right:literal;)*) => {
        $(
            #[doc = concat!("```compile_fail\n", refused!(@ $field, $wrong), "\n```\n")]
            #[doc = concat!("```\n", refused!(@ $field, $right), "\n```\n")]
        )*
        mod declarations {}
    };
    (@ $field:literal, $attribute:literal) => {
        concat!(
            "use counterpoint_framework::{model::{Choice, Params}, time::{Bytes, Cycles, Hertz}};\n",
            "#[derive(Choice)] enum Order { Next, Same }\n",
            "/** Two. */ #[derive(Params)] struct Pair { /** One. */ first: u32, /** Other. */ second: u32 }\n",
            "/** Some. */ #[derive(Params)] struct Declared { /** One. */ #[param(", $attribute, ")] ", $field, " }",
        )
    };
}

#[cfg(doctest)]
refused! {
    "latency: Cycles", r#"default = "1 KB""#, r#"default = "12 cycles""#;
    "queue: u8", "default = 256", "default = 255";
    "size: Bytes", r#"default = "2 KiB", min = "4 KiB""#, r#"default = "4 KiB", min = "4 KiB""#;
    "size: Bytes", r#"min = "2 MiB", max = "1 KiB""#, r#"min = "1 KiB", max = "2 MiB""#;
    "clock: Hertz", r#"min = "1 ms""#, r#"min = "1 MHz""#;
    "warm: bool", r#"max = "on""#, r#"default = "on""#;
    "order: Order", r#"default = "nxet""#, r#"default = "next""#;
    "pair: Option<Pair>", r#"default = "{ first: 1, third: 2 }""#, r#"default = "{ first: 1, second: 2 }""#;
    "sizes: Vec<u32>", r#"default = "[1, 2""#, r#"default = "[1, 2]""#;
    "ways: u32", "minimum = 1", "min = 1";
    "ways: u32", "default = 4, default = 8", "default = 4";
    "ways: u32", r#"name = "the ways""#, r#"name = "the_ways""#;
}

/// A variant whose name is no word, and one whose name is.
#[cfg(doctest)]
macro_rules! named {
    ($($head:literal, $name:literal;)*) => {
        $(#[doc = concat!(
            $head, "\nuse counterpoint_framework::model::{Registry, Variant};\ntrait Taste {}\nstruct Sweet;\n",
            "impl Variant<dyn Taste> for Sweet {\n const NAME: &'static str = \"", $name, "\";\n",
            " const DOC: &'static str = \"Sweet.\";\n type Params = ();\n",
            " fn build((): &()) -> Result<Box<dyn Taste>, String> { Err(String::new()) }\n}\n",
            "Registry::default().variant::<dyn Taste, Sweet>();\n```\n",
        )])*
        mod names {}
    };
}

#[cfg(doctest)]
named! {
    "```compile_fail", "Very Sweet";
    "```", "very-sweet";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Choice, Parameter, Params};
    use crate::time::{Bytes, Hertz, Latency};

    const NONE: Bounds = Bounds { min: None, max: None };

    fn of<T: Parameter>(text: &'static str) -> Option<&'static str> {
        wrong_default(&T::FORM, &Written::Scalar(text), &NONE)
    }

    #[derive(Choice)]
    enum Order {
        /// The next.
        Next,
        /// The same.
        Same,
    }

    #[derive(Params)]
    #[expect(dead_code, reason = "none is read")]
    struct Pair {
        /// One.
        #[param(max = "4")]
        first: u32,
        /// The other.
        #[param(default = "next")]
        second: Order,
    }

    #[test]
    fn a_scalar_is_one_that_its_type_reads() {
        for problem in [
            of::<Bytes>("4 KiB"),
            of::<Cycles>("1 cycle"),
            of::<Hertz>("1.5 GHz"),
            of::<Latency>("8 cycles"),
            of::<Latency>("8 ns"),
            of::<u8>("255"),
            of::<i32>("-7"),
            of::<u64>("18_446_744_073_709_551_615"),
            of::<f64>("-0.25"),
            of::<bool>("off"),
            of::<String>("any text"),
            of::<Order>("same"),
            of::<Option<u32>>("3"),
        ] {
            assert_eq!(problem, None);
        }
        let size = Some("a size is expected, with its unit");
        for text in ["4", "4 cycles", "0.5 B", "99999999999 TiB", "-4 KiB", ""] {
            assert_eq!(of::<Bytes>(text), size, "{text}");
        }
        assert_eq!(of::<Cycles>("1 KB"), Some("a number of cycles is expected, with its unit"));
        assert_eq!(of::<Latency>("8"), Some("cycles or a time are expected, with their unit"));
        let (whole, room) =
            ("a whole number is expected, without a unit", "the type has no room for this number");
        assert_eq!(
            (of::<u32>("0.5"), of::<u32>("4 B"), of::<u32>("")),
            (Some(whole), Some(whole), Some(whole))
        );
        assert_eq!(
            (of::<u8>("256"), of::<u32>("-1"), of::<Option<u8>>("256")),
            (Some(room), Some(room), Some(room))
        );
        assert_eq!(of::<f64>("much"), Some("a decimal number is expected, without a unit"));
        assert_eq!(of::<bool>("yes"), Some("on or off is expected"));
        assert_eq!(of::<Order>("nxet"), Some("there is no choice of this name"));
        assert_eq!(of::<Vec<u32>>("3"), Some("a list is expected: `[…]`"));
        assert_eq!(of::<Pair>("3"), Some("a map of parameters is expected: `{ … }`"));
    }

    #[test]
    fn parts_of_lists_and_sets_are_looked_at() {
        let list = |items| wrong_default(&Vec::<Bytes>::FORM, &Written::List(items), &NONE);
        assert_eq!(list(&[Written::Scalar("1 B"), Written::Scalar("1 KiB")]), None);
        assert!(list(&[Written::Scalar("1 B"), Written::Scalar("1")]).is_some());
        let set = |entries| wrong_default(&Pair::FORM, &Written::Map(entries), &NONE);
        const FIRST: (&str, Written) = ("first", Written::Scalar("4"));
        assert_eq!(set(&[FIRST]), None);
        assert_eq!(set(&[FIRST, ("second", Written::Scalar("same"))]), None);
        assert_eq!(
            set(&[FIRST, ("second", Written::Scalar("smae"))]),
            Some("there is no choice of this name")
        );
        assert_eq!(set(&[FIRST, ("third", Written::Null)]), Some("there is no parameter of such a name"));
        assert_eq!(set(&[]), Some("a parameter is missing that has no default"));
        let five = set(&[("first", Written::Scalar("5"))]);
        assert_eq!(five, Some("the default is above the largest value"));
    }

    #[test]
    fn ranges_have_an_order_and_a_value() {
        let range = |form: &Form, min, max| wrong_range(form, &Bounds { min: Some(min), max: Some(max) });
        assert_eq!(range(&Bytes::FORM, "1 KiB", "1024 B"), None);
        assert!(range(&Bytes::FORM, "1 KiB", "1 KB").is_some());
        assert_eq!(range(&f64::FORM, "-0.5", "0.25"), None);
        assert!(range(&f64::FORM, "0.30", "0.299").is_some());
        assert!(range(&Vec::<u64>::FORM, "18446744073709551615", "0").is_some());
        assert_eq!(wrong_bound(&Option::<u32>::FORM, "7"), None);
        assert!(wrong_bound(&u32::FORM, "7 B").is_some());
        for form in [bool::FORM, String::FORM, Latency::FORM, Pair::FORM, Order::FORM] {
            assert!(wrong_bound(&form, "1").is_some());
        }
        let half = Bounds { min: Some("0.5"), max: None };
        let of = |text| wrong_default(&f64::FORM, &Written::Scalar(text), &half);
        assert_eq!((of("0.50"), of("0.49")), (None, Some("the default is below the smallest value")));
    }

    #[test]
    fn names_are_words() {
        for name in ["fifo", "fixed-split", "l2", "probe-1"] {
            assert!(is_word(name) && is_kind(name) && is_kind(&format!("gpu/{name}")), "{name}");
        }
        for name in ["", "Fifo", "fixed_split", "-a", "a-", "a--b", "1a", "a b", "/a", "a/", "a//b", "a/-b"] {
            assert!(!is_word(name) && !is_kind(name), "{name}");
        }
    }
}
