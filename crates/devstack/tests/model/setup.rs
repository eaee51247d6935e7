//! A running server, a client of it and a stand-in to ask.

use std::{net::TcpListener, sync::Arc, time::Duration};

use ask_devstack::model::{
    Handle, Options,
    dialogue::{Asked, Call, Reply, StandIn, Turn},
    serve,
};
use ask_llm::{Client, Effort, Endpoint, Message, Protocol, Request, Secret, Tool, TurnError};
use serde_json::{Map, json};

pub(crate) const BOTH: [Protocol; 2] = [Protocol::Anthropic, Protocol::OpenAi];

/// Starts a server on the test's own arbiter.
pub(crate) fn start(stand_in: Option<Arc<dyn StandIn>>, options: Options) -> Handle {
    let _installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let (server, handle) = serve(TcpListener::bind("127.0.0.1:0").unwrap(), stand_in, options).unwrap();
    tokio::task::spawn_local(server);
    handle
}

pub(crate) fn endpoint(protocol: Protocol, handle: &Handle, session: &str) -> Endpoint {
    let mut endpoint = Endpoint::new(protocol, handle.base_url(session).parse().unwrap());
    endpoint.api_key = Some(Secret::new("sk-test"));
    endpoint.accept_degraded = true;
    endpoint.limits.backoff_base = Duration::from_millis(4);
    endpoint
}

pub(crate) fn client(protocol: Protocol, handle: &Handle, session: &str) -> Client {
    Client::new(endpoint(protocol, handle, session)).unwrap()
}

pub(crate) fn tools() -> Vec<Tool> {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: format!("About {name}."),
        input_schema: json!({ "type": "object", "properties": {} }),
    };
    vec![tool("warehouse__list_sources"), tool("warehouse__run_query"), tool("conclude")]
}

pub(crate) fn user(parts: &[&str]) -> Message {
    Message::User { parts: parts.iter().map(|&part| part.to_owned()).collect() }
}

pub(crate) async fn turn(client: &Client, messages: &[Message]) -> Result<ask_llm::Turn, TurnError> {
    let tools = tools();
    let request = Request {
        model: "some-model",
        effort: Effort::Medium,
        system: "You answer questions about data, and nothing else.",
        tools: &tools,
        messages,
        caller: None,
        traceparent: None,
        request_id: None,
    };
    client.turn(request).await
}

/// Calls two tools, and after that repeats what it was told, so that a test sees what came through.
pub(crate) struct Parrot;

impl StandIn for Parrot {
    fn name(&self) -> &'static str {
        "parrot (no language model)"
    }

    fn reply(&self, asked: &Asked) -> Reply {
        let args = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
        match asked.turns.last() {
            Some(Turn::Result { .. }) => Reply { text: format!("{asked:?}"), calls: Vec::new() },
            _ => Reply {
                text: "I look it up, ü \u{1f426}.".to_owned(),
                calls: vec![
                    Call { id: String::new(), name: "warehouse__list_sources".to_owned(), args: Map::new() },
                    Call {
                        id: String::new(),
                        name: "warehouse__run_query".to_owned(),
                        args: args(json!({ "sql": "select \"ü\"\n-- \u{1f426}", "maxRows": 5 })),
                    },
                ],
            },
        }
    }
}
