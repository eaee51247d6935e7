//! Lets verified callers in, and tells the others how to sign in.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, Responder, web};
use ask_auth::{Denied, Verifier};

use super::problem::Problem;
use super::signin::SignIn;
use crate::caller::Caller;

/// What decides who comes in.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) verifier: Verifier,
    pub(super) signin: SignIn,
}

/// Verifies the bearer of a request and hands the caller on to what serves it.
///
/// # Errors
///
/// Only those of what serves it: a caller who is turned away is answered here.
#[expect(clippy::disallowed_types, reason = "a middleware's signature has this error")]
pub(super) async fn admit(
    gate: web::Data<Gate>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let bearers: Vec<Vec<u8>> =
        request.headers().get_all(header::AUTHORIZATION).map(|value| value.as_bytes().to_vec()).collect();
    match gate.verifier.verify_sole(bearers.iter().map(Vec::as_slice)).await {
        Ok(identity) => {
            request.extensions_mut().insert(Caller::from(&*identity));
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(denied) => {
            let request = request.into_parts().0;
            let challenge = gate.signin.challenge(&request, denied == Denied::MissingScope);
            let problem = match denied {
                Denied::Unauthenticated => Problem::unauthenticated(challenge),
                Denied::MissingScope => Problem::missing_scope(challenge),
            };
            let response = problem.respond_to(&request);
            Ok(ServiceResponse::new(request, response))
        }
    }
}
