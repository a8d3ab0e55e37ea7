//! `include:`: an application that takes over another application and states only its differences.

use counterpoint_framework::model::{Diagnostic, Key, Node, Span, Value, yaml};
use counterpoint_framework::topology::endless;

use super::reader::Reader;
use crate::find::Sort;

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
        let name = self.text(include)?;
        let target = self.locate(Sort::Application, include.span, &name)?;
        chain.push(path.to_owned());
        if let Some(problem) = endless(chain, &target) {
            self.diagnostics.error(include.span, problem);
            return None;
        }
        let mut tree = self.tree(&target, Some(include.span), chain)?;
        self.lay_over(&mut tree, root, "");
        Some(tree)
    }

    /// Overlays `own` on `base`, at a path of keys. Two maps merge key by key, and a map over a list changes the elements at the positions
    /// that its keys name. A null removes the value below it, and any other value replaces it.
    fn lay_over(&mut self, base: &mut Node, own: Node, path: &str) {
        base.span = own.span;
        match (&mut base.value, own.value) {
            (Value::Map(entries), Value::Map(changes)) => self.over_map(entries, changes, path),
            (Value::List(items), Value::Map(changes)) => self.over_list(items, changes, path),
            (value, own) => *value = own,
        }
    }

    fn over_map(&mut self, entries: &mut Vec<(Key, Node)>, changes: Vec<(Key, Node)>, path: &str) {
        for (key, change) in changes {
            let path = below(path, &key);
            match entries.iter_mut().find(|(other, _)| other.name == key.name) {
                Some((_, node)) => self.lay_over(node, change, &path),
                None if change.value == Value::Null => {
                    let names = entries.iter().map(|(key, _)| key.name.as_str());
                    let diagnostic = Diagnostic::new(key.span, format!("there is no `{path}` to take out"));
                    self.diagnostics.report(diagnostic.suggest(&key.name, names));
                }
                None => entries.push((key, change)),
            }
        }
        entries.retain(|(_, node)| node.value != Value::Null);
    }

    fn over_list(&mut self, items: &mut Vec<Node>, changes: Vec<(Key, Node)>, path: &str) {
        let length = items.len();
        for (key, change) in changes {
            match key.name.parse().ok().and_then(|place: usize| items.get_mut(place)) {
                Some(item) => self.lay_over(item, change, &below(path, &key)),
                None => {
                    let message = format!("`{path}` has no element `{}`", key.name);
                    let help = format!("it has {length}, counted from 0");
                    self.diagnostics.report(Diagnostic::new(key.span, message).help(help));
                }
            }
        }
        items.retain(|item| item.value != Value::Null);
    }
}

fn below(path: &str, key: &Key) -> String {
    if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) }
}
