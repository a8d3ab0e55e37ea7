//! The JSON Schema of application files, made of the declarations of their keys.

use counterpoint_framework::model::{Field, TypeInfo};
use serde_json::{Map, Value, json};

use super::keys::sections;

/// The JSON Schema of application files, for editors.
pub fn schema() -> Value {
    let mut sections = sections().into_iter();
    let mut root = sections.next().map_or_else(Value::default, |file| object(&file.fields));
    let sections = sections.filter_map(|info| Some((place(info.called?), object(&info.fields))));
    if let Some(root) = root.as_object_mut() {
        root.insert("type".to_owned(), json!("object"));
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!("Counterpoint application"));
        root.insert("required".to_owned(), json!(["counterpoint", "application"]));
        root.insert("$defs".to_owned(), Value::Object(sections.collect()));
    }
    root
}

fn place(called: &str) -> String {
    called.replace(' ', "-")
}

fn object(fields: &[Field]) -> Value {
    let property = |field: &Field| {
        let mut value = shape(&field.kind);
        if let Some(value) = value.as_object_mut().filter(|_| !field.doc.is_empty()) {
            value.insert("description".to_owned(), field.doc.into());
        }
        (field.name.to_owned(), value)
    };
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

/// Everything may be nothing: `~` takes out what is included.
fn shape(info: &TypeInfo) -> Value {
    if info.list {
        let items = shape(&TypeInfo { list: false, ..info.clone() });
        // A list, or the changes of one by position.
        let changes = json!({
            "type": "object", "additionalProperties": false, "patternProperties": { "^[0-9]+$": items },
        });
        return json!({ "anyOf": [{ "type": ["array", "null"], "items": items }, changes] });
    }
    if let Some(values) = info.values {
        return json!({ "type": "object", "additionalProperties": shape(&values()) });
    }
    if let Some(either) = info.either {
        return json!({ "anyOf": either().iter().map(shape).collect::<Vec<_>>() });
    }
    match info.called {
        Some(called) => json!({ "$ref": format!("#/$defs/{}", place(called)) }),
        None if !info.fields.is_empty() => object(&info.fields),
        None if info.open || info.family.is_some() => json!({}),
        None => json!({ "type": ["string", "number", "boolean", "null"] }),
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
