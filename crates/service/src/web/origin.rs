//! Follows a request: an id that every answer and every peer is given, and a place in a trace.

use std::sync::Arc;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpMessage as _, HttpRequest};
use ask_contract::{PROBLEM_MEDIA_TYPE, Problem};

use super::State;
use crate::telemetry::Origin;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: &str = "traceparent";

/// Gives a request its origin, and its response the request's id.
///
/// # Errors
///
/// Only those of what serves it.
#[expect(clippy::disallowed_types, reason = "a middleware's signature has this error")]
pub(crate) async fn follow(
    state: Data<State>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let telemetry = state.house.telemetry();
    let origin = Arc::new(telemetry.origin(sole(&request, REQUEST_ID.as_str()), sole(&request, TRACEPARENT)));
    request.extensions_mut().insert(Arc::clone(&origin));
    let mut response = next.call(request).await?.map_into_boxed_body();
    let status = response.status();
    telemetry.metrics().answered(status.as_u16());
    if let Ok(value) = HeaderValue::from_str(&origin.request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let route = response.request().match_pattern();
    tracing::debug!(
        request.id = %origin.request_id,
        trace.id = %origin.trace.trace_hex(),
        http.route = route.as_deref().unwrap_or("none"),
        http.status = status.as_u16(),
        "answered"
    );
    let accepted = status == StatusCode::ACCEPTED && response.request().method() == Method::POST;
    if let Some(route) = route.filter(|route| accepted && route.ends_with("/asks")) {
        telemetry.accepted(&origin, &route);
    }
    Ok(if names_its_request(&response) { named(response, &origin.request_id) } else { response })
}

/// The origin that [`follow`] gave a request.
pub(super) fn origin_of(state: &State, request: &HttpRequest) -> Arc<Origin> {
    let given = request.extensions().get::<Arc<Origin>>().cloned();
    given.unwrap_or_else(|| Arc::new(state.house.telemetry().origin(None, None)))
}

/// A header's value, unless it comes twice: then no one can say which is meant.
fn sole<'a>(request: &'a ServiceRequest, name: &str) -> Option<&'a str> {
    let mut values = request.headers().get_all(name);
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

/// Whether a response is a problem whose body has the request's id.
///
/// 401 and 404 have it in the header alone: every 401 is the same to the byte, and so are another's ticket and none.
fn names_its_request(response: &ServiceResponse<BoxBody>) -> bool {
    let media_type = response.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|value| value.as_bytes() == PROBLEM_MEDIA_TYPE.as_bytes())
        && !matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND)
}

fn named(response: ServiceResponse<BoxBody>, request_id: &str) -> ServiceResponse<BoxBody> {
    response.map_body(|_, body| match body.try_into_bytes() {
        Ok(bytes) => BoxBody::new(with_id(&bytes, request_id).unwrap_or(bytes)),
        Err(body) => body,
    })
}

fn with_id(body: &Bytes, request_id: &str) -> Option<Bytes> {
    let mut problem: Problem = serde_json::from_slice(body).ok()?;
    problem.request_id = Some(request_id.to_owned());
    serde_json::to_vec(&problem).ok().map(Bytes::from)
}
