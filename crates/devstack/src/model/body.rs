//! A response body that keeps a pace and can go wrong on purpose.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::session::Flight;

/// One piece of a body.
#[derive(Debug)]
pub(super) enum Piece {
    /// These bytes.
    Bytes(Bytes),
    /// Nothing for a while.
    Wait(Duration),
    /// Nothing but keep-alives for a while.
    Quiet {
        /// How long.
        left: Duration,
        /// The keep-alive.
        ping: Bytes,
    },
    /// These bytes again and again, without end.
    Endless {
        /// The bytes.
        bytes: Bytes,
        /// The wait between.
        every: Duration,
    },
    /// Nothing more, but no end either.
    Hang,
}

/// How often a quiet body shows that it is alive.
const PING_EVERY: Duration = Duration::from_secs(5);
/// A body that hangs is given up by then, should its client not be the first.
const LONGEST_HANG: Duration = Duration::from_secs(3600);

/// Long enough for what was sent before a cut to be written.
const BEFORE_CUT: Duration = Duration::from_millis(10);

/// The body was cut on purpose.
#[derive(Debug, Error)]
#[error("the body is cut here")]
pub(super) struct Cut;

/// The body.
#[derive(Debug)]
pub(super) struct Body {
    pieces: VecDeque<Piece>,
    waiting: Option<Pin<Box<Sleep>>>,
    left: Option<usize>,
    cutting: bool,
    flight: Flight,
}

impl Body {
    /// A body of `pieces`, cut after `cut_after` bytes.
    pub(super) fn new(pieces: VecDeque<Piece>, cut_after: Option<usize>, flight: Flight) -> Self {
        Self { pieces, waiting: None, left: cut_after, cutting: false, flight }
    }

    fn wait(&mut self, wait: Duration) {
        self.waiting = Some(Box::pin(sleep(wait)));
    }

    /// The bytes that may still go out.
    fn allow(&mut self, mut bytes: Bytes) -> Bytes {
        if let Some(left) = &mut self.left {
            bytes.truncate(*left);
            *left -= bytes.len();
        }
        bytes
    }
}

impl Stream for Body {
    type Item = Result<Bytes, Cut>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                match waiting.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => self.waiting = None,
                }
            }
            if self.left == Some(0) {
                // The server drops what it has not written yet when a body fails, so it is given a moment.
                if !std::mem::replace(&mut self.cutting, true) {
                    self.wait(BEFORE_CUT);
                    continue;
                }
                self.flight.complete();
                return Poll::Ready(Some(Err(Cut)));
            }
            let bytes = match self.pieces.pop_front() {
                None => {
                    self.flight.complete();
                    return Poll::Ready(None);
                }
                Some(Piece::Bytes(bytes)) => bytes,
                Some(Piece::Wait(wait)) => {
                    self.wait(wait);
                    continue;
                }
                Some(Piece::Quiet { left, ping }) => {
                    self.wait(left.min(PING_EVERY));
                    let left = left.saturating_sub(PING_EVERY);
                    if left.is_zero() {
                        continue;
                    }
                    self.pieces.push_front(Piece::Quiet { left, ping: ping.clone() });
                    ping
                }
                Some(Piece::Endless { bytes, every }) => {
                    self.wait(every);
                    self.pieces.push_front(Piece::Endless { bytes: bytes.clone(), every });
                    bytes
                }
                Some(Piece::Hang) => {
                    self.waiting = Some(Box::pin(sleep_until(Instant::now() + LONGEST_HANG)));
                    continue;
                }
            };
            let bytes = self.allow(bytes);
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }
}
