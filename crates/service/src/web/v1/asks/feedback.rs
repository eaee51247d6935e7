//! `POST /v1/asks/{ticket}/feedback`: what the asker thinks of how an ask ended.

use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::{FeedbackReceipt, ProblemCode, TicketId};

use super::find;
use crate::actors::Rated;
use crate::web::body::feedback;
use crate::web::caller::caller;
use crate::web::{ApiError, State};

pub(in crate::web) async fn handle(
    state: Data<State>,
    path: Path<String>,
    request: HttpRequest,
    body: Payload,
) -> Result<HttpResponse, ApiError> {
    let caller = caller(&state, &request).await?;
    let ticket = find(&state, &caller, &path)?;
    let said = feedback(&request, body, state.house.settings().quotas).await?;
    match ticket.rate(caller.oid.clone(), said).await {
        Some(Rated::Taken) => {
            let ticket = TicketId::new(path.into_inner());
            Ok(HttpResponse::Ok().json(FeedbackReceipt { ticket, rating: said.rating, reason: said.reason }))
        }
        Some(Rated::Running) => {
            Err(ApiError::with_detail(ProblemCode::AskRunning, "the ask has no ending yet to be rated"))
        }
        Some(Rated::TooOften) => Err(ApiError::too_many("the feedback was changed as often as it may")),
        // It expired or was forgotten between the look-up and now; another look-up tells which.
        None => {
            Err(find(&state, &caller, &path).err().unwrap_or_else(|| ApiError::new(ProblemCode::NotFound)))
        }
    }
}
