//! The stub's control routes, for tests in other processes.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::json;

use super::{
    script::Scripted,
    server::{Stub, session_of},
};

/// Adds the control routes.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/control/script", web::post().to(set_script))
        .route("/control/defaults", web::post().to(set_defaults))
        .route("/control/requests", web::get().to(requests))
        .route("/control/state", web::get().to(state));
}

/// What a session does when its script is empty.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    /// The wait before each reply, in milliseconds.
    turn_delay_ms: u64,
}

fn bad(err: &serde_json::Error) -> HttpResponse {
    HttpResponse::BadRequest().json(json!({ "error": err.to_string() }))
}

async fn set_script(request: HttpRequest, stub: web::Data<Stub>, body: web::Bytes) -> HttpResponse {
    let Some(session) = session_of(&request, &stub) else { return HttpResponse::NotFound().finish() };
    match serde_json::from_slice::<Vec<Scripted>>(&body) {
        Ok(script) => {
            session.set_script(script);
            HttpResponse::Ok().json(session.state())
        }
        Err(err) => bad(&err),
    }
}

async fn set_defaults(request: HttpRequest, stub: web::Data<Stub>, body: web::Bytes) -> HttpResponse {
    let Some(session) = session_of(&request, &stub) else { return HttpResponse::NotFound().finish() };
    match serde_json::from_slice::<Defaults>(&body) {
        Ok(Defaults { turn_delay_ms }) => {
            session.set_turn_delay(Duration::from_millis(turn_delay_ms));
            HttpResponse::Ok().json(session.state())
        }
        Err(err) => bad(&err),
    }
}

async fn requests(request: HttpRequest, stub: web::Data<Stub>) -> HttpResponse {
    match session_of(&request, &stub) {
        Some(session) => HttpResponse::Ok().json(session.requests()),
        None => HttpResponse::NotFound().finish(),
    }
}

async fn state(request: HttpRequest, stub: web::Data<Stub>) -> HttpResponse {
    match session_of(&request, &stub) {
        Some(session) => HttpResponse::Ok().json(session.state()),
        None => HttpResponse::NotFound().finish(),
    }
}
