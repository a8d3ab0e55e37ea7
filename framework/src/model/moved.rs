//! Former names of parameters: the message for a file that still uses one gives the new name.

use super::diagnostics::Diagnostic;
use super::node::Span;

/// A parameter that is no longer under its former name: `#[params(moved("labels", "`labels: flush` is now `tags: all`"))]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The name that it had.
    pub name: &'static str,
    /// A sentence with the remedy.
    pub hint: &'static str,
}

impl Moved {
    /// The report on a former name at a source location; `None` if `name` is not a former name.
    pub fn report(list: &[Moved], name: &str, span: Span) -> Option<Diagnostic> {
        let moved = list.iter().find(|moved| moved.name == name)?;
        Some(has_moved(name, span, moved.hint))
    }
}

/// The report on a former name, with the sentence about the remedy.
pub(crate) fn has_moved(name: &str, span: Span, hint: &str) -> Diagnostic {
    Diagnostic::new(span, format!("`{name}` has moved")).help(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Params;

    /// Two of these parameters have had other names.
    #[derive(Params)]
    #[params(moved("labels", "write `tags`"), moved("size", "write `capacity`"))]
    #[params(moved("way", "write `ways`"))]
    struct Cache {
        /// The ways kept.
        #[param(default = 4)]
        _ways: u32,
    }

    #[test]
    fn a_former_name_says_what_to_write() {
        let report = |name| Moved::report(Cache::moved(), name, Span::default());
        let names: Vec<&str> = Cache::moved().iter().map(|moved| moved.name).collect();
        assert_eq!(names, ["labels", "size", "way"]);
        let problem = report("size").unwrap();
        assert_eq!(problem.message, "`size` has moved");
        assert_eq!(problem.help.as_deref(), Some("write `capacity`"));
        assert!(report("sizes").is_none() && report("ways").is_none());
        assert!(<()>::moved().is_empty());
    }
}
