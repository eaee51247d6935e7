//! Signing in with a browser at the sample issuer: the page, the code, its redemption, and who may read the answers.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says by panicking that it failed, in its set-up too"
)]

use std::collections::BTreeMap;
use std::net::TcpListener;

use ask_devstack::identity::{self, Handle, Settings};
use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;
use url::{Url, form_urlencoded};

/// The pair of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const BACK: &str = "http://127.0.0.1:5999/console/?kept=1";

type Fields = BTreeMap<&'static str, &'static str>;
/// Status, headers and text of an answer.
type Answered = (u16, BTreeMap<String, String>, String);

fn start() -> Handle {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (server, handle) = identity::serve(listener, Settings::default()).unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the test's own server, which ends with the test's runtime"
    )]
    actix_rt::spawn(server);
    handle
}

fn good() -> Fields {
    BTreeMap::from([
        ("response_type", "code"),
        ("client_id", "page"),
        ("redirect_uri", BACK),
        ("scope", "openid profile api://data-agent-service/access_as_user"),
        ("state", "s&t"),
        ("nonce", "n-1"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ])
}

fn form(fields: &Fields) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn send(method: &str, url: &str, origin: Option<&str>, body: Option<String>) -> Answered {
    let client = awc::Client::builder().disable_redirects().finish();
    let mut request = client.request(method.parse().unwrap(), url);
    if let Some(origin) = origin {
        request = request
            .insert_header(("origin", origin))
            .insert_header(("access-control-request-method", "POST"));
    }
    if body.is_some() {
        request = request.content_type("application/x-www-form-urlencoded");
    }
    let mut response = request.send_body(body.unwrap_or_default()).await.unwrap();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    let text = String::from_utf8(response.body().await.unwrap().to_vec()).unwrap();
    (response.status().as_u16(), headers, text)
}

/// Chooses somebody at the page, and tells what the browser is sent back with.
async fn choose(handle: &Handle, fields: &Fields, chosen: &str) -> BTreeMap<String, String> {
    let url = format!("{}?{}", handle.issuer().addresses().authorize_url(), form(fields));
    let (status, headers, _) = send("POST", &url, None, Some(chosen.to_owned())).await;
    assert_eq!(status, 303);
    let back = Url::parse(&headers["location"]).unwrap();
    assert_eq!((back.port(), back.path()), (Some(5999), "/console/"));
    back.query_pairs().into_owned().collect()
}

async fn redeem(handle: &Handle, code: &str, verifier: &str) -> (u16, Value) {
    let fields = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("grant_type", "authorization_code"),
            ("client_id", "page"),
            ("redirect_uri", BACK),
            ("code", code),
            ("code_verifier", verifier),
        ])
        .finish();
    let url = handle.issuer().addresses().token_url();
    let (status, _, text) = send("POST", &url, None, Some(fields)).await;
    (status, serde_json::from_str(&text).unwrap())
}

#[actix_rt::test]
async fn a_browser_comes_back_with_a_code_that_buys_tokens_once() {
    let handle = start();
    let url = format!("{}?{}", handle.issuer().addresses().authorize_url(), form(&good()));
    let (status, headers, page) = send("GET", &url, None, None).await;
    assert_eq!(status, 200);
    assert!(page.contains("http://127.0.0.1:5999") && page.contains(r#"value="alice""#), "{page}");
    assert!(headers["content-security-policy"].contains("form-action 'self' http://127.0.0.1:5999;"));

    let back = choose(&handle, &good(), "username=alice").await;
    assert_eq!((back["state"].as_str(), back["kept"].as_str()), ("s&t", "1"));
    assert_eq!(back["iss"], handle.issuer().addresses().url());
    let (status, tokens) = redeem(&handle, &back["code"], VERIFIER).await;
    assert_eq!(status, 200, "{tokens}");
    let claims = |name: &str| -> Value {
        let part = tokens[name].as_str().unwrap().split('.').nth(1).unwrap();
        serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap()
    };
    assert_eq!(claims("access_token")["preferred_username"], "alice@sample.example");
    assert_eq!((&claims("id_token")["nonce"], &claims("id_token")["aud"]), (&"n-1".into(), &"page".into()));
    let (status, again) = redeem(&handle, &back["code"], VERIFIER).await;
    assert_eq!((status, &again["error"]), (400, &"invalid_grant".into()));

    let back = choose(&handle, &good(), "username=alice").await;
    let (status, refused) = redeem(&handle, &back["code"], CHALLENGE).await;
    assert_eq!((status, &refused["error"]), (400, &"invalid_grant".into()), "another's verifier");
}

#[actix_rt::test]
async fn what_is_wrong_with_a_request_is_told_to_the_client() {
    let handle = start();
    let cases = [
        ("response_type", "token", "unsupported_response_type"),
        ("scope", "openid", "invalid_scope"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("response_mode", "fragment", "invalid_request"),
    ];
    for (name, value, error) in cases {
        let mut fields = good();
        fields.insert(name, value);
        let back = choose(&handle, &fields, "username=alice").await;
        assert_eq!((back["error"].as_str(), back["state"].as_str()), (error, "s&t"), "{name}");
        assert!(!back.contains_key("code"));
    }
    let back = choose(&handle, &good(), "decision=deny").await;
    assert_eq!(back["error"], "access_denied");
}

#[actix_rt::test]
async fn nobody_is_sent_to_an_address_that_is_not_this_machines() {
    let handle = start();
    for target in ["https://example.com/", "http://127.0.0.1.example.com/", ""] {
        for method in ["GET", "POST"] {
            let mut fields = good();
            fields.insert("redirect_uri", target);
            let url = format!("{}?{}", handle.issuer().addresses().authorize_url(), form(&fields));
            let (status, headers, _) = send(method, &url, None, Some("username=alice".to_owned())).await;
            assert_eq!((status, headers.contains_key("location")), (400, false), "{method} {target}");
        }
    }
}

#[actix_rt::test]
async fn pages_of_this_machine_alone_read_the_answers_and_never_those_of_admin() {
    let handle = start();
    let addresses = handle.issuer().addresses();
    let discovery = format!("{}/.well-known/openid-configuration", addresses.url());
    for (url, origin, open) in [
        (&discovery, "http://127.0.0.1:5999", true),
        (&discovery, "http://localhost:80", true),
        (&discovery, "https://example.com", false),
        (&discovery, "null", false),
        (&addresses.token_url(), "http://127.0.0.1:5999", true),
        (&addresses.mint_url(), "http://127.0.0.1:5999", false),
        (&addresses.authorize_url(), "http://127.0.0.1:5999", false),
    ] {
        for method in ["GET", "OPTIONS"] {
            let (status, headers, _) = send(method, url, Some(origin), None).await;
            let named = headers.get("access-control-allow-origin").map(String::as_str);
            assert_eq!(named, open.then_some(origin), "{method} {url} {origin}");
            assert!(method == "GET" || open == (status == 204), "{url} {origin}: {status}");
        }
    }
}
