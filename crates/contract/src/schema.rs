//! `events.schema.json`: one `$defs` entry per event, the stream being their `oneOf`.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::EventType;

/// The JSON Schema (2020-12) of one event of the stream.
///
/// Objects are open: a member that a reader does not know is a later addition, not an error.
pub fn events_schema() -> Value {
    let (names, defs) = event_schemas("#/$defs/");
    with_plain_enums(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:ask:contract:1:events",
        "title": "Ask event",
        "description": "One event of a ticket's stream: the `data` of one Server-Sent Event.",
        "oneOf": names.iter().map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect::<Vec<_>>(),
        "$defs": defs,
    }))
}

/// The schema with each choice between constants as one `enum`, what they mean told in its description: generators of clients
/// make types of an `enum`, and few of them read a choice between constants.
pub(crate) fn with_plain_enums(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(members) => {
            if let Some((constants, told)) = members.get("oneOf").and_then(constants) {
                members.remove("oneOf");
                members.insert("type".to_owned(), Value::from("string"));
                members.insert("enum".to_owned(), Value::from(constants));
                let own = members.get("description").and_then(Value::as_str).unwrap_or_default();
                let whole = format!("{own}\n\n{told}").trim().to_owned();
                members.insert("description".to_owned(), Value::from(whole));
            }
            for member in members.values_mut() {
                *member = with_plain_enums(member.take());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = with_plain_enums(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

/// The constants of a choice between nothing but constants, and a line for each that says what it means.
fn constants(choice: &Value) -> Option<(Vec<String>, String)> {
    let pairs: Vec<(&str, &str)> = choice
        .as_array()?
        .iter()
        .map(|one| {
            let meaning = one.get("description").and_then(Value::as_str).unwrap_or_default();
            one.get("const").and_then(Value::as_str).map(|constant| (constant, meaning))
        })
        .collect::<Option<_>>()?;
    let told: Vec<String> =
        pairs.iter().map(|(constant, meaning)| format!("* `{constant}`: {meaning}")).collect();
    Some((pairs.into_iter().map(|(constant, _)| constant.to_owned()).collect(), told.join("\n")))
}

/// The schema of each event type by name, and of whatever they refer to, with references below `root`.
pub(crate) fn event_schemas(root: &str) -> (Vec<String>, Map<String, Value>) {
    let mut generator = generator(root);
    let mut defs = Map::new();
    let mut names = Vec::new();
    for event_type in EventType::ALL {
        let members = match event_type {
            EventType::Accepted => members::<crate::Accepted>(&mut generator),
            EventType::Branch => members::<crate::Branch>(&mut generator),
            EventType::Step => members::<crate::Step>(&mut generator),
            EventType::Milestone => members::<crate::Milestone>(&mut generator),
            EventType::Answer => members::<crate::Answer>(&mut generator),
            EventType::Abstention => members::<crate::Abstention>(&mut generator),
            EventType::Refusal => members::<crate::Refusal>(&mut generator),
            EventType::Error => members::<crate::Failure>(&mut generator),
            EventType::Done => members::<crate::Done>(&mut generator),
        };
        defs.insert(event_type.as_str().to_owned(), with_envelope(event_type, members));
        names.push(event_type.as_str().to_owned());
    }
    defs.extend(generator.take_definitions(true));
    (names, defs)
}

/// A generator whose references point below `root`.
pub(crate) fn generator(root: &str) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = root.trim_start_matches('#').trim_end_matches('/').to_owned().into();
    settings.meta_schema = None;
    settings.into_generator()
}

fn members<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

fn with_envelope(event_type: EventType, mut members: Value) -> Value {
    let envelope = [
        (
            "seq",
            json!({"type": "integer", "minimum": 1, "description": "Place in the stream, from 1; the SSE `id`."}),
        ),
        ("ticket", json!({"type": "string", "description": "The ticket."})),
        ("conversation_id", json!({"type": "string", "description": "Its conversation."})),
        ("ts", json!({"type": "string", "format": "date-time", "description": "When it was emitted."})),
        ("type", json!({"const": event_type.as_str()})),
    ];
    let Some(schema) = members.as_object_mut() else { return members };
    let mut required: Vec<Value> = envelope.iter().map(|(name, _)| Value::from(*name)).collect();
    if let Some(Value::Array(own)) = schema.remove("required") {
        required.extend(own);
    }
    schema.insert("required".to_owned(), Value::Array(required));
    if let Some(properties) = schema.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
        properties.extend(envelope.map(|(name, shape)| (name.to_owned(), shape)));
    }
    members
}
