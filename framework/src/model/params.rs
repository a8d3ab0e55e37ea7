//! Parameters of a component, declared once: a struct whose fields have types with units, and whose doc comments,
//! defaults and ranges give the reader, the messages, the documentation and the schema.
//!
//! `derive(Params)` writes the [`Params`] implementation; [`Parameter`] is the interface of a field's type.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::declaration::{Bounds, Field, FieldSpec, TypeInfo};
use super::diagnostics::{Diagnostic, Diagnostics};
use super::families::Families;
use super::form::{FieldForm, Form};
use super::moved::Moved;
use super::node::{FileId, Key, Node, SourceMap, Span, Value};
use super::slots::Gear;
use super::yaml;

/// A set of named parameters, usually derived.
pub trait Params: Sized {
    /// Name of the set in messages, with its article, if the set is more than a map of parameters.
    const CALLED: Option<&'static str> = None;

    /// Forms of the values, if the declaration knows them.
    const FORMS: Option<&'static [FieldForm]> = None;

    /// The declarations, in the order they were written.
    fn fields() -> Vec<Field>;

    /// The names of the parameters.
    fn names() -> Vec<&'static str>;

    /// The names that parameters had before.
    fn moved() -> &'static [Moved] {
        &[]
    }

    /// Reads the parameters of the set from a map that may have others. Reports all problems, and then returns nothing.
    fn take(map: &MapReader<'_>, reader: &mut Reader<'_>) -> Option<Self>;

    /// Reads a map that has the parameters of the set and no others. Reports all problems, and then returns nothing.
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let map = reader.map(node, Self::CALLED, Self::names(), Self::moved())?;
        Self::take(&map, reader)
    }
}

/// No parameters.
impl Params for () {
    const FORMS: Option<&'static [FieldForm]> = Some(&[]);

    fn fields() -> Vec<Field> {
        Vec::new()
    }

    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn take(_map: &MapReader<'_>, _reader: &mut Reader<'_>) -> Option<Self> {
        Some(())
    }
}

/// A type that a parameter can have.
pub trait Parameter: Sized {
    /// Form of the values, for the compiler.
    const FORM: Form = Form::Any;

    /// The type in words and in detail.
    fn describe() -> TypeInfo;

    /// Reads a value; reports a problem with it, and then returns nothing.
    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;

    /// The value when the key is missing and no default is declared: nothing means that the key is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether the value is within the declared range; types without an order ignore the range.
    fn within(&self, _bounds: &Bounds) -> bool {
        true
    }
}

/// The state of reading parameters beside the tree: the families to choose from, and a collector of problems.
pub struct Reader<'a> {
    families: &'a Families,
    diagnostics: &'a mut Diagnostics,
    /// The gear of the chosen variants.
    gear: Vec<Gear>,
}

impl<'a> Reader<'a> {
    /// A reader that reports to `diagnostics`.
    pub fn new(families: &'a Families, diagnostics: &'a mut Diagnostics) -> Self {
        Reader { families, diagnostics, gear: Vec::new() }
    }

    /// Adds the equipment that a variant brings into its component; returns its index.
    pub(super) fn equip(&mut self, gear: Gear) -> usize {
        self.gear.push(gear);
        self.gear.len() - 1
    }

    /// The gear that the chosen variants bring into the component.
    pub fn into_gear(self) -> Vec<Gear> {
        self.gear
    }

    /// The registered families.
    pub fn families(&self) -> &'a Families {
        self.families
    }

    /// Adds a problem.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.report(diagnostic);
    }

    /// Number of problems reported so far: a caller that compares two of them knows whether a reading was
    /// clean.
    pub fn problems(&self) -> usize {
        self.diagnostics.reports()
    }

    /// Reports a name that an enumeration does not have.
    pub fn unknown_choice(&mut self, node: &Node, valid: &[&str]) {
        let diagnostic = match node.as_scalar() {
            Some(text) => Diagnostic::new(node.span, format!("unknown choice `{text}`"))
                .suggest(text, valid.iter().copied()),
            None => Diagnostic::new(node.span, format!("expected a choice, found {}", node.shape()))
                .suggest("", valid.iter().copied()),
        };
        self.report(diagnostic);
    }

    /// Opens a map, named `called` in messages, whose keys must be among `names`; a key in `moved` is reported with its new name.
    pub fn map<'n>(
        &mut self,
        node: &'n Node,
        called: Option<&'static str>,
        names: Vec<&'static str>,
        moved: &[Moved],
    ) -> Option<MapReader<'n>> {
        let Some(entries) = node.as_map() else {
            let found = node.shape();
            self.report(match called {
                Some(called) => {
                    let message = format!("expected {called} as a map, found {found}");
                    Diagnostic::new(node.span, message).help(format!("its keys are: {}", names.join(", ")))
                }
                None => {
                    let message = format!("expected a map of parameters, found {found}");
                    Diagnostic::new(node.span, message).suggest("", names.iter().copied())
                }
            });
            return None;
        };
        for (index, (key, _)) in entries.iter().enumerate() {
            if !names.contains(&key.name.as_str()) {
                let unknown = || {
                    let within = called.map_or_else(String::new, |called| format!(" in {called}"));
                    let message = format!("unknown key `{}`{within}", key.name);
                    Diagnostic::new(key.span, message).suggest(&key.name, names.iter().copied())
                };
                self.report(Moved::report(moved, &key.name, key.span).unwrap_or_else(unknown));
            }
            if let Some((first, _)) = entries[..index].iter().find(|(other, _)| other.name == key.name) {
                let diagnostic = Diagnostic::new(key.span, format!("duplicate key `{}`", key.name));
                self.report(diagnostic.note(first.span, "first given here"));
            }
        }
        Some(MapReader { entries, span: node.span, called })
    }
}

/// An open map of parameters.
pub struct MapReader<'n> {
    entries: &'n [(Key, Node)],
    span: Span,
    called: Option<&'static str>,
}

impl MapReader<'_> {
    /// Reads one parameter: the written value, or its default, within its range.
    pub fn field<T: Parameter>(&self, spec: &FieldSpec, reader: &mut Reader<'_>) -> Option<T> {
        let written = self.entries.iter().find(|(key, _)| key.name == spec.name);
        let Some((_, node)) = written else {
            return self.missing(spec, reader);
        };
        let default = spec.default.filter(|_| node.as_map().is_some());
        let completed = default.and_then(|default| with_rest(node, &T::describe(), default));
        let value = T::from_node(completed.as_ref().unwrap_or(node), reader)?;
        if value.within(&spec.bounds) {
            return Some(value);
        }
        let text = node.as_scalar().map_or_else(String::new, |text| format!("`{text}` for "));
        let help = match (spec.bounds.min, spec.bounds.max) {
            (Some(min), Some(max)) => format!("expected {min} to {max}"),
            (Some(min), None) => format!("expected at least {min}"),
            (_, Some(max)) => format!("expected at most {max}"),
            (None, None) => String::new(),
        };
        reader
            .report(Diagnostic::new(node.span, format!("{text}`{}` is out of range", spec.name)).help(help));
        None
    }

    fn missing<T: Parameter>(&self, spec: &FieldSpec, reader: &mut Reader<'_>) -> Option<T> {
        let absent = T::absent().filter(|_| spec.default.is_none());
        if absent.is_none() {
            if let Some(default) = spec.default.or_else(|| T::describe().when_absent()) {
                return T::from_node(&default_node(default, self.span), reader);
            }
            reader.report(match self.called {
                Some(called) => Diagnostic::new(self.span, format!("{called} needs the key `{}`", spec.name)),
                None => {
                    let help = format!("`{}` is {}", spec.name, T::describe().description);
                    Diagnostic::new(self.span, format!("missing key `{}`", spec.name)).help(help)
                }
            });
        }
        absent
    }
}

/// A nested set that is written in part, with the rest from its default; nothing if `node` is no such set.
pub(crate) fn with_rest(node: &Node, info: &TypeInfo, default: &'static str) -> Option<Node> {
    let Value::Map(written) = &node.value else { return None };
    if info.fields.is_empty() || info.list {
        return None;
    }
    let Value::Map(defaults) = default_node(default, node.span).value else { return None };
    let is_written = |key: &Key| written.iter().any(|(known, _)| known.name == key.name);
    let rest = defaults.into_iter().filter(|(key, _)| !is_written(key));
    let entries = written.iter().cloned().chain(rest).collect();
    Some(Node { span: node.span, value: Value::Map(entries) })
}

/// The defaults that were needed so far: a machine has many instances of few kinds.
static DEFAULTS: Mutex<BTreeMap<&'static str, Node>> = Mutex::new(BTreeMap::new());

/// A default as a tree whose every place is that of the map that leaves it out.
///
/// # Panics
/// If the default is not YAML: it was written by a programmer, not by a user.
pub fn default_node(text: &'static str, span: Span) -> Node {
    let known = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
    let mut node = known.unwrap_or_else(|| {
        let node = parsed(text);
        DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).insert(text, node.clone());
        node
    });
    relocate(&mut node, span);
    node
}

fn parsed(text: &str) -> Node {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let file: FileId = sources.add("default", text);
    let node = yaml::parse(file, &sources, &mut diagnostics);
    assert!(diagnostics.is_empty(), "the default `{text}` is not YAML");
    node.unwrap_or(Node { span: Span::default(), value: Value::Null })
}

fn relocate(node: &mut Node, span: Span) {
    node.span = span;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| relocate(item, span)),
        Value::Map(entries) => entries.iter_mut().for_each(|(key, node)| {
            key.span = span;
            relocate(node, span);
        }),
        Value::Null | Value::Scalar { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Choice, Choose, Params, Report, Variant};
    use crate::time::{Bytes, Cycles};

    trait Policy {
        fn name(&self) -> String;
    }

    struct Fifo;

    impl Policy for Fifo {
        fn name(&self) -> String {
            "fifo".into()
        }
    }

    impl Variant<dyn Policy> for Fifo {
        const NAME: &'static str = "fifo";
        const DOC: &'static str = "First come, first served.";
        type Params = ();

        fn build(_params: &()) -> Result<Box<dyn Policy>, String> {
            Ok(Box::new(Fifo))
        }
    }

    #[derive(Params)]
    struct PaceParams {
        /// Whether the guard is active.
        #[param(default = true)]
        guard: bool,
        /// Slots to look ahead; fewer than eight.
        #[param(default = 4)]
        slots: u32,
    }

    struct Pace(String);

    impl Policy for Pace {
        fn name(&self) -> String {
            self.0.clone()
        }
    }

    impl Variant<dyn Policy> for Pace {
        const NAME: &'static str = "pace";
        const DOC: &'static str = "Places by page.";
        type Params = PaceParams;

        fn build(params: &PaceParams) -> Result<Box<dyn Policy>, String> {
            if params.slots >= 8 {
                return Err("fewer than 8 slots".into());
            }
            Ok(Box::new(Pace(format!("pace guard={} slots={}", params.guard, params.slots))))
        }
    }

    #[derive(Choice, Debug, PartialEq)]
    enum Replacement {
        /// Least recently used.
        Lru,
        /// Not most recently used.
        NotRecent,
    }

    #[derive(Params, Debug, PartialEq)]
    struct Line {
        /// Bytes of a line.
        #[param(default = "128 B", min = "32 B", max = "256 B")]
        size: Bytes,
    }

    #[derive(Params)]
    struct Cache {
        /// Data capacity.
        ///
        /// Shared by all banks.
        #[param(default = "128 KiB", min = "4 KiB")]
        capacity: Bytes,
        /// Ways of a set.
        ways: u32,
        /// From lookup to reply.
        #[param(default = "34 cycles", name = "hit_latency")]
        hit: Cycles,
        /// A line.
        #[param(default = "{}")]
        line: Line,
        /// The victim.
        #[param(default = "not-recent")]
        replacement: Replacement,
        /// The first to go.
        #[param(default = "{ pace: { guard: off } }")]
        policy: Choose<dyn Policy>,
        /// Sizes of the banks.
        #[param(default = "[]", max = "1 MiB")]
        banks: Vec<Bytes>,
        /// A label.
        label: Option<String>,
    }

    fn read(text: &str) -> Result<Cache, String> {
        let mut families = Families::default();
        families.add::<dyn Policy, Fifo>();
        families.add::<dyn Policy, Pace>();
        let mut sources = SourceMap::default();
        let file = sources.add("c.yaml", text);
        let mut diagnostics = Diagnostics::default();
        let node = yaml::parse(file, &sources, &mut diagnostics);
        let mut reader = Reader::new(&families, &mut diagnostics);
        let cache = node.and_then(|node| Cache::read(&node, &mut reader));
        match (cache, diagnostics.is_empty()) {
            (Some(cache), true) => Ok(cache),
            _ => Err(Report::new(&diagnostics, sources).render()),
        }
    }

    #[test]
    fn defaults_serve_where_nothing_is_written() {
        let cache = read("ways: 4").unwrap();
        assert_eq!(cache.capacity, Bytes::new(128 << 10));
        assert_eq!((cache.ways, cache.hit), (4, Cycles::new(34)));
        assert_eq!(cache.line, Line { size: Bytes::new(128) });
        assert_eq!(cache.replacement, Replacement::NotRecent);
        assert_eq!(cache.policy.build().name(), "pace guard=false slots=4");
        assert!(cache.banks.is_empty() && cache.label.is_none());
    }

    #[test]
    fn a_default_has_the_place_of_the_map_that_leaves_it_out() {
        let text = "{ count: 2, lanes: [4, 8] }";
        let places =
            [Span { start: 3, end: 5, ..Span::default() }, Span { start: 7, end: 8, ..Span::default() }];
        for span in places {
            let node = default_node(text, span);
            assert_eq!((node.span, node.as_map().unwrap()[1].0.span), (span, span));
            assert!(
                matches!(&node.as_map().unwrap()[1].1.value, Value::List(items) if items[1].span == span)
            );
        }
        assert_eq!(default_node("", Span::default()).value, Value::Null);
    }

    #[test]
    fn a_nested_set_written_in_part_has_the_rest_from_its_default() {
        #[derive(Params)]
        struct Unit {
            /// Their number.
            count: u32,
            /// Cycles of one.
            cycles: Cycles,
        }
        #[derive(Params)]
        struct Units {
            /// For sums.
            #[param(default = "{ count: 2, cycles: 4 cycles }")]
            sums: Unit,
        }
        for (text, expected) in
            [("{}", (2, 4)), ("sums: { count: 3 }", (3, 4)), ("sums: { cycles: 9 cycles }", (2, 9))]
        {
            let mut sources = SourceMap::default();
            let (file, mut diagnostics) = (sources.add("u.yaml", text), Diagnostics::default());
            let node = yaml::parse(file, &sources, &mut diagnostics).unwrap();
            let families = Families::default();
            let Units { sums } = Units::read(&node, &mut Reader::new(&families, &mut diagnostics)).unwrap();
            assert_eq!((sums.count, sums.cycles), (expected.0, Cycles::new(expected.1)), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = "{ ways: 2, capacity: 4 KiB, hit_latency: 1 cycle, line: { size: 32 B }, replacement: lru,\
                    policy: fifo, banks: [1 KiB, 2 KiB], label: x }";
        let cache = read(text).unwrap();
        assert_eq!(cache.capacity, Bytes::new(4096));
        assert_eq!(cache.line.size, Bytes::new(32));
        assert_eq!(cache.replacement, Replacement::Lru);
        assert_eq!((cache.policy.name(), cache.policy.build().name()), ("fifo", "fifo".to_owned()));
        assert_eq!(cache.banks.len(), 2);
        assert_eq!(cache.label.as_deref(), Some("x"));
    }

    #[test]
    fn all_problems_of_a_map_are_reported_at_once() {
        let text = "capcity: 1 KiB\ncapacity: 1 KiB\nhit_latency: 34\nline: { size: 1 KiB }\nreplacement: lur\n\
                    policy: { pace: { gaurd: on } }\nbanks: [1, 2 MiB]\n";
        let Err(report) = read(text) else { panic!("accepted") };
        for message in [
            "c.yaml:1:1: error: unknown key `capcity`",
            "did you mean `capacity`?",
            "c.yaml:1:1: error: missing key `ways`",
            "c.yaml:2:11: error: `1 KiB` for `capacity` is out of range",
            "expected at least 4 KiB",
            "c.yaml:3:14: error: `34` has no unit",
            "c.yaml:4:15: error: `1 KiB` for `size` is out of range",
            "expected 32 B to 256 B",
            "c.yaml:5:14: error: unknown choice `lur`",
            "c.yaml:6:19: error: unknown key `gaurd`",
            "c.yaml:7:9: error: `1` has no unit",
        ] {
            assert!(report.contains(message), "{message} is missing in\n{report}");
        }
    }

    #[test]
    fn a_variant_can_refuse_its_parameters() {
        let Err(report) = read("ways: 1\npolicy: { pace: { slots: 9 } }") else { panic!("accepted") };
        assert!(report.contains("c.yaml:2:9: error: `pace`: fewer than 8 slots"), "{report}");
        let Err(report) = read("ways: 1\npolicy: paec") else { panic!("accepted") };
        assert!(
            report.contains("there is no policy `paec`") && report.contains("did you mean `pace`?"),
            "{report}"
        );
    }

    #[test]
    fn the_declaration_documents_itself() {
        let fields = Cache::fields();
        assert_eq!(fields[0].doc, "Data capacity.\n\nShared by all banks.");
        assert_eq!((fields[0].default, fields[0].required), (Some("128 KiB"), false));
        assert!(fields[1].required && !fields[7].required);
        assert_eq!(fields[3].kind.fields[0].name, "size");
        let names: Vec<&str> = fields[4].kind.choices.iter().map(|choice| choice.name).collect();
        assert_eq!(names, ["lru", "not-recent"]);
        assert!(fields[5].kind.family.is_some());
    }
}
