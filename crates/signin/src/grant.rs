//! What a token endpoint answers: tokens, or why there are none.

use serde::Deserialize;

use crate::secret::Secret;
use crate::web::Answer;

/// The longest of a peer's sentences that is passed on, in characters.
const LONGEST_TOLD: usize = 300;

/// Tokens.
#[derive(Debug, Deserialize)]
pub struct Granted {
    /// For the service.
    pub access_token: Secret,
    /// For the next tokens, where the provider gives one.
    pub refresh_token: Option<Secret>,
    /// Who signed in, where the provider says so.
    pub id_token: Option<Secret>,
    /// Seconds that the access token lives, where the provider says so; some say it as text.
    #[serde(default, deserialize_with = "seconds")]
    pub expires_in: Option<i64>,
    token_type: Option<String>,
}

/// Why there are no tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The provider's own reason.
    #[error("the provider answered {status}: {told}")]
    Told {
        /// The status of the answer.
        status: u16,
        /// The code of RFC 6749 or RFC 8628.
        code: String,
        /// That code, and its sentence where there is one; a peer's text.
        told: String,
    },
    /// An answer that is none of OAuth's.
    #[error("the provider answered {status} without a reason")]
    Untold {
        /// The status of the answer.
        status: u16,
    },
    /// A success without tokens that can be used here.
    #[error("the provider's answer holds no bearer token")]
    NoToken,
}

impl Refused {
    /// The provider's code, if it gave one.
    pub fn code(&self) -> &str {
        match self {
            Self::Told { code, .. } => code,
            Self::Untold { .. } | Self::NoToken => "",
        }
    }
}

#[derive(Deserialize)]
struct Reason {
    error: String,
    error_description: Option<String>,
}

impl Granted {
    /// Reads an answer of a token endpoint.
    ///
    /// # Errors
    ///
    /// When the provider refuses, or gives no bearer token.
    pub fn read(answer: &Answer) -> Result<Self, Refused> {
        if !answer.is_success() {
            return Err(refused(answer));
        }
        let granted: Self = answer.json().ok_or(Refused::NoToken)?;
        // A token of another type (DPoP, MAC) is worth nothing without a proof that is not made here.
        if granted.token_type.as_deref().is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(Refused::NoToken);
        }
        Ok(granted)
    }
}

/// Reads a refusal.
pub fn refused(answer: &Answer) -> Refused {
    let status = answer.status;
    let Some(Reason { error, error_description }) = answer.json() else { return Refused::Untold { status } };
    let told = match error_description {
        Some(description) => format!("{error}: {description}"),
        None => error.clone(),
    };
    Refused::Told { status, code: error, told: told.chars().take(LONGEST_TOLD).collect() }
}

/// A number of seconds, as a number or as text.
fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(f64),
        Text(String),
        Other(serde::de::IgnoredAny),
    }
    let seconds = match Option::<Either>::deserialize(deserializer)? {
        Some(Either::Number(number)) => Some(number),
        Some(Either::Text(text)) => text.parse().ok(),
        Some(Either::Other(_)) | None => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range; a fraction is of no matter")]
    let whole = |number: f64| number as i64;
    Ok(seconds.filter(|number| (1.0..=1e9).contains(number)).map(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(json: &str) -> Option<Granted> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn a_life_is_a_positive_number_of_seconds_or_unknown() {
        for (member, seconds) in [
            (r#","expires_in":3599"#, Some(3599)),
            (r#","expires_in":"3599""#, Some(3599)),
            (r#","expires_in":12.5"#, Some(12)),
            (r#","expires_in":0"#, None),
            (r#","expires_in":-5"#, None),
            (r#","expires_in":1e300"#, None),
            (r#","expires_in":"soon""#, None),
            (r#","expires_in":null"#, None),
            (r#","expires_in":[1]"#, None),
            ("", None),
        ] {
            let read = granted(&format!(r#"{{"access_token":"a"{member}}}"#)).unwrap();
            assert_eq!(read.expires_in, seconds, "{member}");
        }
        assert!(granted(r#"{"expires_in":1}"#).is_none());
        assert!(granted(r#"{"access_token":7}"#).is_none());
    }
}
