//! A second, independent service of the ask contract, in one process and small: right, or wrong in exactly one way.
//!
//! It brings its own issuer, a scripted model and a make-believe executor, so that the harness can be judged without
//! anything else. It knows the contract from its text alone and shares no code with any service.

mod agent;
mod answer;
pub(crate) mod http;
pub(crate) mod issuer;
mod log;
mod model;
mod own;
mod redact;
mod routes;
mod tools;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::Instant;

use self::issuer::Issuer;
use self::log::Log;
use self::model::Model;
pub(crate) use self::tools::SLOW_SQL;

pub(crate) const TTL: Duration = Duration::from_millis(2500);
pub(crate) const KEEP_ALIVE: Duration = Duration::from_millis(400);
pub(crate) const MAX_EVENTS: usize = 24;
pub(crate) const MAX_HOPS: u64 = 6;
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// A conversation and what it remembers.
pub(crate) struct Conversation {
    pub(crate) owner: String,
    pub(crate) turns: u64,
    pub(crate) running: Option<String>,
    pub(crate) history: Vec<Value>,
    pub(crate) used: Instant,
    /// Its place among all that were made.
    pub(crate) number: u64,
}

impl Conversation {
    /// One that nothing was asked in yet.
    pub(crate) fn new(mini: &Mini, owner: String) -> Self {
        let number = mini.counter.get();
        mini.counter.set(number + 1);
        Self { owner, turns: 0, running: None, history: Vec::new(), used: Instant::now(), number }
    }
}

/// An ask.
pub(crate) struct Ticket {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) conversation: String,
    pub(crate) turn: u64,
    pub(crate) log: Log,
    pub(crate) born: Instant,
    pub(crate) run: RefCell<Option<tokio::task::AbortHandle>>,
    pub(crate) streams: Cell<usize>,
    pub(crate) feedback: RefCell<Option<Value>>,
}

/// The one way, if any, in which something here is wrong.
#[derive(Clone, Copy)]
pub(crate) struct Wrong(pub(crate) Option<&'static str>);

impl Wrong {
    /// Whether it is wrong in that way.
    pub(crate) fn is(self, fault: &str) -> bool {
        self.0 == Some(fault)
    }
}

/// The whole service.
pub(crate) struct Mini {
    pub(crate) wrong: Wrong,
    pub(crate) base: String,
    pub(crate) issuer: Issuer,
    pub(crate) model: Model,
    pub(crate) conversations: RefCell<HashMap<String, Conversation>>,
    pub(crate) tickets: RefCell<HashMap<String, Rc<Ticket>>>,
    pub(crate) counter: Cell<u64>,
    pub(crate) directory: PathBuf,
    pub(crate) shared_history: RefCell<Vec<Value>>,
    pub(crate) sticky: RefCell<HashMap<&'static str, String>>,
    pub(crate) stream_lock: tokio::sync::Mutex<()>,
    /// Whether it lacks what was added to the contract, and says so.
    pub(crate) is_plain: Cell<bool>,
}

impl Mini {
    /// Listens on a free port; must run within a `LocalSet`.
    pub(crate) async fn start(fault: Option<&'static str>) -> Rc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let port = listener.local_addr().unwrap().port();
        let directory = std::env::temp_dir().join(format!("ask-mini-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for file in ["executor.log", "service.log"] {
            std::fs::write(directory.join(file), "").unwrap();
        }
        let mini = Rc::new(Self {
            wrong: Wrong(fault),
            issuer: Issuer::new(&base),
            base,
            model: Model::default(),
            conversations: RefCell::default(),
            tickets: RefCell::default(),
            counter: Cell::new(0),
            directory,
            shared_history: RefCell::default(),
            sticky: RefCell::default(),
            stream_lock: tokio::sync::Mutex::new(()),
            is_plain: Cell::new(false),
        });
        let serving = Rc::clone(&mini);
        tokio::task::spawn_local(async move {
            loop {
                let (conn, _) = listener.accept().await.unwrap();
                conn.set_nodelay(true).unwrap();
                tokio::task::spawn_local(http::serve(Rc::clone(&serving), conn));
            }
        });
        mini
    }

    /// Whether it is wrong in that way.
    pub(crate) fn is(&self, fault: &str) -> bool {
        self.wrong.is(fault)
    }

    /// Appends a line to one of the two logs.
    pub(crate) fn write(&self, file: &str, line: &str) {
        use std::io::Write as _;
        let mut log = std::fs::OpenOptions::new().append(true).open(self.directory.join(file)).unwrap();
        writeln!(log, "{line}").unwrap();
    }

    /// An identifier with 128 random bits.
    pub(crate) fn new_id(&self, prefix: &str) -> String {
        self.counter.set(self.counter.get() + 1);
        if self.is("ids-count-up") {
            return format!("{prefix}{:026}", self.counter.get());
        }
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).unwrap();
        format!("{prefix}{}", data_encoding::HEXLOWER.encode(&bytes))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Drop for Mini {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.directory);
    }
}
