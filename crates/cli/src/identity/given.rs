//! A token that is given, or one that a development issuer hands out.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use ask_client::Bearer;
use serde::{Deserialize, Serialize};

use crate::args::{Access, Named};
use crate::neutral;

/// The client id under which the command line signs in.
const CLIENT_ID: &str = "ask-cli";
/// What the token is asked to be good for.
const SCOPE: &str = "openid api://data-agent-service/access_as_user";
/// How long an issuer may take.
const WITHIN: Duration = Duration::from_secs(10);
/// The largest answer of an issuer that is read.
const ANSWER_BYTES: usize = 64 << 10;

#[derive(Serialize)]
struct Form<'a> {
    grant_type: &'a str,
    username: &'a str,
    client_id: &'a str,
    scope: &'a str,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
}

#[derive(Deserialize)]
struct Denied {
    error: String,
    error_description: Option<String>,
}

/// Whether the command line or the environment says who asks.
pub(crate) fn is_given(access: &Access) -> bool {
    let filled = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let file = access.token_file.as_ref().is_some_and(|path| !path.as_os_str().is_empty());
    filled(&access.token) || file || filled(&access.user)
}

/// The token that is given; `None` where nothing says who asks. What the command line names wins over the environment; of
/// each, a token over a file over a person. An empty variable counts as none.
///
/// # Errors
///
/// When the token can't be read or had.
pub(crate) async fn given(access: &Access, named: Named) -> anyhow::Result<Option<Bearer>> {
    let Access { token, token_file, user, .. } = access;
    let anything_named = named.token || named.token_file || named.user;
    let counts = |this: bool| this || !anything_named;
    let given = |text: &&String| !text.is_empty();
    if let Some(token) = token.as_ref().filter(given).filter(|_| counts(named.token)) {
        return Bearer::new(token).context("the given token can't be used").map(Some);
    }
    let path = token_file.as_ref().filter(|path| !path.as_os_str().is_empty());
    if let Some(path) = path.filter(|_| counts(named.token_file)) {
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        let bearer = Bearer::new(&text);
        return bearer.with_context(|| format!("the token in {} can't be used", path.display())).map(Some);
    }
    if let Some(user) = user.as_ref().filter(given).filter(|_| counts(named.user)) {
        let url = access.token_url.as_deref().filter(|url| !url.is_empty());
        let url =
            url.ok_or_else(|| anyhow!("--user needs ASK_TOKEN_URL, a development issuer's token endpoint"))?;
        let signed_in = from_issuer(url, user).await;
        return signed_in.with_context(|| format!("can't sign in as {}", neutral::line(user))).map(Some);
    }
    Ok(None)
}

async fn from_issuer(url: &str, user: &str) -> anyhow::Result<Bearer> {
    let client = awc::Client::builder().disable_timeout().disable_redirects().finish();
    let form = Form { grant_type: "password", username: user, client_id: CLIENT_ID, scope: SCOPE };
    let exchange = async {
        let sent = client.post(url).insert_header(("accept", "application/json")).send_form(&form).await;
        let mut answer = sent.map_err(|err| anyhow!("{}: {}", url, neutral::line(&err.to_string())))?;
        let body = answer.body().limit(ANSWER_BYTES).await;
        let body = body.map_err(|err| anyhow!("{url}: {}", neutral::line(&err.to_string())))?;
        anyhow::Ok((answer.status(), body))
    };
    let (status, body) =
        tokio::time::timeout(WITHIN, exchange).await.context("the issuer does not answer")??;
    if status.is_success() {
        let granted: Granted =
            serde_json::from_slice(&body).ok().context("the issuer's answer holds no access token")?;
        return Bearer::new(&granted.access_token).context("the issuer's token can't be used");
    }
    match serde_json::from_slice::<Denied>(&body) {
        Ok(Denied { error, error_description }) => {
            let told = error_description.unwrap_or(error);
            bail!("the issuer answered {}: {}", status.as_u16(), neutral::line(&told))
        }
        Err(_) => bail!("the issuer answered {}", status.as_u16()),
    }
}
