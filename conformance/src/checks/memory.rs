//! A conversation is memory: its turns are resent, and no other's.

use serde_json::{Value, json};

use crate::check::{Check, Verdict, check, ensure};
use crate::ctx::Ctx;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "memory.resent",
            "each ask resends the conversation's prior turns to the model",
            "memory",
            resent
        ),
        check!(
            "memory.separate",
            "nothing of one conversation reaches another's model calls",
            "memory",
            separate
        ),
        check!(
            "memory.per-user",
            "nothing of one user's conversation reaches another user's model calls",
            "memory",
            per_user
        ),
        check!("memory.bearer", "the bearer goes to no model", "rule 7", bearer),
        check!(
            "memory.question-sent",
            "the model is asked the question as received",
            "memory",
            question_sent
        ),
    ]
}

fn holds(requests: &[Value], text: &str) -> bool {
    requests.iter().any(|request| request.to_string().contains(text))
}

async fn resent(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    let first = json!({"question": "First, what about the peregrine falcons of turn one?"});
    let second = json!({"question": "And then, what about them in turn two?"});
    let third = json!({"question": "And finally, what about turn three?"});
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", "Marmalade counts for this turn.")];
    ctx.run_in("first", &conversation, &first, &script).await?;
    let next = [ctx.conclude("cannot_answer", "Nothing.")];
    let run = ctx.run_in("second", &conversation, &second, &next).await?;
    let sent = ctx.model_requests(&run).await?;
    ensure(holds(&sent, "peregrine falcons"), || "the second ask lacks the first question".to_owned())?;
    ensure(holds(&sent, "Marmalade"), || "the second ask lacks the first conclusion".to_owned())?;
    let sql = ctx.options.sql.split_whitespace().next_back().unwrap_or_default();
    ensure(holds(&sent, sql), || "the second ask lacks the first turn's tool call".to_owned())?;
    let run = ctx.run_in("third", &conversation, &third, &next).await?;
    let sent = ctx.model_requests(&run).await?;
    for earlier in ["peregrine falcons", "in turn two"] {
        ensure(holds(&sent, earlier), || format!("the third ask lacks {earlier:?}"))?;
    }
    Ok("over three turns, with calls and conclusions".to_owned())
}

async fn separate(ctx: &Ctx) -> Verdict {
    let first = json!({"question": "What about the albatrosses of the other conversation?"});
    let script = [ctx.conclude("cannot_answer", "Nothing on that.")];
    ctx.run("first", &first, &script).await?;
    let run = ctx.run("second", &ctx.question(), &script).await?;
    let sent = ctx.model_requests(&run).await?;
    ensure(!holds(&sent, "albatross"), || "another conversation's question was sent".to_owned())?;
    Ok(format!("{} model calls", run.model_calls()))
}

async fn per_user(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let first = json!({"question": "What about the kingfishers of the first user?"});
    ctx.run(
        "first",
        &first,
        &[ctx.query(&ctx.options.sql), ctx.conclude("answer", "Secret kingfisher count.")],
    )
    .await?;
    ctx.script(&[ctx.conclude("cannot_answer", "Nothing.")]).await?;
    let before = ctx.control()?.received().await?;
    let conversation = ctx.conversation_of(other).await?;
    let ticket = ctx.ask_as(other, &conversation, &ctx.question()).await?;
    let deadline = tokio::time::Instant::now() + ctx.limit();
    loop {
        let answer = ctx.get(&crate::ctx::state(&ticket.id), Some(other)).await?;
        if answer.json().unwrap_or_default().get("status") == Some(&json!("finished")) {
            break;
        }
        ensure(tokio::time::Instant::now() < deadline, || "the second user's run did not end".to_owned())?;
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    let requests = ctx.control()?.requests(before, u64::MAX).await?;
    ensure(!holds(&requests, "ingfisher"), || {
        "the first user's turn was sent for the second user".to_owned()
    })?;
    Ok(format!("{} model calls", requests.len()))
}

async fn bearer(ctx: &Ctx) -> Verdict {
    let run = ctx.answered().await?;
    let token = ctx.ids.first.expose();
    let signature = token.rsplit_once('.').map_or(token, |(_, signature)| signature);
    let all = ctx.control()?.requests(0, u64::MAX).await?;
    ensure(!all.is_empty(), || "the model saw no request".to_owned())?;
    ensure(!holds(&all, signature), || "a model request holds the caller's bearer".to_owned())?;
    Ok(format!("{} model requests of this run's {}", all.len(), run.model_calls()))
}

async fn question_sent(ctx: &Ctx) -> Verdict {
    let question = "How many ospreys, in all, were counted here?";
    let run =
        ctx.run("sent", &json!({"question": question}), &[ctx.conclude("cannot_answer", "None.")]).await?;
    let sent = ctx.model_requests(&run).await?;
    ensure(holds(&sent, question), || "no model request holds the question".to_owned())?;
    Ok(format!("{} model calls", run.model_calls()))
}
