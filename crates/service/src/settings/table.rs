//! Every setting in one table: what it is called, what holds without it, its unit, what it means, whether it is a secret.
//!
//! The reader takes its defaults from here, and `docs/operations.md` holds what [`markdown`] prints.

/// What holds when a setting is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// This value, as it would be given.
    Value(&'static str),
    /// What these words say: it is needed, made at the start, or follows from something else.
    Told(&'static str),
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What holds without it.
    pub fallback: Fallback,
    /// Its unit, or what kind of value it is.
    pub unit: &'static str,
    /// What it does, in Markdown.
    pub meaning: &'static str,
    /// Whether it is a secret, which may also come from the file that `<name>_FILE` names.
    pub secret: bool,
}

const fn value(
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting { name, fallback: Fallback::Value(default), unit, meaning, secret: false }
}

const fn told(
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting { name, fallback: Fallback::Told(default), unit, meaning, secret: false }
}

const fn secret(name: &'static str, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, fallback: Fallback::Told(default), unit: "text", meaning, secret: true }
}

/// The settings by what they are about.
#[rustfmt::skip]
pub const GROUPS: &[(&str, &[Setting])] = &[
    ("Listening", &[
        value("DAS_ASK_HOST", "127.0.0.1", "IP address", "what it listens on; loopback unless you say otherwise"),
        value("DAS_ASK_PORT", "8091", "port", "0 takes any free one; the line \"listening\" says which"),
        value("DAS_ASK_PATH", "/ask", "path", "where the gateway mounts the service and what it strips; the service itself serves at its root, and tells this in its log alone"),
        told("DAS_ASK_WORKERS", "cores", "threads", "HTTP workers"),
        told("DAS_ASK_ARBITERS", "cores", "threads", "for conversations and their runs"),
        value("DAS_ASK_MAX_CONNECTIONS", "25000", "connections", "open HTTP connections, shared evenly among the workers"),
        value("DAS_ASK_LOG", "info", "level", "how detailed its own log lines are: error, warn, info, debug or trace"),
    ]),
    ("Who may call", &[
        told("DAS_ENTRA_ISSUER", "needed", "URL", "the one `iss` that is taken, to the byte"),
        told("DAS_ENTRA_JWKS_URL", "the issuer less `/v2.0`, plus `/discovery/v2.0/keys`", "URL", "where its keys are"),
        value("DAS_AGENT_AUDIENCE", "api://data-agent-service", "list", "what `aud` must be or hold; one, or several between commas"),
        value("DAS_REQUIRED_SCOPE", "access_as_user", "word", "what a scope claim must hold"),
        told("DAS_SCOPE_CLAIMS", "scp,roles", "list", "the claims in which that word is looked for, between commas"),
        told("DAS_ROLE_CLAIMS", "roles", "list", "the claims that list the caller's roles, between commas; the executor decides by them"),
    ]),
    ("What is kept, and how much", &[
        value("DAS_ASK_TTL_S", "900", "seconds", "how long a ticket is kept after its `done`, and a conversation after its last ask"),
        value("DAS_ASK_MAX_EVENTS", "1000", "events", "what a ticket retains before its oldest steps are dropped"),
        value("DAS_ASK_KEEP_ALIVE_S", "15", "seconds", "the longest silence on a stream before a comment goes out"),
        value("DAS_ASK_MAX_STREAM_AGE_S", "0", "seconds", "after this a stream's connection ends between two frames, and its client comes back for the rest; 0 is never"),
        secret("DAS_ASK_ID_KEY", "a fresh one at each start", "keys the identifiers, so that a ticket from before a restart is answered with 410 and not with 404"),
        secret("DAS_ASK_PSEUDONYM_KEY", "a fresh one at each start", "keys the pseudonyms in gap lines, so that they stay the same over restarts"),
    ]),
    ("What a caller may have", &[
        value("DAS_ASK_MAX_BODY_BYTES", "65536", "bytes", "a request body"),
        value("DAS_ASK_MAX_QUESTION_CHARS", "8000", "characters", "a question"),
        value("DAS_ASK_MAX_CONVERSATIONS", "1000", "conversations", "open ones of one caller"),
        value("DAS_ASK_MAX_TURNS", "200", "asks", "of one conversation; each is sent with all before it, so the last cost the most"),
        value("DAS_ASK_MAX_TICKETS", "10000", "tickets", "of one caller, running or not expired yet"),
        value("DAS_ASK_MAX_RUNNING", "64", "asks", "running ones of one caller"),
        value("DAS_ASK_MAX_RUNNING_TOTAL", "1024", "asks", "running ones of all callers"),
        value("DAS_ASK_RATE_ASKS", "600", "asks", "of one caller in a window"),
        value("DAS_ASK_RATE_WINDOW_S", "60", "seconds", "the window, from a caller's first ask in it"),
    ]),
    ("Tool servers", &[
        told("DAS_APIM_BASE", "needed, unless `DAS_MCP_SERVERS` is set", "URL", "the gateway behind which both tool servers are"),
        value("DAS_WAREHOUSE_MCP_PATH", "/warehouse/mcp", "path", "the executor there"),
        value("DAS_OM_MCP_PATH", "/om/mcp", "path", "the catalog there"),
        secret("DAS_OM_SUBSCRIPTION_KEY", "none", "sent to the catalog as `Ocp-Apim-Subscription-Key`"),
        told("DAS_MCP_SERVERS", "none", "JSON", "any MCP servers instead of these two: see [your own tool servers](#your-own-tool-servers)"),
        told("DAS_SOURCES", "none", "JSON", "the deployment's list of sources, `[{\"name\": …, \"kind\": …}]`; its form is checked, and what sources there are is asked of the tool servers"),
        value("DAS_ASK_TOOL_TIMEOUT_S", "60", "seconds", "one tool call"),
        value("DAS_ASK_GROUNDING", "true", "switch", "whether sources and catalog are looked up before the first model turn"),
    ]),
    ("The model and the run", &[
        value("DAS_LLM_PROTOCOL", "anthropic", "word", "`anthropic` (Messages) or `openai` (chat completions)"),
        told("DAS_LLM_BASE_URL", "https://api.anthropic.com or https://api.openai.com/v1", "URL", "where the endpoint is"),
        secret("DAS_LLM_API_KEY", "none", "needed where no base is given; `ANTHROPIC_API_KEY` stands in for it with that protocol"),
        told("DAS_MODEL", "needed", "name", "the model, unless an ask names another"),
        value("DAS_EFFORT", "high", "word", "low, medium, high, xhigh or max, unless an ask names another"),
        value("DAS_LLM_MAX_TOKENS", "16000", "tokens", "output of one turn"),
        value("DAS_LLM_MAX_TOKENS_FIELD", "max_completion_tokens", "word", "the member that carries this limit with `openai`: `max_completion_tokens`, or `max_tokens` for the many local servers that know no other"),
        value("DAS_LLM_ACCEPT_DEGRADED", "false", "switch", "whether to run with a protocol that lacks something"),
        secret("DAS_LLM_CALLER_KEY_SECRET", "none", "with it the provider gets a pseudonym of the caller, keyed with it, and without it nothing about the caller"),
        value("DAS_LLM_FIRST_BYTE_S", "60", "seconds", "to the first byte of an answer"),
        value("DAS_LLM_IDLE_S", "60", "seconds", "of silence within an answer"),
        value("DAS_LLM_TURN_S", "180", "seconds", "a whole turn, with its retries"),
        value("DAS_MAX_STEPS", "16", "model turns", "of a run, with eight tool calls for each"),
        value("DAS_ASK_RUN_TIMEOUT_S", "300", "seconds", "a whole run; an ask may ask for less with `deadline_s`"),
    ]),
    ("Metrics and traces", &[
        told("DAS_ASK_METRICS_PORT", "none", "port", "where `/metrics` is served, apart from the API; 0 takes any free one, and the line \"serving metrics\" says which"),
        value("DAS_ASK_METRICS_HOST", "127.0.0.1", "IP address", "what that port listens on; loopback unless you say otherwise, since it asks for no token"),
        told("OTEL_EXPORTER_OTLP_ENDPOINT", "none", "URL", "a collector; traces are posted to `/v1/traces` below it"),
        told("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "none", "URL", "where traces are posted to as it stands, before the other"),
        Setting { unit: "list", ..secret("OTEL_EXPORTER_OTLP_HEADERS", "none", "`name=value` pairs between commas, values percent-encoded") },
        value("OTEL_SERVICE_NAME", "ask-service", "name", "what the service is called in traces"),
        value("OTEL_TRACES_SAMPLER", "parentbased_always_on", "word", "`always_on`, `always_off` or `traceidratio`, or one of them after `parentbased_`, which lets a caller's own decision come first"),
        value("OTEL_TRACES_SAMPLER_ARG", "1", "share", "of the traces that `traceidratio` takes, from 0 to 1"),
        value("OTEL_SDK_DISABLED", "false", "switch", "whether nothing is exported, whatever else is set"),
    ]),
];

/// The default of a setting, as it would be given; empty when it has none of its own.
pub(super) fn default_of(name: &str) -> &'static str {
    let mut all = GROUPS.iter().flat_map(|(_, settings)| *settings);
    match all.find(|setting| setting.name == name).map(|setting| setting.fallback) {
        Some(Fallback::Value(value)) => value,
        Some(Fallback::Told(_)) | None => "",
    }
}

/// Every group under a heading of its own, as `ask-service --settings` prints it.
pub fn markdown() -> String {
    let groups = GROUPS.iter().map(|(group, settings)| format!("### {group}\n\n{}", rows(settings)));
    groups.collect::<Vec<_>>().join("\n")
}

/// A page with the table under each group's heading made anew; `None` when a group has no heading there, or no table.
pub fn renewed(page: &str) -> Option<String> {
    GROUPS.iter().try_fold(page.to_owned(), |page, (group, settings)| {
        let heading = format!("\n### {group}\n");
        let (before, section) = page.split_once(&heading)?;
        let end = section.find("\n#").unwrap_or(section.len());
        let (section, after) = section.split_at_checked(end)?;
        let (above, table) = section.split_once("\n|")?;
        let below = table.find("\n\n").map_or("", |at| table.get(at + 1..).unwrap_or_default());
        Some(format!("{before}{heading}{above}\n{}{below}{after}", rows(settings)))
    })
}

fn rows(settings: &[Setting]) -> String {
    let head = "| setting | default | unit | meaning |\n|---|---|---|---|\n".to_owned();
    head + &settings.iter().map(row).collect::<Vec<_>>().concat()
}

fn row(Setting { name, fallback, unit, meaning, secret }: &Setting) -> String {
    let fallback = match fallback {
        Fallback::Value(value) => grouped(value),
        Fallback::Told(words) => (*words).to_owned(),
    };
    let secret = if *secret { "secret; " } else { "" };
    format!("| `{name}` | {fallback} | {unit} | {secret}{meaning} |\n")
}

/// A number of five figures or more with its thousands apart; anything else as it is.
fn grouped(value: &str) -> String {
    let figures = value.len();
    if figures < 5 || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.to_owned();
    }
    let mut text = String::new();
    for (at, figure) in value.chars().enumerate() {
        if at > 0 && (figures - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(figure);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_setting_is_there_twice_and_each_row_is_one_line_of_four_cells() {
        let all: Vec<&Setting> = GROUPS.iter().flat_map(|(_, settings)| *settings).collect();
        let names: BTreeSet<&str> = all.iter().map(|setting| setting.name).collect();
        assert_eq!(names.len(), all.len());
        let page = markdown();
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(lines.len(), all.len());
        assert!(lines.iter().all(|line| line.matches('|').count() == 5), "{page}");
    }

    #[test]
    fn the_documentation_holds_these_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
        let page = std::fs::read_to_string(path).unwrap();
        assert_eq!(renewed(&page).unwrap(), page, "run `make schemas`");
    }

    #[test]
    fn a_page_without_a_group_is_not_renewed() {
        assert_eq!(renewed("# Settings\n"), None);
        let bare: Vec<String> =
            GROUPS.iter().map(|(group, _)| format!("\n### {group}\n\nSee there.\n")).collect();
        assert_eq!(renewed(&bare.concat()), None);
    }

    #[test]
    fn numbers_are_written_as_people_read_them() {
        for (value, text) in [
            ("0", "0"),
            ("8000", "8000"),
            ("16000", "16,000"),
            ("1048576", "1,048,576"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(grouped(value), text);
        }
    }
}
