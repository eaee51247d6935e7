//! The tools over MCP: one server for the sources and one for the catalog, both without sessions.

use std::sync::Arc;

use actix_web::HttpMessage;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp_actix_web::transport::{
    CancellationToken, LocalSessionManager, StreamableHttpService, on_request_extensions,
};

use crate::caller::{Caller, Origin};
use crate::tools::{Definition, Desk, Server, Tool, Verdict};

/// The longest request body, in bytes; a statement has at most 20,000.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// One MCP server.
#[derive(Debug, Clone)]
pub struct McpServer {
    server: Server,
    desk: Arc<Desk>,
}

/// The service to mount at the server's path. Made once and cloned for each worker thread.
///
/// `hosts` are the names that the server is reached by; a request with another `Host` is turned away, which keeps web pages
/// from reaching a server on the reader's own machine.
pub fn service(
    server: Server,
    desk: Arc<Desk>,
    hosts: Vec<String>,
    stop: CancellationToken,
) -> StreamableHttpService<McpServer, LocalSessionManager> {
    StreamableHttpService::builder()
        .service_factory(Arc::new(move || Ok(McpServer { server, desk: Arc::clone(&desk) })))
        .session_manager(Arc::new(LocalSessionManager::default()))
        .stateful_mode(false)
        .json_response(true)
        .max_request_body_bytes(MAX_BODY_BYTES)
        .allowed_hosts(hosts)
        .cancellation_token(stop)
        .on_request_fn(|request, extensions| {
            if let Some(caller) = request.extensions().get::<Caller>() {
                extensions.insert(caller.clone());
            }
            let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
            extensions.insert(Origin::new("mcp", header("x-request-id"), header("traceparent")));
        })
        .build()
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let name = match self.server {
            Server::Warehouse => "ask-executor-warehouse",
            Server::Catalog => "ask-executor-catalog",
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")))
            .with_instructions(self.server.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.server.tools().iter().copied().map(offered).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.server.find(name).map(offered)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.server.find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("unknown tool: {}", request.name), None));
        };
        let extensions = on_request_extensions(&context.extensions);
        let Some(caller) = extensions.and_then(|extensions| extensions.get::<Caller>()).cloned() else {
            tracing::error!("a call came past the authentication");
            return Err(ErrorData::internal_error("the caller is not known", None));
        };
        let origin =
            extensions.and_then(|extensions| extensions.get::<Origin>()).cloned().unwrap_or_default();
        let reply = self.desk.call(caller, origin, tool, request.arguments.unwrap_or_default()).await;
        match reply.verdict {
            Verdict::Done => Ok(CallToolResult::structured(reply.body).into()),
            Verdict::Refused(_) => Ok(CallToolResult::structured_error(reply.body).into()),
            Verdict::Broken => Err(ErrorData::internal_error(
                "the executor failed; the call may be tried again",
                Some(reply.body),
            )),
        }
    }
}

fn offered(tool: Tool) -> rmcp::model::Tool {
    let definition = Definition::of(tool);
    rmcp::model::Tool::new(tool.name(), definition.description, Arc::new(definition.input_schema))
        .with_title(definition.title)
        .with_annotations(
            ToolAnnotations::with_title(definition.title)
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        )
}
