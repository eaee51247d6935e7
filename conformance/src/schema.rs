//! The published schema files, and what they say of an answer or an event.

use std::path::{Path, PathBuf};

use jsonschema::{Draft, Validator};
use serde_json::{Value, json};
use url::Url;

use crate::http::{Client, Request};

/// Both files, compiled.
#[derive(Debug)]
pub(crate) struct Schemas {
    openapi: Value,
    events: Validator,
    /// Each event's own definition where the file names one, for a message that says more than "none of them".
    each: Vec<(String, Validator)>,
    /// Where they came from.
    pub(crate) origin: String,
}

/// Why no schema can be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("no schema files: {0}")]
    Missing(String),
    #[error("{file} is not usable: {reason}")]
    Invalid { file: &'static str, reason: String },
}

const OPENAPI: &str = "ask.openapi.json";
const EVENTS: &str = "events.schema.json";

impl Schemas {
    /// Reads them from `given`, else from the service, else from the working directory or the repository.
    pub(crate) async fn find(given: Option<&str>, base: &Url, http: &Client) -> Result<Self, SchemaError> {
        if let Some(place) = given {
            return match Url::parse(place).ok().filter(Url::has_host) {
                Some(url) => from_service(&url, OPENAPI, http).await,
                None => from_directory(Path::new(place)),
            };
        }
        let mut reasons = match from_service(base, "openapi.json", http).await {
            Ok(schemas) => return Ok(schemas),
            Err(err @ SchemaError::Invalid { .. }) => return Err(err),
            Err(SchemaError::Missing(reason)) => vec![reason],
        };
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for directory in [PathBuf::from("."), repository] {
            match from_directory(&directory) {
                Ok(schemas) => return Ok(schemas),
                Err(err @ SchemaError::Invalid { .. }) => return Err(err),
                Err(SchemaError::Missing(reason)) => reasons.push(reason),
            }
        }
        Err(SchemaError::Missing(reasons.join("; ")))
    }

    /// Compiles the two documents.
    pub(crate) fn compile(openapi: Value, events: &Value, origin: String) -> Result<Self, SchemaError> {
        let whole = validator(events, EVENTS)?;
        let mut each = Vec::new();
        for (name, definition) in events.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            let Some(kind) = kind_of(definition) else { continue };
            let one = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$ref": format!("#/$defs/{name}"),
                "$defs": events.get("$defs"),
            });
            each.push((kind, validator(&one, EVENTS)?));
        }
        Ok(Self { openapi, events: whole, each, origin })
    }

    /// What is wrong with an event by the published schema, if anything.
    pub(crate) fn event(&self, event: &Value) -> Option<String> {
        if self.events.is_valid(event) {
            return None;
        }
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        match self.each.iter().find(|(name, _)| name == kind) {
            Some((_, own)) => Some(
                first_error(own, event)
                    .unwrap_or_else(|| format!("matches {kind} but not exactly one of the events")),
            ),
            None => Some(format!("no event of type {kind:?} is published")),
        }
    }

    /// The types of event that the file defines.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.each.iter().map(|(kind, _)| kind.as_str()).collect()
    }

    /// What is wrong with an answer by the published OpenAPI document, if anything.
    ///
    /// `path` is the template with any parameter names, as `/v1/asks/{}`.
    pub(crate) fn answer(&self, method: &str, path: &str, status: u16, body: &Value) -> Option<String> {
        let Some(schema) = self.answer_schema(method, path, status) else {
            return Some(format!("the document has no schema for {status} of {method} {path}"));
        };
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [schema],
            "components": self.openapi.get("components"),
        });
        match validator(&whole, OPENAPI) {
            Ok(compiled) => first_error(&compiled, body),
            Err(err) => Some(err.to_string()),
        }
    }

    fn answer_schema(&self, method: &str, path: &str, status: u16) -> Option<Value> {
        let paths = self.openapi.get("paths")?.as_object()?;
        let (_, item) = paths.iter().find(|(template, _)| same_path(template, path))?;
        let responses = item.get(method.to_ascii_lowercase())?.get("responses")?;
        let mut response = responses.get(status.to_string())?;
        if let Some(pointer) = response.get("$ref").and_then(Value::as_str) {
            response = self.openapi.pointer(pointer.strip_prefix('#')?)?;
        }
        response.get("content")?.as_object()?.values().next()?.get("schema").cloned()
    }
}

/// The constant of an event definition's `type` member.
fn kind_of(definition: &Value) -> Option<String> {
    let direct = definition.pointer("/properties/type");
    let nested = || {
        let parts = definition.get("allOf")?.as_array()?;
        parts.iter().find_map(|part| part.pointer("/properties/type"))
    };
    let member = direct.or_else(nested)?;
    let constant = member.get("const").or_else(|| member.pointer("/enum/0"))?;
    constant.as_str().map(str::to_owned)
}

fn same_path(template: &str, path: &str) -> bool {
    let left: Vec<_> = template.trim_matches('/').split('/').collect();
    let right: Vec<_> = path.trim_matches('/').split('/').collect();
    left.len() == right.len()
        && left.iter().zip(&right).all(|(a, b)| a == b || (a.starts_with('{') && b.starts_with('{')))
}

fn validator(schema: &Value, file: &'static str) -> Result<Validator, SchemaError> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .build(schema)
        .map_err(|err| SchemaError::Invalid { file, reason: err.to_string() })
}

fn first_error(compiled: &Validator, instance: &Value) -> Option<String> {
    compiled.iter_errors(instance).next().map(|err| {
        let place = err.instance_path().to_string();
        let text: String = err.to_string().chars().take(300).collect();
        if place.is_empty() { text } else { format!("at {place}: {text}") }
    })
}

async fn from_service(base: &Url, openapi: &str, http: &Client) -> Result<Schemas, SchemaError> {
    let first = fetch(base, openapi, http).await?;
    let second = fetch(base, EVENTS, http).await?;
    Schemas::compile(first, &second, base.to_string())
}

async fn fetch(base: &Url, file: &str, http: &Client) -> Result<Value, SchemaError> {
    let mut url = base.clone();
    url.set_path(&format!("{}/{file}", base.path().trim_end_matches('/')));
    let missing = |reason: String| SchemaError::Missing(format!("{url}: {reason}"));
    let answer =
        http.send(&Request::new("GET", url.clone())).await.map_err(|err| missing(err.to_string()))?;
    if answer.status() != 200 {
        return Err(missing(answer.status().to_string()));
    }
    answer.json().ok_or_else(|| missing("not JSON".to_owned()))
}

fn from_directory(directory: &Path) -> Result<Schemas, SchemaError> {
    let read = |file: &str| {
        let path = directory.join(file);
        let missing = |reason: String| SchemaError::Missing(format!("{}: {reason}", path.display()));
        let bytes = std::fs::read(&path).map_err(|err| missing(err.to_string()))?;
        serde_json::from_slice::<Value>(&bytes).map_err(|err| missing(err.to_string()))
    };
    Schemas::compile(read(OPENAPI)?, &read(EVENTS)?, directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas() -> Schemas {
        let events = json!({
            "oneOf": [{"$ref": "#/$defs/Done"}],
            "$defs": {"Done": {
                "type": "object", "required": ["type", "hops"],
                "properties": {"type": {"const": "done"}, "hops": {"type": "integer"}},
            }},
        });
        let openapi = json!({
            "paths": {"/v1/asks/{ticket}": {"get": {"responses": {"200": {"content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/State"}}}}}}}},
            "components": {"schemas": {"State": {"type": "object", "required": ["seq"]}}},
        });
        Schemas::compile(openapi, &events, "test".to_owned()).unwrap()
    }

    #[test]
    fn an_event_is_judged_by_its_own_definition() {
        assert_eq!(schemas().event(&json!({"type": "done", "hops": 1})), None);
        assert!(schemas().event(&json!({"type": "done", "hops": "1"})).unwrap().starts_with("at /hops"));
        assert!(schemas().event(&json!({"type": "other"})).unwrap().contains("\"other\""));
        assert_eq!(schemas().kinds(), ["done"]);
    }

    #[test]
    fn an_answer_is_found_by_its_path_whatever_the_parameter_is_called() {
        assert_eq!(schemas().answer("GET", "/v1/asks/{}", 200, &json!({"seq": 1})), None);
        assert!(schemas().answer("GET", "/v1/asks/{}", 200, &json!({})).is_some());
        assert!(schemas().answer("GET", "/v1/asks/{}", 410, &json!({})).is_some());
    }
}
