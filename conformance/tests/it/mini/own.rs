//! What was added to the contract: one's own conversations, waiting for an ending, feedback.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::agent::Asked;
use super::http::{Request, Response};
use super::issuer::Caller;
use super::routes::{json_response, owned, parsed_object, problem};
use super::{Conversation, Mini, Ticket};

/// Answers what is one of these calls.
pub(super) async fn route(
    mini: &Rc<Mini>,
    caller: &Caller,
    request: &Request,
    parts: &[&str],
) -> Option<Response> {
    match (request.method.as_str(), parts) {
        ("GET", ["v1", "conversations"]) => Some(list(mini, caller, request)),
        ("GET", ["v1", "conversations", id]) => Some(show(mini, caller, id)),
        ("DELETE", ["v1", "conversations", id]) => Some(forget(mini, caller, id).await),
        ("POST", ["v1", "asks", id, "feedback"]) => Some(feedback(mini, caller, id, request)),
        _ => None,
    }
}

/// The OpenAPI file without these calls, as of a service that lacks them.
pub(super) fn taken_out_of(openapi: &mut Value) {
    let paths = openapi["paths"].as_object_mut().unwrap();
    paths.remove("/v1/conversations/{conversation_id}");
    paths.remove("/v1/asks/{ticket}/feedback");
    paths["/v1/conversations"].as_object_mut().unwrap().remove("get");
    for (path, name) in [("/v1/asks/{ticket}/events", "after"), ("/v1/asks/{ticket}", "wait")] {
        let parameters = paths[path]["get"]["parameters"].as_array_mut().unwrap();
        parameters.retain(|one| one["name"] != name);
    }
}

pub(super) fn parameter(request: &Request, wanted: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(request.query.as_bytes());
    pairs.into_iter().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
}

fn shown(mini: &Mini, id: &str, found: &Conversation) -> Value {
    let created_at = format!("2026-01-01T00:00:{:02}.{:03}Z", found.number / 1000, found.number % 1000);
    let running = if mini.is("shows-nothing-running") { None } else { found.running.clone() };
    let turns = if mini.is("shows-turns-less-one") { found.turns.saturating_sub(1) } else { found.turns };
    let mut body = json!({"conversation_id": id, "created_at": created_at,
        "expires_at": "2099-01-01T00:00:00.000Z", "turns": turns, "running": running});
    if mini.is("shows-the-question") {
        let tickets = mini.tickets.borrow();
        let last = tickets.values().find(|ticket| ticket.conversation == id);
        body["title"] = json!(last.map(|ticket| ticket.log.question.clone()));
    }
    body
}

fn list(mini: &Mini, caller: &Caller, request: &Request) -> Response {
    let limit = parameter(request, "limit").map_or(Some(50), |text| text.parse().ok());
    let Some(limit) = limit.filter(|limit| (1..=100).contains(limit) || mini.is("any-limit-taken")) else {
        return problem(mini, 422, "limit: 1 to 100");
    };
    let after = match parameter(request, "after").map(|text| text.parse::<u64>()) {
        None => u64::MAX,
        Some(Ok(number)) => number,
        Some(Err(_)) => return problem(mini, 422, "after: the next of a page"),
    };
    let conversations = mini.conversations.borrow();
    let mut own: Vec<(&String, &Conversation)> = conversations
        .iter()
        .filter(|(_, found)| found.owner == caller.owner || mini.is("lists-everybodys"))
        .filter(|(_, found)| found.number < after || (mini.is("pages-overlap") && found.number == after))
        .collect();
    own.sort_by_key(|(_, found)| std::cmp::Reverse(found.number));
    let more = own.len() > limit;
    own.truncate(limit);
    let next = own.last().filter(|_| more).map(|(_, found)| found.number.to_string());
    if mini.is("lists-oldest-first") {
        own.reverse();
    }
    let shown: Vec<Value> = own.iter().map(|(id, found)| shown(mini, id, found)).collect();
    json_response(200, &json!({"conversations": shown, "next": next}))
}

fn owns(mini: &Mini, caller: &Caller, id: &str, open: &str) -> bool {
    let conversations = mini.conversations.borrow();
    conversations.get(id).is_some_and(|found| found.owner == caller.owner || mini.is(open))
}

fn show(mini: &Mini, caller: &Caller, id: &str) -> Response {
    if !owns(mini, caller, id, "conversations-shown-to-all") {
        return problem(mini, 404, "not found");
    }
    json_response(200, &shown(mini, id, &mini.conversations.borrow()[id]))
}

async fn forget(mini: &Rc<Mini>, caller: &Caller, id: &str) -> Response {
    if !owns(mini, caller, id, "anyone-can-forget") {
        return problem(mini, 404, "not found");
    }
    let found: Vec<Rc<Ticket>> =
        mini.tickets.borrow().values().filter(|ticket| ticket.conversation == id).cloned().collect();
    for ticket in found {
        if !mini.is("forgetting-lets-runs-go-on") && ticket.log.finished.get().is_none() {
            let asked = Asked {
                caller: caller.clone(),
                context: true,
                model: "mini-model".to_owned(),
                effort: "high".to_owned(),
            };
            ticket.cancel(mini, &asked).await;
        }
        if !mini.is("forgetting-keeps-tickets") {
            mini.tickets.borrow_mut().remove(&ticket.id);
        }
    }
    if !mini.is("forgetting-keeps-the-conversation") {
        mini.conversations.borrow_mut().remove(id);
    }
    Response { status: 204, headers: Vec::new(), body: Vec::new() }
}

/// Waits for the end of an ask as the request says; an answer if it says it wrongly.
pub(super) async fn wait(mini: &Mini, ticket: &Ticket, request: &Request) -> Option<Response> {
    let text = parameter(request, "wait")?;
    let seconds = text.parse().ok().filter(|seconds| *seconds <= 60);
    let Some(seconds) = seconds.or_else(|| mini.is("any-wait-taken").then_some(0)) else {
        return Some(problem(mini, 422, "wait: 0 to 60"));
    };
    if mini.is("wait-ignored") {
        return None;
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut changed = ticket.log.changed.subscribe();
    while mini.is("waits-to-the-full") || ticket.log.finished.get().is_none() {
        changed.borrow_and_update();
        tokio::select! {
            _ = changed.changed() => {}
            () = tokio::time::sleep_until(until) => break,
        }
    }
    None
}

fn feedback(mini: &Mini, caller: &Caller, id: &str, request: &Request) -> Response {
    const REASONS: [&str; 8] = [
        "correctness",
        "completeness",
        "understanding",
        "definitions",
        "freshness",
        "clarity",
        "speed",
        "other",
    ];
    let ticket = match owned(mini, caller, id, "anyone-can-rate", "") {
        Ok(ticket) => ticket,
        Err(response) => return response,
    };
    let body = match parsed_object(mini, request) {
        Ok(body) => body,
        Err((status, detail)) => return problem(mini, status, detail),
    };
    let members = body.as_object().unwrap();
    let known = members.keys().all(|name| matches!(name.as_str(), "rating" | "reason"));
    let rating = matches!(body["rating"].as_str(), Some("up" | "down"));
    let reason = &body["reason"];
    let closed = reason.is_null() || reason.as_str().is_some_and(|reason| REASONS.contains(&reason));
    if !rating || ((!known || !closed) && !mini.is("feedback-takes-text")) {
        return problem(mini, 422, "no feedback");
    }
    if ticket.log.finished.get().is_none() && !mini.is("rated-before-the-end") {
        return problem(mini, 409, "the ask runs");
    }
    let mut kept = ticket.feedback.borrow_mut();
    if kept.is_none() || !mini.is("first-feedback-counts") {
        *kept = Some(json!({"ticket": id, "rating": body["rating"], "reason": reason}));
    }
    json_response(200, kept.as_ref().unwrap())
}
