//! The issuer over HTTP.

mod admin;
mod authorize;
mod cors;
mod device;
mod discovery;
mod form;
mod page;
mod server;
mod token;

pub use server::{Handle, serve};

use std::sync::{Mutex, MutexGuard, PoisonError};

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Value, json};

use super::codes::Codes;
use super::grants::{GrantError, Grants};
use super::issuer::Issuer;

/// What all requests share.
#[derive(Debug)]
struct State {
    issuer: Issuer,
    grants: Mutex<Grants>,
    codes: Mutex<Codes>,
}

impl State {
    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn codes(&self) -> MutexGuard<'_, Codes> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.issuer.settings().clock.now()
    }
}

/// An answer that no cache may keep, as RFC 6749 wants it for tokens.
fn fresh(status: StatusCode, body: &Value) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header(("cache-control", "no-store"))
        .content_type("application/json")
        .body(body.to_string())
}

/// A refusal in OAuth's form.
fn refused(error: GrantError) -> HttpResponse {
    let status = match error {
        GrantError::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        GrantError::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
        GrantError::InvalidRequest
        | GrantError::InvalidGrant
        | GrantError::InvalidScope
        | GrantError::UnsupportedGrantType
        | GrantError::AuthorizationPending
        | GrantError::SlowDown
        | GrantError::ExpiredToken
        | GrantError::AccessDenied => StatusCode::BAD_REQUEST,
    };
    fresh(status, &json!({ "error": error.code() }))
}
