//! What an ask may hold, and what is refused without a ticket.

use serde_json::{Value, json};

use crate::check::{Check, Verdict, check, ensure};
use crate::ctx::{Ctx, asks};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("request.missing", "an ask without a question is 422", "AskRequest", missing),
        check!("request.blank", "a blank question is 422", "AskRequest", blank),
        check!("request.type", "a question that is not a string is 422", "AskRequest", question_type),
        check!("request.unknown", "an unknown member is 422", "AskRequest", unknown),
        check!("request.context", "a context that is not a boolean is 422", "AskRequest", context),
        check!("request.effort", "an effort outside the five is 422", "AskRequest", effort),
        check!("request.model", "a model that is not a string is 422", "AskRequest", model),
        check!("request.object", "a body that is not an object is 422", "AskRequest", object),
        check!("request.malformed", "a body that is not JSON is 422", "AskRequest", malformed),
        check!(
            "request.harmless",
            "a refused ask takes no turn and does not keep the conversation busy",
            "AskRequest",
            harmless
        ),
        check!("request.media-type", "a body of another media type is 415", "calls", media_type),
        check!("request.too-large", "a body that is too large is 413", "calls", too_large),
        check!("request.members", "all members are taken, each effort included", "AskRequest", members),
        check!(
            "request.unicode",
            "the question is echoed as received, whatever its characters",
            "accepted",
            unicode
        ),
        check!(
            "request.unknown-conversation",
            "an ask in a conversation that never was is 404",
            "calls",
            unknown_conversation
        ),
    ]
}

async fn refused(ctx: &Ctx, bodies: &[Value]) -> Verdict {
    let conversation = ctx.conversation().await?;
    for body in bodies {
        let answer = ctx.try_ask(&conversation, body).await?;
        ensure(answer.status() == 422, || format!("{body} was answered {}", answer.status()))?;
    }
    Ok(format!("{} forms answer 422", bodies.len()))
}

async fn missing(ctx: &Ctx) -> Verdict {
    refused(ctx, &[json!({}), json!({"context": true}), json!({"effort": "low"})]).await
}

async fn blank(ctx: &Ctx) -> Verdict {
    let blanks = ["", " ", "\t\r\n", "\u{a0}\u{2003}\u{3000}"].map(|blank| json!({"question": blank}));
    refused(ctx, &blanks).await
}

async fn question_type(ctx: &Ctx) -> Verdict {
    let values = [json!(null), json!(7), json!(true), json!(["why"]), json!({"text": "why"})];
    refused(ctx, &values.map(|value| json!({"question": value}))).await
}

async fn unknown(ctx: &Ctx) -> Verdict {
    let question = &ctx.options.question;
    refused(
        ctx,
        &[
            json!({"question": question, "temperature": 1}),
            json!({"question": question, "Context": true}),
            json!({"question": question, "": ""}),
        ],
    )
    .await
}

async fn context(ctx: &Ctx) -> Verdict {
    let values = [json!("false"), json!(0), json!([])];
    refused(ctx, &values.map(|value| json!({"question": ctx.options.question, "context": value}))).await
}

async fn effort(ctx: &Ctx) -> Verdict {
    let values = [json!("extreme"), json!("High"), json!(""), json!(3)];
    refused(ctx, &values.map(|value| json!({"question": ctx.options.question, "effort": value}))).await
}

async fn model(ctx: &Ctx) -> Verdict {
    let values = [json!(4), json!(["a"]), json!({})];
    refused(ctx, &values.map(|value| json!({"question": ctx.options.question, "model": value}))).await
}

async fn object(ctx: &Ctx) -> Verdict {
    let question = ctx.options.question.as_str();
    refused(ctx, &[json!([]), json!([{"question": question}]), json!(question), json!(null)]).await
}

async fn malformed(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    for body in ["", "{", "question=why", "{\"question\": \"why", "{\"question\":\"why is it so\"} trailing"]
    {
        let request =
            ctx.request("POST", &asks(&conversation), Some(&ctx.ids.first)).body("application/json", body);
        let answer = ctx.send(&request).await?;
        ensure(answer.status() == 422, || format!("{body:?} was answered {}", answer.status()))?;
    }
    Ok("five forms answer 422".to_owned())
}

async fn harmless(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    for body in [json!({}), json!({"question": " "}), json!({"question": "why is it so", "no": 1})] {
        let answer = ctx.try_ask(&conversation, &body).await?;
        ensure(answer.status() == 422, || format!("{body} was answered {}", answer.status()))?;
    }
    let ticket = ctx.ask(&conversation, &ctx.question()).await?;
    ensure(ticket.body.get("turn") == Some(&json!(1)), || format!("the first ticket is {}", ticket.body))?;
    Ok("turn 1 after three 422".to_owned())
}

async fn media_type(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/xml"] {
        let request = ctx
            .request("POST", &asks(&conversation), Some(&ctx.ids.first))
            .body(content_type, ctx.question().to_string());
        let answer = ctx.send(&request).await?;
        ensure(answer.status() == 415, || format!("{content_type} was answered {}", answer.status()))?;
    }
    Ok("three media types answer 415".to_owned())
}

async fn too_large(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    let body = json!({"question": "why ".repeat(ctx.options.too_large / 4)});
    let answer = ctx.try_ask(&conversation, &body).await?;
    ensure(answer.status() == 413, || {
        format!("{} bytes were answered {}", ctx.options.too_large, answer.status())
    })?;
    let ticket = ctx.ask(&conversation, &ctx.question()).await?;
    ensure(ticket.body.get("turn") == Some(&json!(1)), || format!("the next ticket is {}", ticket.body))?;
    Ok(format!("{} bytes answer 413", ctx.options.too_large))
}

async fn members(ctx: &Ctx) -> Verdict {
    for effort in ["low", "medium", "high", "xhigh", "max"] {
        let conversation = ctx.conversation().await?;
        let body = json!({"question": ctx.options.question, "context": true, "effort": effort});
        let ticket = ctx.ask(&conversation, &body).await?;
        ctx.cancel(&ticket.id).await?;
    }
    let conversation = ctx.conversation().await?;
    let request = ctx
        .request("POST", &asks(&conversation), Some(&ctx.ids.first))
        .body("application/json; charset=utf-8", json!({"question": ctx.options.question}).to_string());
    let answer = ctx.send(&request).await?;
    ensure(answer.status() == 202, || format!("a charset parameter was answered {}", answer.status()))?;
    Ok("five efforts, a media type with a parameter".to_owned())
}

async fn unicode(ctx: &Ctx) -> Verdict {
    let questions = [
        "  How \"many\" tickets\\ do we\thave?\r\nNew\nline  ",
        "data: x\n\nevent: done\n\nid: 9",
        "Wie la\u{308}uft e\u{301}s \u{1f600} \u{2028}\u{2029}\u{85}\u{202e}\u{feff} \u{0}\u{7f} </script>",
    ];
    for question in questions {
        let conversation = ctx.conversation().await?;
        let ticket = ctx.ask(&conversation, &json!({"question": question})).await?;
        ctx.cancel(&ticket.id).await?;
        let log = ctx.read(&ticket.id, None).await?;
        let echoed = log.first("accepted").map(|event| event.text("question").to_owned());
        ensure(echoed.as_deref() == Some(question), || format!("{question:?} was echoed as {echoed:?}"))?;
    }
    Ok(format!("{} questions", questions.len()))
}

async fn unknown_conversation(ctx: &Ctx) -> Verdict {
    let unknown = crate::ctx::unknown_like(&ctx.conversation().await?);
    for conversation in [unknown.as_str(), "x"] {
        let answer = ctx.try_ask(conversation, &ctx.question()).await?;
        ensure(answer.status() == 404, || format!("{conversation:?} was answered {}", answer.status()))?;
    }
    Ok("both unknown conversations answer 404".to_owned())
}
