//! What the runs of one arbiter share: the clients of the model and of the tool servers, which can't leave their thread.

use std::cell::RefCell;
use std::rc::Rc;

use ask_agent::adapter::{ConfiguredServer, McpServers, Spawn};
use ask_auth::Bearer;
use futures_util::future::LocalBoxFuture;

use crate::settings::RunSettings;

/// The clients could not be made; checked at the start, so that it doesn't happen later.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the model's client could not be made")]
pub(super) struct BuildFailed;

/// The parts of the runs on this arbiter.
#[derive(Clone)]
pub(super) struct RunParts {
    model: Rc<ask_llm::Client>,
    tools: ask_mcp::Client,
    servers: Rc<[ConfiguredServer]>,
    spawn: Spawn,
}

thread_local! {
    static HERE: RefCell<Option<RunParts>> = const { RefCell::new(None) };
}

impl RunParts {
    /// The parts of this arbiter, made at their first use.
    pub(super) fn here(settings: &RunSettings) -> Result<Self, BuildFailed> {
        HERE.with_borrow_mut(|here| {
            if let Some(parts) = here {
                return Ok(parts.clone());
            }
            let model = ask_llm::Client::new(settings.endpoint.clone()).map_err(|err| {
                tracing::error!(error = %err, "the model's client could not be made");
                BuildFailed
            })?;
            let parts = Self {
                model: Rc::new(model),
                tools: ask_mcp::Client::new(ask_mcp::ClientLimits::default()),
                servers: settings.servers.clone().into(),
                spawn: Rc::new(spawn),
            };
            *here = Some(parts.clone());
            Ok(parts)
        })
    }

    pub(super) fn model(&self) -> Rc<ask_llm::Client> {
        Rc::clone(&self.model)
    }

    /// The tool servers as this caller reaches them.
    pub(super) fn servers_as(&self, bearer: &Bearer) -> McpServers {
        let spawn = Rc::clone(&self.spawn);
        McpServers::new(self.tools.clone(), Rc::clone(&self.servers), bearer.expose().to_owned(), None, spawn)
    }
}

#[expect(clippy::disallowed_methods, reason = "a tool call in flight outlives the run that made it")]
fn spawn(work: LocalBoxFuture<'static, ()>) {
    drop(actix_rt::spawn(work));
}
