//! Every setting of the service: read once, checked at the start, the same names as the deployment's environment file.

mod observe;
mod read;
mod servers;
pub mod table;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use ask_agent::adapter::ConfiguredServer;
use ask_agent::{Ceilings, GroundingLimits};
use ask_auth::Policy;
use ask_contract::Effort;
use ask_llm::{BaseUrl, Endpoint, MaxTokensField, Protocol, Secret};

pub use observe::{Observing, Sampler, TraceExport};
pub use read::{SettingError, Source};

use read::invalid;
use servers::tool_servers;

/// What the service runs with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where a gateway mounts it; told in the log, since the gateway strips it.
    pub mount: String,
    /// HTTP workers.
    pub workers: usize,
    /// Arbiters for conversations and their runs.
    pub arbiters: usize,
    /// Who may call.
    pub policy: Policy,
    /// How long things are kept, and how much of them.
    pub retention: Retention,
    /// What one caller, and all together, may have.
    pub quotas: Quotas,
    /// What a run is made with.
    pub runs: RunSettings,
    /// Key of the identifiers, so that they are recognised after a restart; a fresh one without it.
    pub id_key: Option<Secret>,
    /// Key of the pseudonyms in gap lines; a fresh one without it.
    pub pseudonym_key: Option<Secret>,
    /// The most detailed level of this service's own log lines.
    pub log: tracing::Level,
    /// Metrics and traces.
    pub observing: Observing,
}

/// How long tickets and conversations are kept, and how much of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// A finished ticket's and an idle conversation's life.
    pub ttl: Duration,
    /// Retained events of a ticket before steps are dropped.
    pub max_events: usize,
    /// The longest silence on a stream.
    pub keep_alive: Duration,
    /// The longest life of a stream's connection; its client then comes back for the rest. Without one it has no end.
    pub max_stream_age: Option<Duration>,
}

/// What one caller, and all together, may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Characters of a question.
    pub question_chars: usize,
    /// Open conversations of one owner.
    pub conversations: usize,
    /// Asks of one conversation: each resends all before it, so the last cost the most.
    pub turns: u32,
    /// Retained tickets of one owner.
    pub tickets: usize,
    /// Running asks of one owner.
    pub running: usize,
    /// Running asks of everyone.
    pub running_total: usize,
    /// HTTP connections.
    pub connections: usize,
    /// Asks of one owner in a window.
    pub rate_asks: u64,
    /// The window.
    pub rate_window: Duration,
}

/// What a run is made with.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The model's endpoint.
    pub endpoint: Endpoint,
    /// The model, unless an ask names another.
    pub model: String,
    /// The effort, unless an ask names another.
    pub effort: Effort,
    /// The tool servers.
    pub servers: Vec<ConfiguredServer>,
    /// What is looked up before the first model turn; nothing when absent.
    pub grounding: Option<GroundingLimits>,
    /// What a run may use.
    pub ceilings: Ceilings,
}

impl Settings {
    /// Reads every setting.
    ///
    /// # Errors
    ///
    /// The first setting that is missing or can't be used, by name.
    pub fn read(source: &Source) -> Result<Self, SettingError> {
        const ANY: u64 = u64::MAX;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let host: IpAddr = source.parsed("DAS_ASK_HOST")?;
        let port: u16 = source.parsed("DAS_ASK_PORT")?;
        let mount = source.text("DAS_ASK_PATH");
        if !mount.starts_with('/') || mount.contains(char::is_whitespace) {
            return Err(invalid("DAS_ASK_PATH", "must begin with / and hold no blank"));
        }
        Ok(Self {
            listen: SocketAddr::new(host, port),
            mount,
            workers: source.size_or("DAS_ASK_WORKERS", cores, 1..=1024)?,
            arbiters: source.size_or("DAS_ASK_ARBITERS", cores, 1..=1024)?,
            policy: policy(source)?,
            retention: Retention {
                ttl: source.seconds("DAS_ASK_TTL_S", 1..=604_800)?,
                max_events: source.size("DAS_ASK_MAX_EVENTS", 1..=1_000_000)?,
                keep_alive: source.seconds("DAS_ASK_KEEP_ALIVE_S", 1..=3600)?,
                max_stream_age: Some(source.seconds("DAS_ASK_MAX_STREAM_AGE_S", 0..=86_400)?)
                    .filter(|age| !age.is_zero()),
            },
            quotas: Quotas {
                body_bytes: source.size("DAS_ASK_MAX_BODY_BYTES", 256..=16 * 1024 * 1024)?,
                question_chars: source.size("DAS_ASK_MAX_QUESTION_CHARS", 1..=1_000_000)?,
                conversations: source.size("DAS_ASK_MAX_CONVERSATIONS", 1..=ANY)?,
                turns: u32::try_from(source.number("DAS_ASK_MAX_TURNS", 1..=ANY)?).unwrap_or(u32::MAX),
                tickets: source.size("DAS_ASK_MAX_TICKETS", 1..=ANY)?,
                running: source.size("DAS_ASK_MAX_RUNNING", 1..=ANY)?,
                running_total: source.size("DAS_ASK_MAX_RUNNING_TOTAL", 1..=ANY)?,
                connections: source.size("DAS_ASK_MAX_CONNECTIONS", 1..=ANY)?,
                rate_asks: source.number("DAS_ASK_RATE_ASKS", 1..=ANY)?,
                rate_window: source.seconds("DAS_ASK_RATE_WINDOW_S", 1..=86_400)?,
            },
            runs: run_settings(source)?,
            id_key: source.secret("DAS_ASK_ID_KEY")?.map(Secret::new),
            pseudonym_key: source.secret("DAS_ASK_PSEUDONYM_KEY")?.map(Secret::new),
            log: source.parsed("DAS_ASK_LOG")?,
            observing: observe::observing(source)?,
        })
    }
}

/// The environment over an env file, if one is named.
///
/// A line of the file is `NAME=value`, with the value as it stands to the end of the line, quotes around the whole of it
/// taken off; blank lines and those that begin with `#` say nothing. So a file of a container engine works as it is.
///
/// # Errors
///
/// When the file can't be read or a line of it is no setting.
pub fn environment(file: Option<&Path>) -> Result<Source, SettingError> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    if let Some(path) = file {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| SettingError::File { name: name.clone(), source })?;
        pairs.extend(env_lines(&name, &text)?);
    }
    pairs.extend(
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    );
    Ok(pairs.into_iter().collect())
}

fn env_lines(file: &str, text: &str) -> Result<Vec<(String, String)>, SettingError> {
    let mut pairs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let is_name = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        // The line itself is not shown: it may hold a secret.
        let Some((name, value)) = line.strip_prefix("export ").unwrap_or(line).split_once('=') else {
            return Err(invalid(file, format!("line {} is not NAME=value", number + 1)));
        };
        if name.is_empty() || !is_name(name) {
            return Err(invalid(file, format!("line {} is not NAME=value", number + 1)));
        }
        let value = value.trim();
        let quoted = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
        pairs.push((name.to_owned(), quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned()));
    }
    Ok(pairs)
}

fn policy(source: &Source) -> Result<Policy, SettingError> {
    let issuer = source.needed("DAS_ENTRA_ISSUER", "the issuer whose tokens are taken")?;
    let audience = source.text("DAS_AGENT_AUDIENCE");
    let scope = source.text("DAS_REQUIRED_SCOPE");
    let mut policy = Policy::new(issuer, audience, scope);
    if let Some(url) = source.get("DAS_ENTRA_JWKS_URL") {
        policy = policy.with_jwks_url(url);
    }
    if let Some(names) = source.get("DAS_SCOPE_CLAIMS") {
        policy = policy.with_scope_claims(names);
    }
    if let Some(names) = source.get("DAS_ROLE_CLAIMS") {
        policy = policy.with_role_claims(names);
    }
    policy.validate().map_err(|err| {
        let name = match err {
            ask_auth::PolicyError::Issuer => "DAS_ENTRA_ISSUER",
            ask_auth::PolicyError::Audience => "DAS_AGENT_AUDIENCE",
            ask_auth::PolicyError::Scope => "DAS_REQUIRED_SCOPE",
            ask_auth::PolicyError::ScopeClaims => "DAS_SCOPE_CLAIMS",
            ask_auth::PolicyError::RoleClaims => "DAS_ROLE_CLAIMS",
            ask_auth::PolicyError::JwksUrl => "DAS_ENTRA_JWKS_URL",
        };
        invalid(name, err)
    })?;
    Ok(policy)
}

fn run_settings(source: &Source) -> Result<RunSettings, SettingError> {
    let tool_limit = source.seconds("DAS_ASK_TOOL_TIMEOUT_S", 1..=3600)?;
    let grounding = source.switch("DAS_ASK_GROUNDING")?.then(GroundingLimits::default);
    Ok(RunSettings {
        endpoint: endpoint(source)?,
        model: source.needed("DAS_MODEL", "the model that is asked")?,
        effort: source.parsed("DAS_EFFORT")?,
        servers: tool_servers(source, tool_limit)?,
        grounding,
        ceilings: Ceilings {
            model_turns: u32::try_from(source.number("DAS_MAX_STEPS", 1..=10_000)?).unwrap_or(u32::MAX),
            total: source.seconds("DAS_ASK_RUN_TIMEOUT_S", 1..=86_400)?,
        },
    })
}

fn endpoint(source: &Source) -> Result<Endpoint, SettingError> {
    let protocol = match source.text("DAS_LLM_PROTOCOL").as_str() {
        "anthropic" => Protocol::Anthropic,
        "openai" => Protocol::OpenAi,
        other => {
            return Err(invalid("DAS_LLM_PROTOCOL", format!("{other:?} is neither anthropic nor openai")));
        }
    };
    let base = source.text_or(
        "DAS_LLM_BASE_URL",
        match protocol {
            Protocol::Anthropic => "https://api.anthropic.com",
            Protocol::OpenAi => "https://api.openai.com/v1",
        },
    );
    let base: BaseUrl = base.parse().map_err(|err| invalid("DAS_LLM_BASE_URL", err))?;
    let mut endpoint = Endpoint::new(protocol, base);
    endpoint.api_key = match source.secret("DAS_LLM_API_KEY")? {
        None => source.secret("ANTHROPIC_API_KEY")?.filter(|_| protocol == Protocol::Anthropic),
        key => key,
    }
    .map(Secret::new);
    if endpoint.api_key.is_none() && source.get("DAS_LLM_BASE_URL").is_none() {
        return Err(SettingError::Missing {
            name: "DAS_LLM_API_KEY",
            need: "the provider's own endpoint takes no call without it",
        });
    }
    endpoint.max_tokens =
        u32::try_from(source.number("DAS_LLM_MAX_TOKENS", 1..=1_000_000)?).unwrap_or(u32::MAX);
    endpoint.max_tokens_field = match source.text("DAS_LLM_MAX_TOKENS_FIELD").as_str() {
        "max_completion_tokens" => MaxTokensField::MaxCompletionTokens,
        "max_tokens" => MaxTokensField::MaxTokens,
        other => {
            return Err(invalid(
                "DAS_LLM_MAX_TOKENS_FIELD",
                format!("{other:?} is neither max_completion_tokens nor max_tokens"),
            ));
        }
    };
    endpoint.accept_degraded = source.switch("DAS_LLM_ACCEPT_DEGRADED")?;
    if !endpoint.accept_degraded && !protocol.lacks().is_empty() {
        let lacks: Vec<&str> = protocol.lacks().iter().map(|lack| lack.name()).collect();
        let reason = format!(
            "the {} protocol lacks {}; set it to true to run without",
            protocol.name(),
            lacks.join(", ")
        );
        return Err(invalid("DAS_LLM_ACCEPT_DEGRADED", reason));
    }
    endpoint.caller_key = source.secret("DAS_LLM_CALLER_KEY_SECRET")?.map(Secret::new);
    endpoint.limits.first_byte = source.seconds("DAS_LLM_FIRST_BYTE_S", 1..=3600)?;
    endpoint.limits.idle = source.seconds("DAS_LLM_IDLE_S", 1..=3600)?;
    endpoint.limits.total = source.seconds("DAS_LLM_TURN_S", 1..=3600)?;
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDED: [(&str, &str); 4] = [
        ("DAS_ENTRA_ISSUER", "https://login.example/t/v2.0"),
        ("DAS_APIM_BASE", "https://gateway.example"),
        ("DAS_MODEL", "some-model"),
        ("DAS_LLM_API_KEY", "canary-key"),
    ];

    fn with(more: &[(&str, &str)]) -> Result<Settings, SettingError> {
        Settings::read(&NEEDED.iter().chain(more).copied().collect())
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        let settings = with(&[]).unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8091");
        assert_eq!(settings.mount, "/ask");
        assert_eq!(settings.retention.ttl.as_secs(), 900);
        assert_eq!(settings.retention.max_events, 1000);
        assert_eq!(settings.policy.audiences, ["api://data-agent-service"]);
        assert_eq!(settings.policy.scope_claims, ["scp", "roles"]);
        assert_eq!(settings.policy.role_claims, ["roles"]);
        assert_eq!(settings.policy.required_scope, "access_as_user");
        assert_eq!(settings.policy.jwks_url, "https://login.example/t/discovery/v2.0/keys");
        assert_eq!(settings.runs.effort, Effort::High);
        assert_eq!(settings.runs.ceilings.model_turns, 16);
        assert_eq!(settings.runs.endpoint.max_tokens, 16_000);
        let urls: Vec<&str> = settings.runs.servers.iter().map(|server| server.config.url.as_str()).collect();
        assert_eq!(urls, ["https://gateway.example/warehouse/mcp", "https://gateway.example/om/mcp"]);
    }

    #[test]
    fn a_bad_value_is_said_of_its_setting_in_one_line() {
        for (name, value) in [
            ("DAS_ASK_PORT", "70000"),
            ("DAS_ASK_PORT", "x"),
            ("DAS_ASK_TTL_S", "0"),
            ("DAS_ASK_TTL_S", "-1"),
            ("DAS_ASK_MAX_EVENTS", "many"),
            ("DAS_ASK_PATH", "ask"),
            ("DAS_ENTRA_ISSUER", "login"),
            ("DAS_ENTRA_JWKS_URL", "file:///keys"),
            ("DAS_AGENT_AUDIENCE", ","),
            ("DAS_REQUIRED_SCOPE", "a b"),
            ("DAS_SCOPE_CLAIMS", ","),
            ("DAS_ROLE_CLAIMS", "sub"),
            ("DAS_LLM_PROTOCOL", "grpc"),
            ("DAS_LLM_BASE_URL", "nowhere"),
            ("DAS_LLM_MAX_TOKENS", "0"),
            ("DAS_LLM_MAX_TOKENS_FIELD", "max_output_tokens"),
            ("DAS_LLM_ACCEPT_DEGRADED", "perhaps"),
            ("DAS_EFFORT", "extreme"),
            ("DAS_MAX_STEPS", "0"),
            ("DAS_SOURCES", "[{]"),
            ("DAS_MCP_SERVERS", "{}"),
            ("DAS_APIM_BASE", "gateway"),
            ("DAS_ASK_GROUNDING", "2"),
            ("DAS_ASK_LOG", "loud"),
        ] {
            let err = with(&[(name, value)]).unwrap_err().to_string();
            assert!(err.contains(name), "{name}={value}: {err}");
            assert!(!err.contains('\n') && !err.contains("canary"), "{err}");
        }
        for (name, _) in NEEDED {
            let rest = NEEDED.iter().filter(|(other, _)| *other != name).copied();
            let err = Settings::read(&rest.collect()).unwrap_err().to_string();
            assert!(err.starts_with(name), "{err}");
        }
    }

    #[test]
    fn the_openai_protocol_runs_only_when_its_lacks_are_accepted() {
        let err = with(&[("DAS_LLM_PROTOCOL", "openai")]).unwrap_err().to_string();
        assert!(err.starts_with("DAS_LLM_ACCEPT_DEGRADED"), "{err}");
        assert!(with(&[("DAS_LLM_PROTOCOL", "openai"), ("DAS_LLM_ACCEPT_DEGRADED", "true")]).is_ok());
    }

    #[test]
    fn a_server_that_knows_only_the_former_name_of_the_output_limit_is_given_it() {
        let field = |more: &[(&str, &str)]| with(more).unwrap().runs.endpoint.max_tokens_field;
        assert_eq!(field(&[]), MaxTokensField::MaxCompletionTokens);
        assert_eq!(field(&[("DAS_LLM_MAX_TOKENS_FIELD", "max_tokens")]), MaxTokensField::MaxTokens);
    }

    #[test]
    fn an_env_file_is_read_as_it_stands() {
        let text = "# a comment\n\nDAS_MODEL=m # not one\nexport DAS_EFFORT='low'\nDAS_SOURCES=[{\"name\":\"a\",\"kind\":\"b\"}]\nEMPTY=\n";
        let lines = env_lines("file", text).unwrap();
        let expected = [
            ("DAS_MODEL", "m # not one"),
            ("DAS_EFFORT", "low"),
            ("DAS_SOURCES", "[{\"name\":\"a\",\"kind\":\"b\"}]"),
            ("EMPTY", ""),
        ];
        assert_eq!(lines, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (text, line) in [("A=1\ncanary", 2), ("=canary", 1), ("a b=canary", 1)] {
            let err = env_lines("file", text).unwrap_err().to_string();
            assert!(err.contains(&format!("line {line} ")) && !err.contains("canary"), "{err}");
        }
    }

    #[test]
    fn no_secret_shows_in_debug() {
        let settings = with(&[("DAS_OM_SUBSCRIPTION_KEY", "canary"), ("DAS_ASK_ID_KEY", "canary")]).unwrap();
        assert!(!format!("{settings:?}").contains("canary"));
    }
}
