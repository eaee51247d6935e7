//! The arguments of a tool call, read from the text that a model produced.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

/// The arguments of a tool call, or why they can't be used.
pub type Args = Result<Map<String, Value>, InvalidArgs>;

/// A model's arguments that are not one JSON object.
///
/// The call was received whole; the model just wrote something else. It is the model's mistake, so it goes back to the model
/// as an error result.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum InvalidArgs {
    /// Not JSON at all.
    #[error("the arguments are not valid JSON")]
    NotJson,
    /// JSON, but no object.
    #[error("the arguments are not a JSON object")]
    NotAnObject,
}

/// Reads the arguments of a call that has ended. Nothing, or `null`, means no arguments.
pub(crate) fn read(text: &str) -> Args {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(InvalidArgs::NotAnObject)
        }
        Err(_) => Err(InvalidArgs::NotJson),
    }
}

/// The input to replay for a call: its arguments, or an object that holds the unusable text, since a provider accepts
/// nothing but an object.
pub(crate) fn for_replay(args: &Args, text: &str) -> Value {
    match args {
        Ok(map) => Value::Object(map.clone()),
        Err(InvalidArgs::NotJson | InvalidArgs::NotAnObject) => json!({ "INVALID_JSON": text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_null_are_no_arguments() {
        for text in ["", "  ", "null", "{}"] {
            assert_eq!(read(text), Ok(Map::new()), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert_eq!(read("{\"a\":"), Err(InvalidArgs::NotJson));
        assert_eq!(read("{} {}"), Err(InvalidArgs::NotJson));
        assert_eq!(read("[1]"), Err(InvalidArgs::NotAnObject));
        assert_eq!(read("\"{}\""), Err(InvalidArgs::NotAnObject));
    }
}
