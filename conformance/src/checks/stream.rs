//! What a stream is made of and in which order, on a run of each ending.

use serde_json::{Value, json};

use crate::check::{Check, Verdict, check, ensure, ensure_none, not_exercised, wrong};
use crate::ctx::{Ctx, Run};
use crate::log::Log;
use crate::model::Reply;
use crate::rules;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "stream.headers",
            "the stream's headers keep caches, buffers and compression away",
            "The stream",
            headers
        ),
        check!(
            "stream.frames",
            "each frame is id, event and one line of data, and they agree",
            "The stream",
            frames
        ),
        check!(
            "stream.envelope",
            "every event carries seq, ticket, conversation_id and type",
            "The events",
            envelope
        ),
        check!(
            "stream.timestamps",
            "every event's ts is RFC 3339 in UTC with milliseconds",
            "The events",
            timestamps
        ),
        check!("stream.members", "every event has the members of its type", "The events", members),
        check!("stream.seq", "seq starts at 1 and rises by one", "rule 3", sequence),
        check!("stream.accepted-first", "accepted is first and comes once", "rule 1", accepted),
        check!(
            "stream.question",
            "accepted carries the question as received and the contract's version",
            "accepted",
            question
        ),
        check!(
            "stream.one-terminal",
            "exactly one of answer, abstention, refusal, error",
            "rule 1",
            one_terminal
        ),
        check!(
            "stream.terminal-then-done",
            "every terminal event is followed by exactly one done",
            "rule 1",
            terminal_then_done
        ),
        check!("stream.done-last", "done is last and comes once", "rule 1", done_last),
        check!("stream.closes", "the stream closes properly after done", "The stream", closes),
        check!("stream.outcome", "done.outcome names the terminal", "done", outcome),
        check!("stream.steps", "done.steps equals the step events emitted", "done", steps),
        check!("stream.hops", "done.hops equals the model calls made", "done", hops),
        check!("stream.sums", "done.ms and the token counts are plausible", "done", sums),
        check!("stream.model", "done names the model and an effort of the five", "done", model),
        check!(
            "stream.branch-pair",
            "every run emits exactly one branch open and close",
            "rule 2",
            branch_pair
        ),
        check!(
            "stream.branch-life",
            "nothing carries a branch_id outside its branch's life",
            "rule 2",
            branch_life
        ),
        check!(
            "stream.branch-source",
            "only source branches name a source, roles do not change",
            "branch",
            branch_source
        ),
        check!("stream.tool-names", "a step's tool is namespaced server__tool", "step", tool_names),
        check!("stream.args", "a step carries the arguments as sent, a refused one too", "step", args),
        check!(
            "stream.parallel-steps",
            "each call of a turn with several calls is a step",
            "step",
            parallel_steps
        ),
        check!("stream.milestones", "a run with statements tells of its querying", "milestone", milestones),
    ]
}

async fn on_all(ctx: &Ctx, rule: impl Fn(&Run) -> Vec<String>) -> Verdict {
    let runs = ctx.samples().await?;
    let mut found = Vec::new();
    let mut events = 0;
    for run in &runs {
        events += run.log.events.len();
        found.extend(rule(run).into_iter().map(|what| format!("{}: {what}", run.name)));
    }
    ensure_none(found)?;
    Ok(format!("{} runs, {events} events", runs.len()))
}

async fn on_logs(ctx: &Ctx, rule: fn(&Log) -> Vec<String>) -> Verdict {
    on_all(ctx, |run| rule(&run.log)).await
}

async fn headers(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let stream = ctx.open(&ticket.id, None).await?;
    let head = stream.head.clone();
    stream.rest(ctx.limit()).await;
    let value = |name: &str| head.header(name).unwrap_or_default().to_ascii_lowercase();
    ensure(head.media_type() == "text/event-stream", || format!("Content-Type: {}", value("content-type")))?;
    ensure(value("cache-control").contains("no-cache"), || {
        format!("Cache-Control: {}", value("cache-control"))
    })?;
    let buffering = head.header("x-accel-buffering").map(str::to_ascii_lowercase);
    // nginx takes this header for itself and does not pass it on.
    let through_nginx = value("server").starts_with("nginx");
    ensure(buffering.as_deref() == Some("no") || (buffering.is_none() && through_nginx), || {
        format!("X-Accel-Buffering: {buffering:?}")
    })?;
    let encoding = value("content-encoding");
    ensure(encoding.is_empty() || encoding == "identity", || format!("Content-Encoding: {encoding}"))?;
    ensure(head.header("content-length").is_none(), || "a stream has a Content-Length".to_owned())?;
    Ok("asked with Accept-Encoding: gzip, br, zstd".to_owned())
}

async fn frames(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::frames).await
}

async fn envelope(ctx: &Ctx) -> Verdict {
    on_all(ctx, |run| rules::envelope(&run.log, &run.ticket.id, &run.ticket.conversation)).await
}

async fn timestamps(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::timestamps).await
}

async fn members(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::shapes).await
}

async fn sequence(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::sequence).await
}

async fn accepted(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::accepted).await
}

async fn question(ctx: &Ctx) -> Verdict {
    on_all(ctx, |run| {
        let mut found = Vec::new();
        let event = run.log.first("accepted");
        if event.map(|event| event.text("question")) != Some(run.question.as_str()) {
            found.push("accepted.question is not the question".to_owned());
        }
        if event.map(|event| event.text("contract_version")) != Some("1") {
            found.push("accepted.contract_version is not \"1\"".to_owned());
        }
        found
    })
    .await
}

async fn one_terminal(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::one_terminal).await
}

async fn terminal_then_done(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::terminal_then_done).await
}

async fn done_last(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::done_last).await
}

async fn closes(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    if stream.until(ctx.limit(), |event| event.kind() == "done").await.is_none() {
        return wrong(format!("no done: {}", stream.leave().outline()));
    }
    let log = stream.rest(std::time::Duration::from_secs(3)).await;
    ensure_none(rules::closes(&log))?;
    let replayed = ctx.open(&ticket.id, None).await?.rest(std::time::Duration::from_secs(3)).await;
    ensure_none(rules::closes(&replayed))?;
    Ok("live and replayed".to_owned())
}

async fn outcome(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::outcome).await
}

async fn steps(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::steps).await
}

async fn hops(ctx: &Ctx) -> Verdict {
    if ctx.control.is_none() {
        return not_exercised("needs a scripted model (--model-control)");
    }
    let mut counts = Vec::new();
    for run in [ctx.answered().await?, ctx.abstained().await?] {
        let hops = run.log.done().and_then(|done| done.data.get("hops")).and_then(Value::as_u64);
        let made = run.model_calls();
        ensure(hops == Some(made), || {
            format!("{}: done.hops is {hops:?}, the model was called {made} times", run.name)
        })?;
        counts.push(made);
    }
    Ok(format!("{counts:?}"))
}

async fn sums(ctx: &Ctx) -> Verdict {
    on_all(ctx, |run| {
        let number = |name: &str| run.log.done().and_then(|done| done.data.get(name)).and_then(Value::as_u64);
        let mut found = Vec::new();
        let took = u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX);
        if number("ms").is_none_or(|ms| ms > took + 1000) {
            found.push(format!("done.ms is {:?}, the whole ask took {took}", number("ms")));
        }
        let calls = run.log.of("step").filter_map(|step| step.data.get("ms").and_then(Value::as_u64)).max();
        if number("ms").is_some_and(|ms| ms + 1000 < calls.unwrap_or_default()) {
            found.push(format!("done.ms is {:?}, one tool call took {calls:?}", number("ms")));
        }
        if run.log.done().is_some_and(|done| done.text("outcome") == "answer")
            && number("hops").is_some_and(|hops| hops > 0)
            && (number("tokens_out") == Some(0)
                || ["tokens_in", "cache_read_tokens", "cache_write_tokens"]
                    .iter()
                    .all(|name| number(name) == Some(0)))
        {
            found.push(format!("tokens are {:?} in and {:?} out", number("tokens_in"), number("tokens_out")));
        }
        found
    })
    .await
}

async fn model(ctx: &Ctx) -> Verdict {
    on_all(ctx, |run| {
        let text = |name: &str| run.log.done().map(|done| done.text(name).to_owned()).unwrap_or_default();
        let mut found = Vec::new();
        if text("model").is_empty() {
            found.push("done.model is empty".to_owned());
        }
        if !["low", "medium", "high", "xhigh", "max"].contains(&text("effort").as_str()) {
            found.push(format!("done.effort is {:?}", text("effort")));
        }
        found
    })
    .await
}

async fn branch_pair(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::branch_pairs).await
}

async fn branch_life(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::branch_life).await
}

async fn branch_source(ctx: &Ctx) -> Verdict {
    on_logs(ctx, rules::branch_source).await
}

async fn tool_names(ctx: &Ctx) -> Verdict {
    let verdict = on_logs(ctx, rules::tool_names).await?;
    let steps = ctx.answered().await?.log.of("step").count();
    ensure(steps > 0, || "the answered run shows no step".to_owned())?;
    Ok(verdict)
}

fn step_with(log: &Log, tool: &str, sql: &str) -> bool {
    log.of("step")
        .any(|step| step.text("tool") == tool && step.data.pointer("/args/sql") == Some(&json!(sql)))
}

async fn args(ctx: &Ctx) -> Verdict {
    if ctx.control.is_none() {
        return not_exercised("needs a scripted model (--model-control)");
    }
    let tool = &ctx.options.query_tool;
    for (run, sql) in
        [(ctx.answered().await?, &ctx.options.sql), (ctx.refused().await?, &ctx.options.guarded_sql)]
    {
        ensure(step_with(&run.log, tool, sql), || format!("{}: no step of {tool} with {sql:?}", run.name))?;
    }
    Ok("of a statement that ran and of one that was refused".to_owned())
}

async fn parallel_steps(ctx: &Ctx) -> Verdict {
    let quick = ctx.options.quick_tool.as_str();
    let script = [
        Reply::call(quick, json!({}))
            .and(quick, json!({}))
            .and(&ctx.options.query_tool, json!({"sql": ctx.options.sql})),
        ctx.conclude("answer", "Some."),
    ];
    let run = ctx.run("parallel", &ctx.question(), &script).await?;
    ensure_none(rules::steps(&run.log))?;
    ensure_none(rules::branch_life(&run.log))?;
    ensure(step_with(&run.log, &ctx.options.query_tool, &ctx.options.sql), || {
        format!("the statement of a parallel turn is no step: {}", run.log.outline())
    })?;
    let quick_steps = run.log.of("step").filter(|step| step.text("tool") == quick).count();
    ensure(quick_steps >= 2, || format!("{quick_steps} steps of {quick} for two calls"))?;
    Ok(run.log.outline())
}

async fn milestones(ctx: &Ctx) -> Verdict {
    let run = ctx.answered().await?;
    let queried = run.log.of("milestone").any(|event| event.text("phase") == "querying");
    if ctx.control.is_none() && run.log.first("answer").is_none() {
        return not_exercised("the default question got no answer");
    }
    ensure(queried, || format!("no milestone with phase querying: {}", run.log.outline()))?;
    Ok(format!("{} milestones", run.log.of("milestone").count()))
}
