//! The stub from within the process that runs it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use super::{
    script::Scripted,
    session::{Recorded, Sessions, State},
};

/// Controls a running server's sessions without HTTP. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    address: SocketAddr,
    sessions: Arc<Sessions>,
}

impl Handle {
    pub(super) fn new(address: SocketAddr, sessions: Arc<Sessions>) -> Self {
        Self { address, sessions }
    }

    pub(super) fn sessions(&self) -> Arc<Sessions> {
        Arc::clone(&self.sessions)
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of a session, for either protocol. The name is 1 to 64 letters, digits, `-` and `_`.
    pub fn base_url(&self, session: &str) -> String {
        format!("http://{}/s/{session}", self.address)
    }

    /// Sets what a session answers next, in the place of what is left of an earlier script.
    pub fn script(&self, session: &str, script: Vec<Scripted>) {
        self.sessions.get(session).set_script(script);
    }

    /// Sets the wait before each reply that is not scripted.
    pub fn set_turn_delay(&self, session: &str, delay: Duration) {
        self.sessions.get(session).set_turn_delay(delay);
    }

    /// The newest requests of a session, oldest first.
    pub fn requests(&self, session: &str) -> Vec<Recorded> {
        self.sessions.get(session).requests()
    }

    /// What is going on in a session.
    pub fn state(&self, session: &str) -> State {
        self.sessions.get(session).state()
    }

    /// Waits until a session's state is as wanted, and returns it. Waits for ever if it never is.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn until(&self, session: &str, mut wanted: impl FnMut(&State) -> bool) -> State {
        let session = self.sessions.get(session);
        let mut watch = session.watch();
        // The sender lives as long as the session, which is held here.
        match watch.wait_for(|state| wanted(state)).await {
            Ok(state) => *state,
            Err(_closed) => session.state(),
        }
    }
}
