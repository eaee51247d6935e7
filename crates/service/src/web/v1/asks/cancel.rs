//! `POST /v1/asks/{ticket}/cancel`: ends an ask; its ending is in the log when this answers.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use ask_contract::{CancelReceipt, TicketId};

use super::own_ticket;
use crate::web::{ApiError, State};

pub(in crate::web) async fn handle(
    state: Data<State>,
    path: Path<String>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let ticket = own_ticket(&state, &request, &path).await?;
    state.house.telemetry().metrics().cancels.add(1);
    ticket.cancel().await;
    let (_, finished) = ticket.progress();
    Ok(HttpResponse::Accepted().json(CancelReceipt { ticket: TicketId::new(path.into_inner()), finished }))
}
