//! The routes, and the server that serves them.

use std::io;
use std::net::TcpListener;
use std::sync::Mutex;

use actix_web::dev::{Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};

use super::super::codes::Codes;
use super::super::grants::Grants;
use super::super::issuer::{Issuer, IssuerError, Settings};
use super::super::person::{Person, find};
use super::super::shape::{Mint, Shape};
use super::super::signing::KeyError;
use super::{State, admin, authorize, cors, device, discovery, page, token};

/// A hold on a running issuer: its addresses, and what a test does to it from inside the process.
#[derive(Clone)]
pub struct Handle {
    state: web::Data<State>,
    server: ServerHandle,
}

/// Serves an issuer on a listener that is bound already. The server runs while it is awaited, and ends with
/// [`Handle::stop`]; signals are left to the caller.
///
/// # Errors
///
/// When the listener cannot be used or no key can be generated.
pub fn serve(listener: TcpListener, settings: Settings) -> io::Result<(Server, Handle)> {
    let base = format!("http://{}", listener.local_addr()?);
    let issuer = Issuer::new(&base, settings).map_err(io::Error::other)?;
    let tenant = format!("/{}", issuer.settings().tenant);
    let state = web::Data::new(State {
        issuer,
        grants: Mutex::new(Grants::default()),
        codes: Mutex::new(Codes::default()),
    });
    let shared = state.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(shared.clone())
            .app_data(web::PayloadConfig::new(64 * 1024))
            .wrap(from_fn(cors::allow))
            .route("/health", web::get().to(discovery::health))
            .route("/sign-in.css", web::get().to(page::style))
            .service(
                web::scope(&tenant)
                    .route("/v2.0/.well-known/openid-configuration", web::get().to(discovery::document))
                    .route("/discovery/v2.0/keys", web::get().to(discovery::keys))
                    .route("/oauth2/v2.0/authorize", web::get().to(authorize::page))
                    .route("/oauth2/v2.0/authorize", web::post().to(authorize::decide))
                    .route("/oauth2/v2.0/token", web::post().to(token::token))
                    .route("/oauth2/v2.0/devicecode", web::post().to(device::codes))
                    .route("/device", web::get().to(device::page))
                    .route("/device", web::post().to(device::decide))
                    .route("/admin/rotate", web::post().to(admin::rotate))
                    .route("/admin/mint", web::post().to(admin::mint)),
            )
    })
    .workers(1)
    .disable_signals()
    .shutdown_timeout(1)
    .listen(listener)?
    .run();
    let handle = Handle { state, server: server.handle() };
    Ok((server, handle))
}

impl Handle {
    /// The issuer itself: its addresses, its keys, its documents.
    pub fn issuer(&self) -> &Issuer {
        &self.state.issuer
    }

    /// A good access token for one of the three.
    ///
    /// # Errors
    ///
    /// An unknown person, or a key that does not sign.
    pub fn token(&self, username: &str) -> Result<String, IssuerError> {
        let person: &Person = find(username).ok_or(IssuerError::UnknownPerson)?;
        self.issuer().access_token(person, &Shape::default()).map_err(IssuerError::Key)
    }

    /// A token made to order.
    ///
    /// # Errors
    ///
    /// An unknown person, or a key that does not sign.
    pub fn mint(&self, order: &Mint) -> Result<String, IssuerError> {
        self.issuer().mint(order)
    }

    /// Puts a new key in charge; see [`Issuer::rotate`].
    ///
    /// # Errors
    ///
    /// When no key can be generated.
    pub fn rotate(&self, withdraw: bool) -> Result<String, KeyError> {
        self.issuer().rotate(withdraw)
    }

    /// Stops the server.
    ///
    /// # Cancel safety
    ///
    /// The server stops even when the future is dropped after its first poll.
    pub async fn stop(&self) {
        self.server.stop(false).await;
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Handle")
            .field("issuer", &self.issuer().addresses().url())
            .finish_non_exhaustive()
    }
}
