//! `POST /v1/conversations/{conversation_id}/asks`: a ticket, before anything runs.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::{ConversationId, ProblemCode};

use crate::web::body::ask_request;
use crate::web::caller::caller;
use crate::web::once::created;
use crate::web::origin::origin_of;
use crate::web::{ApiError, State};

pub(in crate::web) async fn handle(
    state: Data<State>,
    path: Path<String>,
    request: HttpRequest,
    body: Payload,
) -> Result<HttpResponse, ApiError> {
    let caller = caller(&state, &request).await?;
    let conversation_id = ConversationId::new(path.into_inner());
    if !state.house.owns(&conversation_id, &caller.owner) {
        return Err(ApiError::new(ProblemCode::NotFound));
    }
    let ask = ask_request(&request, body, state.house.settings().quotas).await?;
    let owner = caller.owner.clone();
    let body = ask.clone();
    let origin = origin_of(&state, &request);
    let take = async |kept| Ok(state.house.ask(&conversation_id, caller, ask, kept, origin).await?);
    created(&state, &request, &owner, &body, StatusCode::ACCEPTED, take).await
}
