//! Whether a request comes from Slack: its signature over the time and the body, and a time that is now.

use data_encoding::HEXLOWER_PERMISSIVE;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// How far a request's time may be from ours, in seconds; what is older may be a replay.
const WINDOW_S: u64 = 300;

/// Why a request is not Slack's, or not one of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// The headers are not there, or not in their form.
    #[error("the request carries no signature in Slack's form")]
    Missing,
    /// It was signed too long ago, or in the future.
    #[error("the request's time is more than five minutes from ours")]
    Stale,
    /// The signature is another one.
    #[error("the request's signature is not that of this app's secret")]
    Forged,
}

/// Checks the headers `X-Slack-Request-Timestamp` and `X-Slack-Signature` of a request with this body.
///
/// The comparison takes the same time whatever differs.
///
/// # Errors
///
/// When the request is not signed with `secret`, or not within five minutes of `now` (seconds since 1970).
pub fn check(secret: &str, timestamp: &str, signature: &str, body: &[u8], now: u64) -> Result<(), NotSigned> {
    let digits = (1..=12).contains(&timestamp.len()) && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let sent: u64 = timestamp.parse().ok().filter(|_| digits).ok_or(NotSigned::Missing)?;
    let mac = signature.strip_prefix("v0=").ok_or(NotSigned::Missing)?;
    let mac = HEXLOWER_PERMISSIVE.decode(mac.as_bytes()).map_err(|_no_hex| NotSigned::Missing)?;
    if sent.abs_diff(now) > WINDOW_S {
        return Err(NotSigned::Stale);
    }
    let mut expected =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_any_length_does| NotSigned::Forged)?;
    for part in [b"v0:", timestamp.as_bytes(), b":", body] {
        expected.update(part);
    }
    expected.verify_slice(&mac).map_err(|_differs| NotSigned::Forged)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of Slack's own documentation.
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const TIME: &str = "1531420618";
    const NOW: u64 = 1_531_420_618;
    const BODY: &[u8] = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const SIGNATURE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    #[test]
    fn the_documented_example_is_slacks() {
        assert_eq!(check(SECRET, TIME, SIGNATURE, BODY, NOW), Ok(()));
        assert_eq!(check(SECRET, TIME, SIGNATURE, BODY, NOW + 300), Ok(()));
    }

    #[test]
    fn anything_else_is_not() {
        let with =
            |secret, time, signature, body, now| check(secret, time, signature, body, now).unwrap_err();
        assert_eq!(with("another", TIME, SIGNATURE, BODY, NOW), NotSigned::Forged);
        assert_eq!(with(SECRET, TIME, SIGNATURE, b"token=other", NOW), NotSigned::Forged);
        assert_eq!(with(SECRET, "1531420619", SIGNATURE, BODY, NOW), NotSigned::Forged);
        assert_eq!(with(SECRET, TIME, "v0=00", BODY, NOW), NotSigned::Forged);
        assert_eq!(with(SECRET, TIME, "v0=", BODY, NOW), NotSigned::Forged);
        for now in [NOW + 301, NOW - 301, 0, u64::MAX] {
            assert_eq!(with(SECRET, TIME, SIGNATURE, BODY, now), NotSigned::Stale);
        }
        for (time, signature) in [
            ("", SIGNATURE),
            ("-1531420618", SIGNATURE),
            ("+1531420618", SIGNATURE),
            ("99999999999999999999", SIGNATURE),
            (TIME, ""),
            (TIME, "v1=a2"),
            (TIME, "v0=zz"),
        ] {
            assert_eq!(with(SECRET, time, signature, BODY, NOW), NotSigned::Missing, "{time} {signature}");
        }
    }
}
