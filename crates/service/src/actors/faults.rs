//! A fault at every await of a run: whatever fails, and wherever, its ticket ends, soon, once, and alone.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ask_agent::{
    BranchTask, Model, Report, Sink, ToolDefinition, ToolFailure, ToolReply, ToolServer, ToolServerKind,
    ToolServers, run_branch,
};
use ask_auth::{Bearer, Identity, Subject};
use ask_contract::{BranchRole, Outcome};
use ask_core::clock::SystemClock;
use ask_core::ticket::{Progress, supervisor_branch};
use ask_llm::{Assistant, Request, Stop, ToolCall, Turn, TurnError, Usage};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::parts::{RunParts, Work};
use super::*;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The code panics.
    Panic,
    /// The work ends without a report, as when its ticket is gone.
    Vanishes,
    /// The peer that is waited for never answers: the run's own time limit has to end it.
    Hangs,
    /// The ticket's mailbox is full.
    FullMailbox,
    /// The thread with everything on it ends.
    LostArbiter,
    /// The service is told to stop.
    Shutdown,
    /// The asker cancels.
    Cancel,
}

const FAULTS: [Fault; 7] = [
    Fault::Panic,
    Fault::Vanishes,
    Fault::Hangs,
    Fault::FullMailbox,
    Fault::LostArbiter,
    Fault::Shutdown,
    Fault::Cancel,
];

/// How long a run may take in these tests; a hanging one is ended by it, and no other comes near it.
const LIMIT: Duration = Duration::from_secs(1);

/// Within this time of the fault, beyond the limit that a hang has to wait for, the ticket has ended.
const SOON: Duration = Duration::from_secs(1);

/// Work that meets a fault when it is polled for the `at`th time.
struct Faulty {
    work: Work,
    polls: usize,
    at: usize,
    strike: Box<dyn FnMut() -> Struck>,
}

/// What is left of the work after the fault.
enum Struck {
    GoesOn,
    Ends,
}

impl Future for Faulty {
    type Output = Result<ask_agent::BranchReport, ask_agent::Stopped>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.polls += 1;
        if self.polls == self.at {
            match (self.strike)() {
                Struck::GoesOn => {}
                Struck::Ends => return Poll::Ready(Err(ask_agent::Stopped)),
            }
        }
        self.work.as_mut().poll(cx)
    }
}

/// A model with a script and a tool server, which answer after a moment, unless one of their answers is the one to hang.
struct World {
    script: RefCell<VecDeque<Turn>>,
    hang: Rc<Hang>,
}

/// Which answer never comes.
#[derive(Default)]
struct Hang {
    asked: Cell<usize>,
    at: usize,
    struck: Option<mpsc::UnboundedSender<Instant>>,
}

impl Hang {
    /// One answer: it comes after a moment, or never.
    async fn moment(&self) {
        self.asked.set(self.asked.get() + 1);
        if self.asked.get() == self.at {
            if let Some(struck) = &self.struck {
                struck.send(Instant::now()).ok();
            }
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn turn(text: &str, calls: Vec<ToolCall>) -> Turn {
    let stop = if calls.is_empty() { Stop::End } else { Stop::ToolUse };
    Turn {
        assistant: Assistant::new(text, calls.clone()),
        text: text.to_owned(),
        calls,
        stop,
        usage: Usage { input: 10, output: 5, cache_read: 3, cache_write: 2 },
        model: "scripted".to_owned(),
        degraded: &[],
        attempts: 1,
    }
}

impl World {
    fn new(hang: Hang) -> Self {
        let query = |number: usize| ToolCall {
            id: format!("call_{number}"),
            name: "warehouse__run_query".to_owned(),
            args: Ok(json!({"sql": format!("SELECT {number}")}).as_object().unwrap().clone()),
        };
        let script = [turn("", vec![query(1), query(2)]), turn("", vec![query(3)]), turn("Three.", vec![])];
        Self { script: RefCell::new(script.into()), hang: Rc::new(hang) }
    }
}

impl Model for World {
    fn turn<'a>(&'a self, _: Request<'a>) -> LocalBoxFuture<'a, Result<Turn, TurnError>> {
        let next = self.script.borrow_mut().pop_front().unwrap();
        async move {
            self.hang.moment().await;
            Ok(next)
        }
        .boxed_local()
    }
}

impl ToolServers for World {
    fn connect(&self, _: bool) -> LocalBoxFuture<'_, Result<Vec<Box<dyn ToolServer>>, ToolFailure>> {
        let tool = ToolDefinition {
            name: "run_query".to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
        };
        let server: Box<dyn ToolServer> =
            Box::new(Warehouse { tools: vec![tool], hang: Rc::clone(&self.hang) });
        async move {
            self.hang.moment().await;
            Ok(vec![server])
        }
        .boxed_local()
    }
}

struct Warehouse {
    tools: Vec<ToolDefinition>,
    hang: Rc<Hang>,
}

impl ToolServer for Warehouse {
    fn name(&self) -> &'static str {
        "warehouse"
    }

    fn kind(&self) -> ToolServerKind {
        ToolServerKind::Source
    }

    fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    fn call(
        &self,
        _: &str,
        args: &Map<String, Value>,
    ) -> LocalBoxFuture<'static, Result<ToolReply, ToolFailure>> {
        let structured = json!({"source": "support", "sql": args["sql"], "tables": ["support.tickets"],
            "columns": ["n"], "rows": [[3]], "rowCount": 1, "truncated": false, "ms": 1});
        let hang = Rc::clone(&self.hang);
        async move {
            hang.moment().await;
            Ok(ToolReply { is_error: false, text: structured.to_string(), structured: Some(structured) })
        }
        .boxed_local()
    }
}

fn work(task: BranchTask, sink: Box<dyn Sink>, hang: Hang) -> Work {
    async move {
        let world = World::new(hang);
        run_branch(task, &world, &world, sink.as_ref()).await
    }
    .boxed_local()
}

fn house() -> House {
    let settings = [
        ("DAS_ENTRA_ISSUER", "http://127.0.0.1:9/t/v2.0"),
        ("DAS_APIM_BASE", "http://127.0.0.1:9"),
        ("DAS_LLM_BASE_URL", "http://127.0.0.1:9"),
        ("DAS_MODEL", "none"),
        ("DAS_ASK_ARBITERS", "2"),
        ("DAS_ASK_GROUNDING", "false"),
    ];
    let mut settings = Settings::read(&settings.into_iter().collect()).unwrap();
    settings.runs.ceilings.total = LIMIT;
    let (audit, _writer) = Audit::start(b"key", std::io::sink()).unwrap();
    let clock = Arc::new(SystemClock);
    let mint = IdMint::new(b"key", clock.now());
    House::new(settings, clock, mint, audit, crate::telemetry::Telemetry::silent())
}

fn caller() -> Arc<Identity> {
    Arc::new(Identity {
        owner: Owner::new("http://127.0.0.1:9/t/v2.0", None, Subject::Object("someone".to_owned())),
        oid: "someone".to_owned(),
        roles: Vec::new(),
        scopes: Vec::new(),
        expires_at: time::OffsetDateTime::UNIX_EPOCH,
        bearer: Bearer::new("token"),
    })
}

/// A sink that the work and the fault share.
struct SharedSink(Rc<dyn Sink>);

impl Sink for SharedSink {
    fn tell(&self, report: Report) -> LocalBoxFuture<'_, Result<(), ask_agent::Stopped>> {
        self.0.tell(report)
    }
}

/// Has the runs of an arbiter done by the script; the first one meets `fault` at its `at`th poll, if it is to be struck.
fn stage(
    arbiter: &Arbiter,
    house: House,
    fault: Option<(Fault, usize)>,
    struck: mpsc::UnboundedSender<Instant>,
) {
    let handle = arbiter.handle();
    arbiter.spawn_fn(move || {
        let fault = Cell::new(fault);
        RunParts::replace_here(move |task, _, sink| {
            let sink: Rc<dyn Sink> = sink.into();
            let fault = fault.take();
            let hang = match fault {
                Some((Fault::Hangs, at)) => Hang { asked: Cell::new(0), at, struck: Some(struck.clone()) },
                _ => Hang::default(),
            };
            let work = work(task, Box::new(SharedSink(Rc::clone(&sink))), hang);
            let Some((fault, at)) = fault.filter(|(fault, _)| *fault != Fault::Hangs) else { return work };
            let (house, handle, struck) = (house.clone(), handle.clone(), struck.clone());
            let strike = Box::new(move || {
                struck.send(Instant::now()).ok();
                strike(fault, &house, &handle, sink.as_ref())
            });
            Faulty { work, polls: 0, at, strike }.boxed_local()
        });
    });
}

fn strike(fault: Fault, house: &House, arbiter: &actix_rt::ArbiterHandle, sink: &dyn Sink) -> Struck {
    match fault {
        Fault::Panic => panic!("a fault that the test makes"),
        Fault::Vanishes => Struck::Ends,
        Fault::FullMailbox => {
            // Far more than the mailbox takes, all of them rejected when they are read.
            for _ in 0..1000 {
                let opened = Progress::BranchOpened {
                    branch_id: supervisor_branch(),
                    role: BranchRole::Supervisor,
                    source: None,
                };
                sink.tell(Report::Progress(opened)).now_or_never();
            }
            Struck::GoesOn
        }
        Fault::LostArbiter => {
            arbiter.stop();
            Struck::GoesOn
        }
        Fault::Shutdown => {
            house.close();
            Struck::GoesOn
        }
        // The world hangs by itself; the test itself cancels when it hears of this moment.
        Fault::Hangs | Fault::Cancel => Struck::GoesOn,
    }
}

async fn ask(house: &House, conversation: &ConversationId) -> TicketHandle {
    let request = serde_json::from_value(json!({"question": "How many are there?"})).unwrap();
    let origin = Arc::new(house.telemetry().origin(None, None));
    let ticket = house.ask(conversation, caller(), request, None, origin).await.unwrap();
    match house.find(&ticket.ticket, &caller().owner) {
        Found::Here(handle) => handle,
        other @ (Found::Expired | Found::Lost | Found::Nowhere) => panic!("{other:?}"),
    }
}

/// Waits for a ticket's ending; its outcome, and the kind of its error.
async fn ending(ticket: &TicketHandle) -> (Outcome, Option<String>) {
    let mut follower = ticket.follow(0);
    let mut read = Vec::new();
    loop {
        let batch = follower.read(1 << 20);
        read.extend_from_slice(&batch.bytes);
        if batch.over {
            break;
        }
        let waited = tokio::time::timeout(Duration::from_secs(10), follower.appended()).await;
        assert!(waited.is_ok(), "a ticket that never ends");
    }
    let text = String::from_utf8(read).unwrap();
    let count = |name: &str| text.matches(&format!("event: {name}\n")).count();
    let terminals = count("answer") + count("abstention") + count("refusal") + count("error");
    assert_eq!((terminals, count("done")), (1, 1), "{text}");
    let last = text.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.contains("event: done"), "{last}");
    assert_eq!(text.matches("\"state\":\"opened\"").count(), text.matches("\"state\":\"closed\"").count());
    let outcome = ticket.outcome().unwrap();
    let kind = text.split("\"kind\":\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
    (outcome, kind)
}

/// One run that is struck, with another on the same thread and one on another. How long its ending took, or `None` when the
/// run was over before.
async fn one(fault: Fault, at: usize) -> Option<Duration> {
    let house = house();
    let (struck, mut strikes) = mpsc::unbounded_channel();
    for (number, arbiter) in house.arbiters.iter().enumerate() {
        stage(arbiter, house.clone(), (number == 0).then_some((fault, at)), struck.clone());
    }
    drop(struck);
    let converse = || house.open_conversation(&caller().owner, None).unwrap().conversation_id;
    let (here, elsewhere, beside) = (converse(), converse(), converse());
    let elsewhere = ask(&house, &elsewhere).await;
    let ticket = ask(&house, &here).await;
    // On a thread that is gone, or in a house that closes, no other ask is taken.
    let is_taken = !matches!(fault, Fault::LostArbiter | Fault::Shutdown);
    let beside = if is_taken { Some(ask(&house, &beside).await) } else { None };
    let at_once = tokio::select! {
        at_once = strikes.recv() => at_once,
        _ = ending(&ticket) => strikes.try_recv().ok(),
    };
    if fault == Fault::Cancel && at_once.is_some() {
        ticket.cancel().await;
        assert!(ticket.progress().1, "the ending is in the log when a cancel returns");
    }
    let (outcome, kind) = ending(&ticket).await;
    let took = at_once.map(|at_once| at_once.elapsed());
    if took.is_some() {
        let expected: &[Option<&str>] = match fault {
            Fault::Panic | Fault::Vanishes => &[Some("internal")],
            Fault::Hangs => &[Some("max_steps")],
            Fault::FullMailbox => &[None],
            // What is over at the same moment has its own ending.
            Fault::LostArbiter | Fault::Shutdown => &[Some("internal"), None],
            Fault::Cancel => &[Some("cancelled"), None],
        };
        assert!(expected.contains(&kind.as_deref()), "{fault:?} at {at}: {outcome:?} {kind:?}");
    }
    let other = ending(&elsewhere).await;
    if fault != Fault::Shutdown {
        let answered = (Outcome::Answer, None);
        assert_eq!(other, answered, "{fault:?} at {at}: a run on another thread");
        if let Some(beside) = &beside {
            assert_eq!(
                ending(beside).await.0,
                Outcome::Answer,
                "{fault:?} at {at}: a run on the same thread"
            );
        }
        // Whatever happened, the house goes on, on the threads that it has left.
        for _ in 0..2 {
            let later = ask(&house, &converse()).await;
            assert_eq!(ending(&later).await, answered, "{fault:?} at {at}: a later run");
        }
    }
    house.stop();
    took
}

#[actix_rt::test]
async fn a_fault_at_any_await_of_a_run_ends_its_ticket_soon_and_no_other() {
    let (mut runs, mut slowest) = (0, Duration::ZERO);
    for fault in FAULTS {
        let mut at = 1;
        while let Some(took) = one(fault, at).await {
            let limit = if fault == Fault::Hangs { LIMIT + SOON } else { SOON };
            assert!(took < limit, "{fault:?} at {at}: {took:?}");
            let after = if fault == Fault::Hangs { took.saturating_sub(LIMIT) } else { took };
            slowest = slowest.max(after);
            (runs, at) = (runs + 1, at + 1);
        }
        assert!(at > 7, "{fault:?}: a run has more awaits than {at}");
    }
    println!(
        "figure: {} faults, {runs} runs, slowest ending {} ms after its fault",
        FAULTS.len(),
        slowest.as_millis()
    );
}
