//! Arguments that a tool wants to see as `Mcp-Param-*` headers too, in 2026-07-28.
//!
//! A property of the input schema annotated with `x-mcp-header` names the header. The rules are those
//! of SEP-2243: a token, unique whatever its case, on a string, integer or boolean that is reached from
//! the root through `properties` alone. A tool that breaks them is not offered.

use std::collections::HashSet;

use awc::http::header::{HeaderMap, HeaderName, HeaderValue};
use data_encoding::BASE64;
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";
const SENTINEL_START: &str = "=?base64?";
const SENTINEL_END: &str = "?=";
/// Longest value that is sent as a header; servers refuse longer heads altogether.
const MAX_VALUE: usize = 4096;

/// The annotated properties of one tool: where each is, and the header it goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParamHeaders(Vec<(Vec<String>, HeaderName)>);

/// The annotations break the rules.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadAnnotation;

impl ParamHeaders {
    /// Finds the annotations of an input schema.
    pub(crate) fn of(schema: &Value) -> Result<Self, BadAnnotation> {
        let mut found = Self::default();
        found.collect(schema, &mut Vec::new())?;
        let unique: HashSet<&HeaderName> = found.0.iter().map(|(_, name)| name).collect();
        // An annotation that was not reached through properties is in a place that has none.
        if unique.len() == found.0.len() && count(schema) == found.0.len() {
            Ok(found)
        } else {
            Err(BadAnnotation)
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the headers of a call with these arguments.
    pub(crate) fn add(&self, arguments: &Map<String, Value>, headers: &mut HeaderMap) {
        for (path, name) in &self.0 {
            let mut steps = path.iter();
            let first = steps.next().and_then(|key| arguments.get(key));
            let value = steps.fold(first, |value, key| value?.get(key));
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                Some(Value::Number(number)) => number.to_string(),
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
            };
            if text.len() <= MAX_VALUE
                && let Ok(value) = HeaderValue::from_str(&encoded(&text))
            {
                headers.insert(name.clone(), value);
            }
        }
    }

    fn collect(&mut self, schema: &Value, path: &mut Vec<String>) -> Result<(), BadAnnotation> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Ok(());
        };
        for (key, property) in properties {
            path.push(key.clone());
            if let Some(annotation) = property.get(ANNOTATION) {
                let name = annotation
                    .as_str()
                    .filter(|text| !text.is_empty())
                    .and_then(|text| HeaderName::try_from(format!("mcp-param-{text}")).ok())
                    .ok_or(BadAnnotation)?;
                let kind = property.get("type").and_then(Value::as_str);
                if !matches!(kind, Some("string" | "integer" | "boolean")) {
                    return Err(BadAnnotation);
                }
                self.0.push((path.clone(), name));
            }
            self.collect(property, path)?;
            path.pop();
        }
        Ok(())
    }
}

/// How many annotations a schema holds anywhere.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(schema) => schema
            .iter()
            .map(|(key, value)| match key.as_str() {
                ANNOTATION => 1,
                "default" | "const" | "enum" | "examples" | "dependentRequired" => 0,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependencies"
                | "dependentSchemas" => value.as_object().map_or(0, |named| named.values().map(count).sum()),
                _ => count(value),
            })
            .sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A value as a header carries it: as it is, or wrapped in Base64 when it would not survive.
fn encoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_edge_blank = |edge: Option<&u8>| matches!(edge, Some(b' ' | b'\t'));
    let blank_edges = is_edge_blank(bytes.first()) || is_edge_blank(bytes.last());
    let looks_wrapped = text.starts_with(SENTINEL_START) && text.ends_with(SENTINEL_END);
    let is_printable = bytes.iter().all(|b| matches!(b, 0x20..=0x7e));
    let plain = is_printable && !blank_edges && !looks_wrapped;
    if plain { text.to_owned() } else { format!("{SENTINEL_START}{}{SENTINEL_END}", BASE64.encode(bytes)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn add(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        let promoted = ParamHeaders::of(schema).unwrap();
        promoted.add(arguments.as_object().unwrap(), &mut headers);
        let mut seen: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        seen.sort();
        seen
    }

    #[test]
    fn annotated_arguments_become_headers_and_others_do_not() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "in": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "absent": {"type": "boolean", "x-mcp-header": "Absent"},
            "plain": {"type": "string"}}});
        let arguments = json!({"region": "eu", "in": {"n": 7}, "plain": "x"});
        let expected = [("mcp-param-n", "7"), ("mcp-param-region", "eu")];
        let expected = expected.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(add(&schema, &arguments), expected);
    }

    #[test]
    fn values_that_would_not_survive_are_wrapped() {
        assert_eq!(encoded("us-west 1"), "us-west 1");
        for text in ["größe", " x", "x\t", "a\r\nEvil: 1", "=?base64?eA==?="] {
            let wrapped = encoded(text);
            let inner = wrapped.strip_prefix(SENTINEL_START).unwrap();
            let inner = inner.strip_suffix(SENTINEL_END).unwrap();
            assert_eq!(BASE64.decode(inner.as_bytes()).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn annotations_that_break_the_rules_are_refused() {
        for schema in [
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": 1}}}),
            json!({"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"x-mcp-header": "A"}}}),
            json!({"x-mcp-header": "A"}),
            json!({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"properties": {
                "a": {"type": "string", "x-mcp-header": "X"},
                "b": {"type": "string", "x-mcp-header": "x"}}}),
        ] {
            assert_eq!(ParamHeaders::of(&schema), Err(BadAnnotation), "{schema}");
        }
        let named = json!({"properties": {"x-mcp-header": {"type": "string"}}});
        assert!(ParamHeaders::of(&named).unwrap().is_empty());
    }
}
