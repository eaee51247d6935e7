//! Signing in on a device without a browser: the codes, and the page where a person says who they are.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use url::form_urlencoded;

use super::super::grants::{Decision, GrantError};
use super::super::person::find;
use super::form::Form;
use super::page::{Page, people};
use super::{State, fresh, refused};

/// `POST /<tenant>/oauth2/v2.0/devicecode`
pub(super) async fn codes(state: web::Data<State>, body: web::Bytes) -> HttpResponse {
    begin(&state, &body).unwrap_or_else(refused)
}

fn begin(state: &State, body: &[u8]) -> Result<HttpResponse, GrantError> {
    let form = Form::read(body)?;
    let client_id = form.require("client_id")?;
    let settings = state.issuer.settings();
    form.check_scope(settings)?;
    let now = state.now();
    let codes =
        state.grants().begin_device(client_id, now, settings.device_code_s, settings.poll_interval_s)?;
    let page = state.issuer.addresses().verification_url();
    let message = format!("Open {page} and enter the code {}.", codes.user_code);
    Ok(fresh(
        StatusCode::OK,
        &json!({
            "device_code": codes.device_code,
            "user_code": codes.user_code,
            "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={}", codes.user_code),
            "expires_in": settings.device_code_s,
            "interval": settings.poll_interval_s,
            "message": message,
        }),
    ))
}

/// `GET /<tenant>/device`: the page where a person enters the code and chooses who to be.
pub(super) async fn page(request: HttpRequest) -> HttpResponse {
    let code: String = form_urlencoded::parse(request.query_string().as_bytes())
        .find(|(name, _)| name == "user_code")
        .map_or_else(String::new, |(_, code)| typed_code(&code));
    Page::new(format!(
        r#"<form method="post"><label>Code <input name="user_code" value="{code}" autocomplete="off" required></label>
{}</form>"#,
        people()
    ))
    .show(StatusCode::OK)
}

/// What a code can consist of, so that nothing else gets into the page.
fn typed_code(text: &str) -> String {
    text.chars().filter(|letter| letter.is_ascii_alphabetic() || *letter == '-').take(9).collect()
}

/// `POST /<tenant>/device`: what the person chose. Tests post here directly.
pub(super) async fn decide(state: web::Data<State>, body: web::Bytes) -> HttpResponse {
    let decided = Form::read(&body).and_then(|form| {
        let decision = match form.get("decision") {
            Some("deny") => Decision::Declined,
            Some(_) | None => {
                Decision::Approved(find(form.require("username")?).ok_or(GrantError::InvalidGrant)?)
            }
        };
        let now = state.now();
        state.grants().decide(form.require("user_code")?, now, decision)?;
        Ok(decision)
    });
    match decided {
        Ok(Decision::Approved(person)) => {
            html(StatusCode::OK, &format!("<p>You are {}. You can go back to your device.</p>", person.name))
        }
        Ok(Decision::Declined) => html(StatusCode::OK, "<p>Declined. You can close this page.</p>"),
        Err(_) => html(StatusCode::BAD_REQUEST, "<p>This code is unknown or no longer valid.</p>"),
    }
}

fn html(status: StatusCode, body: &str) -> HttpResponse {
    Page::new(body.to_owned()).show(status)
}
