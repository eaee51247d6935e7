//! The environment this process was started in, read once, and what of it each child gets to see.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables that every program may see: where things are, how text is written, what is logged.
const COMMON: [&str; 12] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "TZ",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "NO_COLOR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "LLVM_PROFILE_FILE",
];
/// What the deployment's settings begin with.
const SETTINGS: &str = "DAS_";
/// What the standard variables of OpenTelemetry begin with.
const OPEN_TELEMETRY: &str = "OTEL_";
/// Settings that are the service's alone, among them the keys of others.
const SERVICE_ALONE: [&str; 5] =
    ["DAS_LLM_", "DAS_OM_SUBSCRIPTION_KEY", "DAS_MCP_SERVERS", "DAS_ASK_", "ANTHROPIC_API_KEY"];

/// Environment variables by name.
#[derive(Clone, Default)]
pub(crate) struct Surroundings(BTreeMap<OsString, OsString>);

impl Surroundings {
    /// Those of this process.
    pub(crate) fn read() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// A variable's value, unless it is absent, empty or no text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(OsStr::new(name)).and_then(|value| value.to_str()).filter(|value| !value.trim().is_empty())
    }

    /// A variable's value as it is.
    pub(crate) fn raw(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The service's environment: all settings of the deployment, then `ours` over them.
    pub(crate) fn for_service(&self, ours: &[(&str, String)]) -> Vec<(OsString, OsString)> {
        self.select(ours, |name| {
            name.starts_with(SETTINGS) || name.starts_with(OPEN_TELEMETRY) || name == "ANTHROPIC_API_KEY"
        })
    }

    /// The executor's environment: no key of the model's, nor anything else that is the service's.
    pub(crate) fn for_executor(&self, ours: &[(&str, String)]) -> Vec<(OsString, OsString)> {
        self.select(ours, |name| {
            name.starts_with(SETTINGS) && !SERVICE_ALONE.iter().any(|prefix| name.starts_with(prefix))
        })
    }

    fn select(&self, ours: &[(&str, String)], wanted: impl Fn(&str) -> bool) -> Vec<(OsString, OsString)> {
        let mut selected: BTreeMap<OsString, OsString> = self
            .0
            .iter()
            .filter(|(name, _)| name.to_str().is_some_and(|name| COMMON.contains(&name) || wanted(name)))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        selected.extend(ours.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        selected.into_iter().collect()
    }
}

impl std::fmt::Debug for Surroundings {
    // Values may be keys.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Surroundings {
    fn from(vars: [(&str, &str); N]) -> Self {
        Self(vars.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_child_sees_its_own_settings_and_no_one_elses_keys() {
        let around = Surroundings::from([
            ("PATH", "/bin"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("DAS_LLM_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "k"),
            ("DAS_ASK_TTL_S", "9"),
            ("DAS_SQL_MAX_ROWS", "7"),
            ("DAS_ENTRA_ISSUER", "elsewhere"),
        ]);
        let ours = [("DAS_ENTRA_ISSUER", "here".to_owned())];
        let names = |env: Vec<(OsString, OsString)>| -> Vec<String> {
            env.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect()
        };
        assert_eq!(
            names(around.for_executor(&ours)),
            ["DAS_ENTRA_ISSUER=here", "DAS_SQL_MAX_ROWS=7", "PATH=/bin"]
        );
        assert_eq!(
            names(around.for_service(&ours)),
            [
                "ANTHROPIC_API_KEY=k",
                "DAS_ASK_TTL_S=9",
                "DAS_ENTRA_ISSUER=here",
                "DAS_LLM_API_KEY=k",
                "DAS_SQL_MAX_ROWS=7",
                "PATH=/bin"
            ]
        );
        assert!(!format!("{around:?}").contains("\"k\""));
    }
}
