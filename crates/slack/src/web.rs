//! The two addresses that Slack calls, and one that says whether the app lives.

use actix_web::web::{Bytes, Data, ServiceConfig, get, post};
use actix_web::{HttpRequest, HttpResponse};
use ask_signin::Secret;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::event::{Deed, Told, pressed, told};
use crate::signature;

/// A deed, with the id of the event that told of it.
pub type Order = (Option<String>, Deed);

/// What the handlers share.
#[derive(Debug)]
pub struct Door {
    secret: Secret,
    orders: mpsc::Sender<Order>,
}

impl Door {
    /// Lets in what is signed with `secret`, and hands it on.
    pub fn new(secret: Secret, orders: mpsc::Sender<Order>) -> Self {
        Self { secret, orders }
    }

    fn admits(&self, request: &HttpRequest, body: &[u8]) -> bool {
        let header = |name: &str| {
            request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let now = u64::try_from(ask_signin::now()).unwrap_or_default();
        let (time, signature) = (header("x-slack-request-timestamp"), header("x-slack-signature"));
        match signature::check(self.secret.expose(), time, signature, body, now) {
            Ok(()) => true,
            Err(err) => {
                tracing::warn!(error = %err, "a request is not Slack's");
                false
            }
        }
    }

    /// Slack is answered at once and the work done after: it waits three seconds, and tells an event again when told 503.
    fn hand_on(&self, order: Order) -> HttpResponse {
        match self.orders.try_send(order) {
            Ok(()) => HttpResponse::Ok().finish(),
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {
                HttpResponse::ServiceUnavailable().finish()
            }
        }
    }
}

/// Mounts the addresses.
pub fn routes(config: &mut ServiceConfig) {
    config
        .route("/slack/events", post().to(events))
        .route("/slack/interactivity", post().to(interactivity))
        .route("/health", get().to(health));
}

async fn events(request: HttpRequest, body: Bytes, door: Data<Door>) -> HttpResponse {
    if !door.admits(&request, &body) {
        return HttpResponse::Unauthorized().finish();
    }
    match told(&body) {
        Told::Challenge(challenge) => {
            HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(challenge)
        }
        Told::Event { id, deed: Some(deed) } => door.hand_on((Some(id), deed)),
        Told::Event { deed: None, .. } => HttpResponse::Ok().finish(),
        Told::Unknown => HttpResponse::BadRequest().finish(),
    }
}

async fn interactivity(request: HttpRequest, body: Bytes, door: Data<Door>) -> HttpResponse {
    if !door.admits(&request, &body) {
        return HttpResponse::Unauthorized().finish();
    }
    pressed(&body).map_or_else(|| HttpResponse::Ok().finish(), |deed| door.hand_on((None, deed)))
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().json(serde_json::json!({"status": "ok"}))
}
