//! Second pass, for overlays: the tree of an overlay to its settings, additions and replacements. Checks the
//! places of keys; whether machine and modules have the parts that it names is for `patch`.

use crate::model::{Diagnostics, Key, Node, Span};

use super::keys::{self, names};
use super::module::{ComponentEntry, LinkEntry, ParameterEntry, Parser};
use super::source::Document;

/// An overlay, as it was written.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    /// Name of the overlay.
    pub name: String,
    /// The place of the name.
    pub span: Span,
    /// Settings of the overlay.
    pub set: Vec<(Key, Node)>,
    /// Faults of the overlay.
    pub faults: Vec<Node>,
    /// Changes to the machine's own parts.
    pub machine: Patch,
    /// Changes to every instance of a module, by the module's name.
    pub modules: Vec<(Key, Patch)>,
    /// Changes to one instance of a module, by the instance's path.
    pub instances: Vec<(Key, Patch)>,
}

/// Changes of a machine or a module by an overlay.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    /// Parameters to add.
    pub parameters: Vec<ParameterEntry>,
    /// Clocks to add.
    pub clocks: Vec<(Key, Node)>,
    /// Components to add.
    pub components: Vec<ComponentEntry>,
    /// Links to add.
    pub links: Vec<LinkEntry>,
    /// Exports to add.
    pub exports: Vec<(Key, Node)>,
    /// Components to put in the place of others.
    pub replace: Vec<ComponentEntry>,
    /// Links to take away.
    pub unlink: Vec<LinkEntry>,
}

/// Takes an overlay apart.
pub(super) fn parse(document: &Document, diagnostics: &mut Diagnostics) -> Overlay {
    let mut parser = Parser { diagnostics };
    let keys = keys::OVERLAY.iter().chain(keys::PATCH.iter().filter(|key| key.name != "exports"));
    let node = parser.mended(&document.node, &names(keys));
    Overlay {
        name: document.name.clone(),
        span: document.span,
        set: parser.entries(&node, "set"),
        faults: parser.faults(&node),
        machine: Patch { exports: Vec::new(), ..patch(&node, &mut parser) },
        modules: patches(&node, "modules", &mut parser),
        instances: patches(&node, "instances", &mut parser),
    }
}

/// The changes of each module or instance under a key.
fn patches(node: &Node, name: &str, parser: &mut Parser<'_>) -> Vec<(Key, Patch)> {
    let mut patches = Vec::new();
    for (key, node) in parser.entries(node, name) {
        if node.as_map().is_none() {
            let message = format!("expected a map of what to change, found {}", node.shape());
            parser.diagnostics.error(node.span, message);
        }
        let node = parser.mended(&node, &names(&keys::PATCH));
        patches.push((key, patch(&node, parser)));
    }
    patches
}

fn patch(node: &Node, parser: &mut Parser<'_>) -> Patch {
    Patch {
        parameters: parser.parameters(node),
        clocks: parser.entries(node, "clocks"),
        components: parser.components(node, "components"),
        links: parser.links(node, "links"),
        exports: parser.entries(node, "exports"),
        replace: parser.components(node, "replace"),
        unlink: parser.links(node, "unlink"),
    }
}
