//! No rule: all lines are equal.

use counterpoint_framework::model::Variant;

use super::LineRule;

/// The rule `none`.
pub(in crate::memory) struct NoRule;

impl Variant<dyn LineRule> for NoRule {
    const NAME: &'static str = "none";
    const DOC: &'static str = "Tags mean nothing: all lines are equal.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn LineRule>, String> {
        Ok(Box::new(NoRule))
    }
}

impl LineRule for NoRule {
    fn is_idle(&self) -> bool {
        true
    }
}
