//! The settings, read once from the environment and checked at the start.

use std::time::Duration;

use ask_auth::{Policy, PolicyError};

use crate::engine::Limits;

/// The most bytes of values that a result has.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Everything that the environment decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whose tokens are accepted.
    pub policy: Policy,
    /// Where the sources' MCP server is mounted.
    pub warehouse_path: String,
    /// Where the catalog's MCP server is mounted.
    pub catalog_path: String,
    /// How many calls a caller may make in a window.
    pub rate_calls: usize,
    /// The window.
    pub rate_window: Duration,
    /// What a statement may take.
    pub limits: Limits,
    /// The names, besides those of this machine, by which the server is reached.
    pub hosts: Vec<String>,
    /// The address under which clients reach the server, when a gateway stands before it.
    pub public_url: Option<String>,
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {wrong}")]
pub struct SettingError {
    /// The setting's name.
    pub name: &'static str,
    /// What is wrong with it.
    pub wrong: String,
}

impl SettingError {
    fn new(name: &'static str, wrong: impl Into<String>) -> Self {
        Self { name, wrong: wrong.into() }
    }
}

impl Settings {
    /// Reads the settings through `lookup`, which gives a variable's value. A blank value counts as none.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be used, by its name.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, SettingError> {
        let get =
            |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let issuer = get("DAS_ENTRA_ISSUER").ok_or_else(|| {
            SettingError::new("DAS_ENTRA_ISSUER", "is not set; it names the issuer of the tokens")
        })?;
        let audience = get("DAS_AGENT_AUDIENCE").unwrap_or_else(|| "api://data-agent-service".to_owned());
        let scope = get("DAS_REQUIRED_SCOPE").unwrap_or_else(|| "access_as_user".to_owned());
        let mut policy = Policy::new(issuer, audience, scope);
        if let Some(url) = get("DAS_ENTRA_JWKS_URL") {
            policy = policy.with_jwks_url(url);
        }
        if let Some(names) = get("DAS_SCOPE_CLAIMS") {
            policy = policy.with_scope_claims(&names);
        }
        if let Some(names) = get("DAS_ROLE_CLAIMS") {
            policy = policy.with_role_claims(&names);
        }
        policy.validate().map_err(policy_error)?;
        let warehouse_path = path("DAS_WAREHOUSE_MCP_PATH", get("DAS_WAREHOUSE_MCP_PATH"), "/warehouse/mcp")?;
        let catalog_path = path("DAS_OM_MCP_PATH", get("DAS_OM_MCP_PATH"), "/om/mcp")?;
        if warehouse_path == catalog_path {
            return Err(SettingError::new("DAS_OM_MCP_PATH", "must differ from DAS_WAREHOUSE_MCP_PATH"));
        }
        let number = |name, default, most| number(name, get(name), default, most);
        let seconds = |name, default, most| -> Result<Duration, SettingError> {
            Ok(Duration::from_secs(number(name, default, most)?))
        };
        let count = |name, default, most| -> Result<usize, SettingError> {
            usize::try_from(number(name, default, most)?)
                .map_err(|_too_large| SettingError::new(name, "is too large for this machine"))
        };
        Ok(Self {
            policy,
            warehouse_path,
            catalog_path,
            rate_calls: count("DAS_RATE_CALLS", 60, 1_000_000)?,
            rate_window: seconds("DAS_RATE_WINDOW_S", 60, 86_400)?,
            limits: Limits {
                max_rows: count("DAS_SQL_MAX_ROWS", 500, 100_000)?,
                max_bytes: MAX_RESULT_BYTES,
                timeout: seconds("DAS_SQL_TIMEOUT_S", 30, 3_600)?,
            },
            hosts: hosts(get("DAS_EXECUTOR_HOSTS"))?,
            public_url: public_url(get("DAS_EXECUTOR_PUBLIC_URL"))?,
        })
    }
}

fn policy_error(err: PolicyError) -> SettingError {
    let name = match err {
        PolicyError::Issuer => "DAS_ENTRA_ISSUER",
        PolicyError::Audience => "DAS_AGENT_AUDIENCE",
        PolicyError::Scope => "DAS_REQUIRED_SCOPE",
        PolicyError::ScopeClaims => "DAS_SCOPE_CLAIMS",
        PolicyError::RoleClaims => "DAS_ROLE_CLAIMS",
        PolicyError::JwksUrl => "DAS_ENTRA_JWKS_URL",
    };
    SettingError::new(name, format!("cannot be used: {err}"))
}

fn number(name: &'static str, value: Option<String>, default: u64, most: u64) -> Result<u64, SettingError> {
    let Some(value) = value else {
        return Ok(default);
    };
    value.parse().ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        SettingError::new(name, format!("must be a whole number from 1 to {most}, not {value:?}"))
    })
}

fn path(name: &'static str, value: Option<String>, default: &str) -> Result<String, SettingError> {
    let path = value.unwrap_or_else(|| default.to_owned());
    let plain = path.len() > 1
        && path.starts_with('/')
        && !path.ends_with('/')
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte));
    if plain {
        Ok(path)
    } else {
        Err(SettingError::new(name, format!("must be a path such as {default}, not {path:?}")))
    }
}

fn hosts(value: Option<String>) -> Result<Vec<String>, SettingError> {
    let list: Vec<String> = value
        .unwrap_or_default()
        .split(',')
        .map(|host| host.trim().to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    match list.iter().find(|host| host.contains(['/', ' ', '*', '@'])) {
        Some(bad) => Err(SettingError::new(
            "DAS_EXECUTOR_HOSTS",
            format!("must be host names with or without a port, between commas; {bad:?} is none"),
        )),
        None => Ok(list),
    }
}

fn public_url(value: Option<String>) -> Result<Option<String>, SettingError> {
    match value {
        None => Ok(None),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            Ok(Some(url.trim_end_matches('/').to_owned()))
        }
        Some(url) => Err(SettingError::new(
            "DAS_EXECUTOR_PUBLIC_URL",
            format!("must be an http or https address, not {url:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Settings, SettingError> {
        Settings::read(|name| {
            set.iter()
                .rev()
                .chain(&[("DAS_ENTRA_ISSUER", "http://127.0.0.1:1/t/v2.0")])
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn only_the_issuer_has_no_default() {
        let settings = read(&[("DAS_SQL_MAX_ROWS", " ")]).unwrap();
        assert_eq!(settings.policy.jwks_url, "http://127.0.0.1:1/t/discovery/v2.0/keys");
        assert_eq!(settings.policy.audiences, ["api://data-agent-service"]);
        assert_eq!(settings.policy.scope_claims, ["scp", "roles"]);
        assert_eq!(settings.policy.role_claims, ["roles"]);
        assert_eq!((settings.rate_calls, settings.rate_window.as_secs()), (60, 60));
        assert_eq!((settings.limits.max_rows, settings.limits.timeout.as_secs()), (500, 30));
        assert_eq!(
            (settings.warehouse_path.as_str(), settings.catalog_path.as_str()),
            ("/warehouse/mcp", "/om/mcp")
        );
        assert_eq!(Settings::read(|_| None).unwrap_err().name, "DAS_ENTRA_ISSUER");
    }

    #[test]
    fn another_provider_names_its_claims_and_audiences() {
        let settings = read(&[
            ("DAS_AGENT_AUDIENCE", "api://ask, 0f3c"),
            ("DAS_SCOPE_CLAIMS", "scope"),
            ("DAS_ROLE_CLAIMS", "groups, roles"),
        ])
        .unwrap();
        assert_eq!(settings.policy.audiences, ["api://ask", "0f3c"]);
        assert_eq!(settings.policy.scope_claims, ["scope"]);
        assert_eq!(settings.policy.role_claims, ["groups", "roles"]);
    }

    #[test]
    fn a_bad_value_is_named_in_one_line() {
        for (name, value) in [
            ("DAS_ENTRA_ISSUER", "nonsense"),
            ("DAS_ENTRA_JWKS_URL", "file:///x"),
            ("DAS_AGENT_AUDIENCE", " , "),
            ("DAS_REQUIRED_SCOPE", "two words"),
            ("DAS_SCOPE_CLAIMS", ","),
            ("DAS_ROLE_CLAIMS", "roles,sub"),
            ("DAS_WAREHOUSE_MCP_PATH", "warehouse"),
            ("DAS_WAREHOUSE_MCP_PATH", "/{x}"),
            ("DAS_OM_MCP_PATH", "/warehouse/mcp"),
            ("DAS_RATE_CALLS", "0"),
            ("DAS_RATE_CALLS", "many"),
            ("DAS_RATE_WINDOW_S", "-1"),
            ("DAS_SQL_MAX_ROWS", "1e3"),
            ("DAS_SQL_TIMEOUT_S", "99999999999999999999"),
            ("DAS_EXECUTOR_HOSTS", "a/b"),
            ("DAS_EXECUTOR_PUBLIC_URL", "ftp://x"),
        ] {
            let err = read(&[(name, value)]).unwrap_err();
            assert_eq!(err.name, name, "{value}");
            let line = err.to_string();
            assert!(line.starts_with(name) && !line.contains('\n'), "{line}");
        }
    }
}
