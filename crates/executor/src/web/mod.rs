//! The HTTP server: who may come in, and what stands at which path.

mod doors;
mod follow;
mod gate;
mod problem;
mod rest;
mod signin;

use std::net::SocketAddr;
use std::sync::Arc;

use actix_web::dev::Server as HttpServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpResponse, HttpServer, web};
use ask_auth::Verifier;
use rmcp_actix_web::transport::CancellationToken;

use crate::mcp;
use crate::settings::Settings;
use crate::tools::{Desk, Server};
use problem::Problem;

/// How many threads serve HTTP. Statements run on threads of their own, so that few are needed.
const WORKERS: usize = 2;
/// How long requests in flight are waited for at the end, in seconds.
const DRAIN_S: u64 = 1;

/// A server that is bound and about to run.
#[derive(Debug)]
pub struct Bound {
    /// Where it listens.
    pub address: SocketAddr,
    listener: std::net::TcpListener,
}

impl Bound {
    /// Takes a port of this address; 0 takes any free one.
    ///
    /// # Errors
    ///
    /// When the port is taken or the address is not this machine's.
    pub fn bind(host: &str, port: u16) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind((host, port))?;
        Ok(Self { address: listener.local_addr()?, listener })
    }

    /// Serves until the process is told to end (SIGTERM or SIGINT), or the handle that it gives is.
    ///
    /// Calls in flight then have a second to end.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn serve(
        self,
        settings: &Settings,
        verifier: Verifier,
        desk: Arc<Desk>,
    ) -> std::io::Result<HttpServerHandle> {
        let stop = CancellationToken::new();
        let hosts = hosts(settings, self.address);
        let doors = web::Data::new(doors::Doors::new(&hosts));
        let warehouse = mcp::service(Server::Warehouse, Arc::clone(&desk), hosts.clone(), stop.clone());
        let catalog = mcp::service(Server::Catalog, Arc::clone(&desk), hosts, stop);
        let gate = web::Data::new(gate::Gate { verifier, signin: signin::SignIn::new(settings) });
        let desk = web::Data::from(desk);
        let paths = (settings.warehouse_path.clone(), settings.catalog_path.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(doors.clone())
                .app_data(gate.clone())
                .app_data(desk.clone())
                .app_data(rest::json_config())
                .wrap(from_fn(follow::follow))
                .route("/health", web::get().to(health))
                .service(
                    web::scope(signin::PATH)
                        .wrap(from_fn(doors::guard))
                        .route("", web::get().to(signin::metadata))
                        .route("/{path:.*}", web::get().to(signin::metadata)),
                )
                .service(
                    web::scope("")
                        // What is wrapped last is met first.
                        .wrap(from_fn(gate::admit))
                        .wrap(from_fn(doors::guard))
                        .service(web::scope(&paths.0).service(warehouse.clone().scope()))
                        .service(web::scope(&paths.1).service(catalog.clone().scope()))
                        .configure(rest::routes)
                        .default_service(web::to(nothing)),
                )
        })
        .workers(WORKERS)
        // A client that closes is gone, and so is its connection; the call that it made runs on and is audited.
        .h1_allow_half_closed(false)
        // Else the second part of a reply waits for the first one's acknowledgement, 40 ms on some systems.
        .tcp_nodelay(true)
        .shutdown_timeout(DRAIN_S)
        .listen(self.listener)?;
        Ok(server.run())
    }
}

/// The names by which the server is reached: this machine's own, the address it is bound to, and those of the settings.
fn hosts(settings: &Settings, address: SocketAddr) -> Vec<String> {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    hosts.push(address.ip().to_string());
    hosts.extend(settings.hosts.iter().cloned());
    if let Some(authority) = settings.public_url.as_deref().and_then(|url| url.split("://").nth(1)) {
        hosts.extend(authority.split('/').next().map(str::to_owned));
    }
    hosts
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().json(serde_json::json!({"status": "ok"}))
}

async fn nothing() -> Problem {
    Problem::not_found()
}
