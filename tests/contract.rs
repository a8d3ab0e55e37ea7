//! The contract of every registered component kind: it is documented, it builds from its defaults, and it
//! refuses values out of range with a message that names the parameter. Further promises of the memory
//! components are in `traffic`.

use std::sync::Arc;

use counterpoint_framework::model::{
    Diagnostics, Field, KindInfo, Reader, Registry, Report, SourceMap, TypeInfo, yaml,
};

/// Everything that a machine can be built of.
fn registry() -> Registry {
    let mut registry = Registry::default();
    counterpoint_hardware::register(&mut registry);
    counterpoint_host_model::register(&mut registry);
    registry
}

fn kinds(registry: &Registry) -> Vec<&KindInfo> {
    let kinds: Vec<_> = registry.catalogue.kinds().collect();
    // A list that came out empty would pass every loop below.
    assert!(kinds.len() >= 12, "only {} kinds are registered", kinds.len());
    kinds
}

/// The refusal of parameters given as YAML, as a user reads it; empty if they are right.
fn refusal(registry: &Registry, kind: &KindInfo, text: &str) -> String {
    let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
    let file = sources.add("params.yaml", text);
    match yaml::parse(file, &sources, &mut diagnostics) {
        Some(node) => _ = (kind.read)(&node, Reader::new(registry.families(), &mut diagnostics)),
        None => panic!("{}: {text} is no YAML", kind.name),
    }
    if diagnostics.is_empty() {
        return String::new();
    }
    Report::new(&diagnostics, sources).render()
}

/// Sees a parameter, and a way to put a value for it into a whole text.
type Visit<'a> = dyn FnMut(&Field, &dyn Fn(&str) -> String) + 'a;

/// Calls `visit` with every parameter, those of nested sets and of variants included. `wrap` puts a value for the
/// parameter into a whole text: nested sets are given with their defaults.
fn each_field(registry: &Registry, fields: &[Field], wrap: &dyn Fn(&str) -> String, visit: &mut Visit<'_>) {
    for field in fields {
        let siblings: Vec<(&str, &str)> = fields
            .iter()
            .filter(|other| other.required && other.name != field.name)
            .filter_map(|other| Some((other.name, other.bounds.min?)))
            .collect();
        let given: String = siblings.iter().map(|(name, value)| format!(", {name}: {value}")).collect();
        let place = |value: &str| wrap(&format!("{{ {}: {value}{given} }}", field.name));
        visit(field, &place);
        let TypeInfo { fields: nested, family, list, .. } = &field.kind;
        if !list {
            each_field(registry, nested, &place, visit);
        }
        for variant in family.iter().flat_map(|&family| registry.families().variants(family)) {
            let place = |value: &str| place(&format!("{{ {}: {value} }}", variant.name));
            each_field(registry, &variant.fields, &place, visit);
        }
    }
}

#[test]
fn everything_is_documented() {
    let registry = registry();
    let (mut fields, mut ports) = (0, 0);
    for kind in kinds(&registry) {
        assert!(!kind.doc.trim().is_empty(), "{} says nothing", kind.name);
        each_field(&registry, &kind.fields, &|text| text.to_owned(), &mut |field, _| {
            fields += 1;
            assert!(!field.doc.trim().is_empty(), "{}: {} says nothing", kind.name, field.name);
            for choice in &field.kind.choices {
                assert!(!choice.doc.trim().is_empty(), "{}: {} says nothing", kind.name, choice.name);
            }
            for variant in field.kind.family.iter().flat_map(|&family| registry.families().variants(family)) {
                assert!(!variant.doc.trim().is_empty(), "{}: {} says nothing", kind.name, variant.name);
            }
        });
        for port in (kind.ports)() {
            ports += 1;
            assert!(!port.doc.trim().is_empty(), "{}: {} says nothing", kind.name, port.name);
        }
    }
    assert!(fields >= 80 && ports >= 25, "{fields} parameters and {ports} ports were looked at");
}

#[test]
fn every_kind_builds_from_its_defaults() {
    let registry = Arc::new(registry());
    for kind in kinds(&registry) {
        assert_eq!(refusal(&registry, kind, "{}"), "", "{}", kind.name);
    }
}

#[test]
fn every_default_is_accepted_when_it_is_written_out() {
    let registry = registry();
    for kind in kinds(&registry) {
        each_field(&registry, &kind.fields, &|text| text.to_owned(), &mut |field, place| {
            if let Some(default) = field.default {
                let text = place(default);
                let report = refusal(&registry, kind, &text);
                match REFUSED.iter().find(|(name, member, _)| kind.name == *name && text.contains(member)) {
                    Some((_, _, reason)) => {
                        assert!(report.contains(reason), "{}: {text}\n{report}", kind.name)
                    }
                    None => assert_eq!(report, "", "{}: {text}", kind.name),
                }
            }
        });
    }
}

/// Members of families that a kind refuses, with the reason that it gives.
const REFUSED: [(&str, &str, &str); 1] =
    [("gpu/sm", "write: { back", "other SMs and copies would not see what stays here")];

/// A bound with its number moved by one: `4 KiB` becomes `3 KiB` or `5 KiB`. There is nothing below zero.
fn moved(bound: &str, by: i64) -> Option<String> {
    let digits = bound.find(|c: char| !c.is_ascii_digit()).unwrap_or(bound.len());
    let number: i64 = bound[..digits].parse().ok()?;
    (number + by >= 0).then(|| format!("{}{}", number + by, &bound[digits..]))
}

#[test]
fn what_is_out_of_range_is_refused_by_name() {
    let registry = registry();
    let mut tried = 0;
    for kind in kinds(&registry) {
        each_field(&registry, &kind.fields, &|text| text.to_owned(), &mut |field, place| {
            let below = field.bounds.min.and_then(|bound| moved(bound, -1));
            let above = field.bounds.max.and_then(|bound| moved(bound, 1));
            for value in below.into_iter().chain(above) {
                let text = place(&value);
                let report = refusal(&registry, kind, &text);
                let expected = format!("`{value}` for `{}` is out of range", field.name);
                assert!(report.contains(&expected), "{}: {text}\n{report}", kind.name);
                tried += 1;
            }
        });
    }
    assert!(tried >= 100, "only {tried} values were tried");
}

#[test]
fn an_unknown_parameter_is_refused_by_name() {
    let registry = registry();
    for kind in kinds(&registry) {
        let report = refusal(&registry, kind, "{ no_such_thing: 1 }");
        assert!(report.contains("unknown key `no_such_thing`"), "{}: {report}", kind.name);
    }
}
