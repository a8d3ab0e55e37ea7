//! Values of runs that an extension brings along. Studies compute with them and draw them as they do their own.

use crate::run::RunSummary;

/// A value of a run. An extension registers it: `registry.add(RunValue { .. })`.
#[derive(Clone, Copy, Debug)]
pub struct RunValue {
    /// Unique name of the value, which columns and figures of studies use.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// The value of a run in that unit; `None` if the run has none.
    pub of: fn(&RunSummary) -> Option<f64>,
}
