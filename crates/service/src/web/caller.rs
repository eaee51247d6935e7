//! Who is calling: the bearer in the header, and nothing else.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header;
use ask_auth::{Denied, Identity};
use ask_contract::ProblemCode;

use super::{ApiError, State};

/// The verified caller of a request.
pub(super) async fn caller(state: &State, request: &HttpRequest) -> Result<Arc<Identity>, ApiError> {
    let bearers = request.headers().get_all(header::AUTHORIZATION).map(header::HeaderValue::as_bytes);
    state.verifier.verify_sole(bearers).await.map_err(|denied| {
        ApiError::new(match denied {
            Denied::Unauthenticated => ProblemCode::Unauthenticated,
            Denied::MissingScope => ProblemCode::InsufficientScope,
        })
    })
}
