//! The issuer's keys: read, kept, and fetched again when they are old or one is missing.

mod http;
mod key;
mod schedule;
mod source;
mod store;

pub use http::HttpKeySource;
pub use source::{FetchError, KeySource};

pub(crate) use store::KeyStore;
