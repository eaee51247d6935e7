//! `GET /v1/asks/{ticket}/events`: the ticket's events, from the start or after the last one seen.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use ask_core::ticket::position;

use super::own_ticket;
use crate::web::query::Parameters;
use crate::web::stream::frames;
use crate::web::{ApiError, State};

const LAST_EVENT_ID: &str = "Last-Event-ID";

pub(in crate::web) async fn handle(
    state: Data<State>,
    path: Path<String>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let ticket = own_ticket(&state, &request, &path).await?;
    let (latest, done) = ticket.progress();
    let parameters = Parameters::of(&request).ok();
    let after = parameters.as_ref().and_then(Parameters::after);
    let header = request.headers().get(LAST_EVENT_ID).map(header::HeaderValue::as_bytes);
    let seen = last_seen(header, after);
    if done && seen >= latest {
        // A browser's EventSource stops for good at this answer, and at no other that means "no more".
        return Ok(HttpResponse::NoContent().insert_header((header::CACHE_CONTROL, "no-cache")).finish());
    }
    // A number that was never emitted has not been seen: the start is the answer that loses nothing.
    let seen = if seen > latest { 0 } else { seen };
    state.house.telemetry().metrics().streams.add(1);
    let body = frames(ticket.follow(seen), state.open_streams.enter(), state.house.settings().retention);
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(body))
}

/// The last `seq` that the client has seen.
pub(in crate::web) fn last_seen(header: Option<&[u8]>, after: Option<&str>) -> u64 {
    position(header.and_then(|value| std::str::from_utf8(value).ok()), after)
}
