//! What a gateway does: a call to one path is made at the service, and the answer goes back as it comes.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse, web};

/// How long the service may take to begin with an answer.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// How long a connection to it may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// The most connections to the service at once; each open stream takes one.
const CONNECTIONS: usize = 1000;
/// The largest body that is passed on. The service has a limit of its own, far below.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// Headers that are each connection's own (RFC 9110), and those that the other side writes itself.
const OF_THE_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::HOST,
    header::CONTENT_LENGTH,
    header::EXPECT,
];

/// The way from a mount to a service.
#[derive(Debug, Clone)]
pub(crate) struct Relay {
    base: String,
    mount: &'static str,
}

impl Relay {
    /// A relay from `mount`, a path without a slash at its end, to the service whose root is `base`.
    pub(crate) fn to(base: &str, mount: &'static str) -> Self {
        Self { base: base.to_owned(), mount }
    }

    /// Its routes, for one worker.
    pub(crate) fn routes(self) -> impl FnOnce(&mut ServiceConfig) {
        move |app| {
            // A connection of its own for each call: one that was kept may be gone when a POST is sent on it, and a POST is
            // not sent twice.
            let connector = awc::Connector::new()
                .limit(CONNECTIONS)
                .timeout(CONNECT_LIMIT)
                .conn_keep_alive(Duration::ZERO);
            let client =
                awc::Client::builder().connector(connector).disable_timeout().disable_redirects().finish();
            let mount = format!("{}/{{tail:.*}}", self.mount);
            let pass = move |request: HttpRequest, body: web::Payload| {
                pass(client.clone(), self.clone(), request, body)
            };
            app.service(web::resource(mount).default_service(web::to(pass)));
        }
    }
}

async fn pass(client: awc::Client, relay: Relay, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let target = target.strip_prefix(relay.mount).unwrap_or(target);
    let Ok(Ok(body)) = body.to_bytes_limited(BODY_LIMIT).await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large");
    };
    let mut onward =
        client.request(request.method().clone(), format!("{}{target}", relay.base)).no_decompress();
    for (name, value) in passed(request.headers()) {
        onward.headers_mut().append(name.clone(), value.clone());
    }
    let sent = onward.insert_header((header::CONNECTION, "close")).send_body(body);
    let Ok(Ok(answer)) = tokio::time::timeout(HEAD_LIMIT, sent).await else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "The service can't take this now");
    };
    let mut response = HttpResponse::build(answer.status());
    for (name, value) in passed(answer.headers()) {
        response.append_header((name.clone(), value.clone()));
    }
    response.streaming(answer)
}

fn passed(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
    headers.iter().filter(|(name, _)| !OF_THE_CONNECTION.contains(name))
}

/// A problem as the service would have said it.
fn problem(status: StatusCode, code: &str, title: &str) -> HttpResponse {
    let body = serde_json::json!({
        "type": format!("urn:ask:problem:{code}"), "title": title, "status": status.as_u16(), "code": code,
    });
    let mut response = HttpResponse::build(status);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.insert_header((header::RETRY_AFTER, "2"));
    }
    response.content_type("application/problem+json").body(body.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use actix_web::{App, HttpServer};
    use bytes::Bytes;
    use futures_util::StreamExt as _;
    use tokio::sync::mpsc;

    use super::*;

    fn serve(configure: impl FnOnce(&mut ServiceConfig) + Clone + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = HttpServer::new(move || App::new().configure(configure.clone()))
            .workers(1)
            .disable_signals()
            .h1_allow_half_closed(false)
            .listen(listener)
            .unwrap()
            .run();
        #[expect(
            clippy::disallowed_methods,
            reason = "the test's own server, which ends with the test's runtime"
        )]
        drop(actix_rt::spawn(server));
        url
    }

    fn relay(base: &str) -> String {
        let relay = Relay::to(base, "/ask");
        serve(move |app| relay.clone().routes()(app))
    }

    fn client() -> awc::Client {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        awc::Client::builder().disable_redirects().finish()
    }

    #[actix_rt::test]
    async fn a_call_arrives_as_it_was_made_and_its_answer_too() {
        async fn echo(request: HttpRequest, body: Bytes) -> HttpResponse {
            let header =
                |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            HttpResponse::Conflict()
                .insert_header(("x-echo", "kept"))
                .insert_header(("keep-alive", "timeout=5"))
                .body(format!(
                    "{} {} {:?} {:?} {}",
                    request.method(),
                    request.uri(),
                    header("authorization"),
                    header("te"),
                    String::from_utf8_lossy(&body)
                ))
        }
        let client = client();
        let upstream = serve(|app| {
            app.default_service(web::to(echo));
        });
        let url = format!("{}/ask/v1/a%2Fb?q=1&r=%20", relay(&upstream));
        let request =
            client.post(url).insert_header(("authorization", "Bearer t")).insert_header(("te", "trailers"));
        let mut answer = request.send_body("the body").await.unwrap();
        assert_eq!(answer.status().as_u16(), 409);
        assert_eq!(answer.headers().get("x-echo").unwrap(), "kept");
        assert!(answer.headers().get("keep-alive").is_none());
        let body = String::from_utf8(answer.body().await.unwrap().to_vec()).unwrap();
        assert_eq!(body, r#"POST /v1/a%2Fb?q=1&r=%20 Some("Bearer t") None the body"#);
    }

    #[actix_rt::test]
    async fn a_stream_passes_frame_by_frame_and_ends_when_its_reader_leaves() {
        let client = client();
        let (frames, source) = mpsc::channel::<Bytes>(1);
        let source = std::sync::Arc::new(std::sync::Mutex::new(Some(source)));
        let upstream = serve(move |app| {
            app.default_service(web::to(move || {
                let mut source = source.lock().unwrap().take().unwrap();
                let body = futures_util::stream::poll_fn(move |context| source.poll_recv(context));
                async move { HttpResponse::Ok().streaming(body.map(Ok::<Bytes, std::io::Error>)) }
            }));
        });
        let mut answer = client.get(format!("{}/ask/events", relay(&upstream))).send().await.unwrap();
        for frame in ["id: 1\n\n", "id: 2\n\n"] {
            frames.send(Bytes::from_static(frame.as_bytes())).await.unwrap();
            assert_eq!(answer.next().await.unwrap().unwrap(), frame, "it does not wait for the next one");
        }
        drop(answer);
        frames.closed().await;
    }

    #[actix_rt::test]
    async fn a_service_that_is_away_is_a_problem() {
        let client = client();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = relay(&format!("http://{gone}"));
        let mut answer = client.get(format!("{url}/ask/health")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 503);
        assert_eq!(answer.headers().get("retry-after").unwrap(), "2");
        assert_eq!(answer.headers().get("content-type").unwrap(), "application/problem+json");
        let told: serde_json::Value = answer.json().await.unwrap();
        assert_eq!((told["code"].as_str(), told["status"].as_u64()), (Some("unavailable"), Some(503)));
    }
}
