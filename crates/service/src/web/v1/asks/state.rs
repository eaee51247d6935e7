//! `GET /v1/asks/{ticket}`: where an ask stands, for clients without Server-Sent Events; at once, or at its end.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::{AskStatus, ConversationId, ProblemCode};
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use super::own_ticket;
use crate::web::query::Parameters;
use crate::web::{ApiError, State};

/// `AskState` of the contract, with the events as they stand in the log.
#[derive(Serialize)]
struct Body<'a> {
    ticket: &'a str,
    conversation_id: &'a ConversationId,
    status: AskStatus,
    seq: u64,
    terminal: Option<&'a RawValue>,
    done: Option<&'a RawValue>,
}

pub(in crate::web) async fn handle(
    state: Data<State>,
    path: Path<String>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let ticket = own_ticket(&state, &request, &path).await?;
    let wait = Parameters::of(&request)?.wait()?;
    if !wait.is_zero() {
        ticket.ended(wait).await;
    }
    let stands = ticket.snapshot();
    let body = Body {
        ticket: &path,
        conversation_id: ticket.conversation_id(),
        status: if stands.done.is_some() { AskStatus::Finished } else { AskStatus::Running },
        seq: stands.latest,
        terminal: event(stands.terminal.as_ref())?,
        done: event(stands.done.as_ref())?,
    };
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(body))
}

fn event(json: Option<&Bytes>) -> Result<Option<&RawValue>, ApiError> {
    json.map(|json| serde_json::from_slice(json)).transpose().map_err(|err| {
        tracing::error!(error = %err, "an event in the log is not JSON");
        ApiError::new(ProblemCode::Internal)
    })
}
