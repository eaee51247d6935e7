//! The works, and the loop that most of them are.

mod accept;
mod cancel;
mod fanout;
mod hold;
mod post;
mod replay;
mod whole;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::args::{Args, Pace, Work};
use crate::conn::Conn;
use crate::figures::{Report, of_count};
use crate::meter;
use crate::scan::Scan;
use crate::target::Target;

/// How long what has begun may take once the time is over.
const PATIENCE: Duration = Duration::from_secs(20);

/// Measures what the arguments say.
pub(crate) async fn run(args: &Args) -> Result<Report> {
    meter::raise_file_limit();
    let target = Target::of(args)?;
    if !matches!(args.work, Work::Replay { path: Some(_), .. } | Work::Post { .. }) {
        target.client()?.health().await.with_context(|| format!("nothing to measure at {}", args.base))?;
    }
    match args.work.clone() {
        Work::Accept { pace, question } => accept::run(&target, args.pid, pace, &question).await,
        Work::Hold { streams, seconds, settle, question, own } => {
            let plan = hold::Plan { streams, seconds, settle, question, own };
            hold::run(&target, args.pid, plan).await
        }
        Work::Fanout { readers, events, hz, size, lead_ms } => {
            let plan = fanout::Plan { readers, events, hz, size, lead_ms };
            fanout::run(&target, args.pid, plan).await
        }
        Work::Replay { pace, events, size, path, beside } => {
            replay::run(&target, args.pid, pace, replay::Plan { events, size, path, beside }).await
        }
        Work::Whole { pace, question, turn_ms, count } => {
            whole::run(&target, args.pid, pace, whole::Plan { question, turn_ms, count }).await
        }
        Work::Cancel { pace, question, after_ms } => cancel::run(&target, pace, &question, after_ms).await,
        Work::Post { pace, path, body } => {
            let body = std::fs::read(&body).with_context(|| format!("--body {}", body.display()))?;
            post::run(args, pace, &path, body).await
        }
    }
}

/// A connection that is opened again when the last one ended.
#[derive(Debug, Default)]
struct Line(Option<Conn>);

impl Line {
    async fn get(&mut self, target: &Target) -> Result<&mut Conn> {
        if !self.0.as_ref().is_some_and(|conn| conn.reusable) {
            self.0 = Some(Conn::open(target).await?);
        }
        self.0.as_mut().context("a connection was just opened")
    }

    /// A call that must be answered with `status`; the member `name` of its answer.
    async fn call(&mut self, target: &Target, request: &[u8], status: u16, name: &str) -> Result<String> {
        let (got, answer) = self.get(target).await?.call(request).await?;
        if got != status {
            let text: String = String::from_utf8_lossy(&answer).chars().take(300).collect();
            bail!("answered {got}: {text}");
        }
        let answer: Value = serde_json::from_slice(&answer)?;
        let value = answer.get(name).and_then(Value::as_str);
        Ok(value.with_context(|| format!("an answer without {name}"))?.to_owned())
    }

    /// Opens a conversation.
    async fn open(&mut self, target: &Target) -> Result<String> {
        self.call(target, &target.bare("POST", "/v1/conversations"), 201, "conversation_id").await
    }

    /// Opens a conversation and asks in it; the ticket.
    async fn ask(&mut self, target: &Target, question: &str) -> Result<String> {
        let conversation = self.open(target).await?;
        let body = json!({ "question": question }).to_string();
        let path = format!("/v1/conversations/{conversation}/asks");
        self.call(target, &target.json(&path, body.as_bytes()), 202, "ticket").await
    }

    /// Reads a stream to its end.
    async fn read(&mut self, target: &Target, path: &str) -> Result<Scan> {
        let conn = self.get(target).await?;
        let mut head = conn.send(&target.bare("GET", path)).await?;
        if head.status != 200 {
            conn.reusable = false;
            bail!("a stream was answered with {}", head.status);
        }
        let mut scan = Scan::default();
        while conn.more(&mut head.body, |bytes| scan.feed(bytes)).await? {}
        if !scan.is_done() {
            bail!("a stream ended without done");
        }
        Ok(scan)
    }
}

fn events_of(ticket: &str) -> String {
    format!("/v1/asks/{ticket}/events")
}

/// What a loop gathered.
struct Gathered<T> {
    samples: Vec<(f64, T)>,
    seconds: f64,
    errors: u64,
    first_error: Option<String>,
    cpu: Option<f64>,
}

impl<T> Gathered<T> {
    /// Notes the rate, the time that one took, and what went wrong.
    fn report(&self, what: &str) -> Report {
        let mut report = Report::default();
        let count = of_count(self.samples.len() as u64);
        report.add(&format!("{what}_per_s"), count / self.seconds);
        report.add("count", count);
        let mut times: Vec<f64> = self.samples.iter().map(|(ms, _)| *ms).collect();
        report.add_spread("ms", &mut times);
        report.add("errors", of_count(self.errors));
        report.add_some("cpu_us_each", self.cpu.filter(|_| count > 0.0).map(|cpu| cpu * 1e6 / count));
        report.add_error(self.first_error.clone());
        report
    }
}

/// Does `one` at a time on each of so many lines; what ends within the measured time counts.
async fn repeat<T, S: Default>(
    pace: Pace,
    pid: Option<u32>,
    count: Option<u64>,
    one: impl AsyncFn(&mut S) -> Result<T>,
) -> Gathered<T> {
    let from = Instant::now() + Duration::from_secs_f64(pace.warm);
    let until = from + Duration::from_secs_f64(pace.seconds);
    let (samples, errors, first_error) = (RefCell::new(Vec::new()), Cell::new(0_u64), RefCell::new(None));
    let begun = Cell::new(0_u64);
    let line = async || {
        let mut state = S::default();
        while Instant::now() < until && count.is_none_or(|count| begun.get() < count) {
            begun.set(begun.get() + 1);
            let start = Instant::now();
            let outcome = one(&mut state).await;
            let end = Instant::now();
            match outcome {
                Ok(value) if end >= from && (end < until || count.is_some()) => {
                    samples.borrow_mut().push(((end - start).as_secs_f64() * 1000.0, value));
                }
                Ok(_) => {}
                Err(err) => {
                    state = S::default();
                    errors.set(errors.get() + 1);
                    first_error.borrow_mut().get_or_insert_with(|| format!("{err:#}"));
                    sleep(Duration::from_millis(5)).await;
                }
            }
        }
    };
    let used = async {
        let cpu = || pid.and_then(meter::cpu);
        sleep_until(from).await;
        let before = cpu();
        if count.is_some() {
            return None;
        }
        sleep_until(until).await;
        Some(cpu()? - before?)
    };
    let lines = join_all((0..pace.concurrency).map(|_| line()));
    let limit = Duration::from_secs_f64(pace.warm + pace.seconds) + PATIENCE;
    let (cut, cpu) = futures_util::future::join(timeout(limit, lines), used).await;
    if cut.is_err() {
        errors.set(errors.get() + 1);
        first_error
            .borrow_mut()
            .get_or_insert_with(|| "some had not ended when the time was over".to_owned());
    }
    let seconds = if count.is_some() { (Instant::now() - from).as_secs_f64() } else { pace.seconds };
    Gathered { samples: samples.take(), seconds, errors: errors.get(), first_error: first_error.take(), cpu }
}
