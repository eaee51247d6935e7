//! Asks, by their ticket.

pub(in crate::web) mod cancel;
pub(in crate::web) mod create;
pub(in crate::web) mod events;
pub(in crate::web) mod feedback;
pub(in crate::web) mod state;

use actix_web::HttpRequest;
use ask_auth::Identity;
use ask_contract::{ProblemCode, TicketId};

use super::super::caller::caller;
use super::super::{ApiError, State};
use crate::actors::{Found, TicketHandle};

/// The caller's own ticket: the one owner check of every route that takes a ticket.
async fn own_ticket(state: &State, request: &HttpRequest, ticket: &str) -> Result<TicketHandle, ApiError> {
    let caller = caller(state, request).await?;
    find(state, &caller, ticket)
}

/// The same for a caller who is known already.
fn find(state: &State, caller: &Identity, ticket: &str) -> Result<TicketHandle, ApiError> {
    match state.house.find(&TicketId::new(ticket), &caller.owner) {
        Found::Here(handle) => Ok(handle),
        Found::Expired => Err(ApiError::new(ProblemCode::TicketExpired)),
        Found::Lost => Err(ApiError::new(ProblemCode::TicketLost)),
        Found::Nowhere => Err(ApiError::new(ProblemCode::NotFound)),
    }
}
