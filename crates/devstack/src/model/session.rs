//! One test's own stub: its script, what it was sent, and what is going on.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::{cache::Cache, script::Scripted};

/// One request as the stub got it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its number within the session, from 1.
    pub number: u64,
    /// The path below the session, `/v1/messages` for one.
    pub path: String,
    /// All headers, names in lower case. They hold the keys and tokens that came: a test may look for one that should not.
    pub headers: BTreeMap<String, String>,
    /// The body; a string when it is no JSON.
    pub body: Value,
}

/// What is going on in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Requests received.
    pub received: u64,
    /// Requests whose answer is not yet complete.
    pub in_flight: u64,
    /// The most that were in flight at once.
    pub peak_in_flight: u64,
    /// Answers whose client went away before they were complete.
    pub closed_early: u64,
    /// Requests refused since they do not follow the protocol.
    pub refused: u64,
    /// Scripted answers not yet given.
    pub script_left: usize,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    state: watch::Sender<State>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    script: VecDeque<Scripted>,
    turn_delay: Option<Duration>,
    requests: VecDeque<(usize, Recorded)>,
    bytes: usize,
    cache: Cache,
}

/// The most bytes of request bodies that a session keeps.
const MOST_BYTES: usize = 32 << 20;

impl Session {
    fn new() -> Self {
        Self { state: watch::Sender::new(State::default()), inner: Mutex::default() }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        // What a panic left behind is still good enough to look at.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a script in the place of what is left of the last one.
    pub(super) fn set_script(&self, script: Vec<Scripted>) {
        let left = script.len();
        self.inner().script = script.into();
        self.state.send_modify(|state| state.script_left = left);
    }

    /// The next scripted answer.
    pub(super) fn next_scripted(&self) -> Option<Scripted> {
        let (next, left) = {
            let mut inner = self.inner();
            (inner.script.pop_front(), inner.script.len())
        };
        self.state.send_modify(|state| state.script_left = left);
        next
    }

    /// The wait before each reply, where the session has one of its own.
    pub(super) fn turn_delay(&self) -> Option<Duration> {
        self.inner().turn_delay
    }

    /// Sets the wait before each reply.
    pub(super) fn set_turn_delay(&self, delay: Duration) {
        self.inner().turn_delay = Some(delay);
    }

    /// Keeps a request, among the newest `most`.
    pub(super) fn record(&self, most: usize, size: usize, make: impl FnOnce(u64) -> Recorded) {
        let mut number = 0;
        self.state.send_modify(|state| {
            state.received += 1;
            number = state.received;
        });
        let mut inner = self.inner();
        inner.requests.push_back((size, make(number)));
        inner.bytes += size;
        while inner.requests.len() > most || inner.bytes > MOST_BYTES {
            let Some((size, _)) = inner.requests.pop_front() else { break };
            inner.bytes -= size;
        }
    }

    /// The newest requests, oldest first.
    pub(super) fn requests(&self) -> Vec<Recorded> {
        self.inner().requests.iter().map(|(_, recorded)| recorded.clone()).collect()
    }

    pub(super) fn state(&self) -> State {
        *self.state.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(super) fn with_cache<T>(&self, use_cache: impl FnOnce(&mut Cache) -> T) -> T {
        use_cache(&mut self.inner().cache)
    }

    /// Counts a refused request.
    pub(super) fn refused(&self) {
        self.state.send_modify(|state| state.refused += 1);
    }

    /// Counts an answer in until it is complete or dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Flight {
        self.state.send_modify(|state| {
            state.in_flight += 1;
            state.peak_in_flight = state.peak_in_flight.max(state.in_flight);
        });
        Flight { session: Arc::clone(self), complete: false }
    }
}

/// An answer under way. Dropped before it is complete, it means that the client went away.
#[derive(Debug)]
pub(super) struct Flight {
    session: Arc<Session>,
    complete: bool,
}

impl Flight {
    /// The answer is complete, or was cut on purpose.
    pub(super) fn complete(&mut self) {
        self.complete = true;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.session.state.send_modify(|state| {
            state.in_flight = state.in_flight.saturating_sub(1);
            if !self.complete {
                state.closed_early += 1;
            }
        });
    }
}

/// All sessions, made when first named; the oldest go when there are too many.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_name: HashMap<String, Arc<Session>>,
    order: VecDeque<String>,
}

/// More sessions than one run of tests opens.
const MOST_SESSIONS: usize = 4096;

impl Sessions {
    /// The session of a name.
    pub(super) fn get(&self, name: &str) -> Arc<Session> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = known.by_name.get(name) {
            return Arc::clone(session);
        }
        if known.order.len() >= MOST_SESSIONS
            && let Some(oldest) = known.order.pop_front()
        {
            known.by_name.remove(&oldest);
        }
        let session = Arc::new(Session::new());
        known.by_name.insert(name.to_owned(), Arc::clone(&session));
        known.order.push_back(name.to_owned());
        session
    }
}
