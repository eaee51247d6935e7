//! One run: model turns, tool calls, and how it ends.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{self, Facts, Statement};
use super::issuer::Caller;
use super::model::{Failed, Said};
use super::tools::{self, Outcome};
use super::{MAX_HOPS, Mini, Ticket};

/// What the caller asked for beyond the question.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) caller: Caller,
    pub(crate) context: bool,
    pub(crate) model: String,
    pub(crate) effort: String,
}

/// Follows an ask to its end.
pub(super) async fn run(mini: Rc<Mini>, ticket: Rc<Ticket>, asked: Asked) {
    if mini.is("branch-before-accepted") {
        branch(&mini, &ticket, "opened");
        accepted(&mini, &ticket);
    } else if mini.is("step-before-branch") {
        accepted(&mini, &ticket);
        step(&mini, &ticket, "warehouse__list_sources", &json!({}), 1, false);
        branch(&mini, &ticket, "opened");
    } else {
        accepted(&mini, &ticket);
        branch(&mini, &ticket, "opened");
    }
    let mut facts = Facts::default();
    let mut messages = history(&mini, &ticket);
    let question = if mini.is("question-trimmed-to-model") {
        ticket.log.question[..8].to_owned()
    } else {
        ticket.log.question.clone()
    };
    let own_from = messages.len();
    messages.push(json!({"role": "user", "content": question}));
    let mut held_back: Vec<(String, Value, u64, bool)> = Vec::new();
    let (kind, members) = loop {
        if facts.hops >= MAX_HOPS {
            let kind = if mini.is("max-steps-is-internal") { "internal" } else { "max_steps" };
            break ("error", json!({"kind": kind, "detail": "too many model turns"}));
        }
        facts.hops += 1;
        let offered = tools_offered(&mini, &asked);
        let mut headers = json!({"content-type": "application/json"});
        if mini.is("bearer-to-model") {
            headers["authorization"] = json!(format!("Bearer {}", asked.caller.bearer));
        }
        let body = json!({"model": asked.model, "tools": offered, "messages": messages});
        let turn = mini.model.turn(json!({"headers": headers, "body": body})).await;
        for (tool, args, ms, is_error) in std::mem::take(&mut held_back) {
            step(&mini, &ticket, &tool, &args, ms, is_error);
        }
        let said = match turn {
            Ok(said) => said,
            Err(Failed::Truncated(said)) if mini.is("half-a-reply-taken") => said,
            Err(_) if mini.is("model-failure-is-abstention") => {
                break ("abstention", json!({"text": "I could not say.", "searched_terms": []}));
            }
            Err(_) => {
                let detail = if mini.is("question-left-in-errors") {
                    ticket.log.question.as_str()
                } else {
                    "the model failed"
                };
                break ("error", json!({"kind": "model", "detail": detail}));
            }
        };
        messages.push(json!({"role": "assistant", "content": said.text, "calls": said.calls}));
        if let Some(conclusion) = concluded(&said) {
            break answer::decide(&mini, &facts, &conclusion);
        }
        let outcomes = call_all(&mini, &ticket, &asked, &said).await;
        for (at, ((tool, args), outcome)) in said.calls.iter().zip(outcomes).enumerate() {
            let Some(outcome) = outcome else {
                messages.push(json!({"role": "tool", "content": "no such tool"}));
                facts.broken |= mini.is("unknown-tool-breaks-run");
                continue;
            };
            learn(&mini, &mut facts, tool, args, &outcome);
            if !(at > 0 && mini.is("parallel-calls-one-step")) {
                if mini.is("steps-held-back") {
                    held_back.push((tool.clone(), args.clone(), outcome.ms, outcome.code.is_some()));
                } else {
                    step(&mini, &ticket, tool, args, outcome.ms, outcome.code.is_some());
                }
            }
            messages.push(json!({"role": "tool", "content": outcome.result}));
        }
        if facts.broken {
            break ("error", json!({"kind": "internal", "detail": "something broke"}));
        }
        if facts.refusal.is_some() && !mini.is("goes-on-after-refusal") && !mini.is("refusal-smoothed-over") {
            break answer::decide(&mini, &facts, &json!({}));
        }
    };
    let own = messages.split_off(own_from);
    remember(&mini, &ticket, own, &members);
    ticket.end(&mini, kind, &members, &facts, &asked);
}

fn concluded(said: &Said) -> Option<Value> {
    if said.calls.is_empty() {
        return Some(json!({"kind": "prose", "text": said.text}));
    }
    said.calls.iter().find(|(name, _)| name == "conclude").map(|(_, args)| args.clone())
}

fn accepted(mini: &Mini, ticket: &Ticket) {
    let question =
        if mini.is("question-trimmed") { ticket.log.question.trim() } else { &ticket.log.question };
    let version = if mini.is("contract-version-is-other") { "1.0" } else { "1" };
    let turn = if mini.is("accepted-turn-from-zero") { ticket.turn - 1 } else { ticket.turn };
    ticket.emit(mini, "accepted", json!({"question": question, "turn": turn, "contract_version": version}));
}

fn branch(mini: &Mini, ticket: &Ticket, state: &str) {
    let source = if mini.is("supervisor-names-source") { json!("support") } else { Value::Null };
    ticket.emit(
        mini,
        "branch",
        json!({"branch_id": "b1", "state": state, "role": "supervisor", "source": source}),
    );
}

fn step(mini: &Mini, ticket: &Ticket, tool: &str, args: &Value, ms: u64, is_error: bool) {
    let tool = if mini.is("tool-without-server") {
        tool.split_once("__").map_or(tool, |(_, name)| name)
    } else {
        tool
    };
    let args = if is_error && mini.is("refused-args-dropped") { json!({}) } else { args.clone() };
    let is_error = is_error && !mini.is("refused-step-looks-fine");
    let ms = if mini.is("step-ms-is-own-clock") { json!(ms + 100) } else { json!(ms) };
    let ms = if mini.is("step-ms-is-text") { json!(ms.to_string()) } else { ms };
    ticket.emit(
        mini,
        "step",
        json!({"branch_id": "b1", "tool": tool, "args": args, "ms": ms, "is_error": is_error}),
    );
}

fn tools_offered(mini: &Mini, asked: &Asked) -> Vec<&'static str> {
    let mut offered = vec!["warehouse__list_sources", "warehouse__run_query", "conclude"];
    if asked.context || mini.is("ablation-ignored") {
        offered.extend(["catalog__search_metadata", "catalog__get_entity_details"]);
    }
    offered
}

async fn call_all(mini: &Rc<Mini>, ticket: &Rc<Ticket>, asked: &Asked, said: &Said) -> Vec<Option<Outcome>> {
    let pending = said.calls.iter().map(|(tool, args)| {
        let phase = match tool.as_str() {
            "warehouse__run_query" => "querying",
            tool if tool.starts_with("catalog__") => "grounding",
            _ => "",
        };
        if !phase.is_empty() && !mini.is("no-querying-milestone") {
            let subject =
                if mini.is("question-left-in-milestones") { json!(ticket.log.question) } else { Value::Null };
            let members = json!({"branch_id": "b1", "phase": phase, "subject": subject, "source": null});
            ticket.emit(mini, "milestone", members);
        }
        // The call runs on when the run is cancelled: its audit line exists.
        let (service, caller, tool, args) =
            (Rc::clone(mini), asked.caller.clone(), tool.clone(), args.clone());
        let late = mini.is("emits-after-done").then(|| Rc::clone(ticket));
        tokio::task::spawn_local(async move {
            let outcome = tools::call(&service, &caller, &tool, &args).await;
            if let (Some(ticket), Some(outcome)) =
                (late.filter(|ticket| ticket.log.finished.get().is_some()), &outcome)
            {
                step(&service, &ticket, &tool, &args, outcome.ms, false);
            }
            outcome
        })
    });
    join_all(pending.collect::<Vec<_>>()).await.into_iter().map(|joined| joined.unwrap()).collect()
}

fn learn(mini: &Mini, facts: &mut Facts, tool: &str, args: &Value, outcome: &Outcome) {
    let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
    if tool == "catalog__search_metadata" {
        let term = text("query");
        if !facts.searched.contains(&term) || mini.is("searched-terms-repeat") {
            facts.searched.push(term);
        }
    }
    match outcome.code {
        None if tool == "warehouse__run_query" => facts.statements.push(Statement(outcome.result.clone())),
        None if tool == "catalog__get_entity_details" => facts.read.push(outcome.result.clone()),
        None => {}
        Some("invalid") if mini.is("sql-lists-what-failed") => {
            facts.statements.push(Statement(json!({"source": "support", "sql": text("sql"), "tables": []})));
        }
        Some("invalid") if !mini.is("invalid-is-refusal") => {}
        Some(code) => {
            let late = mini.is("refusal-after-answer-ignored") && !facts.statements.is_empty();
            if !late {
                let message = outcome.result["error"]["message"].as_str().unwrap_or_default().to_owned();
                let what = if code == "invalid" { "guard" } else { code };
                facts.refusal = Some((what, message));
            }
        }
    }
}

fn history(mini: &Mini, ticket: &Ticket) -> Vec<Value> {
    if mini.is("turns-not-resent") {
        return Vec::new();
    }
    if mini.is("memory-shared-by-all") {
        return mini.shared_history.borrow().clone();
    }
    if mini.is("memory-shared-by-users") && !ticket.owner.contains("alice") {
        return mini.shared_history.borrow().clone();
    }
    let conversations = mini.conversations.borrow();
    let all = conversations.get(&ticket.conversation).map(|found| found.history.clone()).unwrap_or_default();
    if mini.is("only-last-turn-resent") {
        let last = all.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
        return all[last..].to_vec();
    }
    if mini.is("only-questions-resent") {
        return all.into_iter().filter(|message| message["role"] == "user").collect();
    }
    all
}

fn remember(mini: &Mini, ticket: &Ticket, mut own: Vec<Value>, members: &Value) {
    own.push(json!({"role": "assistant", "content": members["text"]}));
    mini.shared_history.borrow_mut().extend(own.clone());
    if let Some(found) = mini.conversations.borrow_mut().get_mut(&ticket.conversation) {
        found.history.extend(own);
    }
}

impl Ticket {
    /// Ends the ticket: branch closed, terminal, done, audit; frees the conversation. Does nothing a second time.
    pub(super) fn end(&self, mini: &Mini, kind: &'static str, members: &Value, facts: &Facts, asked: &Asked) {
        let again = mini.is("two-cancels-two-endings") || mini.is("cancel-races-to-two-terminals");
        if self.log.finished.get().is_some() && !again {
            return;
        }
        if mini.is("step-after-branch") {
            branch(mini, self, "closed");
            step(mini, self, "warehouse__list_sources", &json!({}), 1, false);
        } else if mini.is("branch-closes-after-terminal") {
            self.emit(mini, kind, members.clone());
            branch(mini, self, "closed");
        } else if !(mini.is("branch-stays-open-on-error") && kind == "error") {
            branch(mini, self, "closed");
        }
        if mini.is("branch-closes-twice") {
            branch(mini, self, "closed");
        }
        if mini.is("event-of-unknown-type") {
            self.emit(mini, "usage", json!({"tokens": 1}));
        }
        if !mini.is("branch-closes-after-terminal") {
            self.emit(mini, kind, members.clone());
        }
        if mini.is("two-terminals") {
            self.emit(mini, "error", json!({"kind": "internal", "detail": "and this"}));
        }
        let done = self.done(mini, kind, facts, asked);
        self.emit(mini, "done", done.clone());
        if mini.is("done-twice") {
            self.emit(mini, "done", done);
        }
        self.free(mini, members);
        self.audit(mini, kind, members, facts, asked);
    }

    fn done(&self, mini: &Mini, kind: &str, facts: &Facts, asked: &Asked) -> Value {
        let outcome = if mini.is("outcome-always-answer") { "answer" } else { kind };
        let hops = if mini.is("hops-count-calls") { facts.hops + self.log.steps.get() } else { facts.hops };
        let steps = self.log.steps.get() + u64::from(mini.is("steps-off-by-one"));
        let elapsed = Instant::now() - self.born;
        let ms = if mini.is("ms-in-microseconds") { elapsed.as_micros() } else { elapsed.as_millis() };
        let tokens = if mini.is("tokens-not-counted") { 0 } else { 100 * facts.hops };
        let effort = if mini.is("effort-empty") { "" } else { &asked.effort };
        json!({
            "outcome": outcome, "hops": hops, "steps": steps, "tokens_in": tokens, "tokens_out": tokens,
            "cache_read_tokens": 0, "cache_write_tokens": 0, "ms": u64::try_from(ms).unwrap(),
            "model": asked.model, "effort": effort,
        })
    }

    fn free(&self, mini: &Mini, members: &Value) {
        let cancelled = members["kind"] == "cancelled";
        let mut conversations = mini.conversations.borrow_mut();
        let Some(found) = conversations.get_mut(&self.conversation) else { return };
        found.used = if mini.is("conversation-expiry-not-moved") { found.used } else { Instant::now() };
        let kept = (mini.is("busy-for-ever")) || (mini.is("busy-after-cancel") && cancelled);
        if !kept {
            found.running = None;
        }
    }

    fn audit(&self, mini: &Mini, kind: &str, members: &Value, facts: &Facts, asked: &Asked) {
        if mini.is("question-in-log") {
            mini.write(
                "service.log",
                &format!("INFO run ended question={}", self.log.question.to_uppercase()),
            );
        }
        if mini.is("bearer-in-log") {
            mini.write("service.log", &format!("DEBUG called with {}", asked.caller.bearer));
        }
        let empty = json!([]);
        let mut line = json!({
            "op": "ask", "oid": asked.caller.oid, "ticket": self.id, "conversation": self.conversation,
            "turn": self.turn, "verdict": kind, "steps": self.log.steps.get(),
            "sources": members.get("sources").unwrap_or(&empty), "tables": members.get("tables").unwrap_or(&empty),
            "ms": u64::try_from((Instant::now() - self.born).as_millis()).unwrap(),
        });
        if mini.is("audit-lacks-turn") {
            line.as_object_mut().unwrap().remove("turn");
        }
        if !mini.is("no-audit-line") {
            mini.write("service.log", &format!("audit {line}"));
        }
        if kind == "abstention" && !mini.is("no-gap-line") {
            let subject = if mini.is("gap-names-oid") { asked.caller.oid.as_str() } else { "p-5f3a" };
            let terms: Vec<_> = facts
                .searched
                .iter()
                .map(|term| super::redact::cut(mini, term, &self.log.question))
                .collect();
            let gap = json!({"op": "ask", "verdict": kind, "subject": subject, "terms": terms});
            mini.write("service.log", &format!("gap {gap}"));
        }
    }

    /// Ends a running ask as cancelled; what runs is stopped after the ending is written.
    pub(super) async fn cancel(self: &Rc<Self>, mini: &Rc<Mini>, asked: &Asked) {
        if mini.is("early-cancel-lost") && self.born.elapsed() < Duration::from_millis(40) {
            return;
        }
        if mini.is("cancel-does-nothing") {
            return;
        }
        if mini.is("cancel-waits-for-tool") {
            tokio::time::sleep(Duration::from_millis(2200)).await;
        }
        let kind = if mini.is("cancelled-is-internal") { "internal" } else { "cancelled" };
        let members = json!({"kind": kind, "detail": "cancelled by the caller"});
        let stop = self.run.borrow().clone();
        let keeps_running = mini.is("model-goes-on-after-cancel")
            || mini.is("emits-after-done")
            || mini.is("cancel-races-to-two-terminals");
        if let Some(stop) = stop.filter(|_| !keeps_running) {
            stop.abort();
        }
        if self.log.last_seq() == 0 {
            accepted(mini, self);
            branch(mini, self, "opened");
        }
        if mini.is("cancel-flushes-a-step") {
            step(mini, self, "warehouse__list_sources", &json!({}), 1, false);
        }
        let facts = Facts { hops: 1, ..Facts::default() };
        if mini.is("cancel-ends-later") {
            let (ticket, service, asked) = (Rc::clone(self), Rc::clone(mini), asked.clone());
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_millis(250)).await;
                ticket.end(&service, "error", &members, &facts, &asked);
            });
            return;
        }
        self.end(mini, "error", &members, &facts, asked);
    }
}
