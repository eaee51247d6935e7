//! How a client finds out where to sign in: the challenge of a 401 and the metadata that it points to (RFC 9728).

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

use super::gate::Gate;
use crate::settings::Settings;

/// Where the metadata of the whole server is; that of the resource at `/{path}` is at this and `/{path}`.
pub(super) const PATH: &str = "/.well-known/oauth-protected-resource";

/// What the metadata says.
#[derive(Debug, Clone)]
pub(super) struct SignIn {
    issuer: String,
    scope: String,
    public_url: Option<String>,
}

impl SignIn {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            issuer: settings.policy.issuer.clone(),
            scope: format!(
                "{}/{}",
                settings.policy.audience().trim_end_matches('/'),
                settings.policy.required_scope
            ),
            public_url: settings.public_url.clone(),
        }
    }

    /// The value of `WWW-Authenticate`. It says the same whatever is wrong with a token.
    pub(super) fn challenge(&self, request: &HttpRequest, missing_scope: bool) -> String {
        let path = request.path().trim_end_matches('/');
        let metadata = if plain(path) {
            format!("{}{PATH}{path}", self.base(request))
        } else {
            self.base(request) + PATH
        };
        if missing_scope {
            format!(
                "Bearer error=\"insufficient_scope\", scope=\"{}\", resource_metadata=\"{metadata}\"",
                self.scope
            )
        } else {
            format!("Bearer resource_metadata=\"{metadata}\"")
        }
    }

    /// The address by which this request reached the server.
    fn base(&self, request: &HttpRequest) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
        let host = if !host.is_empty() && plain(host) { host } else { "localhost" };
        format!("http://{host}")
    }
}

/// Nothing that could end a quoted string or a header.
fn plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~:[]".contains(&byte))
}

/// Answers with the metadata of the resource whose path follows the well-known one.
pub(super) async fn metadata(gate: web::Data<Gate>, request: HttpRequest) -> HttpResponse {
    let signin = &gate.signin;
    let path = request.path().strip_prefix(PATH).unwrap_or_default().trim_end_matches('/');
    let path = if plain(path) { path } else { "" };
    HttpResponse::Ok().json(json!({
        "resource": format!("{}{path}", signin.base(&request)),
        "authorization_servers": [signin.issuer],
        "scopes_supported": [signin.scope],
        "bearer_methods_supported": ["header"],
        "resource_name": "ask-executor",
    }))
}
