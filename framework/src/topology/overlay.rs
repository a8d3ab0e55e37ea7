//! Second pass, for overlays: the tree of an overlay to what it sets, adds and replaces. Checks which keys stand where;
//! whether machine and modules have what it speaks of is for `patch`.

use crate::model::{Diagnostics, Key, Node, Span};

use super::module::{ComponentEntry, LinkEntry, ParameterEntry, Parser};
use super::source::Document;

/// An overlay, as it was written.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// What it sets.
    pub set: Vec<(Key, Node)>,
    /// What goes wrong with it.
    pub faults: Vec<Node>,
    /// What it changes of the machine's own parts.
    pub machine: Patch,
    /// What it changes in every instance of a module, by its name.
    pub modules: Vec<(Key, Patch)>,
    /// What it changes in one instance of a module, by its path.
    pub instances: Vec<(Key, Patch)>,
}

/// What an overlay changes of a machine or a module.
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

/// A key of an overlay, for messages, documentation and schema.
pub(super) struct OverlayKey {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: &'static str,
    /// What it means.
    pub doc: &'static str,
}

const fn key(name: &'static str, holds: &'static str, doc: &'static str) -> OverlayKey {
    OverlayKey { name, holds, doc }
}

/// What an overlay says of itself, of settings, and of modules.
pub(super) const OWN_KEYS: [OverlayKey; 7] = [
    key("counterpoint", "1", "Version of the format."),
    key("overlay", "a name", "Name of the overlay."),
    key("description", "a text", "What it is, for people."),
    key(
        "set",
        "a map from paths to values",
        "Values for parameters, also for those of components that are added here. Later overlays and `--set` win.",
    ),
    key("faults", "a list", "What goes wrong on links: `counterpoint explain faults`."),
    key(
        "modules",
        "a map from names of modules to maps",
        "What changes in every instance of a module: a map of the keys `parameters` to `unlink`, and `exports`.",
    ),
    key(
        "instances",
        "a map from paths to maps",
        "What changes in one instance of a module, by its path as statistics write it, such as `gpu[1]`: the same keys. It \
         comes after what changes in every instance.",
    ),
];

/// What an overlay adds and replaces: in a module, or, at its own top level, in the machine, which exports nothing.
pub(super) const PATCH_KEYS: [OverlayKey; 7] = [
    key("parameters", "a map, as in a module", "Parameters to add."),
    key("clocks", "a map from names to frequencies", "Clocks to add."),
    key(
        "components",
        "a map from names to components",
        "Components and modules to add, by names that are not there.",
    ),
    key(
        "links",
        "a list of links",
        "Links to add, between parts that were there and parts that are added. They may use the parameters of their module.",
    ),
    key(
        "replace",
        "a map from names to components",
        "Components in the place of others. One keeps the links of the one before, and its `count` and `clock` where it has \
         none of its own; its parameters are those written here.",
    ),
    key("unlink", "a list of links", "Links to take away, by their two ends as the module writes them."),
    key(
        "exports",
        "a map from names to ports",
        "Ports of parts to offer as the module's own; not for the machine.",
    ),
];

/// Takes an overlay apart.
pub(super) fn parse(document: &Document, diagnostics: &mut Diagnostics) -> Overlay {
    let mut parser = Parser { diagnostics };
    let keys = OWN_KEYS.iter().chain(&PATCH_KEYS).map(|key| key.name).filter(|name| *name != "exports");
    let node = parser.mended(&document.node, &keys.collect::<Vec<_>>());
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

/// What is changed of each module or instance under a key.
fn patches(node: &Node, name: &str, parser: &mut Parser<'_>) -> Vec<(Key, Patch)> {
    let mut patches = Vec::new();
    for (key, node) in parser.entries(node, name) {
        if node.as_map().is_none() {
            let message = format!("expected a map of what to change, found {}", node.shape());
            parser.diagnostics.error(node.span, message);
        }
        let node = parser.mended(&node, &PATCH_KEYS.map(|key| key.name));
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
