//! The dialogue cut into exchanges: a question, and what was looked up and answered after it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::model::dialogue::{Call, Turn};

const OPENING: &str = "<grounding>";
const CLOSING: &str = "</grounding>";

/// What one call to a tool brought.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    /// The tool's own name, without its server.
    pub(crate) tool: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) is_error: bool,
    /// The result, or null when it was no JSON.
    pub(crate) result: Value,
}

impl Observation {
    /// The machine-readable code of an error.
    pub(crate) fn error_code(&self) -> &str {
        self.result.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
    }

    /// What an error says.
    pub(crate) fn message(&self) -> &str {
        let told = self.result.pointer("/error/message").and_then(Value::as_str);
        told.unwrap_or("no reason was given")
    }

    /// A text argument.
    pub(crate) fn arg(&self, name: &str) -> &str {
        self.args.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// One question with everything that followed it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) question: String,
    pub(crate) observations: Vec<Observation>,
    /// How many replies were already given to it.
    pub(crate) rounds: usize,
    pub(crate) concluded: bool,
}

/// The tool's own name: what follows the server's.
pub(crate) fn own_name(full: &str) -> &str {
    full.rsplit_once("__").map_or(full, |(_, own)| own)
}

/// The exchanges of a dialogue, oldest first; the last is the one to reply to.
pub(crate) fn exchanges(turns: &[Turn]) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut calls: HashMap<&str, &Call> = HashMap::new();
    for turn in turns {
        match turn {
            Turn::User(parts) => exchanges.push(opened(parts)),
            Turn::Assistant { calls: made, .. } => {
                calls.extend(made.iter().map(|call| (call.id.as_str(), call)));
                if let Some(exchange) = exchanges.last_mut() {
                    exchange.rounds += 1;
                    exchange.concluded |= made.iter().any(|call| call.name == "conclude");
                }
            }
            Turn::Result { id, text, is_error } => {
                if let (Some(exchange), Some(call)) = (exchanges.last_mut(), calls.get(id.as_str())) {
                    let result = object_in(text);
                    exchange.observations.push(Observation {
                        tool: own_name(&call.name).to_owned(),
                        args: call.args.clone(),
                        is_error: *is_error || result.get("error").is_some(),
                        result,
                    });
                }
            }
        }
    }
    exchanges
}

/// The JSON object in `text`, also behind a line that marks it; null when there is none.
fn object_in(text: &str) -> Value {
    let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) else {
        return Value::Null;
    };
    text.get(start..=end).and_then(|inner| serde_json::from_str(inner).ok()).unwrap_or(Value::Null)
}

fn opened(parts: &[String]) -> Exchange {
    let mut exchange = Exchange::default();
    let mut spoken = Vec::new();
    for part in parts {
        // Only the start of a part opens the block: a question that quotes the mark stays a question.
        match part.trim_start().strip_prefix(OPENING) {
            Some(rest) => {
                let (block, after) = rest.rsplit_once(CLOSING).unwrap_or((rest, ""));
                exchange.observations.extend(block.lines().filter_map(observed));
                spoken.push(after.trim());
            }
            None => spoken.push(part.trim()),
        }
    }
    spoken.retain(|part| !part.is_empty());
    exchange.question = spoken.join("\n");
    exchange
}

fn observed(line: &str) -> Option<Observation> {
    let found: Value = serde_json::from_str(line.trim()).ok()?;
    Some(Observation {
        tool: own_name(found.get("tool")?.as_str()?).to_owned(),
        args: found.get("args").and_then(Value::as_object).cloned().unwrap_or_default(),
        is_error: found.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        result: found.get("result").cloned().unwrap_or(Value::Null),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Turn, exchanges};
    use crate::model::dialogue::Call;

    #[test]
    fn grounding_is_told_from_the_question() {
        let block = "<grounding>\nlook-ups\n{\"tool\":\"warehouse__list_sources\",\"args\":{},\"is_error\":false,\"result\":{\"sources\":[]}}\n</grounding>";
        let apart = Turn::User(vec![block.to_owned(), "How many?".to_owned()]);
        let joined = Turn::User(vec![format!("{block}\n\nHow many?")]);
        for turn in [apart, joined] {
            let found = exchanges(&[turn]);
            assert_eq!(found[0].question, "How many?");
            assert_eq!(found[0].observations[0].tool, "list_sources");
        }
        let quoting = Turn::User(vec!["What does <grounding> mean?".to_owned()]);
        assert_eq!(exchanges(&[quoting])[0].question, "What does <grounding> mean?");
    }

    #[test]
    fn results_find_their_calls_and_marked_errors_are_errors() {
        let call = Call {
            id: "1".to_owned(),
            name: "warehouse__run_query".to_owned(),
            args: json!({"sql": "SELECT 1"}).as_object().cloned().unwrap(),
        };
        let found = exchanges(&[
            Turn::User(vec!["Q".to_owned()]),
            Turn::Assistant { text: String::new(), calls: vec![call] },
            Turn::Result {
                id: "1".to_owned(),
                text: "ERROR\n{\"error\":{\"code\":\"invalid\",\"message\":\"no\"}}".to_owned(),
                is_error: false,
            },
        ]);
        let observation = &found[0].observations[0];
        assert!(observation.is_error);
        assert_eq!(observation.error_code(), "invalid");
        assert_eq!(observation.arg("sql"), "SELECT 1");
    }
}
