//! JSON Schema of machine and module files, for editors: the same declarations that read a parameter complete and
//! describe it while it is typed.
//!
//! The schema is a guide, not a judge: it accepts what it cannot know (settings by path, arithmetic) and leaves ranges
//! to the loader, whose messages say more.

use serde_json::{Map, Value, json};

use super::machine::Follows;
use super::overlay::{OWN_KEYS, OverlayKey, PATCH_KEYS};
use crate::model::families::Described;
use crate::model::{Catalogue, Families, FaultParams, Field, KindInfo, Params, TypeInfo};

/// The schema of the files that `catalogue` can load.
pub fn schema(catalogue: &Catalogue) -> Value {
    let kinds: Vec<Value> =
        catalogue.kinds().map(|kind| component(kind, &Described::new(&catalogue.families))).collect();
    let any_map = |doc: &str| json!({ "type": "object", "description": doc });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Counterpoint machine, module or overlay",
        "type": "object",
        "required": ["counterpoint"],
        "additionalProperties": false,
        "properties": {
            "counterpoint": { "const": 1, "description": "Version of the format." },
            "machine": text("Name of the machine."),
            "module": text("Name of the module."),
            "overlay": text("Name of the overlay."),
            "description": text("What it is, for people."),
            "follows": {
                "enum": Follows::ALL.map(Follows::as_str),
                "description": "What decides between a machine's parameters where sources differ.",
            },
            "include": {
                "description": "The modules that this one uses: files relative to it, or names such as `gpu`.",
                "anyOf": [text("A file or a name."), { "type": "array", "items": text("A file or a name.") }],
            },
            "parameters": {
                "type": "object",
                "description": "What users of the module may set.",
                "additionalProperties": parameter(),
            },
            "clocks": {
                "type": "object",
                "description": "Frequencies by name.",
                "additionalProperties": text("A frequency, such as 700 MHz."),
            },
            "components": {
                "type": "object",
                "description": "The parts by name.",
                "additionalProperties": { "anyOf": [module(), { "oneOf": kinds }] },
            },
            "links": { "type": "array", "description": "What joins the parts.", "items": link() },
            "faults": {
                "type": "array",
                "description": "What goes wrong on links, for a machine or an overlay.",
                "items": object(&FaultParams::fields(), &Described::new(&catalogue.families)),
            },
            "exports": any_map("Ports of parts that the module offers as its own."),
            "set": any_map("Values for parameters of parts, by path."),
            "moved": {
                "type": "object",
                "description": "Names that are no longer here, each with a sentence that says what to write.",
                "additionalProperties": text("What to write."),
            },
            "replace": described(json!({ "$ref": "#/properties/components" }), doc("replace")),
            "unlink": described(json!({ "$ref": "#/properties/links" }), doc("unlink")),
            "modules": patches("modules"),
            "instances": patches("instances"),
        },
    })
}

/// What an overlay changes of modules, by name or path.
fn patches(name: &str) -> Value {
    let key = |key: &OverlayKey| {
        let same = json!({ "$ref": format!("#/properties/{}", key.name) });
        (key.name.to_owned(), described(same, key.doc))
    };
    let keys: Map<String, Value> = PATCH_KEYS.iter().map(key).collect();
    let patch = json!({ "type": "object", "additionalProperties": false, "properties": keys });
    json!({ "type": "object", "description": doc(name), "additionalProperties": patch })
}

/// What a key of an overlay means.
fn doc(name: &str) -> &'static str {
    OWN_KEYS.iter().chain(&PATCH_KEYS).find(|key| key.name == name).map_or("", |key| key.doc)
}

fn text(doc: &str) -> Value {
    json!({ "type": "string", "description": doc })
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

/// A value of which the schema knows no more than that it is single.
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
    let types = ["count", "number", "switch", "text", "size", "time", "cycles", "frequency", "rate", "any"];
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "type": { "enum": types, "description": "What values it takes." },
            "default": { "description": "The value if none is set." },
            "min": described(scalar(), "Smallest value."),
            "max": described(scalar(), "Largest value."),
            "doc": text("What it means."),
        },
    })
}

fn module() -> Value {
    json!({
        "type": "object",
        "required": ["module"],
        "additionalProperties": false,
        "properties": {
            "module": text("Name of an included module."),
            "count": described(scalar(), "Makes an array of this length."),
            "set": { "type": "object", "description": "Values for its parameters and parts, by path." },
        },
    })
}

fn link() -> Value {
    let map = json!({
        "type": "object",
        "required": ["from", "to"],
        "additionalProperties": false,
        "properties": {
            "from": text("The sending port: component.port."),
            "to": text("The receiving port."),
            "latency": text("The time a message takes: cycles of the sender's clock, or a time."),
            "back": text("The time in the other direction of a socket; the same if not given."),
            "capacity": described(scalar(), "The receiver's buffer, in messages."),
            "bandwidth": text("The rate at which bytes pass."),
            "count": text("How far an index ranges that stands in no array of parts: between two arrays of ports."),
        },
    });
    json!({ "anyOf": [text("from -> to"), map] })
}

fn component(kind: &KindInfo, families: &Described<'_>) -> Value {
    let mut properties = properties(&(kind.fields)(), families);
    properties.insert("type".to_owned(), json!({ "const": kind.name, "description": kind.doc }));
    properties.insert("clock".to_owned(), text("Name of its clock."));
    properties.insert("count".to_owned(), described(scalar(), "Makes an array of this length."));
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
    if kind.open {
        return json!({});
    }
    if kind.list {
        let element = TypeInfo { list: false, ..kind.clone() };
        return json!({ "type": "array", "items": value(&element, families) });
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
            let parameters = within.map_or_else(|| json!({}), |within| object(&(variant.fields)(), &within));
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
        // Arithmetic may stand for the number or for all of it.
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
