//! The scripted model behind the mini-service, with the control API of the sample stack's stub.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Model {
    script: RefCell<VecDeque<Value>>,
    requests: RefCell<Vec<Value>>,
    number: Cell<u64>,
}

/// What the model said in one turn.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
}

/// How a turn failed.
pub(crate) enum Failed {
    Status,
    Truncated(Said),
}

impl Model {
    pub(super) fn script(&self, replies: &Value) {
        *self.script.borrow_mut() = replies.as_array().cloned().unwrap_or_default().into();
    }

    pub(super) fn received(&self) -> u64 {
        self.number.get()
    }

    pub(super) fn requests(&self) -> Value {
        json!(*self.requests.borrow())
    }

    /// One turn: takes the next scripted reply, whatever it is asked.
    pub(super) async fn turn(&self, mut request: Value) -> Result<Said, Failed> {
        self.number.set(self.number.get() + 1);
        request["number"] = json!(self.number.get());
        self.requests.borrow_mut().push(request.clone());
        let scripted = self.script.borrow_mut().pop_front();
        let reply = scripted.unwrap_or_else(|| unscripted(&request["body"]["messages"]));
        let wait = reply["delay_head_ms"].as_u64().unwrap_or(0);
        if wait > 0 {
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
        if reply["status"].is_u64() {
            return Err(Failed::Status);
        }
        let calls = reply["calls"].as_array().cloned().unwrap_or_default();
        let said = Said {
            text: reply["text"].as_str().unwrap_or_default().to_owned(),
            calls: calls
                .iter()
                .map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["args"].clone()))
                .collect(),
        };
        if reply["cut_after_bytes"].is_u64() { Err(Failed::Truncated(said)) } else { Ok(said) }
    }
}

/// What is replied without a script: enough of an analyst for the four behaviours.
fn unscripted(messages: &Value) -> Value {
    let messages = messages.as_array().cloned().unwrap_or_default();
    let asked = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let question = messages[asked]["content"].as_str().unwrap_or_default().to_owned();
    let earlier = json!(messages[..asked]).to_string();
    let call = |name: &str, args: Value| json!({"calls": [{"name": name, "args": args}]});
    let conclude = |kind: &str, text: &str, entities: Value| {
        call("conclude", json!({"kind": kind, "text": text, "entities": entities}))
    };
    let first_turn = asked + 1 == messages.len();
    if question.contains("satisfaction") {
        return if first_turn {
            call("catalog__search_metadata", json!({"query": "satisfaction"}))
        } else {
            conclude("cannot_answer", "The catalog has nothing on it.", json!([]))
        };
    }
    if question.contains("mean") {
        return if first_turn {
            call(
                "catalog__get_entity_details",
                json!({"entityType": "glossaryTerm", "fqn": "Support.ResolutionTime"}),
            )
        } else {
            conclude("answer", "It is the time to resolve.", json!(["Support.ResolutionTime"]))
        };
    }
    if question.contains("that team") && !earlier.contains("Billing") {
        return conclude("cannot_answer", "Which team?", json!([]));
    }
    if first_turn {
        let what = if question.contains("team") { "team, COUNT(*)" } else { "COUNT(*)" };
        call("warehouse__run_query", json!({"sql": format!("SELECT {what} AS n FROM support.tickets")}))
    } else {
        conclude("answer", "So it is.", json!([]))
    }
}
