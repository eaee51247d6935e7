//! What a client sends.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

/// One question within a conversation. A member that is not listed here is refused with 422.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// The question in the asker's words; at least one character that is not blank.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub question: String,
    /// Whether the catalog's tools are offered. `false` is the ablation: the same agent without stated meanings.
    #[serde(default = "with_context")]
    pub context: bool,
    /// The model for this ask instead of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub model: Option<String>,
    /// The effort for this ask instead of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Seconds after which the run is broken off, if that is sooner than the service's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_seconds")]
    #[schemars(range(min = 1, max = u32::MAX))]
    pub deadline_s: Option<u32>,
}

/// JSON has one kind of number: `30.0` is as whole as `30`.
fn whole_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        // Exact below 2^53, and nothing that large is let through.
        format!("{float:.0}").parse().ok()
    });
    let seconds = whole.and_then(|whole| u32::try_from(whole).ok()).filter(|seconds| *seconds > 0);
    seconds.map(Some).ok_or_else(|| D::Error::custom("must be a whole number of seconds, 1 to 4294967295"))
}

const fn with_context() -> bool {
    true
}

/// How hard the model should try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Effort {
    /// Quick and cheap.
    Low,
    /// In between.
    Medium,
    /// The default.
    High,
    /// More than the default.
    Xhigh,
    /// Whatever it takes.
    Max,
}

impl Effort {
    /// Every effort, weakest first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEffort;

impl fmt::Display for UnknownEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of low, medium, high, xhigh, max")
    }
}

impl std::error::Error for UnknownEffort {}

impl FromStr for Effort {
    type Err = UnknownEffort;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == text).ok_or(UnknownEffort)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_on_unless_said_otherwise() {
        let ask: AskRequest = serde_json::from_str(r#"{"question":"How many?"}"#).unwrap();
        assert!(ask.context);
        assert_eq!((ask.model, ask.effort), (None, None));
    }

    #[test]
    fn an_unknown_member_is_refused() {
        let refused = serde_json::from_str::<AskRequest>(r#"{"question":"How many?","temperature":1}"#);
        assert!(refused.unwrap_err().to_string().contains("temperature"));
    }

    #[test]
    fn every_effort_reads_back_from_its_word() {
        for effort in Effort::ALL {
            assert_eq!(effort.as_str().parse(), Ok(effort));
            assert_eq!(serde_json::to_value(effort).unwrap(), effort.as_str());
        }
        assert_eq!("extreme".parse::<Effort>(), Err(UnknownEffort));
    }
}
