//! A few threads for work that blocks, with stacks deep enough for any statement.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

/// Parsing and walking a statement recurses with its depth; memory is only taken as it is used.
const STACK_BYTES: usize = 16 * 1024 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// Why a job was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unserved {
    /// No thread was free in time.
    Late,
    /// The job panicked, or the pool is gone.
    Stopped,
}

/// A handle on the threads; they end when the last handle is dropped.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    jobs: Sender<Job>,
    free: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn start(threads: usize) -> std::io::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name(format!("sql-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || work(&queue))?;
        }
        Ok(Self { jobs, free: Arc::new(Semaphore::new(threads)) })
    }

    /// Does a job on the next free thread. Once begun, the job is not cut short; it keeps its own time.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unserved> {
        let permit = timeout_at(deadline, Arc::clone(&self.free).acquire_owned())
            .await
            .map_err(|_elapsed| Unserved::Late)?
            .map_err(|_closed| Unserved::Stopped)?;
        let (answer, answered) = oneshot::channel();
        self.jobs
            .send(Box::new(move || {
                let result = job();
                drop(permit);
                // Nobody may be waiting any more, which is no concern of the job.
                drop(answer.send(result));
            }))
            .map_err(|_closed| Unserved::Stopped)?;
        answered.await.map_err(|_panicked| Unserved::Stopped)
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else {
            return;
        };
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a statement made its thread panic");
        }
    }
}
