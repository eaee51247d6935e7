//! A call's result as text for a model: bounded, and nothing left out in silence.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    error::tame,
    result::{CallResult, Content},
    tool::cut,
};

/// A result as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text. It is the tool's word, to be marked as data wherever it goes.
    pub text: String,
    /// Whether it was cut; the text then ends with a line that says so.
    pub truncated: bool,
}

/// Longest name, address or media type in a line about a block.
const MAX_LABEL: usize = 200;

impl CallResult {
    /// Writes the result as text of at most `max_bytes`, and a closing line when it was cut.
    ///
    /// Text stands as it is. The structured result stands as one line of JSON, unless a text block
    /// says the same, as the protocol asks servers to do. Of images, sounds, blobs and links there
    /// is a line that says what they are.
    pub fn render(&self, max_bytes: usize) -> Rendered {
        let mut parts: Vec<String> = Vec::new();
        if let Some(structured) = &self.structured
            && !self.content.iter().any(|block| says(block, structured))
        {
            parts.push(structured.to_string());
        }
        parts.extend(self.content.iter().map(describe));
        if parts.is_empty() {
            parts.push("[the tool gave no content]".to_owned());
        }
        let whole = parts.join("\n");
        let size = whole.len();
        let (mut text, truncated) = cut(whole, max_bytes);
        if truncated {
            let missing = size - text.len();
            write!(text, "\n[cut: {missing} of {size} bytes are not shown]").ok();
        }
        Rendered { text, truncated }
    }
}

/// Whether a block is the same JSON as the structured result.
fn says(block: &Content, structured: &Value) -> bool {
    match block {
        Content::Text(text) => serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured),
        Content::Image { .. }
        | Content::Audio { .. }
        | Content::ResourceLink { .. }
        | Content::TextResource { .. }
        | Content::BlobResource { .. }
        | Content::Unreadable { .. } => false,
    }
}

fn describe(block: &Content) -> String {
    let label = |text: &str| tame(text, MAX_LABEL);
    let typed = |mime: &Option<String>| {
        let mime = mime.as_deref().unwrap_or("type unknown");
        tame(mime, MAX_LABEL)
    };
    match block {
        Content::Text(text) => text.clone(),
        Content::Image { mime, bytes } => {
            format!("[image: {}, {} bytes, not shown]", label(mime), bytes.len())
        }
        Content::Audio { mime, bytes } => {
            format!("[audio: {}, {} bytes, not shown]", label(mime), bytes.len())
        }
        Content::ResourceLink { uri, name, mime } => {
            format!("[link to a resource: {}, {}, {}, not fetched]", label(name), label(uri), typed(mime))
        }
        Content::TextResource { uri, mime, text } => {
            format!("[resource: {}, {}]\n{text}", label(uri), typed(mime))
        }
        Content::BlobResource { uri, mime, bytes } => {
            format!("[resource: {}, {}, {} bytes, not shown]", label(uri), typed(mime), bytes.len())
        }
        Content::Unreadable { kind } => {
            format!("[a block of kind {:?} that cannot be read]", label(kind))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn result(structured: Option<Value>, content: Vec<Content>) -> CallResult {
        CallResult { is_error: false, structured, content, elapsed: Duration::ZERO }
    }

    #[test]
    fn the_same_json_is_not_written_twice() {
        let structured = json!({"b": 1, "a": [2]});
        let text = Content::Text(r#"{ "a": [2], "b": 1 }"#.to_owned());
        let rendered = result(Some(structured.clone()), vec![text]).render(1000);
        assert_eq!(rendered.text, r#"{ "a": [2], "b": 1 }"#);
        let other = Content::Text("two rows".to_owned());
        let rendered = result(Some(structured.clone()), vec![other]).render(1000);
        assert_eq!(rendered.text, format!("{structured}\ntwo rows"));
        let rendered = result(Some(structured.clone()), vec![]).render(1000);
        assert_eq!(rendered.text, structured.to_string());
    }

    #[test]
    fn what_is_not_text_is_named() {
        let blocks = vec![
            Content::Image { mime: "image/png".to_owned(), bytes: Bytes::from_static(b"123") },
            Content::ResourceLink { uri: "file:///x\nEvil".to_owned(), name: "x".to_owned(), mime: None },
            Content::Unreadable { kind: "hologram".to_owned() },
        ];
        let text = result(None, blocks).render(1000).text;
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("[image: image/png, 3 bytes, not shown]"));
        assert!(text.contains("hologram"));
        assert_eq!(result(None, vec![]).render(1000).text, "[the tool gave no content]");
    }

    #[test]
    fn long_text_is_cut_at_a_character_and_says_so() {
        let rendered = result(None, vec![Content::Text("ü".repeat(100))]).render(9);
        assert!(rendered.truncated);
        assert_eq!(rendered.text, "üüüü\n[cut: 192 of 200 bytes are not shown]");
    }
}
