//! The result of a tool call, as data.

use std::time::Duration;

use bytes::Bytes;
use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    Version,
    error::{CallError, tame},
};

/// What a tool gave back. Everything in it is untrusted data.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The tool says that it failed.
    pub is_error: bool,
    /// The result as JSON, when the tool gives one.
    pub structured: Option<Value>,
    /// The result as blocks, in the server's order.
    pub content: Vec<Content>,
    /// Wall-clock time of the call as seen from here.
    pub elapsed: Duration,
}

/// One block of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Its media type, as the server says.
        mime: String,
        /// Its bytes.
        bytes: Bytes,
    },
    /// A sound.
    Audio {
        /// Its media type, as the server says.
        mime: String,
        /// Its bytes.
        bytes: Bytes,
    },
    /// A link to a resource of the server; it is not fetched.
    ResourceLink {
        /// Where the resource is.
        uri: String,
        /// Its name.
        name: String,
        /// Its media type, if the server says.
        mime: Option<String>,
    },
    /// A resource with its text.
    TextResource {
        /// Where the resource is.
        uri: String,
        /// Its media type, if the server says.
        mime: Option<String>,
        /// Its text.
        text: String,
    },
    /// A resource with its bytes.
    BlobResource {
        /// Where the resource is.
        uri: String,
        /// Its media type, if the server says.
        mime: Option<String>,
        /// Its bytes.
        bytes: Bytes,
    },
    /// A block that cannot be read, or of a kind that is not known.
    Unreadable {
        /// The kind the server named, bounded and without control characters.
        kind: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    result_type: Option<String>,
    content: Option<Vec<Map<String, Value>>>,
    structured_content: Option<Value>,
    is_error: Option<bool>,
}

impl CallResult {
    /// Reads the result of `tools/call`.
    pub(crate) fn read(raw: &RawValue, version: Version, elapsed: Duration) -> Result<Self, CallError> {
        let received: Received = serde_json::from_str(raw.get())
            .ok()
            .ok_or(CallError::Malformed { what: "the result is not that of a tool call" })?;
        if version.has_request_metadata()
            && let Some(result_type) = received.result_type.filter(|kind| kind != "complete")
        {
            return Err(CallError::Unsupported { result_type: tame(&result_type, 64) });
        }
        let blocks = received.content.unwrap_or_default();
        Ok(Self {
            is_error: received.is_error.unwrap_or(false),
            structured: received.structured_content,
            content: blocks.into_iter().map(block).collect(),
            elapsed,
        })
    }
}

fn block(mut fields: Map<String, Value>) -> Content {
    let kind = take_text(&mut fields, "type").unwrap_or_default();
    known_block(&kind, &mut fields).unwrap_or_else(|| Content::Unreadable { kind: tame(&kind, 64) })
}

fn known_block(kind: &str, fields: &mut Map<String, Value>) -> Option<Content> {
    match kind {
        "text" => take_text(fields, "text").map(Content::Text),
        "image" => {
            Some(Content::Image { mime: take_text(fields, "mimeType")?, bytes: take_bytes(fields, "data")? })
        }
        "audio" => {
            Some(Content::Audio { mime: take_text(fields, "mimeType")?, bytes: take_bytes(fields, "data")? })
        }
        "resource_link" => Some(Content::ResourceLink {
            uri: take_text(fields, "uri")?,
            name: take_text(fields, "name").unwrap_or_default(),
            mime: take_text(fields, "mimeType"),
        }),
        "resource" => {
            let Some(Value::Object(mut resource)) = fields.remove("resource") else {
                return None;
            };
            let uri = take_text(&mut resource, "uri")?;
            let mime = take_text(&mut resource, "mimeType");
            if let Some(text) = take_text(&mut resource, "text") {
                return Some(Content::TextResource { uri, mime, text });
            }
            let bytes = take_bytes(&mut resource, "blob")?;
            Some(Content::BlobResource { uri, mime, bytes })
        }
        _ => None,
    }
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    match fields.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => {
            None
        }
    }
}

fn take_bytes(fields: &mut Map<String, Value>, key: &str) -> Option<Bytes> {
    let text = take_text(fields, key)?;
    BASE64.decode(text.as_bytes()).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(result: &Value, version: Version) -> Result<CallResult, CallError> {
        let raw = RawValue::from_string(result.to_string()).unwrap();
        CallResult::read(&raw, version, Duration::ZERO)
    }

    #[test]
    fn every_kind_of_block_is_read() {
        let result = json!({"content": [
            {"type": "text", "text": "t"},
            {"type": "image", "mimeType": "image/png", "data": "AAE="},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAE="},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "resource", "resource": {"uri": "u", "text": "t"}},
            {"type": "resource", "resource": {"uri": "u", "blob": "AAE="}},
        ], "structuredContent": {"a": 1}, "isError": true});
        let result = read(&result, Version::V2025_11_25).unwrap();
        assert!(result.is_error);
        assert_eq!(result.structured, Some(json!({"a": 1})));
        assert_eq!(result.content.len(), 6);
        let unreadable = |block: &Content| matches!(block, Content::Unreadable { .. });
        assert!(!result.content.iter().any(unreadable));
    }

    #[test]
    fn blocks_that_cannot_be_read_are_kept_as_such() {
        let result = json!({"content": [
            {"type": "hologram\u{1b}", "data": 1},
            {"type": "image", "mimeType": "image/png", "data": "not base64!"},
            {"type": "text"},
            {},
        ]});
        let result = read(&result, Version::V2025_11_25).unwrap();
        assert_eq!(result.content.len(), 4);
        for block in &result.content {
            assert!(matches!(block, Content::Unreadable { .. }), "{block:?}");
        }
    }

    #[test]
    fn a_result_that_asks_for_input_is_refused_only_where_such_results_exist() {
        let result = json!({"resultType": "input_required", "inputRequests": {}});
        assert!(matches!(read(&result, Version::V2026_07_28), Err(CallError::Unsupported { .. })));
        let complete = json!({"resultType": "complete", "content": []});
        assert!(read(&complete, Version::V2026_07_28).is_ok());
        assert!(read(&json!({"content": []}), Version::V2026_07_28).is_ok());
    }

    #[test]
    fn fields_of_the_wrong_kind_are_malformed() {
        for result in [json!([]), json!("x"), json!({"content": "x"}), json!({"isError": "yes"})] {
            assert!(matches!(read(&result, Version::V2025_11_25), Err(CallError::Malformed { .. })));
        }
    }
}
