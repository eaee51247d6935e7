//! An incremental reader of a server-sent event stream.

use std::collections::VecDeque;

use thiserror::Error;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its `event` field; empty if there is none.
    pub name: String,
    /// Its `data` fields, joined by a line feed.
    pub data: String,
}

/// Why a stream can't be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SseError {
    /// A line or an event passes the limit.
    #[error("an event is larger than allowed")]
    TooLarge,
    /// A line of a field in use is not UTF-8.
    #[error("a line is not UTF-8")]
    NotUtf8,
}

/// Reads a stream that comes in arbitrary pieces.
///
/// Lines may end in LF, CRLF or CR; comments, `id`, `retry` and unknown fields are skipped; a byte order mark at the start is
/// skipped. An event is there only once its blank line was read: what follows the last one is no event. At most
/// `max_event` bytes are held for one event.
#[derive(Debug)]
pub struct Reader {
    max_event: usize,
    line: Vec<u8>,
    first_line: bool,
    after_cr: bool,
    name: String,
    data: Option<String>,
    ready: VecDeque<Event>,
}

impl Reader {
    /// A reader at the start of a stream, for events of at most `max_event` bytes.
    pub fn new(max_event: usize) -> Self {
        Self {
            max_event,
            line: Vec::new(),
            first_line: true,
            after_cr: false,
            name: String::new(),
            data: None,
            ready: VecDeque::new(),
        }
    }

    /// Reads the next piece. The events that it completes are then handed out by [`Reader::next_event`].
    ///
    /// # Errors
    /// When an event is too large or not UTF-8; the stream can't be read on.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), SseError> {
        if self.after_cr && !piece.is_empty() {
            self.after_cr = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(end) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, rest) = piece.split_at(end);
            self.extend_line(head)?;
            self.end_line()?;
            piece = match rest {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.extend_line(piece)
    }

    /// The next event that was read whole.
    pub fn next_event(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn held(&self) -> usize {
        self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.held() + bytes.len() > self.max_event {
            return Err(SseError::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), SseError> {
        let mut line = std::mem::take(&mut self.line);
        let result = self.take_line(&line);
        // The buffer is used again for the next line.
        line.clear();
        self.line = line;
        result
    }

    fn take_line(&mut self, mut line: &[u8]) -> Result<(), SseError> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            if let Some(data) = self.data.take() {
                self.ready.push_back(Event { name, data });
            }
            return Ok(());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"event" => text(value)?.clone_into(&mut self.name),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(text(value)?);
                }
                None => self.data = Some(text(value)?.to_owned()),
            },
            // Comments have an empty field name.
            _ => {}
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<&str, SseError> {
    std::str::from_utf8(bytes).map_err(|_invalid| SseError::NotUtf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, SseError> {
        let mut reader = Reader::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            reader.push(piece)?;
            while let Some(event) = reader.next_event() {
                events.push((event.name, event.data));
            }
        }
        Ok(events)
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    const STREAM: &[u8] =
        "\u{feff}: hi\r\nevent: a\r\ndata: 1ü\r\n\r\nid: 9\rdata:2\rdata\rdata:  3\r\rretry: 1\n\ndata\n\nevent:x\n\ndata: 4\n\n".as_bytes();

    fn stream_events() -> Vec<(String, String)> {
        vec![pair("a", "1ü"), pair("", "2\n\n 3"), pair("", ""), pair("", "4")]
    }

    #[test]
    fn all_line_ends_comments_and_fields_are_read() {
        assert_eq!(read(&[STREAM]), Ok(stream_events()));
    }

    #[test]
    fn stream_reads_the_same_split_at_every_byte() {
        for at in 0..=STREAM.len() {
            let (head, tail) = STREAM.split_at(at);
            assert_eq!(read(&[head, tail]), Ok(stream_events()), "split at {at}");
        }
        let bytes: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(read(&bytes), Ok(stream_events()));
    }

    #[test]
    fn event_without_its_blank_line_is_none() {
        assert_eq!(read(&[b"data: 1\n"]), Ok(vec![]));
    }

    #[test]
    fn long_line_is_refused_before_it_ends() {
        assert_eq!(read(&[&[b'x'; 65]]), Err(SseError::TooLarge));
        assert_eq!(read(&[&[b'x'; 40], &[b'x'; 40]]), Err(SseError::TooLarge));
    }

    #[test]
    fn long_event_of_short_lines_is_refused() {
        assert_eq!(read(&[&b"data: 12345678\n".repeat(9)]), Err(SseError::TooLarge));
    }

    #[test]
    fn many_short_events_are_fine() {
        assert_eq!(read(&[&b"data: 1\n\n".repeat(100)]).unwrap().len(), 100);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
    }

    proptest! {
        #[test]
        fn any_bytes_read_the_same_however_they_are_split(bytes in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>()], 0..80), at in 0usize..80) {
            let (head, tail) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(read(&[&bytes]), read(&[head, tail]));
        }
    }
}
