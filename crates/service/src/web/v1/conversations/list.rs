//! `GET /v1/conversations`: the caller's own, the newest first.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};

use crate::web::caller::caller;
use crate::web::query::Parameters;
use crate::web::{ApiError, State};

pub(in crate::web) async fn handle(
    state: Data<State>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let caller = caller(&state, &request).await?;
    let (limit, after) = Parameters::of(&request)?.page()?;
    let page = state.house.conversations(&caller.owner, after.as_ref(), limit);
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(page))
}
