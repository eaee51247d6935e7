//! `ask-yardstick`: the contract's calls on a bare server, with no work behind them.
//!
//! No token is looked at, nothing is checked, kept in order or expired; a question in the load form says what its stream holds.
//! It stands for what this server library can do on the machine at hand. It is no ask service and serves loopback alone.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::web::{Data, Json, Path};
use actix_web::{App, HttpResponse, HttpServer, web};
use ask_contract::Timestamp;
use bytes::{Bytes, BytesMut};
use clap::Parser;
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The contract's calls on a bare server, with no work behind them.
#[derive(Debug, Parser)]
struct Args {
    /// The port on loopback
    #[arg(long, default_value_t = 8099)]
    port: u16,
    /// Bytes of frames that go out in one chunk; 0 is a chunk for each
    #[arg(long, default_value_t = 0)]
    chunk: usize,
}

/// Frames that are there, and whether more come.
type Frames = (Arc<Vec<Bytes>>, bool);

#[derive(Debug)]
struct Yardstick {
    next: AtomicU64,
    chunk: usize,
    tickets: Mutex<HashMap<String, watch::Receiver<Frames>>>,
    /// What stays quiet and open.
    quiet: Mutex<Vec<watch::Sender<Frames>>>,
    /// What ends at once, by its number and size of events.
    finished: Mutex<HashMap<(u32, u32), watch::Receiver<Frames>>>,
}

#[derive(Debug, Deserialize)]
struct Asked {
    question: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A frame as long as the contract's own is with `size` bytes of arguments.
fn frame(seq: u32, kind: &str, size: u32) -> Bytes {
    let text = "x".repeat(size.saturating_sub(14) as usize);
    let (id, ts) = ("x".repeat(48), now());
    Bytes::from(format!(
        "id: {seq}\nevent: {kind}\ndata: {{\"seq\":{seq},\"ticket\":\"{id}\",\"conversation_id\":\"{id}\",\"ts\":\"{ts}\",\
         \"type\":\"{kind}\",\"branch_id\":\"b1\",\"tool\":\"warehouse__list_sources\",\"args\":{{\"padding\":\"{text}\"}},\
         \"ms\":1,\"is_error\":false}}\n\n"
    ))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the reader of an event compares its time with the time of day"
)]
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ts = Timestamp::from_unix_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    serde_json::to_string(&ts).unwrap_or_default().trim_matches('"').to_owned()
}

async fn open(yardstick: Data<Yardstick>) -> HttpResponse {
    let number = yardstick.next.fetch_add(1, Ordering::Relaxed);
    HttpResponse::Created().json(json!({ "conversation_id": format!("c{number:016x}") }))
}

async fn ask(yardstick: Data<Yardstick>, conversation: Path<String>, asked: Json<Asked>) -> HttpResponse {
    let member = |name: &str| {
        let words = asked.question.split_whitespace();
        let value = words.filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name)?.1;
        value.parse::<u32>().ok()
    };
    let (n, size) = (member("n").unwrap_or(0), member("size").unwrap_or(60));
    let frames = if member("hold").is_some() {
        let (quiet, frames) = watch::channel((Arc::new(vec![frame(1, "accepted", 60)]), true));
        lock(&yardstick.quiet).push(quiet);
        frames
    } else if let Some(hz) = member("hz") {
        paced(n, size, hz.max(1), member("lead").unwrap_or(0))
    } else {
        let mut finished = lock(&yardstick.finished);
        finished.entry((n, size)).or_insert_with(|| at_once(n, size)).clone()
    };
    let ticket = format!("t{:016x}", yardstick.next.fetch_add(1, Ordering::Relaxed));
    let answer = json!({ "ticket": ticket, "conversation_id": *conversation, "turn": 1, "seq": 0 });
    lock(&yardstick.tickets).insert(ticket, frames);
    HttpResponse::Accepted().json(answer)
}

fn at_once(n: u32, size: u32) -> watch::Receiver<Frames> {
    let steps = (0..n).map(|at| frame(at + 2, "step", size));
    let first = std::iter::once(frame(1, "accepted", 60));
    let all: Vec<Bytes> = first.chain(steps).chain([frame(n + 2, "done", 60)]).collect();
    watch::channel((Arc::new(all), false)).1
}

#[expect(clippy::disallowed_methods, reason = "there is no actor here that could own it")]
fn paced(n: u32, size: u32, hz: u32, lead_ms: u32) -> watch::Receiver<Frames> {
    let (writer, reader) = watch::channel((Arc::new(vec![frame(1, "accepted", 60)]), true));
    let start = Instant::now() + Duration::from_millis(lead_ms.into());
    actix_web::rt::spawn(async move {
        for at in 0..n {
            sleep_until(start + Duration::from_secs(at.into()) / hz).await;
            let step = frame(at + 2, "step", size);
            writer.send_modify(|(frames, _)| Arc::make_mut(frames).push(step));
        }
        writer.send_modify(|(frames, more)| {
            Arc::make_mut(frames).push(frame(n + 2, "done", 60));
            *more = false;
        });
    });
    reader
}

async fn events(yardstick: Data<Yardstick>, ticket: Path<String>) -> HttpResponse {
    let Some(frames) = lock(&yardstick.tickets).get(ticket.as_str()).cloned() else {
        return HttpResponse::NotFound().finish();
    };
    let most = yardstick.chunk;
    let body = unfold((frames, 0_usize), move |(mut frames, at)| async move {
        loop {
            let next = {
                let now = frames.borrow_and_update();
                let new = now.0.get(at..).unwrap_or_default();
                match new.split_first() {
                    Some((first, more)) => Some(joined(first, more, most)),
                    None if !now.1 => return None,
                    None => None,
                }
            };
            if let Some((bytes, count)) = next {
                return Some((Ok::<_, Infallible>(bytes), (frames, at + count)));
            }
            frames.changed().await.ok()?;
        }
    });
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("Cache-Control", "no-cache"))
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(body)
}

/// The first frame, and as many more as fit into a chunk.
fn joined(first: &Bytes, more: &[Bytes], most: usize) -> (Bytes, usize) {
    let mut size = first.len();
    let fitting = more.iter().take_while(|next| {
        size += next.len();
        size <= most
    });
    let fitting: Vec<&Bytes> = fitting.collect();
    if fitting.is_empty() {
        return (first.clone(), 1);
    }
    let mut joined = BytesMut::with_capacity(most);
    joined.extend_from_slice(first);
    fitting.iter().for_each(|next| joined.extend_from_slice(next));
    (joined.freeze(), fitting.len() + 1)
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok", "contract": "1" }))
}

async fn cancel(ticket: Path<String>) -> HttpResponse {
    HttpResponse::Accepted().json(json!({ "ticket": *ticket, "finished": true }))
}

fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let yardstick = Data::new(Yardstick {
        next: AtomicU64::new(1),
        chunk: args.chunk,
        tickets: Mutex::default(),
        quiet: Mutex::default(),
        finished: Mutex::default(),
    });
    let app = move || {
        App::new()
            .app_data(yardstick.clone())
            .route("/health", web::get().to(health))
            .route("/v1/conversations", web::post().to(open))
            .route("/v1/conversations/{conversation_id}/asks", web::post().to(ask))
            .route("/v1/asks/{ticket}/events", web::get().to(events))
            .route("/v1/asks/{ticket}/cancel", web::post().to(cancel))
    };
    actix_rt::System::new().block_on(async move {
        let server = HttpServer::new(app).workers(1).max_connections(60_000).backlog(4096).tcp_nodelay(true);
        server.bind(("127.0.0.1", args.port))?.run().await
    })
}
