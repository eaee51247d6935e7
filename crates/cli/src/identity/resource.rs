//! What a service says of where to sign in (RFC 9728), where it says so.

use ask_client::Base;
use serde::Deserialize;

use ask_signin::Address;
use ask_signin::Web;

/// The path of the metadata, put between the host and the service's own path.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Who issues tokens for a service, and what to ask for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Resource {
    #[serde(rename = "resource")]
    name: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

impl Resource {
    /// Asks the service; `None` where it says nothing of use, or what it says is of another resource.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub(crate) async fn of(web: &Web, base: &Base) -> Option<Self> {
        let base = base.to_string();
        let address = Address::parse(&well_known(&base)?).ok()?;
        let answer = web.get(&address).await.ok()?;
        let told: Self = if answer.is_success() { answer.json()? } else { return None };
        (told.name.trim_end_matches('/') == base).then_some(told)
    }

    /// The first issuer that it names.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.authorization_servers.first().map(String::as_str)
    }

    /// The scopes to ask for at it, with those that let a sign-in renew itself.
    pub(crate) fn scope(&self) -> Option<String> {
        let plain = |scope: &&String| !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic());
        let own: Vec<&str> = self.scopes_supported.iter().filter(plain).map(String::as_str).collect();
        let more = ["openid", "offline_access"].into_iter().filter(|scope| !own.contains(scope));
        (!own.is_empty()).then(|| more.chain(own.iter().copied()).collect::<Vec<_>>().join(" "))
    }
}

/// `https://host/path` becomes `https://host/.well-known/oauth-protected-resource/path`.
fn well_known(base: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    Some(format!("{scheme}://{host}{WELL_KNOWN}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_stand_between_host_and_path() {
        let at = |base| well_known(base).unwrap();
        assert_eq!(at("http://h:1"), "http://h:1/.well-known/oauth-protected-resource");
        assert_eq!(at("https://h/gw/ask"), "https://h/.well-known/oauth-protected-resource/gw/ask");
    }

    #[test]
    fn scopes_come_with_what_lets_a_sign_in_renew_itself() {
        let told: Resource =
            serde_json::from_str(r#"{"resource":"r","scopes_supported":["api://x/y","openid","a b"]}"#)
                .unwrap();
        assert_eq!(told.scope().as_deref(), Some("offline_access api://x/y openid"));
        assert_eq!(
            (told.issuer(), serde_json::from_str::<Resource>(r#"{"resource":"r"}"#).unwrap().scope()),
            (None, None)
        );
    }
}
