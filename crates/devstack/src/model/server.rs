//! The server: routes of both protocols, with and without a session.

use std::{io, net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    dev::Server,
    http::{StatusCode, header},
    web,
};
use serde_json::{Value, json};

use super::{
    body::Body,
    control,
    dialogue::StandIn,
    handle::Handle,
    plan::Planner,
    refusal::Refusal,
    script::{Hang, Scripted},
    session::{Flight, Recorded, Session, Sessions},
    wire::Wire,
};

/// How a server behaves where no script says otherwise.
#[derive(Debug, Clone)]
pub struct Options {
    /// The wait before each reply that is neither scripted nor in the load form.
    pub turn_delay: Duration,
    /// The reply when there is neither a script nor a stand-in.
    pub text: String,
    /// The key that requests must carry; none lets every request in.
    pub api_key: Option<String>,
    /// How many requests a session remembers.
    pub recorded: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            turn_delay: Duration::ZERO,
            text: "This is the stub model's fixed reply.".to_owned(),
            api_key: None,
            recorded: 512,
            workers: 1,
        }
    }
}

/// What the handlers share.
pub(super) struct Stub {
    sessions: Arc<Sessions>,
    planner: Planner,
    options: Options,
}

/// The most bytes of a request.
const MOST_BODY: usize = 32 << 20;
/// The session of requests that name none.
const DEFAULT_SESSION: &str = "default";

/// Starts a server on `listener`: both protocols under `/` and under `/s/{session}/`, and there the control routes
/// (`control/script`, `control/defaults`, `control/requests`, `control/state`).
///
/// Replies come from a session's script, else from the load form, else from `stand_in`, else they are [`Options::text`]. The
/// server runs while the returned future is awaited or spawned.
///
/// # Errors
/// When the listener can't be used.
pub fn serve(
    listener: TcpListener,
    stand_in: Option<Arc<dyn StandIn>>,
    options: Options,
) -> io::Result<(Server, Handle)> {
    let handle = Handle::new(listener.local_addr()?, Arc::default());
    let planner = Planner { stand_in, text: options.text.clone(), turn_delay: options.turn_delay };
    let workers = options.workers.max(1);
    let stub = web::Data::new(Stub { sessions: handle.sessions(), planner, options });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(stub.clone())
            .app_data(web::PayloadConfig::new(MOST_BODY))
            .route("/health", web::get().to(health))
            .service(web::scope("/s/{session}").configure(routes))
            .configure(routes)
            .default_service(web::to(nowhere))
    })
    .workers(workers)
    // Else a client that went away is noticed only at the next write.
    .h1_allow_half_closed(false)
    .keep_alive(Duration::from_secs(75))
    .max_connections(100_000)
    .max_connection_rate(10_000)
    .shutdown_timeout(1)
    .disable_signals()
    .listen(listener)?
    .run();
    Ok((server, handle))
}

fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/v1/messages", web::post().to(messages))
        .route("/chat/completions", web::post().to(completions))
        .route("/v1/chat/completions", web::post().to(completions))
        .configure(control::routes);
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

async fn nowhere() -> HttpResponse {
    refused(
        Wire::Anthropic,
        &Refusal { status: 404, kind: "not_found_error".to_owned(), message: "Not Found".to_owned() },
    )
}

/// The session that a request names; none when the name is no name.
pub(super) fn session_of(request: &HttpRequest, stub: &Stub) -> Option<Arc<Session>> {
    let name = request.match_info().get("session").unwrap_or(DEFAULT_SESSION);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    ((1..=64).contains(&name.len()) && name.bytes().all(plain)).then(|| stub.sessions.get(name))
}

async fn messages(request: HttpRequest, stub: web::Data<Stub>, body: web::Bytes) -> HttpResponse {
    turn(Wire::Anthropic, &request, &stub, &body).await
}

async fn completions(request: HttpRequest, stub: web::Data<Stub>, body: web::Bytes) -> HttpResponse {
    turn(Wire::OpenAi, &request, &stub, &body).await
}

async fn turn(wire: Wire, request: &HttpRequest, stub: &Stub, body: &[u8]) -> HttpResponse {
    let Some(session) = session_of(request, stub) else { return nowhere().await };
    let mut flight = session.begin();
    let json: Result<Value, _> = serde_json::from_slice(body);
    session.record(stub.options.recorded, body.len(), |number| {
        recorded(number, request, body, json.as_ref().ok())
    });
    let header =
        |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let read = if stub.options.api_key.is_some() && wire.key(&header) != stub.options.api_key {
        Err(Refusal::key())
    } else {
        let json = json.map_err(|err| Refusal::invalid(format!("The request body is not valid JSON: {err}")));
        json.and_then(|json| wire.read(&header, &json))
    };
    let read = match read {
        Ok(read) => read,
        Err(refusal) => {
            session.refused();
            flight.complete();
            return refused(wire, &refusal);
        }
    };
    let scripted = session.next_scripted();
    let from_script = scripted.is_some();
    let scripted = scripted.unwrap_or_default();
    tokio::time::sleep(scripted.delay_head()).await;
    if let Some(status) = scripted.status {
        flight.complete();
        return with_headers(
            refused(wire, &Refusal::of_status(status, scripted.error.as_deref())),
            &scripted,
        );
    }
    if scripted.hang == Some(Hang::Head) {
        return hang(flight).await;
    }
    let plan = stub.planner.plan(wire, &read, &scripted, from_script, &session).await;
    let content_type =
        if plan.event_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let body = Body::new(plan.pieces, plan.cut_after, flight);
    let response = HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, content_type))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .streaming(body);
    with_headers(response, &scripted)
}

/// Never answers, until the client is gone, which drops this.
async fn hang(flight: Flight) -> HttpResponse {
    let _flight = flight;
    std::future::pending().await
}

fn recorded(number: u64, request: &HttpRequest, body: &[u8], json: Option<&Value>) -> Recorded {
    let path = match request.match_info().get("session") {
        Some(session) => request.path().strip_prefix("/s/").and_then(|path| path.strip_prefix(session)),
        None => Some(request.path()),
    };
    let headers = request.headers().iter().map(|(name, value)| {
        (name.as_str().to_ascii_lowercase(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let body = json.cloned().unwrap_or_else(|| String::from_utf8_lossy(body).into_owned().into());
    Recorded { number, path: path.unwrap_or_default().to_owned(), headers: headers.collect(), body }
}

fn refused(wire: Wire, refusal: &Refusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    HttpResponse::build(status).json(wire.error(refusal))
}

fn with_headers(mut response: HttpResponse, scripted: &Scripted) -> HttpResponse {
    for (name, value) in &scripted.headers {
        // A header that is none is left out: the test that wrote it will miss it.
        if let (Ok(name), Ok(value)) =
            (name.parse::<header::HeaderName>(), value.parse::<header::HeaderValue>())
        {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
