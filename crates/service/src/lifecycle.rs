//! From settings to a service that listens, and from a signal to a process that is gone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Extensions, Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use ask_auth::Verifier;
use ask_core::clock::{Clock, SystemClock};
use ask_core::id::{IdMint, NoRandomness};
use socket2::SockRef;
use tokio::signal::unix::{SignalKind, signal};

use crate::actors::House;
use crate::audit::{Audit, AuditWriter};
use crate::settings::Settings;
use crate::telemetry::{Metrics, SpanExporter, Telemetry};
use crate::web::{OpenStreams, State, follow, metrics_routes, routes};

/// Kernel memory for what one client has not read yet; the system's own choice is up to 3 MB.
const SEND_BUFFER: usize = 64 * 1024;
/// Another chunk of a stream is only taken when less than this waits to be written, so that a reader that does not read holds one.
const WRITE_BUFFER: usize = 4096;
/// How long sent bytes may stay unacknowledged before a client counts as gone.
const USER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long running tickets have to end at a shutdown.
const ENDING: Duration = Duration::from_millis(700);
/// How long open connections have to take their last bytes at a shutdown, in seconds.
const DRAINING_S: u64 = 1;
/// How long the last spans have to reach their collector.
const LAST_SPANS: Duration = Duration::from_millis(150);

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The verifier of tokens could not start.
    #[error("tokens can't be verified")]
    Verifier(#[source] ask_auth::StartError),
    /// The model's client can't be made from the settings.
    #[error("the model's client can't be made")]
    Model(#[source] ask_llm::BuildError),
    /// The operating system gave no random bytes.
    #[error("no keys could be made")]
    Keys(#[from] NoRandomness),
    /// The address is taken or not ours, or the system starts no thread.
    #[error("{what}")]
    System {
        /// What could not be done.
        what: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// A service that listens.
pub struct Running {
    addr: SocketAddr,
    server: Server,
    metrics: Option<(SocketAddr, Server)>,
    house: House,
    audit: AuditWriter,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// Starts the service on the current actix system.
///
/// # Errors
///
/// When something that it needs at once can't be had; see [`StartError`].
pub fn start(settings: Settings) -> Result<Running, StartError> {
    // Another part of the process may have chosen a provider before; one is enough.
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    ask_llm::Client::new(settings.runs.endpoint.clone()).map_err(StartError::Model)?;
    let verifier = Verifier::start(settings.policy.clone()).map_err(StartError::Verifier)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mint = match &settings.id_key {
        Some(key) => IdMint::new(key.expose().as_bytes(), clock.now()),
        None => IdMint::with_random_key(clock.now())?,
    };
    let pseudonym_key = match &settings.pseudonym_key {
        Some(key) => key.expose().as_bytes().to_vec(),
        None => random_key()?,
    };
    let (audit, writer) = Audit::start(&pseudonym_key, std::io::stdout())
        .map_err(|source| StartError::System { what: "no thread for the audit lines".to_owned(), source })?;
    let telemetry = telemetry(&settings, clock.now());
    let metrics_at = settings.observing.metrics;
    let (listen, workers, connections) = (settings.listen, settings.workers, settings.quotas.connections);
    let house = House::new(settings, clock, mint, audit, telemetry);
    let state =
        web::Data::new(State { house: house.clone(), verifier, open_streams: OpenStreams::default() });
    let metrics = metrics_at.map(|listen| serve_metrics(listen, state.clone())).transpose()?;
    let server =
        HttpServer::new(move || App::new().app_data(state.clone()).wrap(from_fn(follow)).configure(routes))
            .workers(workers)
            .max_connections(connections.div_ceil(workers))
            .max_connection_rate(4096)
            .backlog(4096)
            .tcp_nodelay(true)
            .h1_allow_half_closed(false)
            .h1_write_buffer_size(WRITE_BUFFER)
            .shutdown_timeout(DRAINING_S)
            .disable_signals()
            .on_connect(|connection, _: &mut Extensions| {
                if let Some(stream) = connection.downcast_ref::<actix_web::rt::net::TcpStream>() {
                    tune(stream);
                }
            })
            .bind(listen)
            .map_err(|source| no_listening(listen, source))?;
    let addr = server.addrs().first().copied().unwrap_or(listen);
    Ok(Running { addr, server: server.run(), metrics, house, audit: writer })
}

/// The counts, and the way to a collector where one is set.
fn telemetry(settings: &Settings, now: ask_contract::Timestamp) -> Telemetry {
    let metrics = Arc::new(Metrics::default());
    let observing = &settings.observing;
    let exporter = observing.traces.clone().map(|export| SpanExporter::start(export, Arc::clone(&metrics)));
    let provider = match settings.runs.endpoint.protocol {
        ask_llm::Protocol::Anthropic => "anthropic",
        ask_llm::Protocol::OpenAi => "openai",
    };
    Telemetry::new(metrics, exporter, observing.sampler, provider, now)
}

/// Serves the metrics on an address of their own.
fn serve_metrics(listen: SocketAddr, state: web::Data<State>) -> Result<(SocketAddr, Server), StartError> {
    let server = HttpServer::new(move || App::new().app_data(state.clone()).configure(metrics_routes))
        .workers(1)
        .max_connections(64)
        .shutdown_timeout(0)
        .disable_signals()
        .bind(listen)
        .map_err(|source| no_listening(listen, source))?;
    let addr = server.addrs().first().copied().unwrap_or(listen);
    Ok((addr, server.run()))
}

fn no_listening(listen: SocketAddr, source: std::io::Error) -> StartError {
    StartError::System { what: format!("can't listen on {listen}"), source }
}

impl Running {
    /// Where it serves metrics, if it does.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(addr, _)| *addr)
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Serves until SIGTERM or SIGINT, then ends every stream properly and returns.
///
/// # Errors
///
/// When the system gives no signal handlers, or the server fails.
pub async fn run_until_signal(running: Running) -> std::io::Result<()> {
    let Running { server, metrics, house, audit, .. } = running;
    let metrics = metrics.map(|(_, server)| server);
    let metrics_handle = metrics.as_ref().map(Server::handle);
    let metrics = async {
        match metrics {
            Some(server) => server.await,
            None => Ok(()),
        }
    };
    let handle = server.handle();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stopping = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("shutting down");
        shut_down(&house, &handle).await;
        house.telemetry().flush(LAST_SPANS).await;
        if let Some(handle) = &metrics_handle {
            handle.stop(false).await;
        }
    };
    let (served, measured, ()) = tokio::join!(server, metrics, stopping);
    house.stop();
    drop(house);
    audit.finish(Duration::from_millis(200));
    tracing::info!("gone");
    served.and(measured)
}

/// Running tickets end, streams drain to `done`, then connections close.
async fn shut_down(house: &House, server: &ServerHandle) {
    let end = tokio::time::Instant::now() + ENDING;
    loop {
        // More than once: an ask that was let in a moment before may have become a ticket only now.
        house.close();
        tokio::time::sleep(Duration::from_millis(2)).await;
        if !house.is_busy() || tokio::time::Instant::now() >= end {
            break;
        }
    }
    server.stop(true).await;
}

fn random_key() -> Result<Vec<u8>, NoRandomness> {
    ask_core::id::random_key().map(|key| key.to_vec())
}

/// Bounds what a client that vanished or never reads costs.
fn tune(stream: &actix_web::rt::net::TcpStream) {
    let socket = SockRef::from(stream);
    let tuned = socket
        .set_send_buffer_size(SEND_BUFFER)
        .and_then(|()| socket.set_tcp_user_timeout(Some(USER_TIMEOUT)));
    if let Err(err) = tuned {
        tracing::debug!(error = %err, "a connection could not be tuned");
    }
}
