//! `Idempotency-Key`: a POST whose answer was lost is sent again, and gives the same answer.

use std::future::Future;

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use ask_auth::Owner;
use ask_contract::ProblemCode;
use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{ApiError, State};
use crate::actors::{Allowance, Fingerprint, Kept, Once};

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const REPLAYED: &str = "Idempotency-Replayed";
const LONGEST_KEY: usize = 255;

/// Answers a POST that creates something: once per key where the request has one.
pub(super) async fn created<T: Serialize, F: Future<Output = Result<T, ApiError>>>(
    state: &State,
    request: &HttpRequest,
    owner: &Owner,
    body: &impl Serialize,
    status: StatusCode,
    make: impl FnOnce(Option<Kept>) -> F,
) -> Result<HttpResponse, ApiError> {
    let Some(key) = key(request)? else {
        return Ok(respond(state, owner, status).json(make(None).await?));
    };
    let answer = |kept| async { serialize(&make(Some(kept)).await?) };
    let answered = state.house.answers().once(owner, key, fingerprint(request, body)?, answer).await;
    let Ok(outcome) = answered else { return Err(ApiError::new(ProblemCode::IdempotencyKeyReused)) };
    let Once { body, replayed } = outcome?;
    let mut response = respond(state, owner, status);
    if replayed {
        response.insert_header((REPLAYED, "true"));
    }
    Ok(response.content_type(header::ContentType::json()).body(body))
}

/// A response that says how much its caller may still ask.
fn respond(state: &State, owner: &Owner, status: StatusCode) -> HttpResponseBuilder {
    let allowance = state.house.allowance(owner);
    let mut response = HttpResponse::build(status);
    for header in rate_headers(&allowance) {
        response.insert_header(header);
    }
    response
}

/// How much a caller may still ask, as headers.
pub(super) fn rate_headers(allowance: &Allowance) -> [(&'static str, String); 2] {
    [
        ("RateLimit-Policy", format!("\"asks\";q={};w={}", allowance.quota, allowance.window_s)),
        ("RateLimit", format!("\"asks\";r={};t={}", allowance.left, allowance.reset_s)),
    ]
}

fn key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let Some(value) = request.headers().get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if (1..=LONGEST_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Some(text.to_owned()));
    }
    let detail = format!("{IDEMPOTENCY_KEY}: must be 1 to {LONGEST_KEY} visible ASCII characters");
    Err(ApiError::with_detail(ProblemCode::InvalidRequest, detail))
}

fn fingerprint(request: &HttpRequest, body: &impl Serialize) -> Result<Fingerprint, ApiError> {
    let mut hash = Sha256::new();
    hash.update(request.path().as_bytes());
    hash.update([0]);
    hash.update(serialize(body)?);
    Ok(hash.finalize().into())
}

fn serialize(value: &impl Serialize) -> Result<Bytes, ApiError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|err| {
        tracing::error!(error = %err, "an answer could not be written");
        ApiError::new(ProblemCode::Internal)
    })
}
