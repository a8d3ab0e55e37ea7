//! Comparison of two manifests: inputs and outcomes of the runs, apart from the circumstances of their computation.

use counterpoint_framework::model::Node;

use super::change::{Change, any_index, differences, leaves};

/// Differences between two manifests.
#[derive(Clone, Debug)]
pub struct ManifestChanges {
    /// Inputs of the simulation, and its results.
    pub results: Vec<Change>,
    /// Changes in how the run was requested and computed. A result depends on them only through another value that
    /// differs as well: a setting through the machine or a parameter, a version through the statistics.
    pub circumstances: Vec<Change>,
}

/// The entries that no result depends on by itself.
const CIRCUMSTANCES: &[&str] = &[
    "application.file",
    "command_line",
    "inputs[*].file",
    "inputs[*].generated",
    "islands",
    "livelock_after",
    "lookahead",
    "machine.given",
    "overlays",
    "policy",
    "ran_on_threads",
    "runtime",
    "set",
    "spans_left_out",
    "threads",
    "version",
];

/// The hash of all events, which a run has only on request.
const HASH: &str = "hash";

pub(super) fn compare(a: &Node, b: &Node) -> ManifestChanges {
    let circumstance = |change: &Change| {
        let one_sided = change.a.is_none() || change.b.is_none();
        CIRCUMSTANCES.contains(&any_index(&change.name).as_str()) || (change.name == HASH && one_sided)
    };
    let (circumstances, results) = differences(&leaves(a), &leaves(b)).into_iter().partition(circumstance);
    ManifestChanges { results, circumstances }
}
