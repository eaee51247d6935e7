//! The four model behaviours, which judge the model behind the service as well.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, ensure, ensure_none, wrong};
use crate::ctx::{Ctx, had};
use crate::log::Log;
use crate::privacy;
use crate::rules;
use crate::token::Bearer;

macro_rules! behaviour {
    ($id:literal, $title:literal, $run:path) => {
        Check {
            id: $id,
            title: $title,
            rule: "behaviour",
            behaviour: true,
            addition: None,
            run: |ctx| Box::pin($run(ctx)),
        }
    };
}

pub(super) fn checks() -> Vec<Check> {
    vec![
        behaviour!("behaviour.refusal", "a refused question emits refusal, never answer", refusal),
        behaviour!(
            "behaviour.abstention",
            "an abstention emits abstention with search terms and no question text",
            abstention
        ),
        behaviour!(
            "behaviour.path",
            "a catalog-only answer reports path.speed=fast and an empty sql[]",
            path
        ),
        behaviour!(
            "behaviour.memory",
            "a second ask in a conversation can resolve \"that team\" from the first",
            memory
        ),
    ]
}

async fn asked(ctx: &Ctx, bearer: &Bearer, conversation: &str, question: &str) -> Result<Log, Failure> {
    let mut body = json!({"question": question});
    if let (Some(model), Some(members)) = (&ctx.options.behaviour_model, body.as_object_mut()) {
        members.insert("model".to_owned(), json!(model));
    }
    let ticket = ctx.ask_as(bearer, conversation, &body).await?;
    let mut request = ctx.events_request(&ticket.id, None);
    request.headers.retain(|(name, _)| name != "Authorization");
    let request = request.header("Authorization", format!("Bearer {}", bearer.expose()));
    let streaming = ctx.http.open(&request).await?;
    ensure(streaming.head.status == 200, || format!("the stream answered {}", streaming.head.status))?;
    ctx.seen.stream();
    let stream =
        crate::stream::EventStream::new(streaming.head, streaming.body, std::rc::Rc::clone(&ctx.seen));
    let log = stream.rest(ctx.limit()).await;
    ensure_none(rules::done_last(&log))?;
    ensure_none(rules::one_terminal(&log))?;
    Ok(log)
}

async fn alone(ctx: &Ctx, bearer: &Bearer, question: &str) -> Result<Log, Failure> {
    let conversation = ctx.conversation_of(bearer).await?;
    asked(ctx, bearer, &conversation, question).await
}

fn terminal(log: &Log, kind: &str) -> Result<Value, Failure> {
    match log.terminal() {
        Some(event) if event.kind() == kind => Ok(event.data.clone()),
        Some(event) => {
            let shown: String = event.data.to_string().chars().take(240).collect();
            wrong(format!("ended in {}: {shown}", event.kind()))
        }
        None => wrong(format!("no terminal: {}", log.outline())),
    }
}

fn shown(event: &Value, member: &str) -> String {
    event.get(member).map(Value::to_string).unwrap_or_default()
}

/// What was seen, and which model it was seen of.
fn by(log: &Log, seen: &str) -> String {
    format!("{seen} (model {})", log.done().map(|done| done.text("model").to_owned()).unwrap_or_default())
}

async fn refusal(ctx: &Ctx) -> Verdict {
    let bearer = had("a user whom the sources refuse", &ctx.ids.refused)?;
    let log = alone(ctx, bearer, &ctx.options.refused_question).await?;
    ensure(log.first("answer").is_none(), || log.outline())?;
    let refusal = terminal(&log, "refusal")?;
    Ok(by(&log, &format!("{}: {}", shown(&refusal, "what"), shown(&refusal, "detail"))))
}

async fn abstention(ctx: &Ctx) -> Verdict {
    let question = &ctx.options.abstained_question;
    let log = alone(ctx, &ctx.ids.first, question).await?;
    let abstention = terminal(&log, "abstention")?;
    let terms = abstention.get("searched_terms").and_then(Value::as_array).map_or(0, Vec::len);
    ensure(terms > 0, || "no searched_terms".to_owned())?;
    ensure(privacy::place(&abstention, question).is_none(), || "it holds the question".to_owned())?;
    Ok(by(&log, &format!("{terms} terms")))
}

async fn path(ctx: &Ctx) -> Verdict {
    let log = alone(ctx, &ctx.ids.first, &ctx.options.catalog_question).await?;
    let answer = terminal(&log, "answer")?;
    ensure(answer.pointer("/path/speed") == Some(&json!("fast")), || {
        format!("path is {}", shown(&answer, "path"))
    })?;
    ensure(answer.get("sql") == Some(&json!([])), || format!("sql is {}", shown(&answer, "sql")))?;
    Ok(by(&log, &shown(&answer, "path")))
}

/// What the first answer may have been about: the cells of its first row and its headline.
fn named(answer: &Value) -> Vec<String> {
    let row = answer.pointer("/result/rows/0").and_then(Value::as_array).into_iter().flatten();
    let headline = answer.pointer("/headline/value").into_iter();
    row.chain(headline)
        .filter_map(Value::as_str)
        .map(str::to_lowercase)
        .filter(|name| name.chars().any(char::is_alphabetic))
        .collect()
}

async fn memory(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    let first = asked(ctx, &ctx.ids.first, &conversation, &ctx.options.memory_question).await?;
    let names = named(&terminal(&first, "answer")?);
    ensure(!names.is_empty(), || "the first answer names nothing in its first row or headline".to_owned())?;
    let second = asked(ctx, &ctx.ids.first, &conversation, &ctx.options.memory_follow_up).await?;
    let answer = terminal(&second, "answer")?;
    let said = format!("{} {} {}", shown(&answer, "text"), shown(&answer, "sql"), shown(&answer, "result"))
        .to_lowercase();
    let resolved = names.iter().find(|name| said.contains(name.as_str()));
    match resolved {
        Some(name) => Ok(by(&second, &format!("the second answer is about {name:?}"))),
        None => {
            wrong(format!("the first answer named {names:?}, the second said {}", shown(&answer, "text")))
        }
    }
}
