//! Stated values, read from `experiments/validation/peaks.yaml` and, for machines of extensions, from their `validation/NAME-peaks.yaml`.

use std::collections::BTreeMap;

use counterpoint_simulation::find::{ProjectFiles, Sort};
use serde::{Deserialize, Serialize};

use super::QUANTITIES;

/// The name of the files.
const PEAKS: &str = "peaks";

/// The required agreement of a measured value.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The measurement deviates by this share at most.
    Within(f64),
    /// The measurement is at least this share of the stated value, and at most a twentieth above it.
    AtLeast(f64),
    /// The measurement is between these two shares of the stated value.
    Between(f64, f64),
}

impl Limit {
    /// Whether a measured value is near enough.
    pub fn is_met(self, ours: f64, stated: f64) -> bool {
        let share = ours / stated;
        match self {
            Limit::Within(part) => (share - 1.0).abs() <= part,
            Limit::AtLeast(part) => (part..=1.05).contains(&share),
            Limit::Between(least, most) => (least..=most).contains(&share),
        }
    }
}

/// A difference that is known.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Our measurement.
    pub ours: f64,
    /// The reason.
    pub why: String,
}

impl Known {
    /// Whether a value is unchanged, to a tenth.
    pub fn holds(&self, ours: f64) -> bool {
        (ours / self.ours - 1.0).abs() <= 0.1
    }
}

/// A source's value for some machines.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The quantity, by its name in [`QUANTITIES`].
    pub of: String,
    /// Values by machine, in the quantity's unit.
    pub stated: BTreeMap<String, f64>,
    /// The required agreement.
    pub limit: Limit,
    /// Differences by machine that are known.
    #[serde(default)]
    pub known: BTreeMap<String, Known>,
    /// The source of the values.
    pub source: String,
}

/// A file of stated values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// All stated figures.
    pub figures: Vec<Figure>,
}

impl Stated {
    /// Reads the file of a project, or the built-in one, and those of extensions.
    ///
    /// # Errors
    /// If a file cannot be read or parsed, or names an unmeasured quantity.
    pub fn read(files: &ProjectFiles<'_>) -> Result<Self, String> {
        let own = files.find(Sort::Validation, PEAKS).map_err(|missing| missing.to_string())?;
        let all = files.list(Sort::Validation).into_iter();
        let of_extensions =
            all.filter(|(name, _)| name.strip_suffix(PEAKS).is_some_and(|rest| rest.ends_with('-')));
        let mut figures = Vec::new();
        for path in std::iter::once(own).chain(of_extensions.map(|(_, path)| path)) {
            let text = files.text(&path).map_err(|error| format!("{path}: {error}"))?;
            let stated = Self::parse(&text).map_err(|error| format!("{path}: {error}"))?;
            figures.extend(stated.figures);
        }
        Ok(Stated { figures })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let stated: Stated = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        for figure in &stated.figures {
            if !QUANTITIES.iter().any(|quantity| quantity.name == figure.of) {
                let names: Vec<&str> = QUANTITIES.iter().map(|quantity| quantity.name).collect();
                return Err(format!("nothing measures `{}`; there are {}", figure.of, names.join(", ")));
            }
            if let Some(name) = figure.known.keys().find(|name| !figure.stated.contains_key(*name)) {
                return Err(format!(
                    "`{}` knows a difference of {name}, of which it states nothing",
                    figure.of
                ));
            }
        }
        Ok(stated)
    }

    /// The machines with a stated value, by name.
    pub fn machines(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.figures.iter().flat_map(|figure| figure.stated.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The stated values of a machine.
    pub fn of<'a>(&'a self, machine: &'a str) -> impl Iterator<Item = &'a Figure> {
        self.figures.iter().filter(move |figure| figure.stated.contains_key(machine))
    }

    /// Keeps the stated values of one machine.
    pub fn retain(&mut self, machine: &str) {
        for figure in &mut self.figures {
            figure.stated.retain(|name, _| name == machine);
            figure.known.retain(|name, _| name == machine);
        }
        self.figures.retain(|figure| !figure.stated.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shares_of_what_is_stated() {
        let met = |limit: Limit| [74.0, 76.0, 95.0, 104.0, 111.0].map(|ours| limit.is_met(ours, 100.0));
        assert_eq!(met(Limit::AtLeast(0.75)), [false, true, true, true, false]);
        assert_eq!(met(Limit::Within(0.1)), [false, false, true, true, false]);
        assert_eq!(met(Limit::Between(0.75, 1.2)), [false, true, true, true, true]);
        let known = Known { ours: 50.0, why: "so".into() };
        assert_eq!([44.0, 46.0, 54.0, 56.0].map(|ours| known.holds(ours)), [false, true, true, false]);
    }

    #[test]
    fn what_nothing_measures_is_refused() {
        let text = |of: &str, known: &str| {
            format!(
                "figures:\n  - {{ of: {of}, stated: {{ a: 1 }}, limit: !within 0.1, known: {{ {known} }}, source: s }}\n"
            )
        };
        assert_eq!(Stated::parse(&text("dram read", "")).unwrap().machines(), ["a"]);
        let error = Stated::parse(&text("dram", "")).unwrap_err();
        assert!(error.starts_with("nothing measures `dram`; there are dram read, "), "{error}");
        let error = Stated::parse(&text("dram read", "b: { ours: 1, why: w }")).unwrap_err();
        assert_eq!(error, "`dram read` knows a difference of b, of which it states nothing");
    }
}
