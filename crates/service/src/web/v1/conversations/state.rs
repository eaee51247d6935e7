//! `GET /v1/conversations/{conversation_id}`: where a conversation stands, without a word of it.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::ConversationId;

use crate::web::caller::caller;
use crate::web::{ApiError, State};

pub(in crate::web) async fn handle(
    state: Data<State>,
    path: Path<String>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let caller = caller(&state, &request).await?;
    let stands = state.house.conversation(&ConversationId::new(path.into_inner()), &caller.owner)?;
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(stands))
}
