//! How the person says that they leave: Ctrl-C, a hang-up, or a request to terminate.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that mean leaving; from here on they no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct Leaving {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Leaving {
    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// When the system gives no signal handler.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of them.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no signal is lost.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
