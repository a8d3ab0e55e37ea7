//! JSON Schema of machine and module files, for editors: the same declarations that read a parameter complete and
//! describe it while it is typed.
//!
//! The schema is a guide, not a judge: it accepts all that it cannot know (settings by path, arithmetic) and
//! leaves ranges to the loader, whose messages say more.

use serde_json::{Map, Value, json};

use super::keys::{COMPONENT, KeyDoc, LINK, MACHINE, MODULE, OVERLAY, PARAMETER, PATCH, USE};
use super::machine::Follows;
use super::parameter_types::{ANY, TYPES};
use crate::model::families::Described;
use crate::model::{Catalogue, Families, FaultParams, Field, KindInfo, Params, TypeInfo};

/// The schema of the files that `catalogue` can load.
pub fn schema(catalogue: &Catalogue) -> Value {
    let kinds: Vec<Value> =
        catalogue.kinds().map(|kind| component(kind, &Described::new(&catalogue.families))).collect();
    let clock = text(
        "A frequency, such as 700 MHz, or in a module's `set` the name of a clock of the module around it.",
    );
    let part = json!({ "anyOf": [module(), { "oneOf": kinds }] });
    let shape = |name: &str| match name {
        "counterpoint" => json!({ "const": 1 }),
        "machine" | "module" | "overlay" | "description" => string(),
        "follows" => json!({ "enum": Follows::ALL.map(Follows::as_str) }),
        "include" => names(),
        "parameters" => map(parameter()),
        "clocks" => map(clock.clone()),
        "components" => map(part.clone()),
        "replace" => json!({ "$ref": "#/properties/components" }),
        "links" => json!({ "type": "array", "items": link() }),
        "unlink" => json!({ "$ref": "#/properties/links" }),
        "faults" => {
            let fault = object(&FaultParams::fields(), &Described::new(&catalogue.families));
            json!({ "type": "array", "items": fault })
        }
        "moved" => map(string()),
        "modules" | "instances" => {
            map(keys(&PATCH, |name| json!({ "$ref": format!("#/properties/{name}") })))
        }
        _ => json!({ "type": "object" }),
    };
    let mut schema = keys(MACHINE.iter().chain(&MODULE).chain(&OVERLAY).chain(&PATCH), shape);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        schema.insert("title".to_owned(), "Counterpoint machine, module or overlay".into());
        schema.insert("required".to_owned(), json!(["counterpoint"]));
    }
    schema
}

/// A map with some keys, where `shape` has the schemas of their values. Of two keys of one name the first counts.
fn keys<'k>(keys: impl IntoIterator<Item = &'k KeyDoc>, shape: impl Fn(&str) -> Value) -> Value {
    let mut properties = Map::new();
    for KeyDoc { name, doc, .. } in keys {
        properties.entry(*name).or_insert_with(|| described(shape(name), doc));
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// A map from names to values of one shape.
fn map(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn text(doc: &str) -> Value {
    described(string(), doc)
}

/// A name or several.
fn names() -> Value {
    json!({ "anyOf": [string(), { "type": "array", "items": string() }] })
}

/// The schema of files that are a map of parameters.
pub fn schema_of_file(title: &str, keys: &[Field]) -> Value {
    let required: Vec<&str> = keys.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties(keys, &Described::new(&Families::default())),
    })
}

/// A value known to the schema only as single.
fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn described(mut schema: Value, doc: &str) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.insert("description".to_owned(), doc.into());
    }
    schema
}

fn parameter() -> Value {
    let types: Vec<&str> = TYPES.iter().map(|(name, _)| *name).chain([ANY]).collect();
    keys(&PARAMETER, |name| match name {
        "type" => json!({ "enum": types }),
        "default" => json!({}),
        "doc" => string(),
        _ => scalar(),
    })
}

fn module() -> Value {
    let mut schema = keys(&USE, |name| match name {
        "set" => json!({ "type": "object" }),
        "with" => names(),
        "module" => string(),
        _ => scalar(),
    });
    schema["required"] = json!(["module"]);
    schema
}

fn link() -> Value {
    let mut map = keys(&LINK, |name| if name == "capacity" { scalar() } else { string() });
    map["required"] = json!(["from", "to"]);
    json!({ "anyOf": [text("from -> to"), map] })
}

fn component(kind: &KindInfo, families: &Described<'_>) -> Value {
    let mut properties = properties(&kind.fields, families);
    for KeyDoc { name, doc, .. } in &COMPONENT {
        let shape = match *name {
            "type" => json!({ "const": kind.name, "description": kind.doc }),
            "clock" => text(doc),
            _ => described(scalar(), doc),
        };
        properties.insert((*name).to_owned(), shape);
    }
    json!({
        "type": "object",
        "title": kind.name,
        "description": kind.doc,
        "required": ["type"],
        "additionalProperties": false,
        "properties": properties,
    })
}

fn properties(fields: &[Field], families: &Described<'_>) -> Map<String, Value> {
    let one = |field: &Field| {
        let mut schema = described(value(&field.kind, families), field.doc);
        if let (Some(map), Some(default)) = (schema.as_object_mut(), field.default) {
            map.insert("default".to_owned(), default.into());
        }
        (field.name.to_owned(), schema)
    };
    fields.iter().map(one).collect()
}

fn value(kind: &TypeInfo, families: &Described<'_>) -> Value {
    if kind.list {
        let element = TypeInfo { list: false, ..kind.clone() };
        return json!({ "type": "array", "items": value(&element, families) });
    }
    if let Some(values) = kind.values {
        return map(value(&values(), families));
    }
    if let Some(either) = kind.either {
        return json!({ "anyOf": either().iter().map(|one| value(one, families)).collect::<Vec<_>>() });
    }
    if kind.open {
        return json!({});
    }
    if kind.every || !kind.fields.is_empty() {
        return object(&families.families().fields_of(kind), families);
    }
    if !kind.choices.is_empty() {
        let choice = |name, doc| json!({ "const": name, "description": doc });
        let choices: Vec<Value> = kind.choices.iter().map(|one| choice(one.name, one.doc)).collect();
        return json!({ "anyOf": choices });
    }
    if let Some(family) = kind.family {
        let mut choices = Vec::new();
        let within = families.within(family);
        for variant in families.variants(family) {
            choices.push(json!({ "const": variant.name, "description": variant.doc }));
            let parameters = within.map_or_else(|| json!({}), |within| object(&variant.fields, &within));
            let parameters = described(parameters, variant.doc);
            choices.push(json!({
                "type": "object",
                "additionalProperties": false,
                "required": [variant.name],
                "properties": { variant.name: parameters },
            }));
        }
        return json!({ "anyOf": choices });
    }
    if !kind.units.is_empty() {
        // Arithmetic may replace the number or all of it.
        let pattern = format!("^[0-9][0-9._]* *({})$|\\$\\{{", kind.units.join("|"));
        return json!({ "type": "string", "pattern": pattern });
    }
    scalar()
}

fn object(fields: &[Field], families: &Described<'_>) -> Value {
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties(fields, families),
    })
}
