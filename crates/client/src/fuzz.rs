//! What must hold of any bytes on a stream; for the fuzzer and its corpora.

use crate::{Frame, FrameTooLong, SseParser};

fn read(pieces: &[&[u8]]) -> (Vec<Frame>, Result<(), FrameTooLong>) {
    let (mut parser, mut frames) = (SseParser::new(4096), Vec::new());
    for piece in pieces {
        let fed = parser.feed(piece);
        frames.extend(std::iter::from_fn(|| parser.next_frame()));
        if fed.is_err() {
            return (frames, fed);
        }
    }
    (frames, Ok(()))
}

/// An event stream reads the same however it is cut. The first byte says where.
pub fn sse(input: &[u8]) {
    let Some((at, bytes)) = input.split_first() else { return };
    let (head, tail) = bytes.split_at(usize::from(*at).min(bytes.len()));
    assert_eq!(read(&[bytes]), read(&[head, tail]), "cut at {at}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_fuzzer_found_stays_right() {
        ask_corpus::replay("client_sse", super::sse);
    }
}
