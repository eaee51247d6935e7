//! Only `accepted` carries the question, however the model repeats it.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, not_exercised, wrong};
use crate::ctx::{Ctx, Run};
use crate::model::{Fault, Reply};
use crate::privacy;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("privacy.plain", "no event but accepted carries the question text", "rule 4", plain),
        check!(
            "privacy.abstention",
            "an abstention with search terms carries no question text",
            "rule 4",
            abstention
        ),
        check!(
            "privacy.args",
            "a question repeated in a tool's arguments is cut out of the step",
            "rule 4",
            args
        ),
        check!(
            "privacy.terms",
            "a question repeated as a search term is cut out of searched_terms",
            "rule 4",
            terms
        ),
        check!("privacy.answer", "a question repeated in the answer is cut out", "rule 4", answer),
        check!("privacy.case", "whatever its casing", "rule 4", case),
        check!("privacy.spacing", "whatever its spacing", "rule 4", spacing),
        check!("privacy.unicode", "whatever its Unicode form", "rule 4", unicode),
        check!("privacy.escaped", "also JSON-escaped", "rule 4", escaped),
        check!("privacy.refusal", "a question inside a refused statement is cut out", "rule 4", refusal),
        check!("privacy.error", "a failing run's events carry no question text", "rule 4", error),
        check!("privacy.state", "the state endpoint carries no question text", "rule 4", state),
        check!(
            "privacy.short",
            "a question of fewer than four words is a term and stays in searched_terms",
            "rule 4",
            short
        ),
    ]
}

const QUESTION: &str = "Which of our naïve regional \"wholesale\" ledgers reconcile with Zürich?";

/// The first later event that holds the question.
fn leak(run: &Run) -> Option<String> {
    run.log.events.iter().filter(|event| event.kind() != "accepted").find_map(|event| {
        let raw = String::from_utf8_lossy(&event.frame.raw);
        let place = privacy::place(&event.data, &run.question)
            .or_else(|| privacy::holds(&raw, &run.question).then(|| raw.into_owned()))?;
        let shown: String = place.chars().take(120).collect();
        Some(format!("{} (seq {}) holds it: {shown:?}", event.kind(), event.seq()))
    })
}

async fn kept_out(ctx: &Ctx, script: &[Reply]) -> Result<Run, Failure> {
    let run = ctx.run("echo", &json!({"question": QUESTION}), script).await?;
    if let Some(leak) = leak(&run) {
        return wrong(leak);
    }
    ensure(run.log.first("accepted").is_some_and(|event| event.text("question") == QUESTION), || {
        "accepted does not carry the question".to_owned()
    })?;
    ensure(run.log.done().is_some(), || format!("no done: {}", run.log.outline()))?;
    Ok(run)
}

/// The question said again in the conclusion of a run that ran a statement, and in a term of its search.
async fn said_as(ctx: &Ctx, disguised: &str) -> Verdict {
    let script = [
        ctx.search(disguised),
        ctx.query(&ctx.options.sql),
        ctx.conclude("answer", &format!("You asked: {disguised} There are some.")),
    ];
    let run = kept_out(ctx, &script).await?;
    let script = [
        ctx.search(disguised),
        ctx.conclude_with("cannot_answer", &format!("Nothing on {disguised}"), &[], &[disguised]),
    ];
    kept_out(ctx, &script).await?;
    Ok(run.log.outline())
}

async fn plain(ctx: &Ctx) -> Verdict {
    for run in ctx.samples().await? {
        if let Some(leak) = leak(&run) {
            return wrong(format!("{}: {leak}", run.name));
        }
    }
    Ok("on a run of each ending".to_owned())
}

async fn abstention(ctx: &Ctx) -> Verdict {
    let script =
        [ctx.search("wholesale"), ctx.search("ledgers"), ctx.conclude("cannot_answer", "Nothing fits.")];
    let run = kept_out(ctx, &script).await?;
    let terms = run.log.first("abstention").and_then(|event| event.data.get("searched_terms").cloned());
    ensure(
        terms.as_ref().is_some_and(|terms| terms.as_array().is_some_and(|terms| !terms.is_empty())),
        || format!("searched_terms is {terms:?}"),
    )?;
    Ok(terms.unwrap_or_default().to_string())
}

async fn args(ctx: &Ctx) -> Verdict {
    let script = [
        Reply::call(&ctx.options.search_tool, json!({"query": QUESTION, "limit": 5})),
        Reply::call(&ctx.options.query_tool, json!({"sql": format!("{} -- {QUESTION}", ctx.options.sql)})),
        ctx.conclude("answer", "Some."),
    ];
    let run = kept_out(ctx, &script).await?;
    let step = run.log.of("step").any(|step| step.text("tool") == ctx.options.search_tool);
    ensure(step, || format!("the search is no step: {}", run.log.outline()))?;
    Ok(run.log.outline())
}

async fn terms(ctx: &Ctx) -> Verdict {
    let script =
        [ctx.search(QUESTION), ctx.conclude_with("cannot_answer", "Nothing.", &[], &[QUESTION, "wholesale"])];
    let run = kept_out(ctx, &script).await?;
    ensure(run.log.first("abstention").is_some(), || format!("ended as {}", run.log.outline()))?;
    Ok(run.log.outline())
}

async fn answer(ctx: &Ctx) -> Verdict {
    let script = [
        ctx.query(&ctx.options.sql),
        ctx.conclude("answer", &format!("You asked \"{QUESTION}\", and there are exactly some.")),
    ];
    let run = kept_out(ctx, &script).await?;
    let text = run.log.first("answer").map(|event| event.text("text").to_owned()).unwrap_or_default();
    ensure(text.contains("there are exactly some"), || format!("the answer's own words are gone: {text:?}"))?;
    Ok(text)
}

async fn case(ctx: &Ctx) -> Verdict {
    said_as(ctx, &QUESTION.to_uppercase()).await?;
    said_as(ctx, &QUESTION.to_lowercase()).await
}

async fn spacing(ctx: &Ctx) -> Verdict {
    said_as(ctx, &QUESTION.replace(' ', "  \n\t")).await?;
    said_as(ctx, &QUESTION.replace(' ', "\u{a0}")).await
}

async fn unicode(ctx: &Ctx) -> Verdict {
    use unicode_normalization::UnicodeNormalization;
    said_as(ctx, &QUESTION.nfd().collect::<String>()).await?;
    let full_width: String = QUESTION
        .chars()
        .map(|c| match u32::from(c) {
            code @ 0x21..=0x7e => char::from_u32(code + 0xfee0).unwrap_or(c),
            _ => c,
        })
        .collect();
    said_as(ctx, &full_width).await
}

async fn escaped(ctx: &Ctx) -> Verdict {
    let quoted = json!({"question": QUESTION}).to_string();
    said_as(ctx, &quoted).await?;
    let escape = |unit| format!("\\u{unit:04x}").into_bytes().into_iter().map(char::from);
    let units: String = QUESTION.encode_utf16().flat_map(escape).collect();
    said_as(ctx, &units).await?;
    said_as(ctx, &json!(quoted).to_string()).await
}

async fn refusal(ctx: &Ctx) -> Verdict {
    let script = [
        ctx.query(&format!("{} /* {QUESTION} */", ctx.options.guarded_sql)),
        ctx.conclude("answer", QUESTION),
    ];
    let run = kept_out(ctx, &script).await?;
    ensure(run.log.first("refusal").is_some(), || format!("ended as {}", run.log.outline()))?;
    Ok(run.log.outline())
}

async fn error(ctx: &Ctx) -> Verdict {
    let run = kept_out(ctx, &[Reply::fault(Fault::Status(400))]).await?;
    Ok(run.log.outline())
}

async fn state(ctx: &Ctx) -> Verdict {
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", &format!("{QUESTION} Some."))];
    let run = ctx.run("state", &json!({"question": QUESTION}), &script).await?;
    let state: Value = ctx.state(&run.ticket.id).await?;
    if let Some(place) = privacy::place(&state, QUESTION) {
        return wrong(format!("the state holds it: {place:?}"));
    }
    Ok("finished state".to_owned())
}

async fn short(ctx: &Ctx) -> Verdict {
    let script = [ctx.search("Zeppelins"), ctx.conclude("cannot_answer", "Nothing.")];
    let run = ctx.run("short", &json!({"question": "Zeppelins?"}), &script).await?;
    let Some(abstention) = run.log.first("abstention") else {
        return not_exercised(format!("ended as {}", run.log.outline()));
    };
    let terms = abstention.data.get("searched_terms").cloned().unwrap_or_default();
    let kept = terms.as_array().is_some_and(|terms| {
        terms.iter().filter_map(Value::as_str).any(|term| term.eq_ignore_ascii_case("zeppelins"))
    });
    ensure(kept, || format!("searched_terms is {terms}"))?;
    Ok(terms.to_string())
}
