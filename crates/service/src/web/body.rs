//! A JSON body within limits, and what is wrong with one that is not valid.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::Payload;
use ask_contract::{AskRequest, Feedback, ProblemCode};
use bytes::BytesMut;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::ApiError;
use crate::settings::Quotas;

/// Time for a body to arrive in.
const ARRIVAL: Duration = Duration::from_secs(10);

/// Longest excerpt of the caller's own input in an error.
const EXCERPT: usize = 200;

/// Reads and checks the question.
pub(super) async fn ask_request(
    request: &HttpRequest,
    body: Payload,
    quotas: Quotas,
) -> Result<AskRequest, ApiError> {
    let ask: AskRequest = json(request, body, quotas.body_bytes).await?;
    if ask.question.trim().is_empty() {
        return Err(invalid("question: must have at least one character that is not blank"));
    }
    if ask.question.chars().count() > quotas.question_chars {
        return Err(invalid(format!("question: must have at most {} characters", quotas.question_chars)));
    }
    if ask.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        return Err(invalid("model: must not be blank"));
    }
    Ok(ask)
}

/// Reads and checks feedback.
pub(super) async fn feedback(
    request: &HttpRequest,
    body: Payload,
    quotas: Quotas,
) -> Result<Feedback, ApiError> {
    json(request, body, quotas.body_bytes).await
}

async fn json<T: DeserializeOwned>(
    request: &HttpRequest,
    body: Payload,
    limit: usize,
) -> Result<T, ApiError> {
    if !is_json(request) {
        return Err(ApiError::new(ProblemCode::UnsupportedMediaType));
    }
    let bytes = tokio::time::timeout(ARRIVAL, collect(request, body, limit))
        .await
        .unwrap_or_else(|_elapsed| Err(invalid("the body did not arrive in time")))?;
    read(&bytes).map_err(invalid)
}

/// One JSON object and nothing after it, or what is wrong.
///
/// A list is none, although serde would take its elements for the members in their order.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err("must be a JSON object".to_owned());
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|err| fault(&err))?;
    json.end().map_err(|_more| "there is something after the JSON object".to_owned())?;
    Ok(value)
}

fn is_json(request: &HttpRequest) -> bool {
    let Some(Ok(value)) = request.headers().get(header::CONTENT_TYPE).map(header::HeaderValue::to_str) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

async fn collect(request: &HttpRequest, mut body: Payload, limit: usize) -> Result<BytesMut, ApiError> {
    let too_large =
        || ApiError::with_detail(ProblemCode::BodyTooLarge, format!("at most {limit} bytes are taken"));
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|declared| declared > u64::try_from(limit).unwrap_or(u64::MAX)) {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let Ok(chunk) = chunk else { return Err(invalid("the body could not be read to its end")) };
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn invalid(detail: impl Into<String>) -> ApiError {
    ApiError::with_detail(ProblemCode::InvalidRequest, detail)
}

/// What is wrong, by member, without the value: it may be the question.
fn fault(err: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = err.path().to_string();
    let inner = err.inner();
    if inner.is_syntax() || inner.is_eof() {
        return format!("not valid JSON at line {} column {}", inner.line(), inner.column());
    }
    let text = without_names(&without_values(&inner.to_string()));
    let text = text.split(" at line ").next().unwrap_or_default();
    let excerpt = text.get(..text.floor_char_boundary(EXCERPT)).unwrap_or_default();
    if is_member_name(&path) { format!("{path}: {excerpt}") } else { excerpt.to_owned() }
}

/// Whether `text` can be the name of a member; a sentence can't.
fn is_member_name(text: &str) -> bool {
    let is_short = (1..=40).contains(&text.len());
    is_short && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The text without the first thing in backticks, unless that is the name of a member: of an unknown word as a value, what
/// it is instead of stays.
fn without_names(text: &str) -> String {
    let Some((before, rest)) = text.split_once('`') else { return text.to_owned() };
    let is_value = before.trim_end() == "unknown variant";
    // What the caller sent may hold backticks of its own; what serde adds behind it does not.
    let Some(end) = rest.rfind("`, expected").or_else(|| rest.rfind('`')) else {
        return before.trim_end().to_owned();
    };
    let (named, after) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
    if !is_value && is_member_name(named) {
        return text.to_owned();
    }
    format!("{}{after}", before.trim_end())
}

/// The text without what stands in double quotes.
fn without_values(text: &str) -> String {
    let (Some(first), Some(last)) = (text.find('"'), text.rfind('"')) else { return text.to_owned() };
    let (before, after) = (text.get(..first).unwrap_or_default(), text.get(last + 1..).unwrap_or_default());
    format!("{}{after}", before.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(body: &str) -> String {
        read::<AskRequest>(body.as_bytes()).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_named_and_no_value_is_repeated() {
        const SECRET: &str = "Which team is `slow`, expected \\\"soon\\\" at line 3?";
        for (body, expected) in [
            (r#"{"question":"x","odd":1}"#.to_owned(), "odd: unknown field `odd`, expected"),
            (format!(r#"{{"question":"x","{SECRET}":1}}"#), "unknown field, expected one of `question`"),
            (
                format!(r#"{{"question":"x","effort":"{SECRET}"}}"#),
                "effort: unknown variant, expected one of `low`",
            ),
            (format!(r#"{{"question":["{SECRET}"]}}"#), "question: invalid type"),
            (format!(r#"{{"question":"x","context":"{SECRET}"}}"#), "context: invalid type: string"),
            (format!(r#"{{"question":"x","deadline_s":"{SECRET}"}}"#), "deadline_s: "),
            (
                r#"{"question":"x","deadline_s":0}"#.to_owned(),
                "deadline_s: must be a whole number of seconds, 1",
            ),
            (
                r#"{"question":"x","deadline_s":1.5}"#.to_owned(),
                "deadline_s: must be a whole number of seconds, 1",
            ),
            (r#"{"question":"x","deadline_s":4294967296}"#.to_owned(), "deadline_s: must be a whole number"),
            (format!(r#" ["{SECRET}"]"#), "must be a JSON object"),
            (format!(r#""{SECRET}""#), "invalid type: string"),
            (r#"{"question":"x"} {"question":"slow"}"#.to_owned(), "there is something after"),
            (format!(r#"{{"question":"{SECRET}""#), "not valid JSON at line 1"),
        ] {
            let fault = fault_of(&body);
            assert!(fault.starts_with(expected), "{body}: {fault}");
            assert!(!fault.contains("slow") && !fault.contains("soon"), "{body}: {fault}");
        }
        for (number, seconds) in [("30", 30), ("30.0", 30), ("3e1", 30), ("4294967295", u32::MAX)] {
            let body = format!(r#"{{"question":"x","deadline_s":{number}}}"#);
            assert_eq!(read::<AskRequest>(body.as_bytes()).unwrap().deadline_s, Some(seconds), "{number}");
        }
    }
}
