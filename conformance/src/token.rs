//! Who asks: bearers of the users, and bearers that are wrong in one way.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256};
use aws_lc_rs::{rand::SystemRandom, rsa};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use url::Url;

use crate::http::{Client, Request};
use crate::signin::SignIn;

/// A bearer; its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bearer(String);

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(..)")
    }
}

impl Bearer {
    pub(crate) fn new(token: impl Into<String>) -> Self {
        Self(token.into().trim().to_owned())
    }

    /// The token itself, to be put into a header or searched for.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    fn part(&self, index: usize) -> Option<Value> {
        let part = self.0.split('.').nth(index)?;
        serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).ok()?).ok()
    }

    /// The claims, unverified, as material for tokens that are wrong in one way.
    pub(crate) fn claims(&self) -> Option<Value> {
        self.part(1)
    }
}

/// A user whose token could not be had, and why.
pub(crate) type Maybe = Result<Bearer, String>;

/// All bearers of a run.
#[derive(Debug)]
pub(crate) struct Identities {
    pub(crate) first: Bearer,
    pub(crate) other: Maybe,
    pub(crate) refused: Maybe,
    pub(crate) wrong_audience: Maybe,
    pub(crate) wrong_issuer: Maybe,
    pub(crate) no_scope: Maybe,
    pub(crate) expired: Maybe,
}

impl Identities {
    /// Gets every bearer that the options allow.
    ///
    /// # Errors
    ///
    /// When the first user has none.
    pub(crate) async fn gather(options: &SignIn, http: &Client) -> anyhow::Result<Self> {
        let first =
            user(options, http, options.token.as_deref(), options.token_cmd.as_deref(), &options.username)
                .await
                .map_err(|reason| anyhow::anyhow!("the first user has no token: {reason}"))?;
        let other = user(
            options,
            http,
            options.other_token.as_deref(),
            options.other_token_cmd.as_deref(),
            &options.other_username,
        )
        .await;
        let refused = user(
            options,
            http,
            options.refused_token.as_deref(),
            options.refused_token_cmd.as_deref(),
            &options.refused_username,
        )
        .await;
        let base = first.claims();
        let audience =
            minted(options, http, options.wrong_audience_token.as_deref(), base.clone(), |claims| {
                claims.insert("aud".to_owned(), json!("api://somebody-else"));
            })
            .await;
        let issuer = minted(options, http, options.wrong_issuer_token.as_deref(), base.clone(), |claims| {
            claims.insert("iss".to_owned(), json!("https://issuer.invalid/tenant/v2.0"));
        })
        .await;
        let scope = minted(options, http, options.no_scope_token.as_deref(), base.clone(), |claims| {
            claims.insert("scp".to_owned(), json!("something_else"));
            claims.insert("roles".to_owned(), json!([]));
        })
        .await;
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        let expired = minted(options, http, options.expired_token.as_deref(), base, |claims| {
            claims.insert("iat".to_owned(), json!(now - 7200));
            claims.insert("nbf".to_owned(), json!(now - 7200));
            claims.insert("exp".to_owned(), json!(now - 3600));
        })
        .await;
        Ok(Self {
            first,
            other,
            refused,
            wrong_audience: audience,
            wrong_issuer: issuer,
            no_scope: scope,
            expired,
        })
    }
}

/// Signs the first user in once more, for a second bearer of the same person.
pub(crate) async fn again(options: &SignIn, http: &Client) -> Maybe {
    user(options, http, None, options.token_cmd.as_deref(), &options.username).await
}

async fn user(
    options: &SignIn,
    http: &Client,
    token: Option<&str>,
    command: Option<&str>,
    name: &str,
) -> Maybe {
    if let Some(token) = token.filter(|token| !token.trim().is_empty()) {
        return Ok(Bearer::new(token));
    }
    if let Some(command) = command {
        return from_command(command);
    }
    match &options.token_url {
        Some(token_url) => sign_in(options, http, token_url, name).await,
        None => Err("neither a token, nor a command, nor a token endpoint was given".to_owned()),
    }
}

fn from_command(command: &str) -> Maybe {
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|err| format!("the token command did not start: {err}"))?;
    if !output.status.success() {
        return Err(format!("the token command ended with {}", output.status));
    }
    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if token.is_empty() {
        Err("the token command printed nothing".to_owned())
    } else {
        Ok(Bearer::new(token))
    }
}

async fn sign_in(options: &SignIn, http: &Client, token_url: &str, name: &str) -> Maybe {
    let url = Url::parse(token_url).map_err(|err| format!("{token_url}: {err}"))?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "password")
        .append_pair("username", name)
        .append_pair("password", &options.password)
        .append_pair("client_id", &options.client_id)
        .append_pair("scope", &options.scope)
        .finish();
    let request = Request::new("POST", url).body("application/x-www-form-urlencoded", form);
    let answer = http.send(&request).await.map_err(|err| format!("the token endpoint: {err}"))?;
    token_in(&answer.body)
        .filter(|_| answer.status() == 200)
        .ok_or_else(|| format!("the token endpoint answered {} for {name}", answer.status()))
}

async fn minted(
    options: &SignIn,
    http: &Client,
    given: Option<&str>,
    base: Option<Value>,
    change: impl FnOnce(&mut serde_json::Map<String, Value>),
) -> Maybe {
    if let Some(token) = given.filter(|token| !token.trim().is_empty()) {
        return Ok(Bearer::new(token));
    }
    let Some(mint_url) = &options.mint_url else {
        return Err("no such token was given, and there is no --mint-url".to_owned());
    };
    let Some(Value::Object(mut claims)) = base else {
        return Err("the first user's token has no readable claims to start from".to_owned());
    };
    change(&mut claims);
    mint(http, mint_url, &Value::Object(claims)).await
}

/// Has an issuer sign these claims.
pub(crate) async fn mint(http: &Client, mint_url: &str, claims: &Value) -> Maybe {
    let url = Url::parse(mint_url).map_err(|err| format!("{mint_url}: {err}"))?;
    let request = Request::new("POST", url).body("application/json", json!({"claims": claims}).to_string());
    let answer = http.send(&request).await.map_err(|err| format!("the mint endpoint: {err}"))?;
    token_in(&answer.body)
        .filter(|_| (200..300).contains(&answer.status()))
        .ok_or_else(|| format!("the mint endpoint answered {}", answer.status()))
}

/// A token in `{"access_token"}`, `{"token"}` or plain text.
fn token_in(body: &[u8]) -> Option<Bearer> {
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        let token = json
            .get("access_token")
            .or_else(|| json.get("token"))
            .or(Some(&json))
            .and_then(Value::as_str)
            .map(str::to_owned)?;
        return Some(Bearer::new(token));
    }
    let text = std::str::from_utf8(body).ok()?.trim();
    (text.split('.').count() == 3).then(|| Bearer::new(text))
}

/// The same header and claims, signed by a key that the issuer doesn't know.
pub(crate) fn forged(genuine: &Bearer) -> Maybe {
    let signed = genuine.0.rsplit_once('.').map(|(signed, _)| signed).ok_or("the token is not a JWT")?;
    let rng = SystemRandom::new();
    let algorithm = genuine.part(0).and_then(|header| header.get("alg").cloned()).unwrap_or_default();
    let signature = if algorithm.as_str().is_some_and(|name| name.starts_with("ES")) {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|err| err.to_string())?;
        key.sign(&rng, signed.as_bytes()).map_err(|err| err.to_string())?.as_ref().to_vec()
    } else {
        let key = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).map_err(|err| err.to_string())?;
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &rng, signed.as_bytes(), &mut signature)
            .map_err(|err| err.to_string())?;
        signature
    };
    Ok(Bearer(format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))))
}

/// The genuine signature over claims that say something else.
pub(crate) fn altered(genuine: &Bearer) -> Maybe {
    let parts: Vec<_> = genuine.0.split('.').collect();
    let (Some(Value::Object(mut claims)), [header, _, signature]) = (genuine.claims(), parts.as_slice())
    else {
        return Err("the token is not a JWT".to_owned());
    };
    claims.insert("oid".to_owned(), json!("00000000-0000-0000-0000-00000000c0de"));
    claims.insert("sub".to_owned(), json!("somebody-else"));
    let payload = BASE64URL_NOPAD.encode(Value::Object(claims).to_string().as_bytes());
    Ok(Bearer(format!("{header}.{payload}.{signature}")))
}

/// The same claims under `alg: none`, without a signature.
pub(crate) fn unsigned(genuine: &Bearer) -> Maybe {
    let payload = genuine.0.split('.').nth(1).ok_or("the token is not a JWT")?;
    let header = BASE64URL_NOPAD.encode(json!({"alg": "none", "typ": "JWT"}).to_string().as_bytes());
    Ok(Bearer(format!("{header}.{payload}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn genuine(algorithm: &str) -> Bearer {
        let header = BASE64URL_NOPAD.encode(json!({"alg": algorithm}).to_string().as_bytes());
        let claims = BASE64URL_NOPAD.encode(json!({"oid": "a"}).to_string().as_bytes());
        Bearer::new(format!("{header}.{claims}.c2ln"))
    }

    #[test]
    fn forged_tokens_keep_their_claims_and_change_their_signature() {
        for algorithm in ["RS256", "ES256"] {
            let genuine = genuine(algorithm);
            let forged = forged(&genuine).unwrap();
            assert_eq!(forged.claims(), genuine.claims());
            assert_ne!(forged, genuine);
        }
    }

    #[test]
    fn altered_tokens_keep_their_signature_and_change_their_claims() {
        let altered = altered(&genuine("RS256")).unwrap();
        assert_eq!(altered.expose().rsplit('.').next(), Some("c2ln"));
        assert_ne!(altered.claims(), genuine("RS256").claims());
    }

    #[test]
    fn a_bearer_shows_nothing_of_itself() {
        assert_eq!(format!("{:?}", Bearer::new("secret")), "Bearer(..)");
    }

    #[test]
    fn tokens_are_found_in_either_form() {
        assert_eq!(token_in(br#"{"access_token":"a.b.c"}"#).unwrap().expose(), "a.b.c");
        assert_eq!(token_in(b"a.b.c\n").unwrap().expose(), "a.b.c");
        assert!(token_in(b"nothing").is_none());
    }
}
