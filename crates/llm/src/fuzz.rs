//! What must hold of any bytes that a model endpoint sends; for the fuzzer and its corpora.

use crate::client::Flow;
use crate::sse::{Event, Reader, SseError};
use crate::{anthropic, openai};

const MAX_EVENT: usize = 4096;

fn read(pieces: &[&[u8]]) -> (Vec<Event>, Result<(), SseError>) {
    let (mut reader, mut events) = (Reader::new(MAX_EVENT), Vec::new());
    for piece in pieces {
        let pushed = reader.push(piece);
        events.extend(std::iter::from_fn(|| reader.next_event()));
        if pushed.is_err() {
            return (events, pushed);
        }
    }
    (events, Ok(()))
}

/// An event stream reads the same however it is cut. The first byte says where.
pub fn sse(input: &[u8]) {
    let Some((at, bytes)) = input.split_first() else { return };
    let (head, tail) = bytes.split_at(usize::from(*at).min(bytes.len()));
    let (whole, cut) = (read(&[bytes]), read(&[head, tail]));
    assert_eq!(whole, cut, "cut at {at}");
}

/// A reply in the Messages protocol is taken only with its own end.
pub fn anthropic(input: &[u8]) {
    let mut stream = anthropic::Stream::default();
    let mut ended = false;
    for event in read(&[input]).0 {
        match stream.event(&event.data, Some("secret")) {
            Ok(Flow::More) => {}
            Ok(Flow::End) => {
                ended = true;
                break;
            }
            Err(_) => return,
        }
    }
    if stream.finish().is_ok() {
        assert!(ended, "a reply without its end was taken");
    }
}

/// A reply in the chat completions protocol is taken only with its own end and a reason.
pub fn openai(input: &[u8]) {
    let mut stream = openai::Stream::default();
    for event in read(&[input]).0 {
        match stream.event(&event.data, Some("secret")) {
            Ok(Flow::More) => {}
            Ok(Flow::End) => break,
            Err(_) => return,
        }
    }
    if stream.finish().is_ok() {
        let text = String::from_utf8_lossy(input);
        assert!(text.contains("finish_reason"), "a reply without a reason to end was taken");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_fuzzer_found_stays_right() {
        ask_corpus::replay("llm_sse", super::sse);
        ask_corpus::replay("llm_anthropic", super::anthropic);
        ask_corpus::replay("llm_openai", super::openai);
    }
}
