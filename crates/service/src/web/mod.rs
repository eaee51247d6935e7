//! The contract's calls over HTTP: a file per verb, one owner check, one shape of error.

mod body;
mod caller;
mod come_back;
mod once;
mod open;
mod origin;
mod problem;
mod query;
mod stream;
mod v1;

use actix_web::web::{self, ServiceConfig};

use crate::actors::House;

/// The readers of what strangers send, for the fuzzer.
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed {
    /// Reads the position in a `Last-Event-ID`.
    pub(crate) fn last_seen(value: &[u8]) -> u64 {
        super::v1::asks::events::last_seen(Some(value), None)
    }

    /// Reads a body as a question.
    pub(crate) fn ask_request(body: &[u8]) -> Result<ask_contract::AskRequest, String> {
        super::body::read(body)
    }
}

pub(crate) use come_back::OpenStreams;
pub(crate) use origin::follow;
pub(crate) use problem::ApiError;

/// What every handler is given.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) house: House,
    pub(crate) verifier: ask_auth::Verifier,
    pub(crate) open_streams: OpenStreams,
}

/// Mounts what the port of the metrics serves.
pub(crate) fn metrics_routes(config: &mut ServiceConfig) {
    config
        .service(resource("/metrics").route(web::get().to(open::metrics)))
        .default_service(web::to(open::not_found));
}

/// Mounts every route. Each path answers other methods with a problem, and other paths with another.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(
            resource("/v1/conversations")
                .route(web::get().to(v1::conversations::list::handle))
                .route(web::post().to(v1::conversations::create::handle)),
        )
        .service(
            resource("/v1/conversations/{conversation_id}")
                .route(web::get().to(v1::conversations::state::handle))
                .route(web::delete().to(v1::conversations::forget::handle)),
        )
        .service(
            resource("/v1/conversations/{conversation_id}/asks")
                .route(web::post().to(v1::asks::create::handle)),
        )
        .service(resource("/v1/asks/{ticket}/events").route(web::get().to(v1::asks::events::handle)))
        .service(resource("/v1/asks/{ticket}").route(web::get().to(v1::asks::state::handle)))
        .service(resource("/v1/asks/{ticket}/cancel").route(web::post().to(v1::asks::cancel::handle)))
        .service(resource("/v1/asks/{ticket}/feedback").route(web::post().to(v1::asks::feedback::handle)))
        .service(resource("/health").route(web::get().to(open::health)))
        .service(resource("/health/live").route(web::get().to(open::live)))
        .service(resource("/health/ready").route(web::get().to(open::ready)))
        .service(resource("/openapi.json").route(web::get().to(open::openapi)))
        .service(resource("/events.schema.json").route(web::get().to(open::events_schema)))
        .default_service(web::to(open::not_found));
}

fn resource(path: &str) -> actix_web::Resource {
    web::resource(path).default_service(web::to(open::method_not_allowed))
}
