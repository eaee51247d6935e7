//! An endpoint, a question and a turn to begin from.

use std::time::Duration;

use ask_llm::{Client, Effort, Endpoint, Message, Protocol, Request, Secret, Tool, Turn, TurnError};
use serde_json::json;

/// What no log, error or debug text may hold.
pub(crate) const KEY: &str = "sk-canary-0123456789";

pub(crate) fn endpoint(protocol: Protocol, base: &str) -> Endpoint {
    // awc needs one; another test may have been first.
    let _installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut endpoint = Endpoint::new(protocol, base.parse().unwrap());
    endpoint.api_key = Some(Secret::new(KEY));
    endpoint.accept_degraded = true;
    endpoint.limits.backoff_base = Duration::from_millis(4);
    endpoint.limits.max_attempts = 1;
    endpoint
}

pub(crate) fn client(protocol: Protocol, base: &str) -> Client {
    Client::new(endpoint(protocol, base)).unwrap()
}

pub(crate) fn question() -> Vec<Message> {
    vec![Message::User { parts: vec!["How many tickets are open?".to_owned()] }]
}

pub(crate) fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "warehouse__run_query".to_owned(),
        description: "Runs one statement.".to_owned(),
        input_schema: json!({ "type": "object", "properties": { "sql": { "type": "string" } }, "required": ["sql"] }),
    }]
}

pub(crate) async fn turn_with(client: &Client, messages: &[Message]) -> Result<Turn, TurnError> {
    let request = Request {
        model: "some-model",
        effort: Effort::High,
        system: "You answer questions.",
        tools: &tools(),
        messages,
        caller: Some("alice"),
        traceparent: None,
        request_id: None,
    };
    client.turn(request).await
}

pub(crate) async fn turn(client: &Client) -> Result<Turn, TurnError> {
    turn_with(client, &question()).await
}
