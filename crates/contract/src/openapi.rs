//! `ask.openapi.json`: the calls, with the types of this crate as their schemas.

use serde_json::{Map, Value, json};

use crate::schema::{event_schemas, generator, with_plain_enums};
use crate::{
    AskRequest, AskState, CONTRACT_VERSION, CancelReceipt, Conversation, ConversationPage, ConversationState,
    Feedback, FeedbackReceipt, Health, PROBLEM_MEDIA_TYPE, Problem, ProblemCode, Ticket,
};

const SCHEMAS: &str = "#/components/schemas/";

/// The OpenAPI 3.1 document of the contract. Every path in it is served, and every served path is in it but the probes below
/// `/health/`, which are an operator's and no client's.
pub fn openapi() -> Value {
    with_plain_enums(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ask service",
            "version": CONTRACT_VERSION,
            "description": "Ask a question of governed data: a ticket before anything runs, the work as a lossless \
                stream of events, and exactly one answer, abstention, refusal or error.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The service's root; a gateway mounts it, at /ask by default."}],
        "security": [{"bearer": []}],
        "paths": paths(),
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": schemas(),
        },
    }))
}

fn schemas() -> Map<String, Value> {
    let mut own = generator(SCHEMAS);
    own.subschema_for::<AskRequest>();
    own.subschema_for::<Conversation>();
    own.subschema_for::<Ticket>();
    own.subschema_for::<AskState>();
    own.subschema_for::<CancelReceipt>();
    own.subschema_for::<ConversationState>();
    own.subschema_for::<ConversationPage>();
    own.subschema_for::<Feedback>();
    own.subschema_for::<FeedbackReceipt>();
    own.subschema_for::<Health>();
    own.subschema_for::<Problem>();
    let mut schemas = own.take_definitions(true);
    let (names, events) = event_schemas(SCHEMAS);
    schemas.extend(events);
    let one_of: Vec<Value> = names.iter().map(|name| json!({"$ref": format!("{SCHEMAS}{name}")})).collect();
    schemas.insert(
        "Event".to_owned(),
        json!({"description": "One event of a ticket's stream.", "oneOf": one_of}),
    );
    if let Some(properties) = schemas.get_mut("AskState").and_then(|state| state.get_mut("properties")) {
        let endings = ["answer", "abstention", "refusal", "error"];
        for (member, types) in [("terminal", &endings[..]), ("done", &["done"][..])] {
            if let Some(slot) = properties.get_mut(member) {
                let mut any: Vec<Value> =
                    types.iter().map(|name| json!({"$ref": format!("{SCHEMAS}{name}")})).collect();
                any.push(json!({"type": "null"}));
                *slot = json!({"anyOf": any});
            }
        }
    }
    schemas
}

fn paths() -> Value {
    use ProblemCode as Code;
    let created = [
        Code::Unauthenticated,
        Code::InsufficientScope,
        Code::IdempotencyKeyReused,
        Code::InvalidRequest,
        Code::TooManyRequests,
        Code::Unavailable,
    ];
    let asked = [
        Code::Unauthenticated,
        Code::InsufficientScope,
        Code::NotFound,
        Code::AskRunning,
        Code::BodyTooLarge,
        Code::UnsupportedMediaType,
        Code::InvalidRequest,
        Code::TooManyRequests,
        Code::Unavailable,
    ];
    let owned = [Code::Unauthenticated, Code::InsufficientScope, Code::NotFound, Code::TicketExpired];
    let waited = [&owned[..], &[Code::InvalidRequest]].concat();
    let rated = [
        Code::Unauthenticated,
        Code::InsufficientScope,
        Code::NotFound,
        Code::AskRunning,
        Code::TicketExpired,
        Code::BodyTooLarge,
        Code::UnsupportedMediaType,
        Code::InvalidRequest,
        Code::TooManyRequests,
    ];
    let listed = [Code::Unauthenticated, Code::InsufficientScope, Code::InvalidRequest];
    let mine = [Code::Unauthenticated, Code::InsufficientScope, Code::NotFound];
    let ticket = parameter("ticket", "The ticket's identifier.");
    let once = json!({
        "name": "Idempotency-Key", "in": "header", "required": false,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        "description": "The same key and the same request give the same answer again, for as long as its outcome is kept.",
    });
    // OpenAPI 3.1 has no word for the items of a stream; 3.2 calls this `itemSchema`.
    let frame = json!({
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {
            "id": {"type": "string", "pattern": "^[1-9][0-9]*$"},
            "event": {"type": "string"},
            "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": {"$ref": format!("{SCHEMAS}Event")}},
        },
    });
    let conversation = parameter("conversation_id", "The conversation's identifier.");
    json!({
        "/v1/conversations": {
            "get": call(
                "listConversations", "The caller's own conversations, the newest first; never any text.",
                &[
                    query("limit", "At most so many.", &json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 50})),
                    query("after", "The `next` of the page before.", &json!({
                        "type": "string", "pattern": r"^[0-9]{1,18}\.[A-Za-z0-9_]{1,128}$",
                    })),
                ],
                &[("200", json_body("A page of them.", "ConversationPage"))], &listed,
            ),
            "post": call(
                "createConversation", "A conversation to ask within.", std::slice::from_ref(&once),
                &[("201", json_body("A new conversation.", "Conversation"))], &created,
            ),
        },
        "/v1/conversations/{conversation_id}": {
            "get": call(
                "getConversation", "Where a conversation stands; never any text.", std::slice::from_ref(&conversation),
                &[("200", json_body("Where it stands.", "ConversationState"))], &mine,
            ),
            "delete": call(
                "forgetConversation", "Cancel what runs in a conversation and forget it with all its tickets, now.",
                std::slice::from_ref(&conversation),
                &[("204", json!({"description": "It is forgotten."}))], &mine,
            ),
        },
        "/v1/conversations/{conversation_id}/asks": {"post": with_request(call(
            "ask", "Ask a question; the ticket comes back before any tool call runs.", &[conversation, once],
            &[("202", json_body("The question was taken.", "Ticket"))], &asked,
        ), "AskRequest")},
        "/v1/asks/{ticket}/events": {"get": call(
            "streamEvents",
            "The ticket's events as Server-Sent Events, from the start or after `Last-Event-ID`.",
            &[ticket.clone(), json!({
                "name": "Last-Event-ID", "in": "header", "required": false, "schema": {"type": "string"},
                "description": "The last `seq` seen: the stream goes on after it. Absent, 0 or no number: from the start.",
            }), query(
                "after", "The twin of `Last-Event-ID`, which counts before it where it names an event.",
                &json!({"type": "string"}),
            )],
            &[
                ("200", json!({
                    "description": "Frames of `id`, `event` and `data`; each `data` is one Event. Closes after `done`.",
                    "content": {"text/event-stream": {"x-itemSchema": frame}},
                })),
                ("204", json!({"description": "`Last-Event-ID` is already at `done`: there is nothing more to come."})),
            ],
            &owned,
        )},
        "/v1/asks/{ticket}": {"get": call(
            "getAsk", "Where an ask stands, for clients without Server-Sent Events.",
            &[ticket.clone(), query(
                "wait", "Seconds to wait for the end of the ask before answering.",
                &json!({"type": "integer", "minimum": 0, "maximum": 60, "default": 0}),
            )],
            &[("200", json_body("Its state.", "AskState"))], &waited,
        )},
        "/v1/asks/{ticket}/feedback": {"post": with_request(call(
            "rateAsk", "What the asker thinks of how an ask ended; the latest word counts.", std::slice::from_ref(&ticket),
            &[("200", json_body("What counts now.", "FeedbackReceipt"))], &rated,
        ), "Feedback")},
        "/v1/asks/{ticket}/cancel": {"post": call(
            "cancelAsk", "End an ask; idempotent, also after `done`.", &[ticket],
            &[("202", json_body("The ending is in the log.", "CancelReceipt"))], &owned,
        )},
        "/health": {"get": open(call(
            "health", "That the process serves.", &[], &[("200", json_body("It serves.", "Health"))], &[],
        ))},
        "/openapi.json": {"get": open(call(
            "openapi", "This document.", &[], &[("200", any_json("This document.", "application/json"))], &[],
        ))},
        "/events.schema.json": {"get": open(call(
            "eventsSchema", "The JSON Schema of the events.", &[], &[("200", any_json("A JSON Schema.", "application/schema+json"))], &[],
        ))},
    })
}

fn call(
    id: &str,
    summary: &str,
    parameters: &[Value],
    successes: &[(&str, Value)],
    problems: &[ProblemCode],
) -> Value {
    let mut responses = Map::new();
    for (status, body) in successes {
        responses.insert((*status).to_owned(), body.clone());
    }
    for code in problems {
        responses.insert(code.status().to_string(), problem(*code));
    }
    let operation = json!({"operationId": id, "summary": summary, "responses": responses});
    if parameters.is_empty() { operation } else { with(operation, "parameters", parameters.into()) }
}

/// The object with one more member.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    object
}

fn with_request(operation: Value, schema: &str) -> Value {
    let body = json!({
        "required": true,
        "content": {"application/json": {"schema": {"$ref": format!("{SCHEMAS}{schema}")}}},
    });
    with(operation, "requestBody", body)
}

fn open(operation: Value) -> Value {
    with(operation, "security", json!([]))
}

fn parameter(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "description": description, "schema": {"type": "string"}})
}

fn query(name: &str, description: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "query", "required": false, "description": description, "schema": schema})
}

fn json_body(description: &str, schema: &str) -> Value {
    json!({
        "description": description,
        "content": {"application/json": {"schema": {"$ref": format!("{SCHEMAS}{schema}")}}},
    })
}

fn any_json(description: &str, media_type: &str) -> Value {
    json!({"description": description, "content": {media_type: {"schema": {"type": "object"}}}})
}

fn problem(code: ProblemCode) -> Value {
    let response = json!({
        "description": code.title(),
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": format!("{SCHEMAS}Problem")}}},
    });
    if code != ProblemCode::Unauthenticated {
        return response;
    }
    with(
        response,
        "headers",
        json!({"WWW-Authenticate": {"schema": {"type": "string"}, "description": "`Bearer`."}}),
    )
}
