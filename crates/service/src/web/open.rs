//! What needs no bearer: health, the schema files, and the answers to calls that do not exist.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::{CONTRACT_VERSION, Health, ProblemCode};

use super::ApiError;

/// `GET /health`
pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok".to_owned(), contract: CONTRACT_VERSION.to_owned() })
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
    let posts = request.match_pattern().is_some_and(|path| {
        path == "/v1/conversations" || path.ends_with("/asks") || path.ends_with("/cancel")
    });
    let mut response = ApiError::new(ProblemCode::MethodNotAllowed).error_response();
    let allowed = header::HeaderValue::from_static(if posts { "POST" } else { "GET" });
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
