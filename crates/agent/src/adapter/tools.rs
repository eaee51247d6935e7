//! Tool servers over MCP, one session per run and server, opened with the caller's bearer.

use std::fmt;
use std::rc::Rc;

use ask_mcp::{CallError, Client, ConnectError, ServerConfig, Session};
use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, try_join_all};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::bounds::RESULT_BYTES;
use crate::ports::{ToolDefinition, ToolFailure, ToolReply, ToolServer, ToolServerKind, ToolServers};

/// Starts work that goes on when the run is over: a tool call in flight, the goodbye to a server.
pub type Spawn = Rc<dyn Fn(LocalBoxFuture<'static, ()>)>;

/// A tool server and what it is to a run.
#[derive(Debug, Clone)]
pub struct ConfiguredServer {
    /// Where it is and what it may take.
    pub config: ServerConfig,
    /// What it is to a run.
    pub kind: ToolServerKind,
    /// The tools that a run may use of it; all of them, if none are named.
    pub tools: Option<Vec<String>>,
    /// Whether its errors without a code are the model's mistakes, and not refusals.
    pub uncoded_is_mistake: bool,
}

impl ConfiguredServer {
    /// A server of which every tool may be used, and whose errors without a code are refusals.
    pub const fn new(config: ServerConfig, kind: ToolServerKind) -> Self {
        Self { config, kind, tools: None, uncoded_is_mistake: false }
    }

    fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }
}

/// The configured tool servers as one caller reaches them. Dropped with the run, and the bearer with it.
pub struct McpServers {
    client: Client,
    servers: Rc<[ConfiguredServer]>,
    bearer: String,
    traceparent: Option<String>,
    spawn: Spawn,
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServers").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl McpServers {
    /// The servers as the caller with this bearer reaches them.
    pub fn new(
        client: Client,
        servers: Rc<[ConfiguredServer]>,
        bearer: String,
        traceparent: Option<String>,
        spawn: Spawn,
    ) -> Self {
        Self { client, servers, bearer, traceparent, spawn }
    }

    async fn open(&self, server: &ConfiguredServer) -> Result<Box<dyn ToolServer>, ToolFailure> {
        let name = &server.config.name;
        let session = self
            .client
            .connect(&server.config, Some(&self.bearer), self.traceparent.as_deref())
            .await
            .map_err(|err| connect_failure(name, &err))?;
        let list = session.list_tools().await.map_err(|err| call_failure(name, &err))?;
        if !list.notes.is_empty() {
            tracing::warn!(server.name = %name, notes = list.notes.len(), first = ?list.notes.first().map(|note| note.kind), "a tool list was not taken as it is");
        }
        for name in server.tools.iter().flatten() {
            if !list.tools.iter().any(|tool| tool.name == *name) {
                tracing::warn!(server.name = %server.config.name, tool.name = %name, "a configured tool is not there");
            }
        }
        let tools = list
            .tools
            .into_iter()
            .filter(|tool| server.offers(&tool.name))
            .map(|tool| ToolDefinition {
                name: tool.name,
                description: tool.description.or(tool.title).unwrap_or_default(),
                input_schema: tool.input_schema,
            })
            .collect();
        let session = Rc::new(session);
        Ok(Box::new(Connected {
            kind: server.kind,
            uncoded_is_mistake: server.uncoded_is_mistake,
            tools,
            session,
            spawn: Rc::clone(&self.spawn),
        }))
    }
}

impl ToolServers for McpServers {
    fn connect(
        &self,
        with_catalog: bool,
    ) -> LocalBoxFuture<'_, Result<Vec<Box<dyn ToolServer>>, ToolFailure>> {
        let wanted = |server: &&ConfiguredServer| with_catalog || server.kind != ToolServerKind::Catalog;
        try_join_all(self.servers.iter().filter(wanted).map(|server| self.open(server))).boxed_local()
    }
}

struct Connected {
    kind: ToolServerKind,
    uncoded_is_mistake: bool,
    tools: Vec<ToolDefinition>,
    session: Rc<Session>,
    spawn: Spawn,
}

impl ToolServer for Connected {
    fn name(&self) -> &str {
        self.session.server()
    }

    fn kind(&self) -> ToolServerKind {
        self.kind
    }

    fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    fn uncoded_is_mistake(&self) -> bool {
        self.uncoded_is_mistake
    }

    /// The call is made on a task of its own: a cancelled run drops the wait and not the call, so that the server's audit
    /// has every call whole.
    fn call(
        &self,
        tool: &str,
        args: &Map<String, Value>,
    ) -> LocalBoxFuture<'static, Result<ToolReply, ToolFailure>> {
        self.call_within(tool, args, None)
    }

    fn call_within(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        traceparent: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<ToolReply, ToolFailure>> {
        let (answer, answered) = oneshot::channel();
        let traceparent = traceparent.map(str::to_owned);
        let (session, tool, args) = (Rc::clone(&self.session), tool.to_owned(), args.clone());
        (self.spawn)(
            async move {
                let outcome = call(&session, &tool, &args, traceparent.as_deref()).await;
                // The run may be over; then no one waits for the result.
                answer.send(outcome).ok();
            }
            .boxed_local(),
        );
        let server = self.session.server().to_owned();
        async move {
            let lost = |_| Err(ToolFailure::Transport { server, reason: "the call was lost".to_owned() });
            answered.await.unwrap_or_else(lost)
        }
        .boxed_local()
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let session = Rc::clone(&self.session);
        // A call in flight still holds the session; the server then forgets it in its own time.
        (self.spawn)(
            async move {
                if let Ok(session) = Rc::try_unwrap(session) {
                    session.close().await;
                }
            }
            .boxed_local(),
        );
    }
}

async fn call(
    session: &Session,
    tool: &str,
    args: &Map<String, Value>,
    traceparent: Option<&str>,
) -> Result<ToolReply, ToolFailure> {
    let result = session
        .call_within(tool, args, traceparent)
        .await
        .map_err(|err| call_failure(session.server(), &err))?;
    let text = result.render(RESULT_BYTES).text;
    Ok(ToolReply { is_error: result.is_error, structured: result.structured, text })
}

fn connect_failure(server: &str, err: &ConnectError) -> ToolFailure {
    match err {
        ConnectError::Failed(err) => call_failure(server, err),
        ConnectError::Config(_) | ConnectError::UnsupportedVersion { .. } => {
            ToolFailure::Transport { server: server.to_owned(), reason: err.to_string() }
        }
    }
}

fn call_failure(server: &str, err: &CallError) -> ToolFailure {
    /// JSON-RPC's codes for a method or tool that is not there and for arguments that do not fit.
    const CALLERS_MISTAKES: [i64; 2] = [-32601, -32602];
    let server = server.to_owned();
    match err {
        CallError::Status { status, retry_after } => {
            ToolFailure::Status { server, status: *status, retry_after: *retry_after }
        }
        CallError::Rpc { code, message } if CALLERS_MISTAKES.contains(code) => {
            ToolFailure::Invalid { server, message: message.clone() }
        }
        CallError::BadToolName => ToolFailure::Invalid { server, message: err.to_string() },
        CallError::Rpc { .. }
        | CallError::Unreachable(_)
        | CallError::TimedOut { .. }
        | CallError::TooLarge { .. }
        | CallError::Incomplete
        | CallError::Malformed { .. }
        | CallError::ForeignReply
        | CallError::Unsupported { .. }
        | CallError::SessionLost
        | CallError::RedirectRefused { .. }
        | CallError::Closed => ToolFailure::Transport { server, reason: err.to_string() },
    }
}
