//! The six tools: one code path for both surfaces, from counting the call to its audit line.

mod arguments;
mod definitions;
mod list;
mod query;
mod reply;

pub use definitions::{Definition, Server, Tool};
pub use reply::{Reply, Verdict};

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::access::{Rights, View};
use crate::audit::{Audit, Entry};
use crate::caller::{Caller, Origin};
use crate::config::Content;
use crate::engine::Engine;
use crate::rate::RateLimit;
use crate::refusal::Failure;
use ask_auth::Owner;

/// Everything that a call needs. Shared by all threads of the server.
#[derive(Debug)]
pub struct Desk {
    content: Content,
    engine: Engine,
    rate: RateLimit<Owner>,
    audit: Audit,
}

/// What a tool gave: its result's members, and what the audit line says of it.
#[derive(Debug, Default)]
struct Done {
    result: Map<String, Value>,
    source: Option<String>,
    tables: Vec<String>,
    columns: Option<usize>,
    rows: Option<usize>,
}

impl Desk {
    /// Puts the parts together.
    pub fn new(content: Content, engine: Engine, rate: RateLimit<Owner>, audit: Audit) -> Self {
        Self { content, engine, rate, audit }
    }

    /// Makes one call for a caller, and writes its audit line before it answers.
    ///
    /// The call runs on a task of its own, so that its line is written even when the caller hangs up.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the answer; the call itself runs to its end.
    pub async fn call(
        self: &Arc<Self>,
        caller: Caller,
        origin: Origin,
        tool: Tool,
        arguments: Map<String, Value>,
    ) -> Reply {
        let begun = Instant::now();
        let desk = Arc::clone(self);
        #[expect(clippy::disallowed_methods, reason = "a call outlives the connection that it came on")]
        let task = tokio::spawn(async move { desk.audited(begun, &caller, origin, tool, arguments).await });
        task.await.unwrap_or_else(|err| {
            tracing::error!(error = %err, tool = tool.name(), "a call died");
            Reply::broken(millis(begun))
        })
    }

    async fn audited(
        &self,
        begun: Instant,
        caller: &Caller,
        origin: Origin,
        tool: Tool,
        arguments: Map<String, Value>,
    ) -> Reply {
        let sql_sha256 = match tool {
            Tool::RunQuery => arguments.get("sql").and_then(Value::as_str).map(crate::audit::digest),
            Tool::ListSources
            | Tool::ListTables
            | Tool::DescribeTable
            | Tool::SearchMetadata
            | Tool::GetEntityDetails => None,
        };
        let done = match self.rate.admit(&caller.owner) {
            Ok(()) => self.perform(Arc::new(caller.rights(&self.content.rules)), tool, arguments).await,
            Err(refusal) => Err(refusal.into()),
        };
        let ms = millis(begun);
        let mut entry = Entry {
            op: tool.name().to_owned(),
            oid: caller.oid.clone(),
            surface: origin.surface,
            sql_sha256,
            ms,
            request_id: origin.request_id,
            trace_id: origin.trace_id,
            ..Entry::default()
        };
        let reply = match done {
            Ok(done) => {
                entry.source = done.source;
                entry.tables = done.tables;
                entry.columns = done.columns;
                entry.rows = done.rows;
                Reply::done(done.result, ms)
            }
            Err(Failure::Refused(refusal)) => Reply::refused(refusal, ms),
            Err(err @ (Failure::Engine(_) | Failure::Stopped)) => {
                report(tool, &err);
                Reply::broken(ms)
            }
        };
        entry.verdict = reply.verdict.as_str();
        self.audit.write(&entry);
        reply
    }

    async fn perform(
        &self,
        rights: Arc<Rights>,
        tool: Tool,
        arguments: Map<String, Value>,
    ) -> Result<Done, Failure> {
        rights.require_any()?;
        match tool {
            Tool::ListSources => {
                Ok(list::list_sources(self.view(&rights), arguments::parse(tool, arguments)?))
            }
            Tool::ListTables => self.list_tables(&rights, arguments::parse(tool, arguments)?).await,
            Tool::DescribeTable => {
                Ok(list::describe_table(self.view(&rights), &arguments::parse(tool, arguments)?)?)
            }
            Tool::RunQuery => self.run_query(rights, arguments::parse(tool, arguments)?).await,
            Tool::SearchMetadata => {
                Ok(self.search_metadata(self.view(&rights), &arguments::parse(tool, arguments)?)?)
            }
            Tool::GetEntityDetails => {
                Ok(self.get_entity_details(self.view(&rights), &arguments::parse(tool, arguments)?)?)
            }
        }
    }

    fn view<'a>(&'a self, rights: &'a Rights) -> View<'a> {
        View { warehouse: &self.content.warehouse, rights }
    }
}

/// Whole milliseconds since `begun`.
fn millis(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Logs a failure with its causes; the library's own text would show the statement.
fn report(tool: Tool, err: &Failure) {
    let code = match err {
        Failure::Engine(engine) => engine.sqlite_error_code().map(|code| format!("{code:?}")),
        Failure::Refused(_) | Failure::Stopped => None,
    };
    tracing::error!(tool = tool.name(), error = %err, engine.code = code, "a call failed");
}
