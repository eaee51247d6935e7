//! `GET /v1/asks/{ticket}/events`: the ticket's events, from the start or after the last one seen.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};

use super::own_ticket;
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
    let seen = request.headers().get(LAST_EVENT_ID).map_or(0, |value| last_seen(value.as_bytes()));
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

/// The last `seq` that the client has seen; 0 for anything that is no plain number.
pub(in crate::web) fn last_seen(value: &[u8]) -> u64 {
    let digits = value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).unwrap_or_default();
    if digits { text.parse().unwrap_or(0) } else { 0 }
}
