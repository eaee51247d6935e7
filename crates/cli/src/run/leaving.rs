//! How the person says that they leave: Ctrl-C, a hang-up, or a request to terminate.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that mean leaving; from here on they no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct Leaving {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Leaving {
    /// Listens from now on, but not to a signal that whoever started the process has it ignore, as `nohup` does.
    ///
    /// # Errors
    ///
    /// When the system gives no signal handler.
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = ignored();
        let listen = |kind: SignalKind| {
            let bit = 1_u64 << (kind.as_raw_value() - 1);
            if ignored & bit == 0 { signal(kind).map(Some) } else { Ok(None) }
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of them.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no signal is lost.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            () = arrival(&mut self.interrupt) => {}
            () = arrival(&mut self.terminate) => {}
            () = arrival(&mut self.hang_up) => {}
        }
    }
}

async fn arrival(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The signals that this process was started to ignore, one bit each, where the system tells.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
