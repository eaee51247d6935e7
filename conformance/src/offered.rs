//! What a service says that it has beyond what every service must have: its own OpenAPI file is its word.

use serde_json::Value;

use crate::ctx::Ctx;
use crate::http::Client;

/// A call, or a parameter of one, that a service may lack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addition {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The parameter in the query, where the call itself is no addition.
    pub(crate) parameter: Option<&'static str>,
}

/// The paths of the service's `/openapi.json`; null where it serves none, and so says nothing.
#[derive(Debug)]
pub(crate) struct Offered(Value);

impl Offered {
    /// Asks the service.
    pub(crate) async fn ask(url: url::Url, http: &Client) -> Self {
        let answer = http.send(&crate::http::Request::new("GET", url)).await;
        let document = answer.ok().filter(|answer| answer.status() == 200).and_then(|answer| answer.json());
        Self(document.and_then(|mut document| document.get_mut("paths").map(Value::take)).unwrap_or_default())
    }

    /// Whether it says that it has this.
    pub(crate) fn has(&self, addition: Addition) -> bool {
        let same = |template: &str| {
            let name =
                |segment: &str| if segment.starts_with('{') { "{}".to_owned() } else { segment.to_owned() };
            template.split('/').map(name).eq(addition.path.split('/').map(name))
        };
        let paths = self.0.as_object().into_iter().flatten();
        let item = paths.filter(|(template, _)| same(template)).map(|(_, item)| item).next();
        let Some(call) = item.and_then(|item| item.get(addition.method.to_ascii_lowercase())) else {
            return false;
        };
        let Some(wanted) = addition.parameter else { return true };
        let is_wanted = |one: &Value| {
            one.get("name").and_then(Value::as_str) == Some(wanted)
                && one.get("in").and_then(Value::as_str) == Some("query")
        };
        call.get("parameters").and_then(Value::as_array).is_some_and(|all| all.iter().any(is_wanted))
    }
}

impl Ctx {
    /// Where the service says what it has.
    pub(crate) fn openapi_url(base: &url::Url) -> url::Url {
        let mut url = base.clone();
        url.set_path(&format!("{}/openapi.json", base.path().trim_end_matches('/')));
        url
    }
}
