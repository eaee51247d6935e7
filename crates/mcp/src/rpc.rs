//! JSON-RPC messages as MCP sends them: what goes out, and how what comes in is sorted.

use std::{
    borrow::Cow,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    Version,
    error::{CallError, tame},
};

/// Identifies one request; never used twice in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct RequestId(u64);

impl RequestId {
    /// A given id.
    #[cfg(any(test, fuzzing))]
    pub(crate) const fn of(number: u64) -> Self {
        Self(number)
    }

    /// An id that no other request of this process has.
    ///
    /// Sessions that each count from one have equal ids, and a shared transport that crosses their
    /// replies goes unseen (CVE-2026-25536). The start is random, so that replicas differ too, and
    /// stays far below 2^53, which every JSON reader holds exactly.
    pub(crate) fn next() -> Self {
        static NEXT: OnceLock<AtomicU64> = OnceLock::new();
        let start = || AtomicU64::new(getrandom::u64().unwrap_or(1) >> 18);
        Self(NEXT.get_or_init(start).fetch_add(1, Ordering::Relaxed))
    }

    /// Whether `raw` is this id, also when a server sends the number back as a string.
    fn is(self, raw: &RawValue) -> bool {
        let text = raw.get().trim();
        let text = text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(text);
        text == self.0.to_string()
    }
}

#[derive(Serialize)]
struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<RequestId>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

fn bytes_of<T: Serialize>(message: &T) -> Result<Bytes, CallError> {
    serde_json::to_vec(message).map(Bytes::from).map_err(|_never: serde_json::Error| CallError::Malformed {
        what: "the request cannot be written as JSON",
    })
}

/// A request with its parameters.
pub(crate) fn request<P: Serialize>(id: RequestId, method: &str, params: &P) -> Result<Bytes, CallError> {
    bytes_of(&Outgoing { jsonrpc: "2.0", id: Some(id), method, params: Some(params) })
}

/// A notification without parameters.
pub(crate) fn notification(method: &str) -> Result<Bytes, CallError> {
    bytes_of(&Outgoing::<()> { jsonrpc: "2.0", id: None, method, params: None })
}

/// The answer to a request of the server: a pong, or that we do not offer the method.
pub(crate) fn answer(id: &RawValue, is_ping: bool) -> Bytes {
    let id = id.get();
    Bytes::from(if is_ping {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#)
    })
}

/// The error half of a response.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// The server speaks other protocol versions.
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
    /// The server wants a capability that was not declared.
    pub(crate) const MISSING_CAPABILITY: i64 = -32021;
    /// The headers of a request contradict its body.
    pub(crate) const HEADER_MISMATCH: i64 = -32020;
    /// How servers before 2026-07-28 refuse a version.
    pub(crate) const INVALID_PARAMS: i64 = -32602;

    /// The versions that a refusal lists as supported.
    pub(crate) fn supported_versions(&self) -> Option<Vec<String>> {
        let listed = self.data.as_ref()?.get("supported")?.as_array()?;
        Some(listed.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

impl From<RpcError> for CallError {
    fn from(err: RpcError) -> Self {
        Self::Rpc { code: err.code, message: tame(&err.message, usize::MAX) }
    }
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
}

/// A message of the server, sorted by what the waiting request has to do with it.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    /// The response to the waiting request.
    Response(Result<&'a RawValue, RpcError>),
    /// The server asks something.
    Request { id: &'a RawValue, is_ping: bool },
    /// Progress, logs and the like.
    Notification,
}

/// Longest id of a server's request that is sent back.
const MAX_FOREIGN_ID: usize = 256;

/// Sorts one message for the request `id`.
///
/// # Errors
///
/// `Malformed` for what is no JSON-RPC message, `ForeignReply` for the response to another request.
pub(crate) fn sort(text: &[u8], id: RequestId) -> Result<Received<'_>, CallError> {
    let malformed = |what| CallError::Malformed { what };
    let message: Incoming<'_> =
        serde_json::from_slice(text).ok().ok_or(malformed("it is not a JSON-RPC message"))?;
    if message.jsonrpc.as_deref() != Some("2.0") {
        return Err(malformed("it is not a JSON-RPC 2.0 message"));
    }
    match (message.method, message.id, message.result, message.error) {
        (Some(method), Some(id), None, None) => {
            let text = id.get();
            let is_id = text.starts_with(['"', '-']) || text.starts_with(|c: char| c.is_ascii_digit());
            if is_id && text.len() <= MAX_FOREIGN_ID {
                Ok(Received::Request { id, is_ping: method == "ping" })
            } else {
                Err(malformed("a request of the server has no usable id"))
            }
        }
        (Some(_), None, None, None) => Ok(Received::Notification),
        (None, Some(theirs), Some(result), None) if id.is(theirs) => Ok(Received::Response(Ok(result))),
        // A server that could not read the id leaves it out; the stream is ours, so the error is.
        (None, None, None, Some(error)) => Ok(Received::Response(Err(error))),
        (None, Some(theirs), None, Some(error)) if id.is(theirs) => Ok(Received::Response(Err(error))),
        (None, Some(_), Some(_), None) | (None, Some(_), None, Some(_)) => Err(CallError::ForeignReply),
        (None, None, Some(_), None) => Err(malformed("the response has no id")),
        (None, _, None, None) => Err(malformed("a message has no method, result or error")),
        (_, _, Some(_), Some(_)) | (Some(_), _, Some(_), None) | (Some(_), _, None, Some(_)) => {
            Err(malformed("a message is request and response at once"))
        }
    }
}

/// Finds the response in a JSON body, which may be a batch in the version that has them.
///
/// # Errors
///
/// As [`sort`], and `Malformed` when the body holds no response.
pub(crate) fn response_in(
    body: &[u8],
    id: RequestId,
    version: Option<Version>,
) -> Result<Result<&RawValue, RpcError>, CallError> {
    let is_array = body.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    if is_array && version.is_some_and(Version::has_batches) {
        let batch: Vec<&RawValue> = serde_json::from_slice(body)
            .ok()
            .ok_or(CallError::Malformed { what: "the batch is not JSON" })?;
        for message in batch {
            if let Received::Response(response) = sort(message.get().as_bytes(), id)? {
                return Ok(response);
            }
        }
    } else if let Received::Response(response) = sort(body, id)? {
        return Ok(response);
    }
    Err(CallError::Malformed { what: "the reply holds no response" })
}

/// The JSON-RPC error in the body of a failed HTTP request, and whether it names our id.
pub(crate) fn error_in(body: &[u8], id: RequestId) -> Option<(RpcError, bool)> {
    let message: Incoming<'_> = serde_json::from_slice(body).ok()?;
    let ours = message.id.is_some_and(|theirs| id.is(theirs));
    message.error.map(|error| (error, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_malformed(text: &str) -> bool {
        matches!(sort(text.as_bytes(), RequestId(7)), Err(CallError::Malformed { .. }))
    }

    #[test]
    fn ids_are_never_used_twice_and_fit_every_json_reader() {
        let (a, b) = (RequestId::next(), RequestId::next());
        assert_ne!(a, b);
        assert!(b.0 < 1 << 53);
    }

    #[test]
    fn the_response_to_our_request_is_found() {
        for text in [r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, r#"{"result":{},"id":"7","jsonrpc":"2.0"}"#] {
            assert!(matches!(sort(text.as_bytes(), RequestId(7)), Ok(Received::Response(Ok(_)))));
        }
        let error = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#;
        assert!(matches!(
            sort(error, RequestId(7)),
            Ok(Received::Response(Err(RpcError { code: -32700, .. })))
        ));
    }

    #[test]
    fn the_response_to_another_request_is_refused() {
        for text in [
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#,
        ] {
            assert!(matches!(sort(text.as_bytes(), RequestId(7)), Err(CallError::ForeignReply)));
        }
    }

    #[test]
    fn half_messages_and_mixed_messages_are_malformed() {
        for text in [
            "",
            "[]",
            "null",
            "{}",
            "not json",
            r#"{"jsonrpc":"2.0","id":7,"result":{"#,
            r#"{"jsonrpc":"1.0","id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":7,"id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        ] {
            assert!(is_malformed(text), "{text}");
        }
    }

    #[test]
    fn a_complete_reply_cut_at_any_byte_is_malformed() {
        let whole = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"1"}]}}"#;
        for (at, _) in whole.char_indices() {
            assert!(is_malformed(whole.split_at(at).0), "cut at {at}");
        }
    }

    #[test]
    fn batches_are_read_only_in_the_version_that_has_them() {
        let batch = br#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":7,"result":1}]"#;
        let read = |version| response_in(batch, RequestId(7), Some(version)).is_ok();
        assert!(read(Version::V2025_03_26));
        assert!(!read(Version::V2025_06_18));
        assert!(!read(Version::V2026_07_28));
    }
}
