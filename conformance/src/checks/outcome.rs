//! How the outcome is decided: from what ran and what the model concluded, never from prose.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure};
use crate::ctx::{Ctx, Run};
use crate::log::Log;
use crate::model::{Fault, Reply};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "outcome.answer",
            "a statement that ran makes an answer of full speed with that statement",
            "outcome",
            answer
        ),
        check!("outcome.result", "an answer's result is the rows of its statement", "answer", result),
        check!(
            "outcome.source",
            "an answer over one source is warehouse and names source and table",
            "outcome",
            source
        ),
        check!("outcome.multi", "an answer over two sources is multi and names both", "outcome", multi),
        check!("outcome.divergence", "divergence is null in phase 1", "answer", divergence),
        check!(
            "outcome.catalog",
            "a catalog-only answer reports path.speed=fast and an empty sql[]",
            "outcome",
            catalog
        ),
        check!(
            "outcome.unread",
            "an answer that rests on entities it never read is an abstention",
            "outcome",
            unread
        ),
        check!(
            "outcome.prose",
            "prose that claims an answer, with nothing run, is an abstention",
            "outcome",
            prose
        ),
        check!(
            "outcome.abstention",
            "an abstention tells the catalog terms tried, in order, no repeats",
            "abstention",
            abstention
        ),
        check!(
            "outcome.refusal",
            "a refused statement ends in refusal, never answer, whatever the model says",
            "outcome",
            refusal
        ),
        check!("outcome.refusal-stops", "after a refusal no model call is made", "outcome", refusal_stops),
        check!(
            "outcome.refusal-after-answer",
            "a refusal after a statement that ran is still a refusal",
            "outcome",
            refusal_late
        ),
        check!(
            "outcome.invalid",
            "an invalid statement goes back to the model and may be corrected",
            "outcome",
            invalid
        ),
        check!(
            "outcome.model-failure",
            "a model that fails ends the run in error model",
            "rule 6",
            model_failure
        ),
        check!(
            "outcome.truncated",
            "a model reply that is cut short is an error, not an answer",
            "rule 6",
            truncated
        ),
        check!(
            "outcome.max-steps",
            "a model that never concludes ends the run in error max_steps",
            "error",
            max_steps
        ),
        check!(
            "outcome.unknown-tool",
            "a call of a tool that is not offered does not break the run",
            "rule 6",
            unknown_tool
        ),
        check!(
            "outcome.ablation",
            "context false withholds the catalog: no such step, no provenance, no such tool",
            "AskRequest",
            ablation
        ),
        check!(
            "outcome.context-default",
            "context true is the default: the catalog's tools are offered",
            "AskRequest",
            context_default
        ),
        check!(
            "outcome.model-override",
            "a model override is recorded in done, for this ask alone",
            "AskRequest",
            model_override
        ),
        check!(
            "outcome.effort-override",
            "an effort override is recorded in done, for this ask alone",
            "AskRequest",
            effort_override
        ),
    ]
}

fn ends_in(run: &Run, kind: &str) -> Result<(), Failure> {
    let terminal = run.log.terminal().map(|event| event.data.to_string()).unwrap_or_default();
    ensure(run.log.terminal().is_some_and(|event| event.kind() == kind), || {
        let shown: String = terminal.chars().take(200).collect();
        format!("ended as {}: {shown}", run.log.outline())
    })
}

fn ends_in_error(run: &Run, kind: &str) -> Result<(), Failure> {
    ends_in(run, "error")?;
    let said = run.log.terminal().map(|event| event.text("kind").to_owned()).unwrap_or_default();
    ensure(said == kind, || format!("the error's kind is {said:?}, not {kind:?}"))
}

fn terminal(log: &Log) -> Value {
    log.terminal().map(|event| event.data.clone()).unwrap_or_default()
}

fn squeezed(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}

/// The statements of an answer, spacing and case folded: the executor reports them in its own words.
fn statements(answer: &Value) -> Vec<String> {
    let list = answer.get("sql").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(squeezed).collect()
}

async fn answer(ctx: &Ctx) -> Verdict {
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", "There are some.")];
    let run = ctx.run("answer", &ctx.question(), &script).await?;
    ends_in(&run, "answer")?;
    let answer = terminal(&run.log);
    ensure(answer.pointer("/path/speed") == Some(&json!("full")), || {
        format!("path is {:?}", answer.get("path"))
    })?;
    let ran = squeezed(&ctx.options.sql);
    let told = statements(&answer);
    ensure(told.iter().any(|sql| sql.contains(&ran)), || format!("sql is {told:?}"))?;
    ensure(told.len() == 1, || format!("one statement ran, sql holds {}", told.len()))?;
    let text = answer.get("text").and_then(Value::as_str).unwrap_or_default();
    ensure(text.contains("There are some."), || format!("the text is {text:?}"))?;
    Ok(format!("sql {told:?}"))
}

async fn result(ctx: &Ctx) -> Verdict {
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", "There are some.")];
    let run = ctx.run("result", &ctx.question(), &script).await?;
    ends_in(&run, "answer")?;
    let answer = terminal(&run.log);
    let rows = answer.pointer("/result/rows").and_then(Value::as_array).map(Vec::len);
    ensure(rows == Some(1), || format!("result is {:?}", answer.get("result")))?;
    ensure(answer.pointer("/result/truncated") == Some(&json!(false)), || {
        format!("result is {:?}", answer.get("result"))
    })?;
    Ok(answer.get("result").map(Value::to_string).unwrap_or_default())
}

/// The table after FROM, as the default statements write it.
fn table_in(sql: &str) -> Option<&str> {
    let mut words = sql.split_whitespace();
    words.find(|word| word.eq_ignore_ascii_case("from"))?;
    words.next()
}

fn names(answer: &Value, member: &str, wanted: &str) -> Result<(), Failure> {
    let list = answer.get(member).and_then(Value::as_array).cloned().unwrap_or_default();
    ensure(list.iter().filter_map(Value::as_str).any(|name| name.eq_ignore_ascii_case(wanted)), || {
        format!("{member} is {list:?}, without {wanted:?}")
    })
}

async fn source(ctx: &Ctx) -> Verdict {
    let run = ctx.answered().await?;
    ends_in(&run, "answer")?;
    let answer = terminal(&run.log);
    ensure(answer.pointer("/path/detail") == Some(&json!("warehouse")), || {
        format!("path is {:?}", answer.get("path"))
    })?;
    let sources = answer.get("sources").and_then(Value::as_array).map(Vec::len);
    ensure(sources == Some(1), || format!("sources is {:?}", answer.get("sources")))?;
    if let Some(table) = table_in(&ctx.options.sql) {
        names(&answer, "tables", table)?;
    }
    Ok(format!("{:?} {:?}", answer.get("sources"), answer.get("tables")))
}

async fn multi(ctx: &Ctx) -> Verdict {
    let script = [
        ctx.query(&ctx.options.sql),
        ctx.query(&ctx.options.second_sql),
        ctx.conclude("answer", "Some of both."),
    ];
    let run = ctx.run("multi", &ctx.question(), &script).await?;
    ends_in(&run, "answer")?;
    let answer = terminal(&run.log);
    ensure(answer.pointer("/path/detail") == Some(&json!("multi")), || {
        format!("path is {:?}", answer.get("path"))
    })?;
    let sources = answer.get("sources").and_then(Value::as_array).cloned().unwrap_or_default();
    ensure(sources.len() == 2, || format!("sources is {sources:?}"))?;
    let told = statements(&answer);
    ensure(told.len() == 2, || format!("two statements ran, sql is {told:?}"))?;
    Ok(format!("{sources:?}"))
}

async fn divergence(ctx: &Ctx) -> Verdict {
    let run = ctx.answered().await?;
    ends_in(&run, "answer")?;
    let value = terminal(&run.log).get("divergence").cloned().unwrap_or_default();
    ensure(value.is_null(), || format!("divergence is {value}"))?;
    Ok("null".to_owned())
}

async fn catalog(ctx: &Ctx) -> Verdict {
    let entity = ctx.options.entity.as_str();
    let look_up = json!({"entityType": ctx.options.entity_type, "fqn": entity});
    let script = [
        Reply::call(&ctx.options.entity_tool, look_up),
        ctx.conclude_with("answer", "It means what the catalog says.", &[entity], &[]),
    ];
    let run = ctx.run("catalog", &ctx.question(), &script).await?;
    ends_in(&run, "answer")?;
    let answer = terminal(&run.log);
    ensure(answer.get("path") == Some(&json!({"speed": "fast", "detail": "catalog"})), || {
        format!("path is {:?}", answer.get("path"))
    })?;
    ensure(answer.get("sql") == Some(&json!([])), || format!("sql is {:?}", answer.get("sql")))?;
    let provenance = answer.get("provenance").and_then(Value::as_array).cloned().unwrap_or_default();
    ensure(!provenance.is_empty(), || "provenance is empty".to_owned())?;
    Ok(format!("{} entries of provenance", provenance.len()))
}

async fn unread(ctx: &Ctx) -> Verdict {
    let script = [ctx.conclude_with("answer", "It means forty-two.", &["Never.ReadByThisRun"], &[])];
    let run = ctx.run("unread", &ctx.question(), &script).await?;
    ends_in(&run, "abstention")?;
    Ok(run.log.outline())
}

async fn prose(ctx: &Ctx) -> Verdict {
    let claim = "The answer is 42. I ran SELECT 42 and all went well. {\"outcome\":\"answer\"}";
    let run = ctx.run("prose", &ctx.question(), &[Reply::text(claim)]).await?;
    ends_in(&run, "abstention")?;
    Ok(run.log.outline())
}

async fn abstention(ctx: &Ctx) -> Verdict {
    let script = [
        ctx.search("zeppelins"),
        ctx.search("airships"),
        ctx.search("zeppelins"),
        ctx.conclude("cannot_answer", "Nothing fits."),
    ];
    let run = ctx.run("abstention", &ctx.question(), &script).await?;
    ends_in(&run, "abstention")?;
    let terms = terminal(&run.log).get("searched_terms").cloned().unwrap_or_default();
    let list: Vec<_> = terms.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let at = |term: &str| list.iter().position(|told| told.eq_ignore_ascii_case(term));
    ensure(at("zeppelins").is_some() && at("zeppelins") < at("airships"), || {
        format!("searched_terms is {terms}")
    })?;
    let repeats = list.iter().filter(|told| told.eq_ignore_ascii_case("zeppelins")).count();
    ensure(repeats == 1, || format!("searched_terms is {terms}"))?;
    Ok(terms.to_string())
}

async fn refusal(ctx: &Ctx) -> Verdict {
    let run = ctx.refused().await?;
    if ctx.control.is_none() {
        return crate::check::not_exercised("needs a scripted model (--model-control)");
    }
    ends_in(&run, "refusal")?;
    let refusal = terminal(&run.log);
    ensure(refusal.get("what") == Some(&json!("guard")), || format!("the refusal is {refusal}"))?;
    let detail = refusal.get("detail").and_then(Value::as_str).unwrap_or_default();
    ensure(!detail.trim().is_empty(), || "the refusal's detail is empty".to_owned())?;
    ensure(run.log.first("answer").is_none(), || run.log.outline())?;
    let marked = run.log.of("step").any(|step| step.data.get("is_error") == Some(&json!(true)));
    ensure(marked, || "the refused call's step does not say is_error".to_owned())?;
    Ok(format!("guard: {detail}"))
}

async fn refusal_stops(ctx: &Ctx) -> Verdict {
    let run = ctx.refused().await?;
    ensure(run.model_calls() == 1, || {
        format!("{} model calls in a run whose first statement was refused", run.model_calls())
    })?;
    Ok("one model call".to_owned())
}

async fn refusal_late(ctx: &Ctx) -> Verdict {
    let script = [
        ctx.query(&ctx.options.sql),
        ctx.query(&ctx.options.guarded_sql),
        ctx.conclude("answer", "All went well."),
    ];
    let run = ctx.run("late refusal", &ctx.question(), &script).await?;
    ends_in(&run, "refusal")?;
    Ok(run.log.outline())
}

async fn invalid(ctx: &Ctx) -> Verdict {
    let script = [
        ctx.query(&ctx.options.invalid_sql),
        ctx.query(&ctx.options.sql),
        ctx.conclude("answer", "Some, after a correction."),
    ];
    let run = ctx.run("invalid", &ctx.question(), &script).await?;
    ends_in(&run, "answer")?;
    let marked: Vec<_> = run
        .log
        .of("step")
        .filter(|step| step.text("tool") == ctx.options.query_tool)
        .map(|step| step.data.get("is_error").cloned().unwrap_or_default())
        .collect();
    ensure(marked == [json!(true), json!(false)], || {
        format!("is_error of the two statements is {marked:?}")
    })?;
    let told = statements(&terminal(&run.log));
    ensure(told.len() == 1, || format!("one statement ran, sql is {told:?}"))?;
    Ok(run.log.outline())
}

async fn model_failure(ctx: &Ctx) -> Verdict {
    let run = ctx.run("model failure", &ctx.question(), &[Reply::fault(Fault::Status(400))]).await?;
    ends_in_error(&run, "model")?;
    Ok(run.log.outline())
}

async fn truncated(ctx: &Ctx) -> Verdict {
    let cut = Reply::fault(Fault::Truncated);
    let run = ctx.run("truncated", &ctx.question(), &[cut.clone(), cut.clone(), cut.clone(), cut]).await?;
    ends_in(&run, "error")?;
    let kind = run.log.terminal().map(|event| event.text("kind").to_owned()).unwrap_or_default();
    ensure(kind == "model" || kind == "transport", || format!("the error's kind is {kind:?}"))?;
    Ok(kind)
}

async fn max_steps(ctx: &Ctx) -> Verdict {
    let turns = usize::try_from(ctx.options.max_steps).unwrap_or(usize::MAX).saturating_add(8).min(200);
    let script = vec![ctx.query(&ctx.options.sql); turns];
    let run = ctx.run("max steps", &ctx.question(), &script).await?;
    ends_in_error(&run, "max_steps")?;
    Ok(format!("after {} model calls", run.model_calls()))
}

async fn unknown_tool(ctx: &Ctx) -> Verdict {
    let script = [
        Reply::call("nowhere__nothing", json!({"a": 1})),
        ctx.query(&ctx.options.sql),
        ctx.conclude("answer", "Some."),
    ];
    let run = ctx.run("unknown tool", &ctx.question(), &script).await?;
    ends_in(&run, "answer")?;
    Ok(run.log.outline())
}

/// The catalog's server, by the search tool's name.
fn catalog_prefix(ctx: &Ctx) -> String {
    let server = ctx.options.search_tool.split_once("__").map_or("catalog", |(server, _)| server);
    format!("{server}__")
}

/// Whether a model request offers or shows a tool of that prefix.
fn mentions(requests: &[Value], prefix: &str) -> bool {
    requests.iter().any(|request| request.to_string().contains(prefix))
}

async fn ablation(ctx: &Ctx) -> Verdict {
    let body = json!({"question": ctx.options.question, "context": false});
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", "Some.")];
    let run = ctx.run("ablation", &body, &script).await?;
    let prefix = catalog_prefix(ctx);
    ends_in(&run, "answer")?;
    let step = run.log.of("step").find(|step| step.text("tool").starts_with(&prefix));
    ensure(step.is_none(), || format!("a step of {:?}", step.map(|step| step.text("tool"))))?;
    let provenance = terminal(&run.log).get("provenance").cloned().unwrap_or_default();
    ensure(provenance == json!([]), || format!("provenance is {provenance}"))?;
    ensure(!mentions(&ctx.model_requests(&run).await?, &prefix), || {
        "the model was offered the catalog's tools".to_owned()
    })?;
    Ok(run.log.outline())
}

async fn context_default(ctx: &Ctx) -> Verdict {
    let prefix = catalog_prefix(ctx);
    for body in [ctx.question(), json!({"question": ctx.options.question, "context": true})] {
        let run = ctx.run("context", &body, &[ctx.conclude("cannot_answer", "Nothing.")]).await?;
        ensure(mentions(&ctx.model_requests(&run).await?, &prefix), || {
            format!("{body}: the model was not offered the catalog")
        })?;
    }
    Ok("offered by default and with true".to_owned())
}

/// `done`'s member with an override, then without in the same conversation.
async fn overridden(ctx: &Ctx, member: &str, value: &str) -> Result<(String, String), Failure> {
    let conversation = ctx.conversation().await?;
    let script = [ctx.conclude("cannot_answer", "Nothing.")];
    let script: &[Reply] = if ctx.control.is_some() { &script } else { &[] };
    let body = json!({"question": ctx.options.question, member: value});
    let with = ctx.run_in("override", &conversation, &body, script).await?;
    let without = ctx.run_in("default", &conversation, &ctx.question(), script).await?;
    let said = |run: &Run| run.log.done().map(|done| done.text(member).to_owned()).unwrap_or_default();
    Ok((said(&with), said(&without)))
}

async fn model_override(ctx: &Ctx) -> Verdict {
    let other = ctx.options.other_model.as_str();
    let (with, without) = overridden(ctx, "model", other).await?;
    ensure(with.contains(other), || format!("asked for {other:?}, done.model is {with:?}"))?;
    ensure(!without.contains(other), || format!("the next ask's done.model is still {without:?}"))?;
    Ok(format!("{with:?}, then {without:?}"))
}

async fn effort_override(ctx: &Ctx) -> Verdict {
    let default = overridden(ctx, "effort", "low").await?.1;
    let wanted = if default == "max" { "low" } else { "max" };
    let (with, without) = overridden(ctx, "effort", wanted).await?;
    ensure(with == wanted, || format!("asked for {wanted:?}, done.effort is {with:?}"))?;
    ensure(without == default, || format!("the next ask's done.effort is {without:?}, not {default:?}"))?;
    Ok(format!("{with:?}, then {without:?}"))
}
