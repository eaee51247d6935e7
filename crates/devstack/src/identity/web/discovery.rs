//! What anybody may read: the discovery document, the keys, and whether the issuer is up.

use actix_web::{HttpResponse, web};
use serde_json::json;

use super::State;

/// `GET /<tenant>/v2.0/.well-known/openid-configuration`
pub(super) async fn document(state: web::Data<State>) -> HttpResponse {
    HttpResponse::Ok().json(state.issuer.discovery())
}

/// `GET /<tenant>/discovery/v2.0/keys`
pub(super) async fn keys(state: web::Data<State>) -> HttpResponse {
    HttpResponse::Ok().json(state.issuer.key_document())
}

/// `GET /health`
pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}
