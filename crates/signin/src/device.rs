//! Signing in from a device without a browser (RFC 8628): a code for the person, and patience.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until};

use crate::address::{Address, InvalidAddress};
use crate::grant::{Granted, Refused, refused};
use crate::provider::Provider;
use crate::secret::Secret;
use crate::web::{Web, WebError};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The pause between two polls where the provider names none (RFC 8628, 3.2).
const USUAL_PAUSE: Duration = Duration::from_secs(5);
/// By how much it grows when the provider says so (RFC 8628, 3.5).
const SLOWER_BY: Duration = Duration::from_secs(5);
/// The bounds of the pause, whatever the provider says.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The longest that a person is waited for, whatever the provider says.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// The longest code that a person can be asked to type.
const LONGEST_CODE: usize = 64;

/// What a client asks for.
#[derive(Debug, Clone)]
pub struct Order {
    /// By what name the provider knows the client.
    pub client_id: String,
    /// What the token is to be good for, between blanks.
    pub scope: String,
    /// The resource that the token is for (RFC 8707), where the provider wants it named.
    pub resource: Option<String>,
    /// The audience that the token is for, where the provider wants it named in this way of its own.
    pub audience: Option<String>,
}

impl Order {
    /// The fields that every request of this client has, then `more`.
    pub fn form<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut form = vec![("client_id", self.client_id.as_str()), ("scope", self.scope.as_str())];
        form.extend(self.resource.as_deref().map(|resource| ("resource", resource)));
        form.extend(self.audience.as_deref().map(|audience| ("audience", audience)));
        form.extend(more);
        form
    }
}

/// A sign-in that waits for its person.
#[derive(Debug)]
pub struct Pending {
    /// Where the person goes.
    pub page: Address,
    /// The same with the code in it.
    pub page_with_code: Option<Address>,
    /// What the person types there; a peer's text.
    pub user_code: String,
    /// How long the code counts.
    pub lives: Duration,
    device_code: Secret,
    pause: Duration,
    until: Instant,
}

/// Why nobody signed in.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The provider does not do this.
    #[error("the provider signs no devices in: its discovery document has no device_authorization_endpoint")]
    NotOffered,
    /// The provider was not reached.
    #[error("the provider can't be asked")]
    Web(#[source] WebError),
    /// The provider gives no code, or no token.
    #[error("the provider refuses")]
    Refused(#[source] Refused),
    /// An answer without what a person needs.
    #[error("the provider's answer holds no code that can be used")]
    NoCode,
    /// A page that no person should be sent to.
    #[error("the provider's page can't be used")]
    Page(#[source] InvalidAddress),
    /// The person said no.
    #[error("the sign-in was declined")]
    Declined,
    /// Nobody came in time.
    #[error("nobody signed in before the code expired")]
    Expired,
}

#[derive(Deserialize)]
struct Codes {
    device_code: Secret,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

impl Pending {
    /// Asks the provider for a code.
    ///
    /// # Errors
    ///
    /// When there is none, or a person can't be asked to use it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: an unused code expires.
    pub async fn begin(web: &Web, provider: &Provider, order: &Order) -> Result<Self, DeviceError> {
        let endpoint = provider.device.as_ref().ok_or(DeviceError::NotOffered)?;
        let answer = web.post(endpoint, &order.form(&[])).await.map_err(DeviceError::Web)?;
        if !answer.is_success() {
            return Err(DeviceError::Refused(refused(&answer)));
        }
        let codes: Codes = answer.json().ok_or(DeviceError::NoCode)?;
        let user_code = codes.user_code.trim().to_owned();
        if user_code.is_empty() || user_code.chars().count() > LONGEST_CODE {
            return Err(DeviceError::NoCode);
        }
        let page = Address::parse(&codes.verification_uri).map_err(DeviceError::Page)?;
        let page_with_code = codes.verification_uri_complete.and_then(|page| Address::parse(&page).ok());
        let lives = codes.expires_in.map_or(Duration::from_secs(600), Duration::from_secs).min(LONGEST_WAIT);
        let pause = codes.interval.map_or(USUAL_PAUSE, Duration::from_secs).clamp(PAUSES.0, PAUSES.1);
        let until = Instant::now() + lives;
        Ok(Self { page, page_with_code, user_code, lives, device_code: codes.device_code, pause, until })
    }

    /// Waits for the person, by asking the provider as seldom as it wants.
    ///
    /// # Errors
    ///
    /// When the person declines or does not come, or the provider fails in a way that waiting does not mend.
    ///
    /// # Cancel safety
    ///
    /// Dropped in mid-poll it may leave tokens that nobody has; they expire.
    pub async fn granted(
        self,
        web: &Web,
        provider: &Provider,
        order: &Order,
    ) -> Result<Granted, DeviceError> {
        let Self { device_code, mut pause, until, .. } = self;
        let form = order.form(&[("grant_type", GRANT), ("device_code", device_code.expose())]);
        loop {
            if Instant::now() + pause >= until {
                sleep_until(until).await;
                return Err(DeviceError::Expired);
            }
            sleep(pause).await;
            // A provider that does not answer is asked less and less often, and for no longer than the code counts.
            let verdict = match web.post(&provider.token, &form).await {
                Ok(answer) if answer.status >= 500 => Verdict::Wait(pause * 2),
                Ok(answer) => judge(Granted::read(&answer), pause),
                Err(WebError::Unreachable { .. } | WebError::TimedOut { .. }) => Verdict::Wait(pause * 2),
                Err(err @ WebError::TooLarge { .. }) => return Err(DeviceError::Web(err)),
            };
            match verdict {
                Verdict::Granted(granted) => return Ok(*granted),
                Verdict::Wait(next) => pause = next.clamp(PAUSES.0, PAUSES.1),
                Verdict::Over(err) => return Err(err),
            }
        }
    }
}

/// What one poll tells.
#[derive(Debug)]
enum Verdict {
    Granted(Box<Granted>),
    Wait(Duration),
    Over(DeviceError),
}

fn judge(read: Result<Granted, Refused>, pause: Duration) -> Verdict {
    let refused = match read {
        Ok(granted) => return Verdict::Granted(Box::new(granted)),
        Err(refused) => refused,
    };
    match (refused.code(), &refused) {
        ("authorization_pending", _) => Verdict::Wait(pause),
        ("slow_down", _) | (_, Refused::Untold { status: 429 } | Refused::Told { status: 429, .. }) => {
            Verdict::Wait(pause + SLOWER_BY)
        }
        ("access_denied" | "authorization_declined", _) => Verdict::Over(DeviceError::Declined),
        ("expired_token", _) => Verdict::Over(DeviceError::Expired),
        (_, _) => Verdict::Over(DeviceError::Refused(refused)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, code: &str) -> Result<Granted, Refused> {
        Err(Refused::Told { status, code: code.to_owned(), told: code.to_owned() })
    }

    #[test]
    fn each_word_of_the_provider_has_its_consequence() {
        let pause = Duration::from_secs(5);
        let check = |read| match judge(read, pause) {
            Verdict::Granted(_) => "granted".to_owned(),
            Verdict::Wait(pause) => pause.as_secs().to_string(),
            Verdict::Over(err) => err.to_string(),
        };
        assert_eq!(check(told(400, "authorization_pending")), "5");
        assert_eq!(check(told(400, "slow_down")), "10");
        assert_eq!(check(told(429, "too_many")), "10");
        assert_eq!(check(Err(Refused::Untold { status: 429 })), "10");
        assert_eq!(check(told(400, "access_denied")), "the sign-in was declined");
        assert_eq!(check(told(400, "authorization_declined")), "the sign-in was declined");
        assert_eq!(check(told(400, "expired_token")), "nobody signed in before the code expired");
        assert_eq!(check(told(400, "invalid_grant")), "the provider refuses");
        assert_eq!(check(Err(Refused::Untold { status: 404 })), "the provider refuses");
        assert_eq!(check(Err(Refused::NoToken)), "the provider refuses");
        assert_eq!(check(Ok(serde_json::from_str(r#"{"access_token":"a"}"#).unwrap())), "granted");
    }
}
