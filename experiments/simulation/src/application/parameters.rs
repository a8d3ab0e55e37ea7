//! The parameters of an application, and numbers as they are written.

use std::collections::BTreeMap;

use counterpoint_framework::model::Node;
use counterpoint_framework::topology::expression::{Names, Number, Scope};

/// The word with which settings of the command line address the application: `--set app.n=256`.
pub const SETTING_PREFIX: &str = "app.";

/// The size that is not chosen by `--set app.size=name`.
pub(super) const DEFAULT: &str = "default";

/// The values of the application's parameters.
#[derive(Default)]
pub(super) struct Parameters(BTreeMap<String, Number>);

impl Parameters {
    pub(super) fn as_floats(&self) -> BTreeMap<String, f64> {
        let float = |number: &Number| decimal(*number).parse().unwrap_or(f64::NAN);
        self.0.iter().map(|(name, number)| (name.clone(), float(number))).collect()
    }
}

impl Names for Parameters {
    fn value(&self, name: &str) -> Option<Number> {
        self.0.get(name).copied()
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

impl Parameters {
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Gives a name a value, or takes the name away.
    pub(super) fn bind(&mut self, name: &str, value: Option<Number>) {
        match value {
            Some(value) => self.0.insert(name.to_owned(), value),
            None => self.0.remove(name),
        };
    }
}

impl Scope for Parameters {
    /// A parameter is a number and nothing else, so that its uses are reported where they stand.
    fn node(&self, _name: &str) -> Option<&Node> {
        None
    }
}

/// A number as decimal text, exact where it can be and the nearest f64 elsewhere.
pub(super) fn decimal(number: Number) -> String {
    number.to_text().unwrap_or_else(|| {
        let text = number.to_string();
        let (numerator, denominator) = text.split_once('/').unwrap_or((&text, "1"));
        let float = |digits: &str| digits.parse::<f64>().unwrap_or(f64::NAN);
        format!("{:e}", float(numerator) / float(denominator))
    })
}

/// Whether a text means NaN or infinity.
pub(super) fn is_special(text: &str) -> bool {
    matches!(text, "nan" | "inf" | "-inf")
}

/// Reads a floating-point number that C would read too.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let digits = text.strip_suffix(['f', 'F']).unwrap_or(text);
    // Forms that Rust reads beyond numbers (`inf`, `nan`) would be misspelt names here.
    let begins = digits.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    begins.then(|| digits.parse().ok()).flatten()
}
