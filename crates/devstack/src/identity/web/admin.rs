//! What only tests and developers do: rotate keys, and have tokens made to order.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use url::form_urlencoded;

use super::super::issuer::IssuerError;
use super::super::shape::Mint;
use super::{State, fresh};

/// `POST /<tenant>/admin/rotate`: a new key signs from now on. The one before stays published until the next rotation;
/// with `?withdraw=true` it goes at once, and tokens that it signed stop working.
pub(super) async fn rotate(state: web::Data<State>, request: HttpRequest) -> HttpResponse {
    if !from_loopback(&request) {
        return HttpResponse::NotFound().finish();
    }
    let withdraw = form_urlencoded::parse(request.query_string().as_bytes())
        .any(|(name, value)| name == "withdraw" && value == "true");
    match state.issuer.rotate(withdraw) {
        Ok(kid) => fresh(StatusCode::OK, &json!({ "kid": kid })),
        Err(err) => fresh(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": err.to_string() })),
    }
}

/// `POST /<tenant>/admin/mint` with a [`Mint`]: a token with any claims, any header, or a stranger's signature.
pub(super) async fn mint(state: web::Data<State>, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    if !from_loopback(&request) {
        return HttpResponse::NotFound().finish();
    }
    let Ok(order) = serde_json::from_slice::<Mint>(&body) else {
        return fresh(StatusCode::BAD_REQUEST, &json!({ "error": "invalid_request" }));
    };
    match state.issuer.mint(&order) {
        Ok(token) => fresh(StatusCode::OK, &json!({ "token_type": "Bearer", "access_token": token })),
        Err(IssuerError::UnknownPerson) => {
            fresh(StatusCode::BAD_REQUEST, &json!({ "error": "invalid_grant" }))
        }
        Err(err @ IssuerError::Key(_)) => {
            fresh(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": err.to_string() }))
        }
    }
}

fn from_loopback(request: &HttpRequest) -> bool {
    request.peer_addr().is_some_and(|peer| peer.ip().is_loopback())
}
