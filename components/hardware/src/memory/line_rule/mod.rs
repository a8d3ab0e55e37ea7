//! Rules of the L2 for lines that carry the tag of an extension: which lines stay longer, and which are dropped.
//!
//! A line has the tag of the request that wrote it last. A rule is one file and one line in the list, or is part of an
//! extension, with a port through which it learns which data is dead.

counterpoint_framework::variants! {
    pub(crate) fn register, of dyn LineRule;

    pub(super) mod none::NoRule;
}

use counterpoint_framework::kernel::Source;
use counterpoint_protocols::extra::LineTag;

/// Rule by which an L2 slice treats lines with tags.
pub trait LineRule {
    /// Whether the rule reads no tag, so that the slice does without it.
    fn is_idle(&self) -> bool {
        false
    }

    /// Whether a line that was written with this tag is a victim only after all others.
    fn protects(&self, _tag: LineTag) -> bool {
        false
    }

    /// A tag whose lines nobody will read any more: the slice writes them back and drops them, one a cycle beside the requests.
    /// It asks in every step until it is given none.
    fn dropped(&mut self) -> Option<LineTag> {
        None
    }

    /// Inputs of the rule's ports that wake the slice.
    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        Vec::new()
    }
}
