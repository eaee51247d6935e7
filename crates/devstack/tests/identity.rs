//! The sample issuer over HTTP: what clients and verifiers of tokens see.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says by panicking that it failed, in its set-up too"
)]

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ask_devstack::identity::{self, Clock, Handle, Settings};
use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use url::form_urlencoded;

const NOW: i64 = 1_800_000_000;
const RESOURCE: &str = "openid api://data-agent-service/access_as_user";

/// A running issuer and a client of it.
struct World {
    handle: Handle,
    client: awc::Client,
    now: Arc<AtomicI64>,
}

impl World {
    fn start() -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let now = Arc::new(AtomicI64::new(NOW));
        let clock = {
            let now = Arc::clone(&now);
            Clock::from_fn(move || now.load(Ordering::SeqCst))
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (server, handle) = identity::serve(listener, Settings { clock, ..Settings::default() }).unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "the test's own server, which ends with the test's runtime"
        )]
        actix_rt::spawn(server);
        let client = awc::Client::builder().disable_redirects().finish();
        Self { handle, client, now }
    }

    async fn get(&self, url: &str) -> (u16, Value) {
        let mut response = self.client.get(url).send().await.unwrap();
        let body = response.body().await.unwrap();
        (response.status().as_u16(), serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn post(&self, url: &str, fields: &[(&str, &str)]) -> (u16, Value) {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request =
            self.client.post(url).insert_header(("content-type", "application/x-www-form-urlencoded"));
        let mut response = request.send_body(body).await.unwrap();
        let body = response.body().await.unwrap();
        (response.status().as_u16(), serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn password(&self, username: &str, more: &[(&str, &str)]) -> (u16, Value) {
        let mut fields = vec![
            ("grant_type", "password"),
            ("username", username),
            ("client_id", "ask-cli"),
            ("scope", RESOURCE),
        ];
        fields.extend_from_slice(more);
        self.post(&self.handle.issuer().addresses().token_url(), &fields).await
    }

    async fn admin(&self, path: &str, body: Value) -> (u16, Value) {
        let url = self.handle.issuer().addresses().url().replace("/v2.0", path);
        let mut response = self.client.post(url).send_json(&body).await.unwrap();
        let body = response.body().await.unwrap();
        (response.status().as_u16(), serde_json::from_slice(&body).unwrap())
    }

    async fn published(&self) -> Vec<Value> {
        let (status, document) = self.get(&self.handle.issuer().addresses().jwks_url()).await;
        assert_eq!(status, 200);
        document["keys"].as_array().unwrap().clone()
    }
}

fn part(token: &str, number: usize) -> Value {
    let text = token.split('.').nth(number).unwrap();
    serde_json::from_slice(&BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()).unwrap()
}

fn claims(answer: &Value) -> Value {
    part(answer["access_token"].as_str().unwrap(), 1)
}

/// Whether a published key vouches for the token.
fn verifies(token: &str, keys: &[Value]) -> bool {
    let kid = part(token, 0)["kid"].clone();
    let Some(key) = keys.iter().find(|key| key["kid"] == kid) else { return false };
    let decode = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).unwrap();
    let public = RsaPublicKeyComponents {
        n: decode(key["n"].as_str().unwrap()),
        e: decode(key["e"].as_str().unwrap()),
    };
    let (message, signature) = token.rsplit_once('.').unwrap();
    public.verify(&RSA_PKCS1_2048_8192_SHA256, message.as_bytes(), &decode(signature)).is_ok()
}

#[actix_rt::test]
async fn discovery_leads_to_everything() {
    let world = World::start();
    let issuer = world.handle.issuer().addresses().url();
    let (status, document) = world.get(&format!("{issuer}/.well-known/openid-configuration")).await;
    assert_eq!((status, &document["issuer"]), (200, &json!(issuer)));
    let jwks = document["jwks_uri"].as_str().unwrap();
    assert_eq!(jwks, format!("{}/discovery/v2.0/keys", issuer.strip_suffix("/v2.0").unwrap()));
    let (status, keys) = world.get(jwks).await;
    assert_eq!(status, 200);
    assert_eq!(keys["keys"][0]["alg"], "RS256");
    assert!(keys["keys"][0]["d"].is_null());
    assert_eq!(document["token_endpoint"], world.handle.issuer().addresses().token_url());
    assert_eq!(world.get(&issuer.replace(&world.handle.issuer().settings().tenant, "other")).await.0, 404);
    let health = issuer.split_inclusive('/').take(3).collect::<String>() + "health";
    assert_eq!(world.get(&health).await, (200, json!({ "status": "ok" })));
}

#[actix_rt::test]
async fn a_name_buys_a_signed_token_with_that_persons_roles() {
    let world = World::start();
    let keys = world.published().await;
    for (username, roles) in
        [("alice", json!(["analyst"])), ("carol", json!(["finance"])), ("bob", Value::Null)]
    {
        let (status, answer) = world.password(username, &[]).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(3600)));
        assert!(verifies(answer["access_token"].as_str().unwrap(), &keys));
        let claims = claims(&answer);
        assert_eq!(claims["roles"], roles);
        assert_eq!(claims["iss"], world.handle.issuer().addresses().url());
        assert_eq!(claims["aud"], "api://data-agent-service");
        assert_eq!(claims["scp"], "access_as_user");
        assert_eq!(claims["ver"], "2.0");
        assert_eq!(claims["tid"], world.handle.issuer().settings().tenant);
        assert_eq!(claims["preferred_username"], format!("{username}@sample.example"));
        assert_eq!(
            (&claims["iat"], &claims["nbf"], &claims["exp"]),
            (&json!(NOW), &json!(NOW), &json!(NOW + 3600))
        );
        assert_eq!(claims["oid"], identity::find_person(username).unwrap().oid);
        let id_token = part(answer["id_token"].as_str().unwrap(), 1);
        assert_eq!((&id_token["aud"], &id_token["scp"]), (&json!("ask-cli"), &Value::Null));
    }
}

#[actix_rt::test]
async fn requests_that_are_not_right_get_the_name_of_the_fault() {
    let world = World::start();
    let url = world.handle.issuer().addresses().token_url();
    let person = ("username", "carol");
    let client = ("client_id", "ask-cli");
    let password = ("grant_type", "password");
    for (fields, error) in [
        (vec![], "invalid_request"),
        (vec![password, client], "invalid_request"),
        (vec![password, person], "invalid_request"),
        (vec![password, client, person, person], "invalid_request"),
        (vec![password, client, person, ("x_expires_in", "soon")], "invalid_request"),
        (vec![password, client, ("username", "mallory")], "invalid_grant"),
        (vec![("grant_type", "client_credentials"), client], "unsupported_grant_type"),
        (vec![password, client, person, ("scope", "openid")], "invalid_scope"),
        (vec![password, client, person, ("scope", "api://other/access_as_user")], "invalid_scope"),
        (vec![password, client, person, ("scope", "api://data-agent-service/admin")], "invalid_scope"),
        (vec![("grant_type", "refresh_token"), client, ("refresh_token", "x")], "invalid_grant"),
        (
            vec![
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                client,
                ("device_code", "x"),
            ],
            "invalid_grant",
        ),
    ] {
        let (status, answer) = world.post(&url, &fields).await;
        assert_eq!((status, answer["error"].as_str().unwrap()), (400, error), "{fields:?}");
    }
}

#[actix_rt::test]
async fn a_refresh_token_works_once_and_for_its_client() {
    let world = World::start();
    let url = world.handle.issuer().addresses().token_url();
    let (_, answer) = world.password("alice", &[]).await;
    let first = answer["refresh_token"].as_str().unwrap().to_owned();
    let refresh = [("grant_type", "refresh_token"), ("client_id", "ask-cli"), ("refresh_token", &first)];
    let (status, answer) = world.post(&url, &refresh).await;
    assert_eq!((status, claims(&answer)["name"].as_str()), (200, Some("Alice Analyst")));
    assert_ne!(answer["refresh_token"], first);
    assert_eq!(world.post(&url, &refresh).await.1["error"], "invalid_grant");
}

#[actix_rt::test]
async fn a_device_gets_its_token_when_the_person_has_decided() {
    let world = World::start();
    let issuer = world.handle.issuer().addresses();
    let asked = [("client_id", "ask-cli"), ("scope", RESOURCE)];
    let (status, codes) = world.post(&issuer.device_code_url(), &asked).await;
    assert_eq!((status, &codes["interval"], &codes["expires_in"]), (200, &json!(5), &json!(900)));
    let poll = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", "ask-cli"),
        ("device_code", codes["device_code"].as_str().unwrap()),
    ];
    let url = issuer.token_url();
    assert_eq!(world.post(&url, &poll).await.1["error"], "authorization_pending");
    assert_eq!(world.post(&url, &poll).await.1["error"], "slow_down");

    let mut page =
        world.client.get(codes["verification_uri_complete"].as_str().unwrap()).send().await.unwrap();
    let html = String::from_utf8(page.body().await.unwrap().to_vec()).unwrap();
    assert!(html.contains(codes["user_code"].as_str().unwrap()));
    let code = ("user_code", codes["user_code"].as_str().unwrap());
    assert_eq!(world.post(&issuer.verification_url(), &[code, ("username", "mallory")]).await.0, 400);
    assert_eq!(world.post(&issuer.verification_url(), &[code, ("username", "bob")]).await.0, 200);
    let (status, answer) = world.post(&url, &poll).await;
    assert_eq!((status, claims(&answer)["name"].as_str()), (200, Some("Bob Guest")));

    let (_, codes) = world.post(&issuer.device_code_url(), &asked).await;
    world.now.fetch_add(900, Ordering::SeqCst);
    let late = [poll[0], poll[1], ("device_code", codes["device_code"].as_str().unwrap())];
    assert_eq!(world.post(&url, &late).await.1["error"], "expired_token");
}

#[actix_rt::test]
async fn the_page_shows_nothing_that_was_slipped_into_its_address() {
    let world = World::start();
    let url = format!(
        "{}?user_code=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        world.handle.issuer().addresses().verification_url()
    );
    let mut page = world.client.get(url).send().await.unwrap();
    let html = String::from_utf8(page.body().await.unwrap().to_vec()).unwrap();
    assert!(!html.contains("<script"), "{html}");
}

#[actix_rt::test]
async fn a_rotation_overlaps_and_a_withdrawal_does_not() {
    let world = World::start();
    let first = world.handle.token("carol").unwrap();
    assert_eq!(world.admin("/admin/rotate", Value::Null).await.0, 200);
    let second = world.handle.token("carol").unwrap();
    let keys = world.published().await;
    assert_eq!(keys.len(), 2);
    assert!(verifies(&first, &keys) && verifies(&second, &keys));
    assert_ne!(part(&first, 0)["kid"], part(&second, 0)["kid"]);

    assert_eq!(world.admin("/admin/rotate?withdraw=true", Value::Null).await.0, 200);
    let third = world.handle.token("carol").unwrap();
    let keys = world.published().await;
    assert_eq!(keys.len(), 1);
    assert!(!verifies(&first, &keys) && !verifies(&second, &keys) && verifies(&third, &keys));
}

#[actix_rt::test]
async fn tokens_come_in_any_wrong_shape_that_is_asked_for() {
    let world = World::start();
    let shaped = async |more: &[(&str, &str)]| claims(&world.password("carol", more).await.1);
    assert_eq!(shaped(&[("x_aud", "api://other")]).await["aud"], "api://other");
    assert_eq!(shaped(&[("x_scp", "")]).await["scp"], Value::Null);
    assert_eq!(shaped(&[("x_scp", "openid")]).await["scp"], "openid");
    let expired = shaped(&[("x_expires_in", "-60")]).await;
    assert_eq!((&expired["exp"], &expired["iat"]), (&json!(NOW - 60), &json!(NOW - 3660)));
    assert_eq!(shaped(&[("x_expires_in", "2")]).await["exp"], NOW + 2);

    let keys = world.published().await;
    let mint = async |order: Value| {
        let (status, answer) = world.admin("/admin/mint", order).await;
        assert_eq!(status, 200);
        answer["access_token"].as_str().unwrap().to_owned()
    };
    let token = mint(
        json!({ "username": "alice", "claims": { "sub": 7, "tid": null }, "header": { "crit": ["x"] } }),
    )
    .await;
    assert!(verifies(&token, &keys));
    assert_eq!((&part(&token, 1)["sub"], &part(&token, 1)["tid"]), (&json!(7), &Value::Null));
    assert_eq!(part(&token, 1)["name"], "Alice Analyst");
    assert_eq!(part(&token, 0)["crit"], json!(["x"]));
    let unpublished = mint(json!({ "key": "unpublished" })).await;
    assert!(!keys.iter().any(|key| key["kid"] == part(&unpublished, 0)["kid"]));
    let forged = mint(json!({ "key": "forged" })).await;
    assert!(keys.iter().any(|key| key["kid"] == part(&forged, 0)["kid"]));
    assert!(!verifies(&forged, &keys));
    assert_eq!(world.admin("/admin/mint", json!({ "user": "carol" })).await.0, 400);
    assert_eq!(world.admin("/admin/mint", json!({ "username": "mallory" })).await.0, 400);
}
