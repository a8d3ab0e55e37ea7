//! `sizes:`: values of parameters under one name, so that a small, a default and a published size can be kept together.

use counterpoint_framework::model::{Diagnostic, Key, Node};
use counterpoint_framework::topology::COMMAND_LINE;

use super::parameters::SETTING_PREFIX;
use super::reader::Reader;

/// The word behind `app.` that chooses a size.
const SIZE: &str = "size";

pub(super) type Values<'n> = &'n [(Key, Node)];

pub(super) type Sizes<'n> = Vec<(&'n str, Values<'n>)>;

impl Reader<'_> {
    /// Reads `sizes:`; all names in it must be parameters.
    pub(super) fn read_sizes<'n>(&mut self, node: Option<&'n Node>, parameters: &[(Key, Node)]) -> Sizes<'n> {
        let Some(node) = node else { return Sizes::new() };
        let Some(entries) = node.as_map() else {
            let message = format!("expected sizes as a map, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return Sizes::new();
        };
        if let Some((key, _)) = parameters.iter().find(|(key, _)| key.name == SIZE) {
            let message = "with `sizes`, no parameter can be called `size`";
            self.diagnostics.error(key.span, message);
        }
        let known: Vec<&str> = parameters.iter().map(|(key, _)| key.name.as_str()).collect();
        let mut sizes = Sizes::new();
        for (key, values) in entries {
            let Some(values) = values.as_map() else {
                let message = format!("expected parameters as a map, found {}", values.shape());
                self.diagnostics.error(values.span, message);
                continue;
            };
            for (name, _) in values.iter().filter(|(name, _)| !known.contains(&name.name.as_str())) {
                let message = format!("the application has no parameter `{}`", name.name);
                let diagnostic = Diagnostic::new(name.span, message);
                self.diagnostics.report(diagnostic.suggest(&name.name, known.iter().copied()));
            }
            sizes.push((key.name.as_str(), values));
        }
        sizes
    }

    /// The values of the size that `--set app.size=name` chooses, and the settings that are left.
    pub(super) fn chosen_size<'n, 's>(
        &mut self,
        sizes: &Sizes<'n>,
        sets: &'s [String],
        parameters: &[&str],
    ) -> (Option<(&'n str, Values<'n>)>, Vec<&'s String>) {
        let is_size = |set: &&String| {
            let path = set.split('=').next().unwrap_or_default().trim();
            !parameters.contains(&SIZE) && path.strip_prefix(SETTING_PREFIX).unwrap_or(path) == SIZE
        };
        if sizes.is_empty() {
            return (None, sets.iter().collect());
        }
        let (choices, rest): (Vec<&String>, Vec<&String>) = sets.iter().partition(is_size);
        let Some(choice) = choices.last() else { return (None, rest) };
        let name = choice.split_once('=').map_or("", |(_, name)| name);
        let found = sizes.iter().find(|(size, _)| *size == name.trim()).copied();
        if found.is_none() {
            let file = self.sources.add_argument(COMMAND_LINE, choice);
            let span = self.sources.whole(file).part(choice.len() - name.len(), name.len());
            let diagnostic = Diagnostic::new(span, format!("the application has no size `{}`", name.trim()));
            self.diagnostics.report(diagnostic.suggest(name.trim(), sizes.iter().map(|(size, _)| *size)));
        }
        (found, rest)
    }
}
