//! `DELETE /v1/conversations/{conversation_id}`: forgets a conversation with all its tickets, now.

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
    state.house.forget(&ConversationId::new(path.into_inner()), &caller.owner).await?;
    Ok(HttpResponse::NoContent().finish())
}
