//! Anthropic Messages.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Stream;

/// The version of the API that this crate speaks.
pub(crate) const VERSION: &str = "2023-06-01";

/// The beta under which the provider may answer with another model.
pub(crate) const FALLBACK_BETA: &str = "server-side-fallback-2026-07-01";
