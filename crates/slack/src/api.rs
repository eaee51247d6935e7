//! Slack's Web API: the three calls that this app makes.

use std::time::Duration;

use ask_signin::Secret;
use serde_json::{Map, Value, json};

use crate::blocks::Shown;

/// How long one call may take.
const WITHIN: Duration = Duration::from_secs(15);
/// The longest wait that Slack may ask for before a call is given up.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How often a call is made in all.
const TRIES: u32 = 4;
/// The largest answer that is read.
const ANSWER_BYTES: usize = 1 << 20;

/// Where in Slack something is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The channel, or the conversation with the bot.
    pub channel: String,
    /// The message whose thread it is.
    pub thread: String,
}

/// Why a call came to nothing; it says nothing of what was to be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// Slack was not reached, or did not answer in time.
    #[error("Slack can't be reached")]
    Unreachable,
    /// Slack asks for a longer wait than is good, or for too many.
    #[error("Slack asks to be left alone")]
    Busy,
    /// Slack said no.
    #[error("Slack answered {0:?}")]
    Refused(String),
}

/// Calls with the bot's own token.
#[derive(Clone)]
pub struct Api {
    http: awc::Client,
    base: String,
    token: Secret,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Api {
    /// Calls below `base`, which is `https://slack.com/api` but for tests.
    pub fn new(base: &str, token: Secret) -> Self {
        let http = awc::Client::builder().timeout(WITHIN).disable_redirects().finish();
        Self { http, base: base.trim_end_matches('/').to_owned(), token }
    }

    /// Posts a message into a thread; its name, for [`Api::update`].
    ///
    /// # Errors
    ///
    /// Any [`ApiError`].
    pub async fn post(&self, place: &Place, shown: &Shown) -> Result<String, ApiError> {
        let answer = self.call("chat.postMessage", &message(place, shown, &[])).await?;
        let name = answer.get("ts").and_then(Value::as_str).map(str::to_owned);
        name.ok_or_else(|| ApiError::Refused("no ts".to_owned()))
    }

    /// Puts something else in a message's place.
    ///
    /// # Errors
    ///
    /// Any [`ApiError`].
    pub async fn update(&self, place: &Place, name: &str, shown: &Shown) -> Result<(), ApiError> {
        self.call("chat.update", &message(place, shown, &[("ts", name)])).await.map(drop)
    }

    /// Shows a message to one person alone.
    ///
    /// # Errors
    ///
    /// Any [`ApiError`].
    pub async fn whisper(&self, place: &Place, user: &str, shown: &Shown) -> Result<(), ApiError> {
        self.call("chat.postEphemeral", &message(place, shown, &[("user", user)])).await.map(drop)
    }

    async fn call(&self, method: &str, body: &Value) -> Result<Map<String, Value>, ApiError> {
        let mut last = ApiError::Unreachable;
        for attempt in 0..TRIES {
            let sent = self
                .http
                .post(format!("{}/{method}", self.base))
                .bearer_auth(self.token.expose())
                .content_type("application/json; charset=utf-8")
                .send_body(body.to_string())
                .await;
            let wait = match sent {
                Ok(mut answer) if answer.status().is_success() => {
                    let read =
                        answer.body().limit(ANSWER_BYTES).await.map_err(|_unread| ApiError::Unreachable)?;
                    let members: Map<String, Value> = serde_json::from_slice(&read)
                        .map_err(|_no_json| ApiError::Refused("what is no JSON".to_owned()))?;
                    if members.get("ok") == Some(&Value::Bool(true)) {
                        return Ok(members);
                    }
                    let word = members.get("error").and_then(Value::as_str).unwrap_or("no reason");
                    return Err(ApiError::Refused(word.chars().take(60).collect()));
                }
                Ok(answer) if answer.status().as_u16() == 429 => {
                    last = ApiError::Busy;
                    let asked = answer
                        .headers()
                        .get("retry-after")
                        .and_then(|value| value.to_str().ok()?.parse().ok());
                    Duration::from_secs(asked.unwrap_or(1))
                }
                Ok(answer) if !answer.status().is_server_error() => {
                    return Err(ApiError::Refused(answer.status().as_str().to_owned()));
                }
                Ok(_) | Err(_) => Duration::from_millis(500 << attempt),
            };
            if wait > LONGEST_WAIT {
                return Err(ApiError::Busy);
            }
            tokio::time::sleep(wait).await;
        }
        Err(last)
    }
}

fn message(place: &Place, shown: &Shown, more: &[(&str, &str)]) -> Value {
    let mut body = json!({
        "channel": place.channel, "thread_ts": place.thread, "text": shown.text, "blocks": shown.blocks,
        // Nothing that somebody wrote is fetched or made into a link.
        "unfurl_links": false, "unfurl_media": false, "parse": "none", "link_names": false,
    });
    if let Some(members) = body.as_object_mut() {
        members.extend(more.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    }
    body
}
