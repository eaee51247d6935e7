//! What the runs of one arbiter share: the clients of the model and of the tool servers, which can't leave their thread.

use std::cell::RefCell;
use std::rc::Rc;

use ask_agent::adapter::{ConfiguredServer, McpServers, Spawn};
use ask_agent::{BranchReport, BranchTask, Sink, Stopped, Watch, run_branch};
use ask_auth::Bearer;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use crate::settings::RunSettings;

/// By which one request is followed through every process that works for it.
const REQUEST_ID: &str = "X-Request-Id";

/// The clients could not be made; checked at the start, so that it doesn't happen later.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the model's client could not be made")]
pub(super) struct BuildFailed;

/// A branch's work: dropping it stops it.
pub(super) type Work = LocalBoxFuture<'static, Result<BranchReport, Stopped>>;

/// Begins a branch's work as a caller, told to a sink.
type Begin = dyn Fn(BranchTask, &Bearer, Box<dyn Sink>) -> Work;

/// How a run's work is done on this arbiter.
#[derive(Clone)]
pub(super) struct RunParts(Rc<Begin>);

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
            let model = Rc::new(model);
            let tools = ask_mcp::Client::new(ask_mcp::ClientLimits::default());
            let configured: Rc<[ConfiguredServer]> = settings.servers.clone().into();
            let spawn: Spawn = Rc::new(spawn);
            let parts = Self(Rc::new(move |task, bearer, sink| {
                let (model, spawn) = (Rc::clone(&model), Rc::clone(&spawn));
                let (servers, trace) = (for_request(&configured, sink.watch()), sink.watch().traceparent());
                let servers =
                    McpServers::new(tools.clone(), servers, bearer.expose().to_owned(), trace, spawn);
                async move { run_branch(task, model.as_ref(), &servers, sink.as_ref()).await }.boxed_local()
            }));
            *here = Some(parts.clone());
            Ok(parts)
        })
    }

    /// Has the runs of this arbiter done otherwise from now on.
    #[cfg(test)]
    pub(super) fn replace_here(work: impl Fn(BranchTask, &Bearer, Box<dyn Sink>) -> Work + 'static) {
        HERE.set(Some(Self(Rc::new(work))));
    }

    /// The work of one branch, as this caller, told to `sink`.
    pub(super) fn work(&self, task: BranchTask, bearer: &Bearer, sink: impl Sink + 'static) -> Work {
        (self.0)(task, bearer, Box::new(sink))
    }
}

/// The tool servers as they are told for which request they work.
fn for_request(configured: &Rc<[ConfiguredServer]>, watch: &dyn Watch) -> Rc<[ConfiguredServer]> {
    let Some(id) = watch.request_id() else { return Rc::clone(configured) };
    let mut servers = configured.to_vec();
    for server in &mut servers {
        server.config.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(REQUEST_ID));
        server.config.headers.push((REQUEST_ID.to_owned(), ask_mcp::Secret::new(id)));
    }
    servers.into()
}

#[expect(clippy::disallowed_methods, reason = "a tool call in flight outlives the run that made it")]
fn spawn(work: LocalBoxFuture<'static, ()>) {
    drop(actix_rt::spawn(work));
}
