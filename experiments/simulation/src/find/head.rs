//! Head of a file, for lists: its role and its description. The rest of the file need not be valid.

use std::collections::BTreeSet;

use counterpoint_framework::model::{Diagnostics, Node, SourceMap, yaml};

/// Keys that determine the role of a file.
const ROLES: [&str; 5] = ["machine", "module", "overlay", "application", "study"];

/// The beginning of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The sort of thing, such as `module`; nothing if the file does not say.
    pub role: Option<&'static str>,
    /// Description of the file, empty if it has none.
    pub description: String,
    /// References that the application's results are compared with, each once.
    pub references: Vec<String>,
}

impl Head {
    pub(super) fn of(text: &str) -> Self {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let file = sources.add("", text);
        let Some(node) = yaml::parse(file, &sources, &mut diagnostics) else { return Head::default() };
        let description = node.get("description").and_then(Node::as_scalar).unwrap_or_default();
        let checks = node.get("expect").and_then(Node::as_list).unwrap_or_default();
        let references = checks.iter().filter_map(|check| check.get("reference")?.as_scalar());
        let references: BTreeSet<&str> = references.collect();
        Head {
            // A study names a machine, too.
            role: ROLES.into_iter().rev().find(|role| node.get(role).is_some()),
            description: description.split_whitespace().collect::<Vec<_>>().join(" "),
            references: references.into_iter().map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is() {
        let head = Head::of("study: s\ndescription: |\n  Two\n  lines.\nmachine: tiny\n");
        assert_eq!((head.role, head.description.as_str()), (Some("study"), "Two lines."));
        let head = Head::of(
            "application: a\nexpect:\n  - { buffer: c, reference: sum }\n  - { buffer: d, file: x }\n",
        );
        assert_eq!((head.role, head.references), (Some("application"), vec!["sum".to_owned()]));
        let again = "expect: [{ reference: b }, { reference: a }, { reference: b }]\n";
        assert_eq!(Head::of(again).references, ["a", "b"]);
        assert_eq!(Head::of("{ no map"), Head::default());
    }
}
