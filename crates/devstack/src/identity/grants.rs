//! Grants that take more than one request: device codes and refresh tokens. Pure, over a time that is handed in.

use std::collections::{HashMap, VecDeque};

use data_encoding::BASE64URL_NOPAD;

use super::person::Person;

/// The most device codes waiting at once.
const MAX_DEVICES: usize = 1000;
/// The most refresh tokens that can be redeemed; the oldest go first.
const MAX_REFRESH: usize = 10_000;
/// Letters of a code that a person types: no vowels, so that no word comes about, and nothing that looks like another.
const CODE_LETTERS: &str = "BCDFGHJKLMNPQRSTVWXZ";

/// What is waiting for its next request.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    devices: HashMap<String, Device>,
    refresh: HashMap<String, Refresh>,
    refresh_order: VecDeque<String>,
}

/// A device waiting for a person.
#[derive(Debug)]
struct Device {
    user_code: String,
    client_id: String,
    expires_at: i64,
    interval: i64,
    last_poll: Option<i64>,
    decision: Option<Decision>,
}

/// What the person said.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Decision {
    Approved(&'static Person),
    Declined,
}

#[derive(Debug, Clone)]
struct Refresh {
    person: &'static Person,
    client_id: String,
}

/// The codes of a device that may begin to poll.
#[derive(Debug, Clone)]
pub(crate) struct DeviceCodes {
    pub(crate) device_code: String,
    pub(crate) user_code: String,
}

/// Why there is no token, by the names of RFC 6749 and RFC 8628.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantError {
    InvalidRequest,
    InvalidGrant,
    InvalidScope,
    UnsupportedGrantType,
    AuthorizationPending,
    SlowDown,
    ExpiredToken,
    AccessDenied,
    TemporarilyUnavailable,
    ServerError,
}

impl GrantError {
    /// The `error` member of the answer.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidScope => "invalid_scope",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::AccessDenied => "access_denied",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::ServerError => "server_error",
        }
    }
}

impl Grants {
    /// Gives codes to a device.
    pub(crate) fn begin_device(
        &mut self,
        client_id: &str,
        now: i64,
        lives: i64,
        interval: i64,
    ) -> Result<DeviceCodes, GrantError> {
        self.devices.retain(|_, device| device.expires_at.saturating_add(60) > now);
        if self.devices.len() >= MAX_DEVICES {
            return Err(GrantError::TemporarilyUnavailable);
        }
        let codes = DeviceCodes { device_code: secret()?, user_code: user_code()? };
        self.devices.insert(
            codes.device_code.clone(),
            Device {
                user_code: codes.user_code.clone(),
                client_id: client_id.to_owned(),
                expires_at: now.saturating_add(lives),
                interval,
                last_poll: None,
                decision: None,
            },
        );
        Ok(codes)
    }

    /// Records what the person said at the verification page. The code is read without regard to case and dashes.
    pub(crate) fn decide(&mut self, user_code: &str, now: i64, decision: Decision) -> Result<(), GrantError> {
        let letters = |code: &str| {
            code.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase()
        };
        let typed = letters(user_code);
        let device = self
            .devices
            .values_mut()
            .find(|device| {
                letters(&device.user_code) == typed && device.decision.is_none() && device.expires_at > now
            })
            .ok_or(GrantError::InvalidGrant)?;
        device.decision = Some(decision);
        Ok(())
    }

    /// A device asks whether the person has decided.
    pub(crate) fn poll_device(
        &mut self,
        device_code: &str,
        client_id: &str,
        now: i64,
    ) -> Result<&'static Person, GrantError> {
        let device = self.devices.get_mut(device_code).ok_or(GrantError::InvalidGrant)?;
        if device.client_id != client_id {
            return Err(GrantError::InvalidGrant);
        }
        if device.expires_at <= now {
            self.devices.remove(device_code);
            return Err(GrantError::ExpiredToken);
        }
        if let Some(decision) = device.decision {
            self.devices.remove(device_code);
            return match decision {
                Decision::Approved(person) => Ok(person),
                Decision::Declined => Err(GrantError::AccessDenied),
            };
        }
        let too_fast = device.last_poll.is_some_and(|last| now.saturating_sub(last) < device.interval);
        device.last_poll = Some(now);
        if too_fast {
            device.interval = device.interval.saturating_add(5);
            return Err(GrantError::SlowDown);
        }
        Err(GrantError::AuthorizationPending)
    }

    /// Gives out a refresh token.
    pub(crate) fn remember(
        &mut self,
        person: &'static Person,
        client_id: &str,
    ) -> Result<String, GrantError> {
        let token = secret()?;
        if self.refresh.len() >= MAX_REFRESH
            && let Some(oldest) = self.refresh_order.pop_front()
        {
            self.refresh.remove(&oldest);
        }
        self.refresh.insert(token.clone(), Refresh { person, client_id: client_id.to_owned() });
        self.refresh_order.push_back(token.clone());
        Ok(token)
    }

    /// Redeems a refresh token, which is then spent.
    pub(crate) fn redeem(&mut self, token: &str, client_id: &str) -> Result<&'static Person, GrantError> {
        let of_client = self.refresh.get(token).is_some_and(|refresh| refresh.client_id == client_id);
        let refresh = if of_client { self.refresh.remove(token) } else { None };
        self.refresh_order.retain(|known| known != token || !of_client);
        refresh.map(|refresh| refresh.person).ok_or(GrantError::InvalidGrant)
    }
}

/// 256 random bits.
pub(crate) fn secret() -> Result<String, GrantError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_no_randomness| GrantError::ServerError)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// Eight letters, `XXXX-XXXX`.
fn user_code() -> Result<String, GrantError> {
    let mut code = String::with_capacity(9);
    while code.len() < 9 {
        let mut byte = [0];
        getrandom::fill(&mut byte).map_err(|_no_randomness| GrantError::ServerError)?;
        let [byte] = byte;
        // 240 is the largest multiple of 20 in a byte; beyond it some letters would come more often.
        if byte < 240
            && let Some(letter) = CODE_LETTERS.chars().nth(usize::from(byte) % CODE_LETTERS.len())
        {
            if code.len() == 4 {
                code.push('-');
            }
            code.push(letter);
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::super::person::find;
    use super::*;

    fn begun() -> (Grants, DeviceCodes) {
        let mut grants = Grants::default();
        let codes = grants.begin_device("cli", 100, 900, 5).unwrap();
        (grants, codes)
    }

    #[test]
    fn a_device_waits_until_the_person_has_decided() {
        let (mut grants, codes) = begun();
        assert_eq!(codes.user_code.len(), 9);
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 100), Err(GrantError::AuthorizationPending));
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 105), Err(GrantError::AuthorizationPending));
        let typed = codes.user_code.replace('-', " ").to_lowercase();
        grants.decide(&typed, 106, Decision::Approved(find("alice").unwrap())).unwrap();
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 110).unwrap().username, "alice");
        assert_eq!(
            grants.poll_device(&codes.device_code, "cli", 115),
            Err(GrantError::InvalidGrant),
            "redeemed once"
        );
    }

    #[test]
    fn a_device_that_polls_too_fast_is_slowed_down_further() {
        let (mut grants, codes) = begun();
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 100), Err(GrantError::AuthorizationPending));
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 104), Err(GrantError::SlowDown));
        assert_eq!(
            grants.poll_device(&codes.device_code, "cli", 113),
            Err(GrantError::SlowDown),
            "10 s by now"
        );
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 128), Err(GrantError::AuthorizationPending));
    }

    #[test]
    fn a_device_code_expires_and_can_be_declined_and_is_its_clients_own() {
        let (mut grants, codes) = begun();
        assert_eq!(grants.poll_device(&codes.device_code, "other", 100), Err(GrantError::InvalidGrant));
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 1000), Err(GrantError::ExpiredToken));
        let (mut grants, codes) = begun();
        assert_eq!(grants.decide("BBBB-0000", 100, Decision::Declined), Err(GrantError::InvalidGrant));
        assert_eq!(grants.decide(&codes.user_code, 1000, Decision::Declined), Err(GrantError::InvalidGrant));
        grants.decide(&codes.user_code, 100, Decision::Declined).unwrap();
        assert_eq!(grants.poll_device(&codes.device_code, "cli", 100), Err(GrantError::AccessDenied));
    }

    #[test]
    fn devices_stay_bounded() {
        let mut grants = Grants::default();
        for _ in 0..MAX_DEVICES {
            grants.begin_device("cli", 100, 900, 5).unwrap();
        }
        assert_eq!(grants.begin_device("cli", 100, 900, 5).unwrap_err(), GrantError::TemporarilyUnavailable);
        assert!(grants.begin_device("cli", 2000, 900, 5).is_ok());
    }

    #[test]
    fn a_refresh_token_is_spent_by_its_use_and_its_clients_own() {
        let mut grants = Grants::default();
        let token = grants.remember(find("bob").unwrap(), "cli").unwrap();
        assert_eq!(grants.redeem(&token, "other"), Err(GrantError::InvalidGrant));
        assert_eq!(grants.redeem(&token, "cli").unwrap().username, "bob");
        assert_eq!(grants.redeem(&token, "cli"), Err(GrantError::InvalidGrant));
        assert!(grants.refresh_order.is_empty());
    }
}
