//! One caller's session with one tool server: lists tools, calls them, and renews itself once.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
    rc::Rc,
};

use awc::http::header::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use tokio::time::Instant;

use crate::{
    Version,
    client::Client,
    config::Endpoint,
    error::{CallError, ConnectError},
    exchange::{Fault, exchange, release},
    handshake::{self, Agreement, Meta},
    http::{Budget, Wire},
    list::{self, Listing},
    param_headers::ParamHeaders,
    result::CallResult,
    rpc::{self, RequestId},
    tool::{self, ToolList},
};

/// A session of one caller with one tool server.
///
/// Calls may run in parallel. A clone is another handle to the same session, for work that must
/// outlive its first owner; handing a session to another caller is a fault. Dropping the last
/// handle without [`Session::close`] leaves the session at the server until the server forgets it.
///
/// The server's own stream (`GET` without a request) is never opened: it would hold one connection
/// for each caller and server, and carries only what a list of tools that is read once does not need.
#[derive(Clone)]
pub struct Session(Rc<Shared>);

struct Shared {
    client: Client,
    endpoint: Endpoint,
    current: RefCell<Current>,
    renewing: tokio::sync::Mutex<()>,
    closed: Cell<bool>,
    /// Arguments that travel as headers too, for each tool of the last list.
    param_headers: RefCell<HashMap<String, Rc<ParamHeaders>>>,
    /// What each tool said of itself when it was first listed.
    first_seen: RefCell<HashMap<String, u64>>,
}

#[derive(Clone)]
struct Current {
    agreement: Rc<Agreement>,
    /// How often the session was renewed.
    generation: u64,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("server", &self.0.endpoint.name)
            .field("version", &self.version())
            .field("closed", &self.0.closed.get())
            .finish_non_exhaustive()
    }
}

/// A request that can be put again, after the session was renewed in another version.
pub(crate) enum Ask<'a> {
    ListTools {
        cursor: Option<&'a str>,
    },
    CallTool {
        name: &'a str,
        arguments: &'a Map<String, Value>,
        param_headers: Option<Rc<ParamHeaders>>,
        /// The trace context of this call, in place of the session's.
        traceparent: Option<&'a str>,
    },
}

#[derive(Serialize)]
struct ListParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

impl Ask<'_> {
    fn method(&self) -> &'static str {
        match self {
            Self::ListTools { .. } => "tools/list",
            Self::CallTool { .. } => "tools/call",
        }
    }

    fn body(&self, id: RequestId, version: Version, endpoint: &Endpoint) -> Result<Bytes, CallError> {
        let meta = Meta::of(version, endpoint);
        match self {
            Self::ListTools { cursor } => {
                rpc::request(id, self.method(), &ListParams { cursor: *cursor, meta })
            }
            Self::CallTool { name, arguments, traceparent, .. } => {
                let meta = meta.map(|meta| meta.within(*traceparent));
                rpc::request(id, self.method(), &CallParams { name, arguments, meta })
            }
        }
    }

    fn headers(&self, wire: Wire<'_>) -> HeaderMap {
        match self {
            Self::ListTools { .. } => wire.standard_headers(self.method(), None),
            Self::CallTool { name, arguments, param_headers, traceparent } => {
                let mut headers = wire.standard_headers(self.method(), Some(name));
                if let Some(value) = traceparent.and_then(|text| HeaderValue::from_str(text).ok()) {
                    headers.insert(HeaderName::from_static("traceparent"), value);
                }
                if let Some(promoted) = param_headers
                    && wire.version.is_some_and(Version::has_request_metadata)
                {
                    promoted.add(arguments, &mut headers);
                }
                headers
            }
        }
    }
}

impl Session {
    pub(crate) fn new(client: Client, endpoint: Endpoint, agreement: Agreement) -> Self {
        Self(Rc::new(Shared {
            client,
            endpoint,
            current: RefCell::new(Current { agreement: Rc::new(agreement), generation: 0 }),
            renewing: tokio::sync::Mutex::new(()),
            closed: Cell::new(false),
            param_headers: RefCell::default(),
            first_seen: RefCell::default(),
        }))
    }

    /// The configured name of the server.
    pub fn server(&self) -> &str {
        &self.0.endpoint.name
    }

    /// The protocol version that is spoken now; a renewed session may speak another.
    pub fn version(&self) -> Version {
        self.0.current.borrow().agreement.version
    }

    /// [`Session::version`] as it is written on the wire.
    pub fn protocol_version(&self) -> &'static str {
        self.version().as_str()
    }

    /// Reads the list of tools, page by page.
    ///
    /// Tools that cannot be offered to a model safely are left out, each with a note.
    ///
    /// # Errors
    ///
    /// [`CallError`], when any page fails: a list is whole or not there.
    ///
    /// # Cancel safety
    ///
    /// Listing changes nothing; dropping the future closes its connection.
    pub async fn list_tools(&self) -> Result<ToolList, CallError> {
        let limits = &self.0.endpoint.limits;
        let after = limits.list;
        let listing = tokio::time::timeout(after, self.read_pages())
            .await
            .unwrap_or(Err(CallError::TimedOut { after }))?;
        let (list, param_headers) = listing.finish(&mut self.0.first_seen.borrow_mut());
        *self.0.param_headers.borrow_mut() = param_headers;
        tracing::debug!(
            server.name = %self.server(),
            tools = list.tools.len(),
            notes = list.notes.len(),
            "listed tools"
        );
        Ok(list)
    }

    async fn read_pages(&self) -> Result<Listing, CallError> {
        let limits = &self.0.endpoint.limits;
        let mut budget = Budget::new(limits.max_reply_bytes);
        let mut listing = Listing::new(limits);
        let mut cursor: Option<String> = None;
        loop {
            let ask = Ask::ListTools { cursor: cursor.as_deref() };
            let result = self.ask(&ask, &mut budget).await?;
            match listing.take_page(&result, self.version())? {
                list::Next::Page(next) => cursor = Some(next),
                list::Next::End => return Ok(listing),
            }
        }
    }

    /// Calls a tool.
    ///
    /// List the tools of the session first: in 2026-07-28 a tool may ask for arguments as headers,
    /// and a server refuses a call without them. A result with `is_error` is a result. The call is sent once; it is sent a second time only
    /// when the server refused it because it does not know the session.
    ///
    /// # Errors
    ///
    /// [`CallError`]. After `TimedOut` and `Incomplete` the server may have done the work.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the call's connection and leaves the session usable. The server
    /// takes that for a cancel in 2026-07-28; before, it may go on working and the result is lost,
    /// since no `notifications/cancelled` is sent. Spawn a call that must be finished.
    pub async fn call(&self, name: &str, arguments: &Map<String, Value>) -> Result<CallResult, CallError> {
        self.call_within(name, arguments, None).await
    }

    /// [`Session::call`] with a trace context (W3C) of its own, in place of the session's.
    ///
    /// # Errors
    ///
    /// As [`Session::call`].
    ///
    /// # Cancel safety
    ///
    /// As [`Session::call`].
    pub async fn call_within(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        traceparent: Option<&str>,
    ) -> Result<CallResult, CallError> {
        if !tool::is_tool_name(name) {
            return Err(CallError::BadToolName);
        }
        let started = Instant::now();
        let limits = &self.0.endpoint.limits;
        let after = limits.call;
        let ask = Ask::CallTool {
            name,
            arguments,
            param_headers: self.0.param_headers.borrow().get(name).cloned(),
            traceparent,
        };
        let mut budget = Budget::new(limits.max_reply_bytes);
        let outcome = tokio::time::timeout(after, self.ask(&ask, &mut budget))
            .await
            .unwrap_or(Err(CallError::TimedOut { after }))
            .and_then(|result| CallResult::read(&result, self.version(), started.elapsed()));
        tracing::debug!(
            server.name = %self.server(),
            tool.name = %name,
            duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            ok = outcome.is_ok(),
            "called a tool"
        );
        outcome
    }

    /// Ends the session at the server, as far as the server cares. Later calls are refused.
    ///
    /// Failures are ignored: the server forgets the session in its own time.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the session closed at our end, and perhaps open at the server's.
    pub async fn close(self) {
        if self.0.closed.replace(true) {
            return;
        }
        let current = self.0.current.borrow().clone();
        if current.agreement.session_id.is_none() {
            return;
        }
        let wire = self.wire(&current);
        let limit = self.0.endpoint.limits.close;
        match tokio::time::timeout(limit, wire.delete()).await {
            Ok(Ok(response)) => release(response),
            Ok(Err(_)) | Err(_) => {
                tracing::debug!(server.name = %self.server(), "the session was not ended");
            }
        }
    }

    fn wire<'a>(&'a self, current: &'a Current) -> Wire<'a> {
        Wire {
            http: &self.0.client.http,
            endpoint: &self.0.endpoint,
            version: Some(current.agreement.version),
            session_id: current.agreement.session_id.as_ref(),
        }
    }

    /// Puts a request, and once more when the session turns out to be gone.
    async fn ask(&self, ask: &Ask<'_>, budget: &mut Budget) -> Result<Box<RawValue>, CallError> {
        if self.0.closed.get() {
            return Err(CallError::Closed);
        }
        let current = self.0.current.borrow().clone();
        match self.ask_once(ask, &current, budget).await {
            Err(Fault::SessionGone) => {
                let renewed = self.renew(current.generation).await?;
                Ok(self.ask_once(ask, &renewed, budget).await?)
            }
            other => Ok(other?),
        }
    }

    async fn ask_once(
        &self,
        ask: &Ask<'_>,
        current: &Current,
        budget: &mut Budget,
    ) -> Result<Box<RawValue>, Fault> {
        let wire = self.wire(current);
        let id = RequestId::next();
        let body = ask.body(id, current.agreement.version, &self.0.endpoint)?;
        let answer = exchange(wire, id, body, ask.headers(wire), budget).await?;
        Ok(answer.result)
    }

    /// Opens a new session in place of the one of `lost`; calls that lost it together share one.
    async fn renew(&self, lost: u64) -> Result<Current, CallError> {
        let _one_at_a_time = self.0.renewing.lock().await;
        if self.0.closed.get() {
            return Err(CallError::Closed);
        }
        let current = self.0.current.borrow().clone();
        if current.generation != lost {
            return Ok(current);
        }
        let endpoint = &self.0.endpoint;
        // A version without `initialize` cannot be asked for by it.
        let version = current.agreement.version.min(Version::NEWEST_WITH_INITIALIZE);
        let agreement =
            handshake::initialize(&self.0.client, endpoint, version).await.map_err(|err| match err {
                ConnectError::Failed(err) => err,
                ConnectError::Config(_) | ConnectError::UnsupportedVersion { .. } => CallError::SessionLost,
            })?;
        let renewed = Current { agreement: Rc::new(agreement), generation: current.generation + 1 };
        *self.0.current.borrow_mut() = renewed.clone();
        tracing::debug!(server.name = %self.server(), "renewed a lost session");
        Ok(renewed)
    }
}
