//! The local tool by which a model says, explicitly, how its work ended. It is no step: nothing outside is called.

use ask_contract::{Headline, HeadlineValue};
use ask_core::outcome::Conclusion;
use serde_json::{Map, Value, json};

/// The tool's name; it has no server, so that no server's tool can take it.
pub(crate) const CONCLUDE: &str = "conclude";

/// The tool as the model is offered it.
pub(crate) fn conclude_tool() -> ask_llm::Tool {
    ask_llm::Tool {
        name: CONCLUDE.to_owned(),
        description: "Ends the work. Call it once, alone, when the answer is known or can't be had. \
            With kind \"answer\", text is the answer for a person, entities lists the fully qualified names of the \
            catalog entries that the answer rests on, and headline holds the one salient figure if there is one, \
            exactly as it stands in a result. With kind \"cannot_answer\", text says in a sentence what is missing."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "text", "entities"],
            "properties": {
                "kind": {"type": "string", "enum": ["answer", "cannot_answer"]},
                "text": {"type": "string", "description": "What a person is told."},
                "entities": {"type": "array", "items": {"type": "string"},
                    "description": "Fully qualified names of catalog entries that were read and that the answer rests on."},
                "searched_terms": {"type": "array", "items": {"type": "string"},
                    "description": "Catalog words that were tried."},
                "headline": {
                    "type": ["object", "null"],
                    "additionalProperties": false,
                    "required": ["value", "label"],
                    "properties": {
                        "value": {"type": ["number", "string"]},
                        "unit": {"type": ["string", "null"]},
                        "label": {"type": "string"},
                    },
                },
            },
        }),
    }
}

/// Reads what the model concluded.
///
/// # Errors
///
/// A sentence for the model when the input is not usable.
pub(crate) fn read_conclusion(input: &Map<String, Value>) -> Result<Conclusion, String> {
    let answered = match input.get("kind").and_then(Value::as_str) {
        Some("answer") => true,
        Some("cannot_answer") => false,
        Some(_) | None => return Err("kind must be \"answer\" or \"cannot_answer\"".to_owned()),
    };
    let Some(text) = input.get("text").and_then(Value::as_str).filter(|text| !text.trim().is_empty()) else {
        return Err("text must say something".to_owned());
    };
    let entities = match input.get("entities") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(_) => return Err("entities must be a list of names".to_owned()),
    };
    Ok(Conclusion {
        answered,
        text: text.to_owned(),
        entities,
        headline: input.get("headline").and_then(read_headline),
    })
}

fn read_headline(value: &Value) -> Option<Headline> {
    let figure = match value.get("value")? {
        Value::Number(number) => HeadlineValue::Number(number.clone()),
        Value::String(text) => HeadlineValue::Text(text.clone()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let unit = value.get("unit").and_then(Value::as_str).filter(|unit| !unit.is_empty()).map(str::to_owned);
    let label = value.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Headline { value: figure, unit, label })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &Value) -> Result<Conclusion, String> {
        read_conclusion(input.as_object().unwrap())
    }

    #[test]
    fn a_conclusion_reads_back() {
        let read = read(&json!({"kind": "answer", "text": "Billing.", "entities": ["A.B"],
            "headline": {"value": "Billing", "unit": null, "label": "fastest"}}));
        let conclusion = read.unwrap();
        assert!(conclusion.answered);
        assert_eq!(conclusion.entities, ["A.B"]);
        assert_eq!(conclusion.headline.unwrap().label, "fastest");
    }

    #[test]
    fn an_unusable_conclusion_says_what_is_wrong() {
        for (input, wrong) in [
            (json!({"text": "x"}), "kind"),
            (json!({"kind": "maybe", "text": "x"}), "kind"),
            (json!({"kind": "answer"}), "text"),
            (json!({"kind": "answer", "text": "x", "entities": "A"}), "entities"),
        ] {
            assert!(read(&input).unwrap_err().contains(wrong), "{input}");
        }
    }
}
