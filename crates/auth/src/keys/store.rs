//! The keys in use, shared by all callers, and the thread that keeps them fresh.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

use super::key::KeySet;
use super::schedule::{Miss, Schedule};
use super::source::{FetchError, KeySource};
use crate::clock::{Clock, Millis};

/// How many callers may wait for a fetch at once. The rest are answered from what is known.
const MAX_WAITING: usize = 512;
/// The longest sleep of the fetching thread, so that a clock set back is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The keys of one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) keys: KeySet,
    /// Rises whenever the keys differ from those before.
    pub(crate) generation: u64,
}

/// The keys in use. Dropping it ends the fetching thread.
pub(crate) struct KeyStore {
    shared: Arc<Shared>,
    wake: mpsc::Sender<()>,
    finished: watch::Receiver<u64>,
    waiting: Semaphore,
    wait_limit: Duration,
}

struct Shared {
    clock: Clock,
    snapshot: RwLock<Arc<Snapshot>>,
    schedule: Mutex<Schedule>,
}

impl KeyStore {
    /// Starts the thread that fetches. The first fetch begins at once; nobody waits for it here.
    pub(crate) fn start<S, F>(clock: Clock, fetch_limit: Duration, source: F) -> std::io::Result<Self>
    where
        S: KeySource,
        F: FnOnce() -> S + Send + 'static,
    {
        let shared = Arc::new(Shared {
            clock,
            snapshot: RwLock::new(Arc::new(Snapshot { keys: KeySet::default(), generation: 0 })),
            schedule: Mutex::default(),
        });
        let (wake, woken) = mpsc::channel(1);
        let (announce, finished) = watch::channel(0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let worker = Worker { shared: Arc::clone(&shared), woken, announce, fetch_limit };
        std::thread::Builder::new()
            .name("ask-auth-keys".to_owned())
            .spawn(move || worker.run(&runtime, source))?;
        Ok(Self {
            shared,
            wake,
            finished,
            waiting: Semaphore::new(MAX_WAITING),
            // One fetch, and some time for the thread to get to it.
            wait_limit: fetch_limit.saturating_add(Duration::from_secs(1)),
        })
    }

    /// The keys as they are now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.shared.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has old keys fetched anew, without waiting for it.
    pub(crate) fn refresh_if_old(&self, now: Millis) {
        if self.shared.schedule().due(now) {
            self.wake();
        }
    }

    /// Waits for a fetch that may bring the key with this id, if one may be made now, and returns the keys with it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the waiting; the fetch goes on for the others.
    pub(crate) async fn await_key(&self, kid: &str) -> Option<Arc<Snapshot>> {
        let _place = self.waiting.try_acquire().ok()?;
        let mut finished = self.finished.clone();
        // The fetch in flight may have begun before the key was published, so a second one is asked for.
        for _round in 0..2 {
            let seen = *finished.borrow_and_update();
            let snapshot = self.snapshot();
            if snapshot.keys.find(kid).is_some() {
                return Some(snapshot);
            }
            let miss = self.shared.schedule().miss(self.shared.clock.now());
            if miss == Miss::TooSoon {
                break;
            }
            self.wake();
            timeout(self.wait_limit, finished.wait_for(|count| *count > seen)).await.ok()?.ok()?;
        }
        // Also after `TooSoon`: a fetch may have ended between the two looks.
        let snapshot = self.snapshot();
        snapshot.keys.find(kid).is_some().then_some(snapshot)
    }

    fn wake(&self) {
        // Full means that the thread is about to look anyway; closed means that it is gone, and the known keys serve on.
        let _full_or_gone = self.wake.try_send(());
    }
}

impl fmt::Debug for KeyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyStore")
            .field("generation", &self.snapshot().generation)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts newly fetched keys in use.
    fn publish(&self, keys: KeySet) {
        let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        if !current.keys.same_as(&keys) {
            let generation = current.generation.saturating_add(1);
            tracing::info!(
                keys.count = keys.len(),
                keys.generation = generation,
                "the issuer's keys changed"
            );
            *current = Arc::new(Snapshot { keys, generation });
        }
    }
}

/// The one place that fetches, so that two fetches never run at once.
struct Worker {
    shared: Arc<Shared>,
    woken: mpsc::Receiver<()>,
    announce: watch::Sender<u64>,
    fetch_limit: Duration,
}

impl Worker {
    fn run<S: KeySource>(mut self, runtime: &Runtime, source: impl FnOnce() -> S) {
        LocalSet::new().block_on(runtime, async move {
            let source = source();
            loop {
                let now = self.shared.clock.now();
                let begins = {
                    let mut schedule = self.shared.schedule();
                    let due = schedule.due(now);
                    if due {
                        schedule.begin();
                    }
                    due
                };
                if begins {
                    self.fetch(&source).await;
                    continue;
                }
                let sleep = self.shared.schedule().until_due(now).min(LONGEST_SLEEP);
                // A time-out only means that it is time to look again.
                if let Ok(None) = timeout(sleep, self.woken.recv()).await {
                    return;
                }
            }
        });
    }

    async fn fetch(&self, source: &impl KeySource) {
        let fetched = match timeout(self.fetch_limit, source.fetch()).await {
            Ok(Ok(document)) => KeySet::read(&document).ok_or(FetchError::NoKeys),
            Ok(Err(err)) => Err(err),
            Err(_elapsed) => Err(FetchError::TimedOut),
        };
        let brought_keys = fetched.is_ok();
        match fetched {
            Ok(keys) => self.shared.publish(keys),
            Err(err) => {
                tracing::warn!(error = %err, "the issuer's keys could not be fetched; the known ones stay in use");
            }
        }
        self.shared.schedule().end(self.shared.clock.now(), brought_keys);
        self.announce.send_modify(|count| *count = count.wrapping_add(1));
    }
}
