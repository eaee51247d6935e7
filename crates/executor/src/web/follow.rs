//! Gives each request an id: the caller's own, else a new one, in its audit lines, its answer and its problem's body.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use data_encoding::HEXLOWER;
use serde_json::{Map, Value};

use super::problem::MEDIA_TYPE;
use crate::caller::Origin;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Puts the id where the call's audit line takes it from, and into the answer.
///
/// # Errors
///
/// Only those of what serves the request.
#[expect(clippy::disallowed_types, reason = "a middleware's signature has this error")]
pub(super) async fn follow(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let id =
        sole(&request).and_then(|text| Origin::new("", Some(text), None).request_id).unwrap_or_else(made);
    let Ok(value) = HeaderValue::from_str(&id) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    request.headers_mut().insert(REQUEST_ID, value.clone());
    let mut response = next.call(request).await?.map_into_boxed_body();
    response.headers_mut().insert(REQUEST_ID, value);
    Ok(if names_its_request(&response) { named(response, &id) } else { response })
}

/// The header's value, unless it comes twice: then no one can say which is meant.
fn sole(request: &ServiceRequest) -> Option<&str> {
    let mut values = request.headers().get_all(REQUEST_ID);
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

fn made() -> String {
    let mut bytes = [0; 16];
    // Without the system's randomness an id is only less useful.
    getrandom::fill(&mut bytes).ok();
    HEXLOWER.encode(&bytes)
}

/// Whether a response is a problem whose body has the id. Every 401 is the same to the byte, and has it in the header alone.
fn names_its_request(response: &ServiceResponse<BoxBody>) -> bool {
    let media_type = response.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|value| value.as_bytes() == MEDIA_TYPE.as_bytes())
        && response.status() != StatusCode::UNAUTHORIZED
}

fn named(response: ServiceResponse<BoxBody>, id: &str) -> ServiceResponse<BoxBody> {
    response.map_body(|_, body| match body.try_into_bytes() {
        Ok(bytes) => BoxBody::new(with_id(&bytes, id).unwrap_or(bytes)),
        Err(body) => body,
    })
}

fn with_id(body: &Bytes, id: &str) -> Option<Bytes> {
    let mut members: Map<String, Value> = serde_json::from_slice(body).ok()?;
    members.insert("request_id".to_owned(), Value::from(id));
    serde_json::to_vec(&members).ok().map(Bytes::from)
}
