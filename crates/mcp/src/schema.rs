//! What a tool's input schema may not be: deep, boundless, or a pointer to somewhere else.

use serde_json::{Map, Value};

/// What is wrong with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaFault {
    /// It describes something else than an object.
    NotObject,
    /// It refers to something outside itself.
    RemoteReference,
}

/// How deep JSON text nests, without parsing it.
pub(crate) fn text_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Checks a schema whose depth is bounded already.
pub(crate) fn check(schema: &Map<String, Value>) -> Result<(), SchemaFault> {
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(SchemaFault::NotObject);
    }
    if refers_outside(schema) {
        return Err(SchemaFault::RemoteReference);
    }
    Ok(())
}

/// Whether any reference in the schema is not to a part of the schema itself.
fn refers_outside(schema: &Map<String, Value>) -> bool {
    schema.iter().any(|(key, value)| match key.as_str() {
        "$ref" | "$dynamicRef" | "$recursiveRef" => value.as_str().is_some_and(|to| !to.starts_with('#')),
        // Data, not schemas.
        "default" | "const" | "enum" | "examples" => false,
        // Names of properties and definitions, which may be called anything.
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            value.as_object().is_some_and(|named| named.values().any(value_refers_outside))
        }
        _ => value_refers_outside(value),
    })
}

fn value_refers_outside(value: &Value) -> bool {
    match value {
        Value::Object(schema) => refers_outside(schema),
        Value::Array(items) => items.iter().any(value_refers_outside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(schema: &Value) -> Result<(), SchemaFault> {
        check(schema.as_object().unwrap())
    }

    #[test]
    fn depth_is_counted_outside_of_strings() {
        assert_eq!(text_depth("1"), 0);
        assert_eq!(text_depth(r#"{"a":[{}],"b":{}}"#), 3);
        assert_eq!(text_depth(r#"{"a":"[[[{{{","b\"{{":1}"#), 1);
    }

    #[test]
    fn references_to_elsewhere_are_found_wherever_they_hide() {
        for to in ["http://169.254.169.254/x", "file:///etc/passwd", "other.json", ""] {
            for schema in [
                json!({"$ref": to}),
                json!({"properties": {"a": {"$ref": to}}}),
                json!({"allOf": [{"not": {"$dynamicRef": to}}]}),
                json!({"$defs": {"x": {"items": {"$ref": to}}}}),
            ] {
                assert_eq!(outcome(&schema), Err(SchemaFault::RemoteReference), "{schema}");
            }
        }
    }

    #[test]
    fn references_within_and_data_that_looks_like_one_are_fine() {
        for schema in [
            json!({"$ref": "#/$defs/x"}),
            json!({"properties": {"$ref": {"type": "string"}}}),
            json!({"properties": {"a": {"default": {"$ref": "http://x"}}}}),
        ] {
            assert_eq!(outcome(&schema), Ok(()), "{schema}");
        }
    }
}
