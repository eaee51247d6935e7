//! `POST /v1/conversations`: a conversation to ask within.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};

use crate::web::caller::caller;
use crate::web::once::created;
use crate::web::{ApiError, State};

pub(in crate::web) async fn handle(
    state: Data<State>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let caller = caller(&state, &request).await?;
    let open = async |kept| Ok(state.house.open_conversation(&caller.owner, kept)?);
    created(&state, &request, &caller.owner, &(), StatusCode::CREATED, open).await
}
