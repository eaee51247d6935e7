//! Signing in with a browser: the page that asks who one is, and the way back with a code (RFC 6749 with RFC 7636).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use url::{Host, Url};

use super::super::codes::{Asked, Challenge};
use super::super::grants::GrantError;
use super::super::person::find;
use super::State;
use super::form::Form;
use super::page::{Page, people};

/// `GET /<tenant>/oauth2/v2.0/authorize`: the page where a person chooses who to be.
pub(super) async fn page(state: web::Data<State>, request: HttpRequest) -> HttpResponse {
    match Wanted::read(&state, request.query_string()) {
        Ok(wanted) => {
            let origin = wanted.back.target.origin().ascii_serialization();
            Page::new(format!(r#"<p>to go on to <b>{origin}</b></p><form method="post">{}</form>"#, people()))
                .form_leads_to(&origin)
                .show(StatusCode::OK)
        }
        Err(wrong) => wrong.answer(&state),
    }
}

/// `POST` to the same address, its query included: what the person chose.
pub(super) async fn decide(state: web::Data<State>, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let wanted = match Wanted::read(&state, request.query_string()) {
        Ok(wanted) => wanted,
        Err(wrong) => return wrong.answer(&state),
    };
    let Wanted { back, asked } = wanted;
    let Ok(form) = Form::read(&body) else {
        return back.with_error(&state, GrantError::InvalidRequest.code());
    };
    if form.get("decision") == Some("deny") {
        return back.with_error(&state, GrantError::AccessDenied.code());
    }
    let Some(person) = form.get("username").and_then(find) else {
        return Wrong::Shown("Nobody here has this name.").answer(&state);
    };
    let now = state.now();
    let issued = state.codes().issue(person, asked, now);
    match issued {
        Ok(code) => back.with(&state, "code", &code),
        Err(err) => back.with_error(&state, err.code()),
    }
}

/// A request that may be put before a person.
struct Wanted {
    back: Back,
    asked: Asked,
}

/// Where the browser is sent with the outcome.
struct Back {
    target: Url,
    state: Option<String>,
}

/// Why a request is not put before a person.
enum Wrong {
    /// Told here: the browser must not be sent to an address that is not known to be the client's.
    Shown(&'static str),
    /// Told to the client.
    Sent(Box<Back>, &'static str),
}

impl Wanted {
    fn read(state: &State, query: &str) -> Result<Self, Wrong> {
        let form = Form::read(query.as_bytes())
            .map_err(|_twice| Wrong::Shown("A parameter of this request comes twice."))?;
        let client_id = form.get("client_id").ok_or(Wrong::Shown("This request names no client."))?;
        let redirect_uri = form.get("redirect_uri").and_then(|text| Some((text, own(text)?)));
        let (redirect_uri, target) = redirect_uri
            .ok_or(Wrong::Shown("This sample sends nobody anywhere but to an address of this machine."))?;
        let back = Back { target, state: form.get("state").map(str::to_owned) };
        if form.get("response_type") != Some("code") {
            return Err(Wrong::sent(back, "unsupported_response_type"));
        }
        let scope = match form.check_scope(state.issuer.settings()) {
            Ok(scope) => scope,
            Err(err) => return Err(Wrong::sent(back, err.code())),
        };
        let challenge = form.get("code_challenge").and_then(Challenge::read);
        let plain_mode = matches!(form.get("response_mode"), None | Some("query"));
        let hashed = form.get("code_challenge_method") == Some("S256");
        let Some(challenge) = challenge.filter(|_| hashed && plain_mode) else {
            return Err(Wrong::sent(back, GrantError::InvalidRequest.code()));
        };
        let asked = Asked {
            client_id: client_id.to_owned(),
            redirect_uri: redirect_uri.to_owned(),
            challenge,
            openid: scope.openid,
            nonce: form.get("nonce").map(str::to_owned),
        };
        Ok(Self { back, asked })
    }
}

/// An address of this machine, without a fragment. No client is registered here, so this is what keeps codes at home.
fn own(redirect_uri: &str) -> Option<Url> {
    let url = Url::parse(redirect_uri).ok()?;
    let at_home = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    (at_home && matches!(url.scheme(), "http" | "https") && url.fragment().is_none()).then_some(url)
}

impl Back {
    fn with_error(self, state: &State, error: &str) -> HttpResponse {
        self.with(state, "error", error)
    }

    /// Sends the browser back, with the client's own state and, as RFC 9207 wants it, the name of this issuer.
    fn with(mut self, state: &State, name: &str, value: &str) -> HttpResponse {
        let mut query = self.target.query_pairs_mut();
        query.append_pair(name, value);
        if let Some(state) = &self.state {
            query.append_pair("state", state);
        }
        query.append_pair("iss", &state.issuer.addresses().url());
        drop(query);
        HttpResponse::SeeOther()
            .insert_header(("location", self.target.as_str()))
            .insert_header(("cache-control", "no-store"))
            .insert_header(("referrer-policy", "no-referrer"))
            .finish()
    }
}

impl Wrong {
    fn sent(back: Back, error: &'static str) -> Self {
        Self::Sent(Box::new(back), error)
    }

    fn answer(self, state: &State) -> HttpResponse {
        match self {
            Self::Shown(why) => Page::new(format!("<p>{why}</p>")).show(StatusCode::BAD_REQUEST),
            Self::Sent(back, error) => back.with_error(state, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_gets_a_code() {
        for good in [
            "http://127.0.0.1:8093/console/",
            "http://localhost/x?y=z",
            "http://[::1]:1",
            "https://localhost",
        ] {
            assert!(own(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/console/",
            "http://example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1@example.com/",
            "http://127.0.0.1/#x",
            "javascript:alert(1)",
            "file:///etc/passwd",
        ] {
            assert!(own(bad).is_none(), "{bad}");
        }
    }
}
