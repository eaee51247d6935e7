//! The least of what the taken sources need from around them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;

/// Whose a key is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(pub &'static str);

pub type Millis = i64;

pub fn millis(duration: Duration) -> Millis {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A clock that the test moves.
#[derive(Debug, Clone, Default)]
pub struct Clock(pub Arc<AtomicI64>);

impl Clock {
    pub fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}

/// Keys as a list of their ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<String>);

impl KeySet {
    pub fn read(document: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(document).ok()?;
        Some(Self(text.split(',').map(str::to_owned).collect()))
    }

    pub fn find(&self, kid: &str) -> Option<&String> {
        self.0.iter().find(|known| *known == kid)
    }

    pub fn same_as(&self, other: &Self) -> bool {
        self == other
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Where documents come from.
pub trait KeySource: 'static {
    fn fetch(&self) -> LocalBoxFuture<'_, Result<Bytes, FetchError>>;
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchError {
    NoKeys,
    TimedOut,
}

impl fmt::Display for FetchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

/// The scheduler's own way to wait for a future.
pub struct Runtime;

impl Runtime {
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        shuttle::future::block_on(future)
    }
}
