//! A tool as a server describes it, after the checks that make it fit to be offered to a model.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    config::Limits,
    schema::{self, SchemaFault},
};

/// Longest tool name.
const MAX_NAME: usize = 128;
/// Longest title, in bytes.
const MAX_TITLE: usize = 256;

/// A tool of a server. Name and schema are checked; title and description are untrusted text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name within its server: 1 to 128 of `A-Z a-z 0-9 _ - .`.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// What the tool does, in the server's words, cut to the limit.
    pub description: Option<String>,
    /// JSON Schema of the arguments: an object with `"type": "object"`, bounded, without references
    /// that point outside itself.
    pub input_schema: Value,
    /// Whether the server says that the tool changes nothing. A hint, not a promise.
    pub read_only_hint: Option<bool>,
}

/// The tools of a server, and what was done to the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolList {
    /// The usable tools, in the server's order.
    pub tools: Vec<Tool>,
    /// What was left out or changed, and why. Bounded.
    pub notes: Vec<Note>,
}

/// Something about a tool list that someone should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The tool's name: untrusted text, bounded, without control characters. Empty when the note
    /// is about the list.
    pub tool: String,
    /// What happened.
    pub kind: NoteKind,
}

/// What happened to a tool, or to the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// Left out: the description of the tool is not what the protocol says.
    Malformed,
    /// Left out: the name has other characters than allowed, or is too long.
    BadName,
    /// Left out: a tool of that name came before it.
    Duplicate,
    /// Left out: the input schema is larger than allowed.
    SchemaTooLarge,
    /// Left out: the input schema is nested deeper than allowed.
    SchemaTooDeep,
    /// Left out: the input schema is not the schema of an object.
    SchemaNotObject,
    /// Left out: the input schema refers to something outside itself, which is never fetched.
    RemoteReference,
    /// Left out: arguments are to travel as headers in a way that the protocol forbids.
    BadParamHeader,
    /// Kept, with its description cut.
    DescriptionCut,
    /// Kept, but it describes itself otherwise than when this session first listed it.
    Changed,
    /// The list goes on, but tools past the limit were left out.
    TooManyTools,
    /// The list goes on, but pages past the limit were not read.
    TooManyPages,
    /// There were more notes than are kept.
    MoreNotes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Box<RawValue>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
}

/// Whether `name` can be a tool's name, and so can be sent in a header as it is.
pub(crate) fn is_tool_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// A tool that was read, or the note that says why it was not, with the name it gave.
pub(crate) fn read(raw: &RawValue, limits: &Limits) -> Result<(Tool, bool), (String, NoteKind)> {
    let described: Described =
        serde_json::from_str(raw.get()).ok().ok_or_else(|| (String::new(), NoteKind::Malformed))?;
    if !is_tool_name(&described.name) {
        return Err((described.name, NoteKind::BadName));
    }
    let input_schema = match read_schema(&described.input_schema, limits) {
        Ok(schema) => schema,
        Err(kind) => return Err((described.name, kind)),
    };
    let annotations = described.annotations;
    let hint = annotations.as_ref().and_then(|a| a.read_only_hint);
    let title =
        described.title.or_else(|| annotations.and_then(|a| a.title)).map(|title| cut(title, MAX_TITLE).0);
    let (description, was_cut) = match described.description {
        Some(text) => {
            let (text, was_cut) = cut(text, limits.max_description_bytes);
            (Some(text), was_cut)
        }
        None => (None, false),
    };
    let tool = Tool { name: described.name, title, description, input_schema, read_only_hint: hint };
    Ok((tool, was_cut))
}

fn read_schema(raw: &RawValue, limits: &Limits) -> Result<Value, NoteKind> {
    if raw.get().len() > limits.max_schema_bytes {
        return Err(NoteKind::SchemaTooLarge);
    }
    // Text is measured before it is parsed, since the parser refuses deep text without saying why.
    if schema::text_depth(raw.get()) > limits.max_schema_depth {
        return Err(NoteKind::SchemaTooDeep);
    }
    let mut schema: Map<String, Value> =
        serde_json::from_str(raw.get()).ok().ok_or(NoteKind::SchemaNotObject)?;
    schema::check(&schema).map_err(|fault| match fault {
        SchemaFault::NotObject => NoteKind::SchemaNotObject,
        SchemaFault::RemoteReference => NoteKind::RemoteReference,
    })?;
    // Models' protocols demand the keyword that MCP servers at times leave out.
    schema.entry("type").or_insert_with(|| Value::from("object"));
    Ok(Value::Object(schema))
}

/// Cuts text to at most `max` bytes, at a character.
pub(crate) fn cut(mut text: String, max: usize) -> (String, bool) {
    if text.len() <= max {
        return (text, false);
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    (text, true)
}

impl Tool {
    /// A number that differs when the tool describes itself otherwise.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.title.hash(&mut hasher);
        self.description.hash(&mut hasher);
        self.input_schema.to_string().hash(&mut hasher);
        self.read_only_hint.hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(value: &Value) -> Result<(Tool, bool), (String, NoteKind)> {
        let raw = RawValue::from_string(value.to_string()).unwrap();
        read(&raw, &Limits::default())
    }

    #[test]
    fn names_are_short_and_of_plain_letters() {
        for good in ["a", "run_query", "a.b-c_1", &"x".repeat(128)] {
            assert!(is_tool_name(good), "{good}");
        }
        for bad in ["", "a b", "a\r\nEvil: 1", "a/b", "größe", "a\u{202e}b", &"x".repeat(129)] {
            assert!(!is_tool_name(bad), "{bad}");
            let tool = json!({"name": bad, "inputSchema": {}});
            assert_eq!(read_json(&tool).unwrap_err().1, NoteKind::BadName);
        }
    }

    #[test]
    fn title_and_hint_are_found_where_the_versions_put_them() {
        let tool = json!({"name": "t", "inputSchema": {"type": "object"},
            "annotations": {"title": "T", "readOnlyHint": true}});
        let (tool, _) = read_json(&tool).unwrap();
        assert_eq!(tool.title.as_deref(), Some("T"));
        assert_eq!(tool.read_only_hint, Some(true));
    }

    #[test]
    fn a_schema_without_a_type_gets_one() {
        let (tool, _) = read_json(&json!({"name": "t", "inputSchema": {}})).unwrap();
        assert_eq!(tool.input_schema, json!({"type": "object"}));
    }

    #[test]
    fn long_descriptions_are_cut_at_a_character() {
        let text = "ü".repeat(10_000);
        let tool = json!({"name": "t", "description": text, "inputSchema": {}});
        let (tool, was_cut) = read_json(&tool).unwrap();
        assert!(was_cut);
        assert_eq!(tool.description.unwrap().len(), 8 * 1024);
    }

    #[test]
    fn bad_schemas_leave_the_tool_out() {
        let deep = (0..500).fold(json!({}), |inner, _| json!({"items": inner}));
        // Written by hand, as the writer could not parse it back.
        let raw = format!(r#"{{"name":"t","inputSchema":{deep}}}"#);
        let raw = RawValue::from_string(raw).unwrap();
        let (_, kind) = read(&raw, &Limits::default()).unwrap_err();
        assert_eq!(kind, NoteKind::SchemaTooDeep);

        let large = json!({"name": "t", "inputSchema": {"description": "x".repeat(70_000)}});
        assert_eq!(read_json(&large).unwrap_err().1, NoteKind::SchemaTooLarge);

        for schema in [json!([]), json!("x"), json!(null), json!({"type": "array"})] {
            let tool = json!({"name": "t", "inputSchema": schema});
            assert!(matches!(
                read_json(&tool).unwrap_err().1,
                NoteKind::SchemaNotObject | NoteKind::Malformed
            ));
        }
    }
}
