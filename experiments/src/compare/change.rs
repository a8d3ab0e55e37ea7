//! An entry that is not the same text on both sides.

use std::collections::BTreeMap;

use counterpoint_framework::model::{Node, Value};
use counterpoint_framework::topology::{flow, natural};

/// An entry that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Path of the changed value; `[*]` covers all the indices with the same change.
    pub name: String,
    /// Value in A, if present.
    pub a: Option<String>,
    /// Value in B, if present.
    pub b: Option<String>,
    /// Number of entries covered.
    pub times: usize,
}

/// The entries of a tree by path. A list of single values is one entry, because settings and overlays act together.
pub(super) fn leaves(node: &Node) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(node, String::new(), &mut found);
    found
}

fn collect(node: &Node, path: String, found: &mut BTreeMap<String, String>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, inner) in entries {
                collect(inner, dotted(&path, &key.name), found);
            }
        }
        Value::List(items) if items.iter().any(|item| item.as_scalar().is_none()) => {
            for (index, inner) in items.iter().enumerate() {
                collect(inner, format!("{path}[{index}]"), found);
            }
        }
        Value::Scalar { text, .. } => {
            found.insert(path, text.clone());
        }
        _ => {
            found.insert(path, flow(node));
        }
    }
}

/// Joins a path and the part below it with a dot; either may be empty.
pub(super) fn dotted(path: &str, below: &str) -> String {
    let dot = if path.is_empty() || below.is_empty() { "" } else { "." };
    format!("{path}{dot}{below}")
}

/// The entries that are not the same in both, by path.
pub(super) fn differences(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Change> {
    let mut names: Vec<&String> = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))).collect();
    names.sort_by(|x, y| natural(x, y));
    let differing = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let change = |name: &String| Change {
        name: name.clone(),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
        times: 1,
    };
    differing.map(change).collect()
}

/// Puts the entries of arrays together in which the same has changed, at the place of the first.
pub(super) fn grouped(changes: Vec<Change>) -> Vec<Change> {
    let mut places: BTreeMap<(String, Option<String>, Option<String>), usize> = BTreeMap::new();
    let mut groups: Vec<Change> = Vec::new();
    for change in changes {
        let general = any_index(&change.name);
        let place =
            *places.entry((general.clone(), change.a.clone(), change.b.clone())).or_insert_with(|| {
                groups.push(Change { times: 0, ..change });
                groups.len() - 1
            });
        let group = &mut groups[place];
        group.times += 1;
        if group.times > 1 {
            group.name = general;
        }
    }
    groups
}

/// A path with all its indices left open: `gpu.sm[3]` becomes `gpu.sm[*]`.
pub(super) fn any_index(path: &str) -> String {
    let mut open = String::new();
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('[') {
        open.push_str(before);
        match behind.split_once(']') {
            Some((index, after)) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => {
                open.push_str("[*]");
                rest = after;
            }
            _ => {
                open.push('[');
                rest = behind;
            }
        }
    }
    open + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_left_open_and_names_in_brackets_are_not() {
        assert_eq!(any_index("gpu.sm[12].out[3]"), "gpu.sm[*].out[*]");
        assert_eq!(any_index("gpu.kernels[a#1].x"), "gpu.kernels[a#1].x");
        assert_eq!(any_index("open[1"), "open[1");
    }

    #[test]
    fn what_has_changed_alike_is_one_change() {
        let entries = |values: [(&str, &str); 4]| {
            values.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect()
        };
        let a = entries([("sm[0].l1", "16"), ("sm[1].l1", "16"), ("sm[2].l1", "16"), ("seed", "0")]);
        let b = entries([("sm[0].l1", "32"), ("sm[1].l1", "48"), ("sm[2].l1", "32"), ("seed", "0")]);
        let change = |name: &str, b: &str, times| Change {
            name: name.to_owned(),
            a: Some("16".to_owned()),
            b: Some(b.to_owned()),
            times,
        };
        let found = grouped(differences(&a, &b));
        assert_eq!(found, [change("sm[*].l1", "32", 2), change("sm[1].l1", "48", 1)]);
    }
}
