//! Tokens as real providers shape them, each under the policy that its operator would set.

use ask_auth::{Denied, Policy, Subject};
use serde_json::{Value, json};

use crate::issuer::{NOW, RSA, World, header};

const TENANT: &str = "8f2c1f5e-0a76-4f4e-9d8a-6f0f6a1d0001";
const OBJECT: &str = "3b7e6a52-41f0-4a53-8a8a-2f1c9e5d0002";
const API: &str = "api://data-agent-service";
const CLIENT: &str = "6e74172b-be56-4843-9ff4-e66a39bb0003";

/// Entra, version 1: the security token service as the issuer, the API by its URI.
fn entra_v1() -> (String, Value) {
    let issuer = format!("https://sts.windows.net/{TENANT}/");
    let claims = json!({
        "aud": API, "iss": issuer, "iat": NOW, "nbf": NOW, "exp": NOW + 4500, "acr": "1", "aio": "AXQAi/8TAAAA",
        "amr": ["pwd", "mfa"], "appid": CLIENT, "appidacr": "0", "family_name": "Sample", "given_name": "Carol",
        "ipaddr": "203.0.113.7", "name": "Carol Sample", "oid": OBJECT, "rh": "0.AX", "roles": ["finance"],
        "scp": "access_as_user", "sub": "pairwise-1", "tid": TENANT, "unique_name": "carol@sample.example",
        "upn": "carol@sample.example", "uti": "u", "ver": "1.0",
    });
    (issuer, claims)
}

/// Entra, version 2: its own issuer, the API by its client's GUID.
fn entra_v2() -> (String, Value) {
    let issuer = format!("https://login.microsoftonline.com/{TENANT}/v2.0");
    let claims = json!({
        "aud": CLIENT, "iss": issuer, "iat": NOW, "nbf": NOW, "exp": NOW + 4500, "aio": "AWQAm/8TAAAA",
        "azp": CLIENT, "azpacr": "0", "name": "Carol Sample", "oid": OBJECT, "rh": "0.AX", "roles": ["finance"],
        "preferred_username": "carol@sample.example", "scp": "access_as_user profile", "sub": "pairwise-2",
        "tid": TENANT, "uti": "u", "ver": "2.0",
    });
    (issuer, claims)
}

/// A provider that keeps to RFC 9068: `scope`, and nothing but `sub` to tell the caller by.
fn plain() -> (String, Value) {
    let issuer = "https://id.example".to_owned();
    let claims = json!({
        "iss": issuer, "aud": API, "sub": "carol", "client_id": "ask-cli", "jti": "j1", "iat": NOW, "exp": NOW + 600,
        "scope": "openid access_as_user",
    });
    (issuer, claims)
}

/// A token with these claims; `typ` as the provider writes it.
fn token(claims: &Value, typ: &str) -> String {
    let mut header = header("RS256", "k1");
    header["typ"] = json!(typ);
    header["x5t"] = json!("k1");
    RSA.token(&header.to_string(), &claims.to_string())
}

#[tokio::test]
async fn both_versions_of_entra_are_read_alike() {
    for (audiences, (issuer, claims)) in [
        (API, entra_v1()),
        (CLIENT, entra_v2()),
        ("api://data-agent-service, 6e74172b-be56-4843-9ff4-e66a39bb0003", entra_v2()),
    ] {
        let world = World::under(Policy::new(&issuer, audiences, "access_as_user"), &[("k1", &RSA)]).await;
        let identity = world.verify(&token(&claims, "JWT")).await.unwrap();
        assert_eq!(identity.owner.subject(), &Subject::Object(OBJECT.to_owned()));
        assert_eq!(identity.owner.tenant(), Some(TENANT));
        assert_eq!(identity.oid, OBJECT);
        assert_eq!(identity.roles, ["finance"]);
        assert_eq!(identity.scopes[0], "access_as_user");
    }
}

#[tokio::test]
async fn an_application_is_let_in_by_its_role() {
    let (issuer, mut claims) = entra_v2();
    claims.as_object_mut().unwrap().remove("scp");
    claims["roles"] = json!(["access_as_user", "analyst"]);
    claims["idtyp"] = json!("app");
    let policy = Policy::new(&issuer, CLIENT, "access_as_user");
    let world = World::under(policy.clone(), &[("k1", &RSA)]).await;
    let identity = world.verify(&token(&claims, "JWT")).await.unwrap();
    assert_eq!(identity.roles, ["access_as_user", "analyst"]);
    assert!(identity.scopes.is_empty());
    let people_alone = World::under(policy.with_scope_claims("scp"), &[("k1", &RSA)]).await;
    assert_eq!(people_alone.verify(&token(&claims, "JWT")).await.unwrap_err(), Denied::MissingScope);
}

#[tokio::test]
async fn the_other_versions_issuer_or_audience_is_not_taken_unasked() {
    let (v1, v1_claims) = entra_v1();
    let (v2, v2_claims) = entra_v2();
    for (issuer, audiences, claims) in [
        (&v1, API, &v2_claims),
        (&v2, CLIENT, &v1_claims),
        (&v2, API, &v2_claims),
        (&v1, CLIENT, &v1_claims),
        (&v1.trim_end_matches('/').to_owned(), API, &v1_claims),
    ] {
        let world = World::under(Policy::new(issuer, audiences, "access_as_user"), &[("k1", &RSA)]).await;
        let denied = world.verify(&token(claims, "JWT")).await.unwrap_err();
        assert_eq!(denied, Denied::Unauthenticated, "{issuer} {audiences}");
    }
}

#[tokio::test]
async fn a_plain_provider_needs_the_scope_claim_named() {
    let (issuer, claims) = plain();
    let policy = Policy::new(&issuer, API, "access_as_user");
    let world = World::under(policy.clone(), &[("k1", &RSA)]).await;
    assert_eq!(world.verify(&token(&claims, "at+jwt")).await.unwrap_err(), Denied::MissingScope);
    let world = World::under(policy.with_scope_claims("scope"), &[("k1", &RSA)]).await;
    let identity = world.verify(&token(&claims, "at+jwt")).await.unwrap();
    assert_eq!(identity.owner.subject(), &Subject::Subject("carol".to_owned()));
    assert_eq!((identity.oid.as_str(), identity.owner.tenant()), ("carol", None));
    assert_eq!(identity.scopes, ["openid", "access_as_user"]);
    assert!(identity.roles.is_empty());
    // A claim that is not named counts for nothing.
    let (_, mut other) = plain();
    other["scope"] = json!("openid");
    other["scp"] = json!("access_as_user");
    other["roles"] = json!(["access_as_user"]);
    assert_eq!(world.verify(&token(&other, "at+jwt")).await.unwrap_err(), Denied::MissingScope);
}

#[tokio::test]
async fn scopes_and_roles_come_from_the_claims_that_are_named() {
    let (issuer, mut claims) = plain();
    claims["scope"] = json!(["access_as_user", "read all"]);
    claims["https://ask.example/roles"] = json!(["finance"]);
    claims["groups"] = json!(["No analyst", "Everyone"]);
    let policy = Policy::new(&issuer, API, "access_as_user")
        .with_scope_claims("scp, scope")
        .with_role_claims("https://ask.example/roles,groups");
    let world = World::under(policy, &[("k1", &RSA)]).await;
    let identity = world.verify(&token(&claims, "JWT")).await.unwrap();
    assert_eq!(identity.scopes, ["access_as_user", "read all"]);
    assert_eq!(identity.roles, ["finance", "No analyst", "Everyone"], "a member of a list is one word");
    for bad in [json!(7), json!(["finance", null]), json!({ "finance": [] }), json!(null)] {
        let mut claims = claims.clone();
        claims["groups"] = bad;
        let denied = world.verify(&token(&claims, "JWT")).await.unwrap_err();
        assert_eq!(denied, Denied::Unauthenticated, "{claims}");
    }
}
