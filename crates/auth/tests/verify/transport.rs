//! Keys over real HTTP, from servers that behave and servers that do not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ask_auth::{Denied, FetchError, HttpKeySource, KeySource, Policy, Verifier};
use serde_json::json;
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use crate::issuer::{AUDIENCE, RSA, SCOPE, claims_with, header, until};

/// Answers each connection with these bytes and closes it.
async fn serve(answer: Vec<u8>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    tokio::task::spawn_local(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            counter.fetch_add(1, Ordering::SeqCst);
            let _gone = stream.write_all(&answer).await;
            let _gone = stream.shutdown().await;
        }
    });
    (address, requests)
}

fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut all =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    all.extend_from_slice(body);
    all
}

fn document() -> Vec<u8> {
    json!({ "keys": [RSA.jwk("k1")] }).to_string().into_bytes()
}

async fn fetch(answer: Vec<u8>) -> Result<usize, FetchError> {
    let (address, _requests) = serve(answer).await;
    HttpKeySource::new(format!("http://{address}/keys")).fetch().await.map(|body| body.len())
}

#[tokio::test]
async fn a_document_comes_whole_or_not_at_all() {
    LocalSet::new()
        .run_until(async {
            let body = document();
            assert_eq!(fetch(response("200 OK", "", &body)).await, Ok(body.len()));
            assert_eq!(
                fetch(response("500 Internal Server Error", "", b"x")).await,
                Err(FetchError::Status(500))
            );
            assert_eq!(fetch(response("204 No Content", "", b"")).await, Err(FetchError::Status(204)));
            assert_eq!(fetch(response("200 OK", "", &vec![b' '; 300_000])).await, Err(FetchError::TooLarge));
            assert_eq!(fetch(b"SSH-2.0-x\r\n\r\n".to_vec()).await, Err(FetchError::Unreachable));
            assert_eq!(fetch(Vec::new()).await, Err(FetchError::Unreachable));
            assert_eq!(
                HttpKeySource::new("http://127.0.0.1:1/keys").fetch().await,
                Err(FetchError::Unreachable)
            );
        })
        .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    LocalSet::new()
        .run_until(async {
            let (elsewhere, asked) = serve(response("200 OK", "", &document())).await;
            let headers = format!("location: http://{elsewhere}/keys\r\n");
            assert_eq!(fetch(response("302 Found", &headers, b"")).await, Err(FetchError::Status(302)));
            assert_eq!(asked.load(Ordering::SeqCst), 0);
        })
        .await;
}

#[tokio::test]
async fn a_verifier_over_http_verifies() {
    LocalSet::new()
        .run_until(async {
            let (address, requests) = serve(response("200 OK", "connection: close\r\n", &document())).await;
            let issuer = format!("http://{address}/tenant/v2.0");
            let verifier = Verifier::start(Policy::new(&issuer, AUDIENCE, SCOPE)).unwrap();
            until("the keys", || verifier.has_keys()).await;
            assert_eq!(requests.load(Ordering::SeqCst), 1);
            let now = OffsetDateTime::now_utc().unix_timestamp();
            let mut claims = claims_with("iss", json!(issuer));
            for (member, at) in [("iat", now), ("nbf", now), ("exp", now + 60)] {
                claims[member] = json!(at);
            }
            let token = RSA.token(&header("RS256", "k1").to_string(), &claims.to_string());
            assert!(verifier.verify(Some(format!("Bearer {token}").as_bytes())).await.is_ok());
        })
        .await;
}

#[tokio::test]
async fn a_truncated_document_changes_nothing() {
    LocalSet::new()
        .run_until(async {
            let whole = document();
            let mut answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", whole.len()).into_bytes();
            answer.extend_from_slice(&whole[..whole.len() - 2]);
            let (address, requests) = serve(answer).await;
            let issuer = format!("http://{address}/tenant/v2.0");
            let verifier = Verifier::builder(Policy::new(&issuer, AUDIENCE, SCOPE))
                .fetch_limit(Duration::from_secs(1))
                .start()
                .unwrap();
            until("two tries", || requests.load(Ordering::SeqCst) >= 2).await;
            assert!(!verifier.has_keys());
            assert_eq!(verifier.verify(Some(b"Bearer a.b.c")).await.unwrap_err(), Denied::Unauthenticated);
        })
        .await;
}
