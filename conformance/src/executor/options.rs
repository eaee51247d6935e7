//! What the harness is told of an executor: where it is, who calls, which of its data may be used, and how it is set.

use std::path::PathBuf;

use clap::Parser;

use crate::running::Running;
use crate::signin::SignIn;

/// Judges an executor of the ask service: its tools over MCP and over the REST mirror.
///
/// Every check prints `ok` or `FAIL`; the exit code is the verdict. A check that can't be exercised counts as failed.
/// The first user must be kept from one column, the second see it, and the third (the refused one) have no role.
#[derive(Debug, Clone, Parser)]
#[command(name = "ask-executor-conformance", version, args_override_self = true)]
pub struct Options {
    /// Root of the executor, with the REST mirror below it.
    #[arg(long, env = "ASK_EXECUTOR_URL", default_value = "http://127.0.0.1:8092")]
    pub base: String,

    /// Path of the sources' MCP server.
    #[arg(long, env = "DAS_WAREHOUSE_MCP_PATH", default_value = "/warehouse/mcp")]
    pub warehouse_path: String,

    /// Path of the catalog's MCP server.
    #[arg(long, env = "DAS_OM_MCP_PATH", default_value = "/om/mcp")]
    pub catalog_path: String,

    /// Who calls.
    #[command(flatten)]
    pub sign_in: SignIn,

    /// Bearer of a user whose calls may be used up, when nothing can mint one.
    #[arg(long, env = "ASK_SPENDTHRIFT_TOKEN", hide_env_values = true)]
    pub spendthrift_token: Option<String>,

    /// Role of the second user, as tokens carry it in `roles`; given to the first user for a union of rights.
    #[arg(long, default_value = "finance")]
    pub other_role: String,

    /// The executor's log, which holds a line `audit {json}` for each call.
    #[arg(long, env = "ASK_EXECUTOR_AUDIT")]
    pub executor_audit: Option<PathBuf>,

    /// How it is run and reported.
    #[command(flatten)]
    pub running: Running,

    /// Most rows that a result has (`DAS_SQL_MAX_ROWS`).
    #[arg(long, env = "DAS_SQL_MAX_ROWS", default_value_t = 500)]
    pub max_rows: u64,

    /// Seconds after which a statement is stopped (`DAS_SQL_TIMEOUT_S`).
    #[arg(long, env = "DAS_SQL_TIMEOUT_S", default_value_t = 30.0)]
    pub sql_timeout: f64,

    /// Calls that one caller may make in a window (`DAS_RATE_CALLS`). When it is known, it must hold exactly.
    #[arg(long, env = "DAS_RATE_CALLS")]
    pub rate_calls: Option<u64>,

    /// Most calls that are made to reach the executor's limit.
    #[arg(long, default_value_t = 5000)]
    pub most_calls: u64,

    /// Size in bytes of a body that must be too large.
    #[arg(long, default_value_t = 1024 * 1024)]
    pub too_large: usize,

    /// Corpus of statements to use instead of the built-in one, which speaks SQLite's dialect.
    #[arg(long)]
    pub corpus: Option<PathBuf>,

    /// A table that all users with a role may read, as `schema.table`.
    #[arg(long, default_value = "support.tickets")]
    pub table: String,

    /// A text column of that table.
    #[arg(long, default_value = "status")]
    pub column: String,

    /// The source that holds the table.
    #[arg(long, default_value = "support")]
    pub source: String,

    /// A table of another source.
    #[arg(long, default_value = "sales.dim_product")]
    pub second_table: String,

    /// The source that holds the second table.
    #[arg(long, default_value = "sales")]
    pub second_source: String,

    /// A column of the first source that is kept from the first user and open to the second, as `schema.table.column`.
    #[arg(long, default_value = "support.agents.email")]
    pub withheld: String,

    /// A text column beside the withheld one that the first user may see.
    #[arg(long, default_value = "agent_name")]
    pub beside: String,

    /// A statement with more rows than any ceiling.
    #[arg(
        long,
        default_value = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT i FROM n"
    )]
    pub many_rows_sql: String,

    /// A statement that never ends by itself.
    #[arg(
        long,
        default_value = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )]
    pub endless_sql: String,

    /// Words that find the glossary term.
    #[arg(long, default_value = "resolution time")]
    pub term: String,

    /// Fully qualified name of a glossary term.
    #[arg(long, default_value = "Support.ResolutionTime")]
    pub glossary_term: String,

    /// Fully qualified name of a metric.
    #[arg(long, default_value = "average_resolution_time")]
    pub metric: String,
}

impl Options {
    /// The withheld column's table and its name alone.
    pub(crate) fn withheld_parts(&self) -> (&str, &str) {
        self.withheld.rsplit_once('.').unwrap_or(("", &self.withheld))
    }

    /// The table's name without its schema.
    pub(crate) fn bare_table(&self) -> &str {
        self.table.rsplit_once('.').map_or(self.table.as_str(), |(_, name)| name)
    }
}
