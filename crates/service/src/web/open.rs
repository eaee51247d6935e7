//! What needs no bearer: health, the schema files, and the answers to calls that do not exist.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::{CONTRACT_VERSION, Health, ProblemCode};

use super::{ApiError, State};

/// `GET /health`
pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok".to_owned(), contract: CONTRACT_VERSION.to_owned() })
}

/// `GET /health/live`: the process turns.
pub(super) async fn live() -> HttpResponse {
    word("live")
}

/// `GET /health/ready`: the issuer's keys are there, and no shutdown has begun. What is wrong is no stranger's business.
pub(super) async fn ready(state: Data<State>) -> Result<HttpResponse, ApiError> {
    if state.verifier.has_keys() && !state.house.is_closing() {
        Ok(word("ready"))
    } else {
        Err(ApiError::new(ProblemCode::Unavailable))
    }
}

fn word(status: &str) -> HttpResponse {
    let body = serde_json::json!({"status": status});
    HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(body)
}

/// `GET /metrics`, on a port of its own.
pub(super) async fn metrics(state: Data<State>) -> HttpResponse {
    let gauges = state.house.gauges(state.open_streams.count(), state.verifier.has_keys());
    let text = state.house.telemetry().metrics().text(gauges);
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text)
}

/// `GET /openapi.json`
pub(super) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(ask_contract::openapi())
}

/// `GET /events.schema.json`
pub(super) async fn events_schema() -> HttpResponse {
    HttpResponse::Ok().content_type("application/schema+json").body(ask_contract::events_schema().to_string())
}

/// Any other path.
pub(super) async fn not_found() -> Result<HttpResponse, ApiError> {
    Err(ApiError::new(ProblemCode::NotFound))
}

/// A path that is there, by another method.
pub(super) async fn method_not_allowed(request: HttpRequest) -> HttpResponse {
    use actix_web::ResponseError as _;
    let path = request.match_pattern().unwrap_or_default();
    let allowed = match path.rsplit('/').next().unwrap_or_default() {
        "conversations" => "GET, POST",
        "{conversation_id}" => "GET, DELETE",
        "asks" | "cancel" | "feedback" => "POST",
        _ => "GET",
    };
    let mut response = ApiError::new(ProblemCode::MethodNotAllowed).error_response();
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allowed));
    response
}
