//! `POST /<tenant>/oauth2/v2.0/token`: a grant in, tokens out.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use serde_json::json;

use super::super::codes::Redemption;
use super::super::grants::GrantError;
use super::super::person::{Person, find};
use super::form::{Form, Scope};
use super::{State, fresh, refused};

/// The grant of RFC 8628.
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Exchanges a grant for tokens.
pub(super) async fn token(state: web::Data<State>, body: web::Bytes) -> HttpResponse {
    exchange(&state, &body).unwrap_or_else(refused)
}

fn exchange(state: &State, body: &[u8]) -> Result<HttpResponse, GrantError> {
    let form = Form::read(body)?;
    let grant_type = form.require("grant_type")?;
    let client_id = form.require("client_id")?;
    let mut scope = form.check_scope(state.issuer.settings())?;
    let mut nonce = None;
    let person = match grant_type {
        // The sample's own: a name is enough. A `password` field is ignored, so that no one mistakes it for a check.
        "password" => find(form.require("username")?).ok_or(GrantError::InvalidGrant)?,
        "refresh_token" => state.grants().redeem(form.require("refresh_token")?, client_id)?,
        "authorization_code" => {
            let redemption = Redemption {
                code: form.require("code")?,
                client_id,
                redirect_uri: form.require("redirect_uri")?,
                verifier: form.require("code_verifier")?,
            };
            let now = state.now();
            let (person, asked) = state.codes().redeem(redemption, now)?;
            scope.openid = asked.openid;
            nonce = asked.nonce;
            person
        }
        DEVICE_CODE => {
            let now = state.now();
            state.grants().poll_device(form.require("device_code")?, client_id, now)?
        }
        _unknown => return Err(GrantError::UnsupportedGrantType),
    };
    answer(state, &form, person, client_id, scope, nonce.as_deref())
}

fn answer(
    state: &State,
    form: &Form,
    person: &'static Person,
    client_id: &str,
    scope: Scope,
    nonce: Option<&str>,
) -> Result<HttpResponse, GrantError> {
    let shape = form.shape()?;
    let issuer = &state.issuer;
    let access_token = issuer.access_token(person, &shape).map_err(|_key| GrantError::ServerError)?;
    let refresh_token = state.grants().remember(person, client_id)?;
    let mut body = json!({
        "token_type": "Bearer",
        "scope": issuer.full_scope(),
        "expires_in": shape.expires_in.unwrap_or(issuer.settings().lifetime_s).max(0),
        "access_token": access_token,
        "refresh_token": refresh_token,
    });
    if scope.openid
        && let Some(members) = body.as_object_mut()
    {
        let id_token = issuer.id_token(person, client_id, nonce).map_err(|_key| GrantError::ServerError)?;
        members.insert("id_token".to_owned(), id_token.into());
    }
    Ok(fresh(StatusCode::OK, &body))
}
