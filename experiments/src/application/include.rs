//! `include:`: an application that is another one but for what it says itself.

use counterpoint_framework::model::{Diagnostic, Key, Node, Span, Value, yaml};
use counterpoint_framework::topology::beside;

use super::reader::Reader;

impl Reader<'_> {
    /// The tree of a file, over that of the file it includes. `from` is the place that names it, `chain` the files that led here.
    pub(super) fn tree(&mut self, path: &str, from: Option<Span>, chain: &mut Vec<String>) -> Option<Node> {
        let (file, text) = self.text_file(path, from)?;
        let head = Span { file, start: 0, end: 0 };
        let before = self.diagnostics.reports();
        let root =
            if text.is_empty() { None } else { yaml::parse(file, &self.sources, &mut self.diagnostics) };
        let Some(root) = root.filter(|root| matches!(root.value, Value::Map(_))) else {
            if self.diagnostics.reports() == before {
                let help = "begin with `counterpoint: 1` and `application: name`";
                self.diagnostics.report(Diagnostic::new(head, "the file is not a map").help(help));
            }
            return None;
        };
        self.header(&root, head)?;
        let Some(include) = root.get("include") else { return Some(root) };
        let target = beside(path, &self.text(include)?);
        chain.push(path.to_owned());
        if let Some(first) = chain.iter().position(|file| *file == target) {
            let circle = [&chain[first..], &[target]].concat().join(" -> ");
            self.diagnostics.error(include.span, format!("include cycle: {circle}"));
            return None;
        }
        let base = self.tree(&target, Some(include.span), chain)?;
        Some(self.over(base, root, ""))
    }

    /// What `own` says over what `base` says, at a path of keys. Maps go together key by key, and a map over a list changes the elements
    /// whose positions are its keys. Nothing over something takes it out, and whatever else is written takes its place.
    fn over(&mut self, base: Node, own: Node, path: &str) -> Node {
        let value = match (base.value, own.value) {
            (Value::Map(entries), Value::Map(changes)) => Value::Map(self.map_over(entries, changes, path)),
            (Value::List(items), Value::Map(changes)) => Value::List(self.list_over(items, changes, path)),
            (_, own) => own,
        };
        Node { span: own.span, value }
    }

    fn map_over(
        &mut self,
        mut entries: Vec<(Key, Node)>,
        changes: Vec<(Key, Node)>,
        path: &str,
    ) -> Vec<(Key, Node)> {
        for (key, change) in changes {
            let known = entries.iter_mut().find(|(other, _)| other.name == key.name);
            match known {
                Some((_, node)) => {
                    let base = std::mem::replace(node, nothing(key.span));
                    *node = self.over(base, change, &below(path, &key));
                }
                None if change.value == Value::Null => {
                    let message = format!("there is no `{}` to take out", below(path, &key));
                    let names = entries.iter().map(|(key, _)| key.name.as_str());
                    self.diagnostics.report(Diagnostic::new(key.span, message).suggest(&key.name, names));
                }
                None => entries.push((key, change)),
            }
        }
        entries.retain(|(_, node)| node.value != Value::Null);
        entries
    }

    fn list_over(&mut self, mut items: Vec<Node>, changes: Vec<(Key, Node)>, path: &str) -> Vec<Node> {
        let length = items.len();
        for (key, change) in changes {
            let place: Option<usize> = key.name.parse().ok();
            let Some(item) = place.and_then(|place| items.get_mut(place)) else {
                let message = format!("`{path}` has no element `{}`", key.name);
                let help = format!("it has {length}, counted from 0");
                self.diagnostics.report(Diagnostic::new(key.span, message).help(help));
                continue;
            };
            let base = std::mem::replace(item, nothing(key.span));
            *item = self.over(base, change, &below(path, &key));
        }
        items.retain(|item| item.value != Value::Null);
        items
    }
}

fn nothing(span: Span) -> Node {
    Node { span, value: Value::Null }
}

/// The path of a key below a path.
fn below(path: &str, key: &Key) -> String {
    if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) }
}
