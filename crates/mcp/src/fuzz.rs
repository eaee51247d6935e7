//! What must hold of any bytes that a tool server sends; for the fuzzer and its corpora.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::Limits;
use crate::list::Listing;
use crate::result::CallResult;
use crate::rpc::{Received, RequestId, sort};
use crate::sse::{Event, Reader};
use crate::version::Version;

fn read(pieces: &[&[u8]]) -> (Vec<Event>, Option<Vec<u8>>, Option<u64>) {
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    for piece in pieces {
        reader.push(piece);
        events.extend(std::iter::from_fn(|| reader.next_event()));
    }
    (events, reader.last_id().map(<[u8]>::to_vec), reader.retry_ms())
}

/// An event stream reads the same however it is cut. The first byte says where.
pub fn sse(input: &[u8]) {
    let Some((at, bytes)) = input.split_first() else { return };
    let (head, tail) = bytes.split_at(usize::from(*at).min(bytes.len()));
    assert_eq!(read(&[bytes]), read(&[head, tail]), "cut at {at}");
}

/// A message is a response to our request only when it names it; a result is rendered within its limit.
pub fn message(input: &[u8]) {
    const OURS: u64 = 4711;
    let Ok(Received::Response(Ok(result))) = sort(input, RequestId::of(OURS)) else { return };
    let text = String::from_utf8_lossy(input);
    assert!(text.contains("4711"), "another's response was taken");
    for version in Version::ALL {
        if let Ok(result) = CallResult::read(result, version, Duration::ZERO) {
            let rendered = result.render(200);
            assert!(rendered.text.len() <= 300, "{} bytes", rendered.text.len());
        }
    }
}

/// A page of tools is read within its limits.
pub fn tools(input: &[u8]) {
    let Ok(page) = serde_json::from_slice::<&RawValue>(input) else { return };
    for version in Version::ALL {
        let mut listing = Listing::new(&Limits::default());
        // The same page twice: names that come again, and a cursor that does not move.
        for _ in 0..2 {
            if listing.take_page(page, version).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_fuzzer_found_stays_right() {
        ask_corpus::replay("mcp_sse", super::sse);
        ask_corpus::replay("mcp_message", super::message);
        ask_corpus::replay("mcp_tools", super::tools);
    }
}
