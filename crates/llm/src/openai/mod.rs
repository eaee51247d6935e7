//! OpenAI chat completions.

mod request;
mod stream;

pub(crate) use request::body;
pub use request::{ERROR_MARKER, RESULT_MARKER};
pub(crate) use stream::Stream;
