//! The JSON Schema of application files, made of the table of keys.

use serde_json::{Map, Value, json};

use super::keys::Shape::{
    Arguments, Counted, Generator, List, ListOr, Named, Names, NamesOr, One, OneOrMoreOr, Single, SingleOr,
    Sizes, Steps, Synthetic, Tables, ValueOrList,
};
use super::keys::{APPLICATION, ELEMENT, Key, SECTIONS, Section, Shape, TYPED};

/// The JSON Schema of application files, for editors.
pub fn schema() -> Value {
    let sections = SECTIONS.map(|section| (place(section), object(section)));
    let mut root = object(&APPLICATION);
    if let Some(root) = root.as_object_mut() {
        root.insert("type".to_owned(), json!("object"));
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!("Counterpoint application"));
        root.insert("required".to_owned(), json!(["counterpoint", "application"]));
        root.insert("$defs".to_owned(), Value::Object(sections.into_iter().collect()));
    }
    root
}

fn place(section: &Section) -> String {
    section.name.replace(' ', "-")
}

fn object(section: &Section) -> Value {
    let property = |key: &Key| {
        let mut value = shape(&key.shape);
        if let Some(value) = value.as_object_mut() {
            value.insert("description".to_owned(), key.doc.into());
        }
        (key.name.to_owned(), value)
    };
    let properties: Map<String, Value> = section.keys.iter().map(property).collect();
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

/// A list, or the changes of one by position.
fn list(items: &Value) -> Value {
    let changes = json!({ "type": "object", "additionalProperties": false, "patternProperties": { "^[0-9]+$": items } });
    json!({ "anyOf": [{ "type": ["array", "null"], "items": items }, changes] })
}

/// Everything may be nothing: `~` takes out what is included.
fn shape(shape: &Shape) -> Value {
    let single = || json!({ "type": ["string", "number", "boolean", "null"] });
    let refer = |section: &Section| json!({ "$ref": format!("#/$defs/{}", place(section)) });
    match shape {
        Single => single(),
        SingleOr(section) => json!({ "anyOf": [single(), refer(section)] }),
        ValueOrList => json!({ "anyOf": [single(), { "type": "array", "items": single() }] }),
        Arguments => {
            let member = json!({ "anyOf": [single(), refer(&ELEMENT), refer(&TYPED)] });
            let struct_by_value = json!({ "type": "array", "items": member });
            list(&json!({ "anyOf": [single(), refer(&ELEMENT), refer(&TYPED), struct_by_value] }))
        }
        List => list(&single()),
        ListOr(section) => list(&json!({ "anyOf": [single(), refer(section)] })),
        Sizes => json!({ "anyOf": [single(), { "type": "array", "items": single(), "maxItems": 3 }] }),
        Names => json!({ "type": "object", "additionalProperties": single() }),
        NamesOr(section) => {
            let either = json!({ "anyOf": [single(), refer(section)] });
            json!({ "type": "object", "additionalProperties": either })
        }
        Synthetic => {
            let field = |field: counterpoint_framework::model::Field| {
                (field.name.to_owned(), json!({ "description": field.doc }))
            };
            let fields =
                <crate::workloads::synthetic::Synthetic as counterpoint_framework::model::Params>::fields();
            let fields: Map<String, Value> = fields.into_iter().map(field).collect();
            json!({ "type": "object", "additionalProperties": false, "properties": fields })
        }
        Tables => {
            let table = json!({ "type": "object", "additionalProperties": single() });
            json!({ "type": "object", "additionalProperties": table })
        }
        One(section) => refer(section),
        Named(section) => json!({ "type": "object", "additionalProperties": refer(section) }),
        Counted(section) => {
            let named = json!({ "type": "object", "additionalProperties": refer(section) });
            json!({ "type": "object", "additionalProperties": named })
        }
        OneOrMoreOr(section) => {
            json!({ "anyOf": [single(), { "type": "array", "items": single() }, refer(section)] })
        }
        Steps(sections) => {
            let sections: Vec<Value> = sections.iter().map(|section| refer(section)).collect();
            list(&json!({ "anyOf": sections }))
        }
        Generator => {
            let one = |info: &crate::workloads::generate::GeneratorInfo| {
                let parameters = info.parameters.iter().map(|(name, _)| ((*name).to_owned(), single()));
                let parameters: Map<String, Value> = parameters.collect();
                let map = json!({
                    "type": ["object", "null"], "additionalProperties": false, "properties": parameters,
                    "description": info.doc,
                });
                (info.name.to_owned(), map)
            };
            let generators: Map<String, Value> =
                crate::workloads::generate::GENERATORS.iter().map(one).collect();
            json!({ "type": "object", "additionalProperties": false, "properties": generators })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_schema_leads_somewhere() {
        let schema = schema();
        let text = schema.to_string();
        let targets: Vec<&str> =
            text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(targets.len() > 5);
        for target in targets {
            assert!(schema["$defs"][target].is_object(), "{target}");
        }
    }
}
