//! The calls of the contract, and those of issuer and model control.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::agent::{self, Asked};
use super::http::{Request, Response, chunk};
use super::issuer::Caller;
use super::log::Log;
use super::{Conversation, KEEP_ALIVE, Mini, TTL, Ticket, own};

pub(super) fn json_response(status: u16, body: &Value) -> Response {
    Response {
        status,
        headers: vec![("Content-Type", "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}

pub(super) fn problem(mini: &Mini, status: u16, detail: &str) -> Response {
    if mini.is("errors-are-html") {
        let headers = vec![("Content-Type", "text/html".to_owned())];
        return Response { status, headers, body: b"<h1>Sorry</h1>".to_vec() };
    }
    let said = if mini.is("problem-says-other-status") { 500 } else { status };
    let mut body =
        json!({"type": "about:blank", "title": "Not served", "status": said, "code": "x", "detail": detail});
    if mini.is("errors-show-cause") {
        body["detail"] = json!(format!("{detail}: caused by sqlx::Error at /src/store.rs:91"));
    }
    let code = match status {
        401 => "unauthenticated",
        403 => "insufficient_scope",
        409 => "ask_running",
        410 => "ticket_expired",
        413 => "body_too_large",
        415 => "unsupported_media_type",
        422 => "invalid_request",
        _ => "not_found",
    };
    body["code"] = json!(code);
    if mini.is("problems-lack-a-code") {
        body.as_object_mut().unwrap().remove("code");
    }
    let mut response = json_response(status, &body);
    response.headers = vec![("Content-Type", "application/problem+json".to_owned())];
    if status == 401 && !mini.is("no-challenge") {
        response.headers.push(("WWW-Authenticate", "Bearer".to_owned()));
    }
    response
}

fn moment(mini: &Mini, ahead: bool) -> Value {
    if mini.is("expires-at-is-a-number") {
        return json!(1_900_000_000);
    }
    let shift = if ahead { TTL } else { Duration::ZERO };
    let then = time::OffsetDateTime::now_utc() + shift
        - if ahead { Duration::ZERO } else { Duration::from_secs(60) };
    json!(then.format(&time::format_description::well_known::Rfc3339).unwrap())
}

/// Answers, or streams into the writer itself.
pub(super) async fn route(
    mini: &Rc<Mini>,
    request: &Request,
    writer: &mut (impl AsyncWrite + Unpin),
) -> Option<Response> {
    let parts: Vec<_> = request.path.trim_matches('/').split('/').collect();
    if let Some(response) = open_calls(mini, request, &parts) {
        return Some(response);
    }
    if mini.is("unknown-before-bearer") && parts.contains(&"never-was") {
        return Some(problem(mini, 404, "not found"));
    }
    let mut authorization = request.header("authorization");
    if mini.is("token-in-query-taken") && authorization.is_none() {
        authorization = request.query.strip_prefix("access_token=").map(|token| format!("Bearer {token}"));
    }
    if mini.is("cancel-needs-no-bearer") && parts.last() == Some(&"cancel") && authorization.is_none() {
        return Some(json_response(202, &json!({"ticket": parts.get(2), "finished": true})));
    }
    let caller = match mini.issuer.check(mini.wrong, authorization.as_deref()) {
        Ok(caller) => caller,
        Err(status) => return Some(problem(mini, status, "no valid bearer")),
    };
    if !mini.is_plain.get()
        && let Some(response) = own::route(mini, &caller, request, &parts).await
    {
        return Some(response);
    }
    match (request.method.as_str(), parts.as_slice()) {
        ("POST", ["v1", "conversations"]) => Some(create(mini, &caller)),
        ("POST", ["v1", "conversations", id, "asks"]) => Some(ask(mini, &caller, id, request).await),
        ("GET", ["v1", "asks", id]) => Some(state(mini, &caller, id, request).await),
        ("POST", ["v1", "asks", id, "cancel"]) => Some(cancel(mini, &caller, id).await),
        ("GET", ["v1", "asks", id, "events"]) => events(mini, &caller, id, request, writer).await,
        _ => Some(problem(mini, 404, "not found")),
    }
}

fn open_calls(mini: &Mini, request: &Request, parts: &[&str]) -> Option<Response> {
    let file = |name: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let text = std::fs::read(format!("{path}/{name}")).unwrap();
        let mut body: Value = serde_json::from_slice(&text).unwrap();
        if mini.is("schema-takes-anything") && name.starts_with("events") {
            body["oneOf"] = json!([{}]);
        }
        if mini.is_plain.get() && name.starts_with("ask") {
            own::taken_out_of(&mut body);
        }
        json_response(200, &body)
    };
    match (request.method.as_str(), parts) {
        ("GET", ["health"])
            if mini.is("health-needs-bearer") && request.header("authorization").is_none() =>
        {
            Some(problem(mini, 401, "no valid bearer"))
        }
        ("GET", ["health"]) if mini.is("health-lacks-contract") => {
            Some(json_response(200, &json!({"status": "ok"})))
        }
        ("GET", ["health"]) => Some(json_response(200, &json!({"status": "ok", "contract": "1"}))),
        ("GET", ["openapi.json"]) => Some(file("ask.openapi.json")),
        ("GET", ["events.schema.json"]) => Some(file("events.schema.json")),
        ("POST", ["token"]) => {
            let form = String::from_utf8_lossy(&request.body).into_owned();
            let name = form.split('&').find_map(|pair| pair.strip_prefix("username=")).unwrap_or_default();
            Some(json_response(200, &json!({"access_token": mini.issuer.token_for(name)})))
        }
        ("POST", ["mint"]) => {
            let order: Value = serde_json::from_slice(&request.body).unwrap();
            Some(json_response(200, &json!({"access_token": mini.issuer.sign(&order["claims"])})))
        }
        ("POST", ["control", "script"]) => {
            mini.model.script(&serde_json::from_slice(&request.body).unwrap());
            Some(json_response(200, &json!({})))
        }
        ("GET", ["control", "state"]) => {
            Some(json_response(200, &json!({"received": mini.model.received()})))
        }
        ("GET", ["control", "requests"]) => Some(json_response(200, &mini.model.requests())),
        _ => None,
    }
}

fn create(mini: &Mini, caller: &Caller) -> Response {
    let id = mini.new_id("c-");
    let owner = if mini.is("first-user-owns-all") {
        caller.owner.replace("carol", "alice")
    } else {
        caller.owner.clone()
    };
    let conversation = Conversation::new(mini, owner);
    mini.conversations.borrow_mut().insert(id.clone(), conversation);
    let status = if mini.is("conversation-is-200") { 200 } else { 201 };
    let expires_at = moment(mini, !mini.is("conversation-expires-in-the-past"));
    json_response(status, &json!({"conversation_id": id, "expires_at": expires_at}))
}

/// The request's body as an object, or what is wrong with it.
pub(super) fn parsed_object(mini: &Mini, request: &Request) -> Result<Value, (u16, &'static str)> {
    let kind = request.header("content-type").unwrap_or_default();
    let is_json = kind.split(';').next().unwrap_or_default().trim() == "application/json";
    if !is_json && !mini.is("any-media-type-taken") {
        return Err((415, "not JSON"));
    }
    if request.too_large {
        return Err((413, "too large"));
    }
    let malformed = if mini.is("malformed-is-400") { 400 } else { 422 };
    let body: Value = serde_json::from_slice(&request.body).map_err(|_err| (malformed, "malformed"))?;
    let no_object = if mini.is("array-is-400") { 400 } else { 422 };
    if body.is_object() { Ok(body) } else { Err((no_object, "not an object")) }
}

/// The question's members, or what is wrong with them.
fn parsed(mini: &Mini, request: &Request) -> Result<Value, (u16, &'static str)> {
    let body = parsed_object(mini, request)?;
    let members = body.as_object().unwrap();
    for (name, value) in members {
        let fits = match name.as_str() {
            "question" => value.is_string() || (mini.is("numbers-are-questions") && value.is_number()),
            "context" => value.is_boolean() || mini.is("context-of-any-type"),
            "model" => value.is_string() || mini.is("model-of-any-type"),
            "effort" => {
                let known = ["low", "medium", "high", "xhigh", "max"];
                let known = if mini.is("xhigh-unknown") { &known[..3] } else { &known[..] };
                value.as_str().is_some_and(|value| known.contains(&value)) || mini.is("any-effort-taken")
            }
            _ => mini.is("unknown-members-ignored"),
        };
        if !fits {
            return Err((422, "a bad member"));
        }
    }
    let missing = if mini.is("missing-question-is-400") { 400 } else { 422 };
    let question = members.get("question").ok_or((missing, "no question"))?;
    let blank = question.as_str().is_some_and(|text| text.trim().is_empty());
    if blank && !mini.is("blank-questions-taken") {
        return Err((422, "a blank question"));
    }
    Ok(body)
}

async fn ask(mini: &Rc<Mini>, caller: &Caller, id: &str, request: &Request) -> Response {
    if mini.is("busy-before-owner") {
        let busy = mini.conversations.borrow().get(id).is_some_and(|found| found.running.is_some());
        if busy {
            return problem(mini, 409, "an ask is running");
        }
    }
    let exists = mini.conversations.borrow().contains_key(id);
    if !exists && mini.is("unknown-conversations-made") {
        let made = Conversation::new(mini, caller.owner.clone());
        mini.conversations.borrow_mut().insert(id.to_owned(), made);
    }
    if mini.is("validates-others-conversations") && exists && parsed(mini, request).is_err() {
        return problem(mini, 422, "a bad member");
    }
    let owned = mini.conversations.borrow().get(id).is_some_and(|found| {
        let own = found.owner == caller.owner || mini.is("conversations-open-to-all");
        let idle =
            found.running.is_none() && found.used.elapsed() > TTL && !mini.is("conversations-live-for-ever");
        own && !idle
    });
    if !owned {
        let status = if mini.is("others-conversation-is-403") && exists { 403 } else { 404 };
        return problem(mini, status, "not found");
    }
    let body = match parsed(mini, request) {
        Ok(body) => body,
        Err((status, detail)) => {
            if mini.is("refused-ask-takes-a-turn") {
                mini.conversations.borrow_mut().get_mut(id).unwrap().turns += 1;
            }
            return problem(mini, status, detail);
        }
    };
    if mini.is("busy-decided-too-early") {
        let free = mini.conversations.borrow()[id].running.is_none();
        tokio::time::sleep(Duration::from_millis(10)).await;
        if free {
            mini.conversations.borrow_mut().get_mut(id).unwrap().running = None;
        }
    }
    let others_run = mini.is("one-ask-per-user")
        && mini
            .conversations
            .borrow()
            .values()
            .any(|found| found.owner == caller.owner && found.running.is_some());
    if (mini.conversations.borrow()[id].running.is_some() && !mini.is("no-409")) || others_run {
        if mini.is("busy-takes-a-turn") {
            mini.conversations.borrow_mut().get_mut(id).unwrap().turns += 1;
        }
        return problem(mini, 409, "an ask is running");
    }
    let (ticket, asked) = admit(mini, caller, id, &body);
    let run = tokio::task::spawn_local(agent::run(Rc::clone(mini), Rc::clone(&ticket), asked));
    *ticket.run.borrow_mut() = Some(run.abort_handle());
    if mini.is("ticket-after-run") {
        let _ended = run.await;
    }
    let seq = u64::from(mini.is("ticket-seq-is-the-log-s"));
    let expires_at = moment(mini, !mini.is("ticket-expires-in-the-past"));
    let turn = if mini.is("ticket-turn-from-zero") { ticket.turn - 1 } else { ticket.turn };
    json_response(
        202,
        &json!({"ticket": ticket.id, "conversation_id": ticket.conversation, "turn": turn, "seq": seq,
                "expires_at": expires_at}),
    )
}

fn admit(mini: &Rc<Mini>, caller: &Caller, id: &str, body: &Value) -> (Rc<Ticket>, Asked) {
    let mut conversations = mini.conversations.borrow_mut();
    let all_turns: u64 = conversations.values().map(|found| found.turns).sum();
    let found = conversations.get_mut(id).unwrap();
    found.turns += u64::from(!mini.is("turns-not-counted") || found.turns == 0);
    let turn = if mini.is("turns-counted-over-all") { all_turns + 1 } else { found.turns };
    let question = body["question"].as_str().map_or_else(|| body["question"].to_string(), str::to_owned);
    let ticket = Rc::new(Ticket {
        id: mini.new_id("t-"),
        owner: found.owner.clone(),
        conversation: id.to_owned(),
        turn,
        log: Log::new(question),
        born: Instant::now(),
        run: std::cell::RefCell::new(None),
        streams: std::cell::Cell::new(0),
        feedback: std::cell::RefCell::new(None),
    });
    found.running = Some(ticket.id.clone());
    if !mini.is("conversation-expiry-not-moved") {
        found.used = Instant::now();
    }
    drop(conversations);
    mini.tickets.borrow_mut().insert(ticket.id.clone(), Rc::clone(&ticket));
    let choice = |name: &'static str, default: &str| {
        let sticky = mini.is("overrides-stick");
        let asked = body[name].as_str().filter(|_| !mini.is("overrides-ignored")).map(str::to_owned);
        if let (true, Some(asked)) = (sticky, &asked) {
            mini.sticky.borrow_mut().insert(name, asked.clone());
        }
        let kept = mini.sticky.borrow().get(name).cloned();
        asked.or(kept).unwrap_or_else(|| default.to_owned())
    };
    let context = body["context"].as_bool().unwrap_or(!mini.is("context-off-by-default"));
    let asked = Asked {
        caller: caller.clone(),
        context,
        model: choice("model", "mini-model"),
        effort: choice("effort", "high"),
    };
    (ticket, asked)
}

/// The ticket if it is the caller's, else the answer.
pub(super) fn owned(
    mini: &Mini,
    caller: &Caller,
    id: &str,
    open: &str,
    forbidden: &str,
) -> Result<Rc<Ticket>, Response> {
    let found = mini.tickets.borrow().get(id).cloned();
    let Some(ticket) = found else {
        let status = if mini.is("unknown-ticket-is-400") { 400 } else { 404 };
        return Err(problem(mini, status, "not found"));
    };
    if mini.is("ticket-known-late") && ticket.born.elapsed() < Duration::from_millis(60) {
        return Err(problem(mini, 404, "not found"));
    }
    let expired =
        ticket.log.finished.get().is_some_and(|at| at.elapsed() > TTL) && !mini.is("tickets-live-for-ever");
    if expired && mini.is("expired-is-410-to-all") {
        return Err(problem(mini, 410, "expired"));
    }
    if ticket.owner != caller.owner && !mini.is(open) {
        if mini.is(forbidden) {
            return Err(problem(mini, 403, "not yours"));
        }
        let detail = if mini.is("not-yours-differs") { "not yours" } else { "not found" };
        return Err(problem(mini, 404, detail));
    }
    let dropped = mini.is("finished-tickets-dropped") && ticket.log.finished.get().is_some();
    if expired || dropped {
        let status = if mini.is("expired-is-404") { 404 } else { 410 };
        return Err(problem(mini, status, "expired"));
    }
    Ok(ticket)
}

async fn state(mini: &Mini, caller: &Caller, id: &str, request: &Request) -> Response {
    let ticket = match owned(mini, caller, id, "state-open-to-all", "others-state-is-403") {
        Ok(ticket) => ticket,
        Err(response) => return response,
    };
    if !mini.is_plain.get()
        && let Some(response) = own::wait(mini, &ticket, request).await
    {
        return response;
    }
    let log = &ticket.log;
    let finished = log.finished.get().is_some();
    let kinds = ["answer", "abstention", "refusal", "error"];
    let mut terminal = log.find(|entry| kinds.contains(&entry.kind)).unwrap_or_default();
    if mini.is("state-summarises-terminal") && terminal.is_object() {
        terminal = json!({"type": terminal["type"], "text": terminal["text"]});
    }
    if mini.is("state-holds-question") && terminal.is_object() {
        terminal["text"] = json!(log.question);
    }
    let mut done = log.find(|entry| entry.kind == "done").unwrap_or_default();
    if mini.is("running-state-has-empty-terminal") && !finished {
        terminal = json!({});
        done = json!({});
    }
    let mut seq = log.last_seq();
    if mini.is("state-seq-lags") {
        seq = seq.saturating_sub(2);
    }
    let status = if finished && !mini.is("state-never-finishes") { "finished" } else { "running" };
    let conversation = &ticket.conversation;
    let mut response = json_response(
        200,
        &json!({"ticket": ticket.id, "conversation_id": conversation, "status": status, "seq": seq,
                "terminal": terminal, "done": done}),
    );
    if mini.is("state-is-plain-text") {
        response.headers = vec![("Content-Type", "text/plain".to_owned())];
    }
    response
}

async fn cancel(mini: &Rc<Mini>, caller: &Caller, id: &str) -> Response {
    let ticket = match owned(mini, caller, id, "cancel-open-to-all", "others-cancel-is-403") {
        Ok(ticket) => ticket,
        Err(response) => return response,
    };
    let finished = ticket.log.finished.get().is_some();
    if finished && mini.is("cancel-after-done-is-409") {
        return problem(mini, 409, "already over");
    }
    if !finished || mini.is("two-cancels-two-endings") {
        let asked = Asked {
            caller: caller.clone(),
            context: true,
            model: "mini-model".to_owned(),
            effort: "high".to_owned(),
        };
        ticket.cancel(mini, &asked).await;
    }
    let status = if mini.is("cancel-is-200") { 200 } else { 202 };
    let mut body = json!({"ticket": ticket.id, "finished": true});
    if mini.is("cancel-says-nothing") {
        body = json!({});
    }
    json_response(status, &body)
}

/// A `Last-Event-ID` by the contract: digits, else from the start.
fn position(mini: &Mini, request: &Request) -> Result<u64, u16> {
    let after =
        own::parameter(request, "after").filter(|_| !mini.is_plain.get() && !mini.is("after-ignored"));
    let header = request.header("last-event-id");
    let said = if mini.is("after-before-the-header") { after.or(header) } else { header.or(after) };
    let Some(value) = said else { return Ok(0) };
    let value = value.trim().to_owned();
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return if mini.is("odd-last-event-id-is-400") && !value.is_empty() { Err(400) } else { Ok(0) };
    }
    match value.parse() {
        Ok(number) => Ok(number),
        Err(_) if mini.is("huge-last-event-id-is-500") => Err(500),
        Err(_) => Ok(u64::MAX),
    }
}

async fn events(
    mini: &Rc<Mini>,
    caller: &Caller,
    id: &str,
    request: &Request,
    writer: &mut (impl AsyncWrite + Unpin),
) -> Option<Response> {
    let ticket = match owned(mini, caller, id, "events-open-to-all", "others-events-is-403") {
        Ok(ticket) => ticket,
        Err(response) => return Some(response),
    };
    let mut cursor = match position(mini, request) {
        Ok(cursor) => cursor,
        Err(status) => return Some(problem(mini, status, "a bad Last-Event-ID")),
    };
    let explicit_zero = request.header("last-event-id").as_deref() == Some("0");
    if explicit_zero && mini.is("zero-is-nothing-new") {
        return Some(Response { status: 204, headers: Vec::new(), body: Vec::new() });
    }
    let finished = ticket.log.finished.get().is_some();
    if finished && cursor >= ticket.log.last_seq() && !mini.is("at-done-is-empty-200") {
        if mini.is("past-done-hangs") && cursor > ticket.log.last_seq() {
            std::future::pending::<()>().await;
        }
        let body = if mini.is("204-has-a-body") { b"nothing".to_vec() } else { Vec::new() };
        return Some(Response { status: 204, headers: Vec::new(), body });
    }
    if mini.is("resume-repeats-last") && cursor > 0 {
        cursor -= 1;
    }
    if mini.is("resume-skips-one") && cursor > 0 {
        cursor += 1;
    }
    if mini.is("gap-restarts") && !ticket.log.after(0).iter().any(|entry| entry.seq == cursor) {
        cursor = 0;
    }
    if mini.is("late-reader-sees-new-only") && !finished && cursor == 0 {
        cursor = ticket.log.last_seq();
    }
    // A client that has left ends the writing; that is no error.
    let left = stream(mini, &ticket, cursor, writer).await.is_err();
    if left && mini.is("disconnect-cancels") && ticket.log.finished.get().is_none() {
        let asked = Asked {
            caller: caller.clone(),
            context: true,
            model: "mini-model".to_owned(),
            effort: "high".to_owned(),
        };
        ticket.cancel(mini, &asked).await;
    }
    None
}

async fn stream(
    mini: &Rc<Mini>,
    ticket: &Rc<Ticket>,
    mut cursor: u64,
    writer: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<()> {
    let _one_at_a_time =
        if mini.is("one-reader-at-a-time") { Some(mini.stream_lock.lock().await) } else { None };
    ticket.streams.set(ticket.streams.get() + 1);
    let replay = ticket.streams.get() > 1;
    let mut head =
        String::from("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n");
    if !mini.is("stream-cacheable") {
        head.push_str("Cache-Control: no-cache\r\n");
    }
    if !mini.is("stream-buffered-by-proxies") {
        head.push_str("X-Accel-Buffering: no\r\n");
    }
    head.push_str("\r\n");
    writer.write_all(head.as_bytes()).await?;
    let mut changed = ticket.log.changed.subscribe();
    let keep_alive = if mini.is("disconnect-cancels") { Duration::from_millis(40) } else { KEEP_ALIVE };
    let mut quiet_until = Instant::now() + keep_alive;
    loop {
        changed.borrow_and_update();
        let finished = ticket.log.finished.get().is_some();
        if finished || !mini.is("stream-held-until-done") {
            for mut entry in ticket.log.after(cursor) {
                cursor = entry.seq;
                if replay && mini.is("replay-written-anew") {
                    entry.data["ts"] = json!("2026-01-01T00:00:00.000Z");
                    entry.frame =
                        format!("id: {}\nevent: {}\ndata: {}\n\n", entry.seq, entry.kind, entry.data)
                            .into_bytes();
                }
                if replay && mini.is("one-reader-takes-all") && !finished {
                    continue;
                }
                chunk(writer, &entry.frame).await?;
                quiet_until = Instant::now() + keep_alive;
            }
        }
        if finished && !mini.is("stream-stays-open") {
            break;
        }
        tokio::select! {
            _ = changed.changed() => {}
            () = tokio::time::sleep_until(quiet_until) => {
                if !mini.is("no-keep-alive") {
                    chunk(writer, b": quiet\n\n").await?;
                }
                quiet_until = Instant::now() + keep_alive;
            }
        }
    }
    if mini.is("log-forgotten-after-first-read") {
        ticket.log.forget();
    }
    if !mini.is("last-chunk-missing") {
        writer.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}
