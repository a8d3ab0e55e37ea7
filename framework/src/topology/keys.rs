//! The keys of machine files: one table for each map, from which the parser, `explain` and the schema read.

#[derive(Clone, Copy)]
pub(super) struct KeyDoc {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub holds: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

const fn key(name: &'static str, holds: &'static str, doc: &'static str) -> KeyDoc {
    KeyDoc { name, holds, doc }
}

pub(super) fn names<'k>(keys: impl IntoIterator<Item = &'k KeyDoc>) -> Vec<&'static str> {
    keys.into_iter().map(|key| key.name).collect()
}

const VERSION: KeyDoc = key("counterpoint", "1", "Version of the format.");
const DESCRIPTION: KeyDoc = key("description", "a text", "A sentence for the reader.");
const PARAMETERS: KeyDoc = key(
    "parameters",
    "a map from names to parameters",
    "Parameters, for `${…}` and for users of the module.",
);
const CLOCKS: KeyDoc =
    key("clocks", "a map from names to frequencies", "Clocks of the parts: `counterpoint explain clock`.");
const COMPONENTS: KeyDoc =
    key("components", "a map from names to parts", "Components of a kind, and modules, by name.");
const LINKS: KeyDoc =
    key("links", "a list of links", "Connections between ports of the parts: `counterpoint explain link`.");
const MOVED: KeyDoc = key(
    "moved",
    "a map from names to texts",
    "Parameters and parts of earlier versions, each with a sentence that says where they are now. A file that still names one \
     gets that sentence as its error.",
);

pub(super) const MACHINE: [KeyDoc; 12] = [
    VERSION,
    key("machine", "a name", "Name of the machine."),
    DESCRIPTION,
    key(
        "follows",
        "`simulator`, `card` or `paper`",
        "The source that decides where sources differ: another simulator's configuration, a card, or a paper.",
    ),
    key(
        "include",
        "a name or a list",
        "Modules that this one uses, and overlays that it builds on: files relative to this one, or names such as `gpu`.",
    ),
    PARAMETERS,
    CLOCKS,
    COMPONENTS,
    LINKS,
    key(
        "set",
        "a map from paths to values",
        "Values for parameters of parts, such as `gpu.sm.warp_scheduler: gto`. They win over the parts' own values and over the \
         overlays that the machine includes.",
    ),
    key("faults", "a list", "Faults of links: `counterpoint explain faults`."),
    MOVED,
];

pub(super) const MODULE: [KeyDoc; 11] = [
    VERSION,
    key("module", "a name", "Name of the module."),
    DESCRIPTION,
    key(
        "include",
        "a name or a list",
        "Modules that this one uses: files relative to this one, or names such as `gpu`.",
    ),
    PARAMETERS,
    CLOCKS,
    COMPONENTS,
    LINKS,
    key("set", "a map from paths to values", "Values for parameters of parts."),
    key(
        "exports",
        "a map from names to ports",
        "Ports of parts that the module offers as its own, such as `bus: front.bus`.",
    ),
    MOVED,
];

/// The keys of a parameter of a module or a machine.
pub(super) const PARAMETER: [KeyDoc; 5] = [
    key(
        "type",
        "a type",
        "`count` (4), `number` (0.5), `switch` (on, off), `text`, `size` (4 KiB), `time` (10 ns), `cycles` (8 cycles), `frequency` \
         (700 MHz), `rate` (16 GB/s), or `any` value.",
    ),
    key("default", "a value", "Value where no user sets one. Without it a user must."),
    key("min", "a value", "Smallest value."),
    key("max", "a value", "Largest value."),
    key("doc", "a text", "Its meaning."),
];

/// The keys of a component; all others are parameters of its kind.
pub(super) const COMPONENT: [KeyDoc; 3] = [
    key("type", "a kind", "Its kind: `counterpoint list kinds`. The other keys are the kind's parameters."),
    key("clock", "a name", "Name of its clock. Without one it runs at 1 GHz."),
    COUNT,
];

const COUNT: KeyDoc =
    key("count", "a number", "Length, for an array: its elements are `name[0]`, `name[1]` and so on.");

pub(super) const USE: [KeyDoc; 4] = [
    key("module", "a name", "Name of an included module."),
    COUNT,
    key(
        "with",
        "a name or a list",
        "Overlays of this part alone, in their order: files relative to this one, or names such as `kepler`. In their paths the module's \
         name stands for the part, so that a file of a whole machine serves a part, too. `set` wins over them.",
    ),
    key(
        "set",
        "a map from paths to values",
        "Values for its parameters, clocks (`clocks: { core: 1 GHz }`) and parts, by path.",
    ),
];

/// The keys of a link that is written as a map.
pub(super) const LINK: [KeyDoc; 7] = [
    key("from", "a port", "The sending port, `part.port`; either end of two sockets."),
    key("to", "a port", "The receiving port."),
    key(
        "latency",
        "cycles or a time",
        "Time from send to arrival, in cycles of the sender's clock or as a time; 1 cycle without it.",
    ),
    key(
        "back",
        "cycles or a time",
        "Latency of the other direction of a socket; without it that of `latency`.",
    ),
    key(
        "capacity",
        "a number",
        "Buffer of the receiver, in messages. The sender has credits for it and for the messages of a round trip.",
    ),
    key(
        "bandwidth",
        "a rate",
        "Rate at which bytes pass, such as `16 GB/s`; without it a message takes the latency alone.",
    ),
    key(
        "count",
        "a number",
        "Range of an index between two arrays of ports, neither of which has a length of its own.",
    ),
];

/// The keys of an overlay, [`PATCH`] aside.
pub(super) const OVERLAY: [KeyDoc; 8] = [
    VERSION,
    key("overlay", "a name", "Name of the overlay."),
    DESCRIPTION,
    key(
        "include",
        "a name or a list",
        "Overlays that this one builds on, which apply before it, each once, and modules that it adds parts of: files relative to this one, or names.",
    ),
    key(
        "set",
        "a map from paths to values",
        "Values for parameters, also for those of components that are added here. Later overlays and `--set` win.",
    ),
    key("faults", "a list", "Faults of links: `counterpoint explain faults`."),
    key(
        "modules",
        "a map from names of modules to maps",
        "Changes in every instance of a module: a map of the keys `parameters` to `unlink`, and `exports`.",
    ),
    key(
        "instances",
        "a map from paths to maps",
        "Changes in one instance of a module, by its path in statistics, such as `gpu[1]`: the same keys. They come after \
         changes in every instance.",
    ),
];

/// The keys that add and replace: in a module, or, at the top level of an overlay, in the machine, which exports nothing.
pub(super) const PATCH: [KeyDoc; 7] = [
    key("parameters", "a map, as in a module", "Parameters to add."),
    key("clocks", "a map from names to frequencies", "Clocks to add."),
    key(
        "components",
        "a map from names to parts",
        "Components and modules to add, by names that are not taken.",
    ),
    key(
        "links",
        "a list of links",
        "Links to add, between parts that were there and parts that are added. They may use the parameters of their module.",
    ),
    key(
        "replace",
        "a map from names to parts",
        "Components in the place of others. A replacement keeps the links of the one before, and its `count` and `clock` where it \
         has none of its own; its parameters are those written here.",
    ),
    key("unlink", "a list of links", "Links to remove, by their two ends as the module writes them."),
    key(
        "exports",
        "a map from names to ports",
        "Ports of parts to offer as the module's own; not for the machine.",
    ),
];
