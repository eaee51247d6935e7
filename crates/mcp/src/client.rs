//! The connections of one thread, and what is remembered of servers between sessions.

use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc, time::Duration};

use awc::{Connector, http::Uri};
use tokio::time::Instant;

use crate::{
    config::{Endpoint, ServerConfig},
    error::{CallError, ConnectError},
    handshake,
    session::Session,
};

/// How long a server that only knew `initialize` is taken at its word.
const LEGACY_MEMORY: Duration = Duration::from_secs(300);

/// Bounds on the connections of one [`Client`], over all its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Connections open at once; further requests wait within their own time limit.
    pub connections: usize,
    /// How long an unused connection is kept. Servers commonly close theirs after five seconds; a
    /// shorter time here keeps a call from being sent on a connection that is just being closed.
    pub idle: Duration,
    /// Time to connect to a server, name resolution included, and again for the TLS handshake.
    pub connect: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { connections: 1024, idle: Duration::from_secs(4), connect: Duration::from_secs(5) }
    }
}

/// Opens sessions with tool servers, over connections that are shared and reused.
///
/// One per thread: it cannot be sent to another. Cloning it is cheap and shares the connections.
/// Needs an actix runtime. Connections are shared between callers, sessions never are.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: awc::Client,
    /// Servers that only know `initialize`, and until when to believe it. Holds configured URLs
    /// only, so it cannot grow.
    legacy: Rc<RefCell<HashMap<Uri, Instant>>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// A client with these limits. Installs the process's TLS crypto provider if none is there yet.
    pub fn new(limits: ClientLimits) -> Self {
        // Without a provider the HTTP client panics, for plain http as well.
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let connector = Connector::new()
            .limit(limits.connections.max(1))
            .conn_keep_alive(limits.idle)
            .timeout(limits.connect)
            .handshake_timeout(limits.connect);
        let http = awc::Client::builder().connector(connector).disable_timeout().disable_redirects().finish();
        Self { http, legacy: Rc::default() }
    }

    /// Opens a session with `server` for one caller.
    ///
    /// `bearer` is sent only when the server is configured to receive it. `traceparent` (W3C Trace
    /// Context) goes along with each request of the session.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]; nothing stays open at our end.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes its connection. A session that the server has opened already
    /// stays there until the server forgets it.
    pub async fn connect(
        &self,
        server: &ServerConfig,
        bearer: Option<&str>,
        traceparent: Option<&str>,
    ) -> Result<Session, ConnectError> {
        let endpoint = Endpoint::new(server, bearer, traceparent).map_err(ConnectError::Config)?;
        let limit = endpoint.limits.handshake;
        let agreement = tokio::time::timeout(limit, handshake::agree(self, &endpoint))
            .await
            .unwrap_or(Err(ConnectError::Failed(CallError::TimedOut { after: limit })))?;
        Ok(Session::new(self.clone(), endpoint, agreement))
    }

    pub(crate) fn is_legacy(&self, uri: &Uri) -> bool {
        self.legacy.borrow().get(uri).is_some_and(|until| Instant::now() < *until)
    }

    pub(crate) fn remember_legacy(&self, uri: &Uri) {
        self.legacy.borrow_mut().insert(uri.clone(), Instant::now() + LEGACY_MEMORY);
    }
}
