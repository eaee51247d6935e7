//! What the harness is told: where the service is, who asks, and what it may use to provoke behaviour.

use std::path::PathBuf;

use clap::Parser;

use crate::running::Running;
use crate::signin::SignIn;

/// Judges a service that speaks the ask contract.
///
/// Every check prints `ok`, `FAIL` or `skip`; the exit code is the verdict. A check that can't be exercised
/// counts as failed, except the four model behaviours, which are skipped until `--behaviour` is given.
#[derive(Debug, Clone, Parser)]
#[command(name = "ask-conformance", version, args_override_self = true)]
pub struct Options {
    /// Root of the service, without `/v1`.
    #[arg(long, env = "ASK_BASE_URL", default_value = "http://127.0.0.1:8091")]
    pub base: String,

    /// The same service behind a gateway: everything runs again through it.
    #[arg(long, env = "ASK_GATEWAY_URL")]
    pub via_gateway: Option<String>,

    /// Who asks.
    #[command(flatten)]
    pub sign_in: SignIn,

    /// Directory or URL that holds `ask.openapi.json` and `events.schema.json`. By default the service's own
    /// `/openapi.json` and `/events.schema.json`, else the files in the working directory or the repository.
    #[arg(long)]
    pub schemas: Option<String>,

    /// Control API of the scripted model behind the service, for slow, failing and obedient replies.
    #[arg(long, env = "ASK_MODEL_CONTROL")]
    pub model_control: Option<String>,

    /// The executor's log, which holds a line `audit {json}` for each call.
    #[arg(long, env = "ASK_EXECUTOR_AUDIT")]
    pub executor_audit: Option<PathBuf>,

    /// The service's own log and audit, to be searched for what must not be there.
    #[arg(long, env = "ASK_SERVICE_LOG")]
    pub service_log: Option<PathBuf>,

    /// Run the four model behaviours too: refusal, abstention, path, conversation memory.
    #[arg(long)]
    pub behaviour: bool,

    /// Model that the four behaviours ask for, when it isn't the service's own.
    #[arg(long)]
    pub behaviour_model: Option<String>,

    /// How it is run and reported.
    #[command(flatten)]
    pub running: Running,

    /// Most seconds between comments on a quiet stream.
    #[arg(long, default_value_t = 15.0)]
    pub keep_alive: f64,

    /// Retained events per ticket that the service is set to (`DAS_ASK_MAX_EVENTS`).
    #[arg(long, env = "DAS_ASK_MAX_EVENTS", default_value_t = 1000)]
    pub max_events: u64,

    /// Model turns after which the service ends a run (`DAS_MAX_STEPS`).
    #[arg(long, env = "DAS_MAX_STEPS", default_value_t = 16)]
    pub max_steps: u64,

    /// Size in bytes of a body that must be too large.
    #[arg(long, default_value_t = 4 * 1024 * 1024)]
    pub too_large: usize,

    /// A question that has an answer; used wherever the words don't matter.
    #[arg(long, default_value = "How many support tickets are there in the warehouse?")]
    pub question: String,

    /// The local tool by which the model concludes; only scripts use it.
    #[arg(long, default_value = "conclude")]
    pub conclude_tool: String,

    /// A tool that takes no arguments and answers quickly.
    #[arg(long, default_value = "warehouse__list_sources")]
    pub quick_tool: String,

    /// The tool that runs SQL given as `sql`.
    #[arg(long, default_value = "warehouse__run_query")]
    pub query_tool: String,

    /// The catalog's search tool, taking `query`.
    #[arg(long, default_value = "catalog__search_metadata")]
    pub search_tool: String,

    /// The catalog's look-up tool, taking `entityType` and `fqn`.
    #[arg(long, default_value = "catalog__get_entity_details")]
    pub entity_tool: String,

    /// A statement that runs and gives one row.
    #[arg(long, default_value = "SELECT COUNT(*) AS n FROM support.tickets")]
    pub sql: String,

    /// A statement on another source, for an answer that rests on more than one.
    #[arg(long, default_value = "SELECT COUNT(*) AS n FROM sales.dim_product")]
    pub second_sql: String,

    /// A statement that the executor's guard refuses.
    #[arg(long, default_value = "DELETE FROM support.tickets")]
    pub guarded_sql: String,

    /// A statement that is invalid, which is the model's mistake and no refusal.
    #[arg(long, default_value = "SELECT no_such_column FROM support.tickets")]
    pub invalid_sql: String,

    /// A statement that keeps the executor busy for at least a second.
    #[arg(
        long,
        default_value = "SELECT COUNT(*) AS n FROM support.tickets a, support.tickets b, support.tickets c \
                         WHERE a.elapsed_minutes < b.elapsed_minutes + c.elapsed_minutes"
    )]
    pub slow_sql: String,

    /// Type of a catalog entity that can be looked up.
    #[arg(long, default_value = "glossaryTerm")]
    pub entity_type: String,

    /// Fully qualified name of a catalog entity that can be looked up.
    #[arg(long, default_value = "Support.ResolutionTime")]
    pub entity: String,

    /// A model name that the service can be asked for instead of its own.
    #[arg(long, default_value = "conformance-other-model")]
    pub other_model: String,

    /// Behaviour: a question that is refused to the refused user.
    #[arg(long, default_value = "How many support tickets are there?")]
    pub refused_question: String,

    /// Behaviour: a question for which the catalog has nothing.
    #[arg(long, default_value = "What is our customer satisfaction score for support?")]
    pub abstained_question: String,

    /// Behaviour: a question that the catalog alone answers.
    #[arg(long, default_value = "What does Resolution Time mean?")]
    pub catalog_question: String,

    /// Behaviour: the first of two questions, which names something.
    #[arg(long, default_value = "Which support team has the most tickets?")]
    pub memory_question: String,

    /// Behaviour: the second of two questions, which refers to what the first named.
    #[arg(long, default_value = "And what is that team's average resolution time?")]
    pub memory_follow_up: String,
}
