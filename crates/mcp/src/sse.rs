//! Reads server-sent events from chunks of bytes, however they are cut.
//!
//! Follows the HTML standard's event stream rules (line ends CR, LF and CRLF, a leading byte order
//! mark, `id` without NUL, `retry` of digits only). Text is handed on as bytes, since the JSON
//! reader behind it checks UTF-8 itself. Size is bounded by whoever feeds it.

/// One event, as its blank line ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Whether the event is of the default type, the only one that carries protocol messages.
    pub(crate) is_message: bool,
    /// The data lines joined by LF; empty for an event that only sets an id.
    pub(crate) data: Vec<u8>,
}

/// The reader's state between chunks.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// Start of the line being read.
    start: usize,
    /// How far the buffer was searched for a line end.
    searched: usize,
    after_cr: bool,
    past_bom: bool,
    data: Option<Vec<u8>>,
    other_type: bool,
    pending_id: Option<Vec<u8>>,
    last_id: Option<Vec<u8>>,
    retry_ms: Option<u64>,
}

impl Reader {
    /// Takes in the next chunk.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(chunk);
    }

    /// The next complete event, or `None` when more bytes are needed.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        loop {
            let (line_end, ender) = self.find_line_end()?;
            let line = self.buffer.get(self.start..line_end).unwrap_or_default().to_vec();
            self.start = line_end + 1;
            self.searched = self.start;
            self.after_cr = ender == b'\r';
            let line = self.without_bom(&line);
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Some(event);
                }
            } else {
                self.field(line);
            }
        }
    }

    /// The id of the newest event that came to its end and had one.
    pub(crate) fn last_id(&self) -> Option<&[u8]> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The wait before a reconnect that the server asked for last, in milliseconds.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn find_line_end(&mut self) -> Option<(usize, u8)> {
        // The LF of a CRLF may arrive in a later chunk than its CR.
        if self.after_cr && self.searched == self.start {
            match self.buffer.get(self.start) {
                Some(b'\n') => {
                    self.start += 1;
                    self.searched = self.start;
                    self.after_cr = false;
                }
                Some(_) => self.after_cr = false,
                None => return None,
            }
        }
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let found = rest.iter().copied().enumerate().find(|(_, b)| matches!(b, b'\r' | b'\n'));
        if found.is_none() {
            self.searched = self.buffer.len();
        }
        found.map(|(at, ender)| (self.searched + at, ender))
    }

    fn without_bom<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if self.past_bom {
            return line;
        }
        self.past_bom = true;
        line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|b| *b == b':') {
            Some(at) => {
                let value = line.get(at + 1..).unwrap_or_default();
                let value = value.strip_prefix(b" ").unwrap_or(value);
                (line.get(..at).unwrap_or_default(), value)
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.other_type = !value.is_empty() && value != b"message",
            b"id" if !value.contains(&0) => self.pending_id = Some(value.to_vec()),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // More digits than a u64 holds is a long wait, not no wait.
                let number = std::str::from_utf8(value).ok().map(str::parse);
                self.retry_ms = number.map(|parsed| parsed.unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.pending_id.take() {
            self.last_id = Some(id);
        }
        let other_type = std::mem::take(&mut self.other_type);
        let data = self.data.take()?;
        Some(Event { is_message: !other_type, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> (Vec<Event>, Reader) {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        for chunk in chunks {
            reader.push(chunk);
            while let Some(event) = reader.next_event() {
                events.push(event);
            }
        }
        (events, reader)
    }

    fn message(data: &str) -> Event {
        Event { is_message: true, data: data.as_bytes().to_vec() }
    }

    const RECORDED: &[u8] = b"\xef\xbb\xbf: hello\r\nid: 1\r\nretry: 20\r\ndata:\r\n\r\n\
        event: message\ndata: {\"a\":\ndata:  1}\nid: 2\n\n\
        event: other\rdata: x\r\rdata: last\n\nid: 3\ndata: cut";

    #[test]
    fn a_recorded_stream_reads_the_same_cut_at_every_byte() {
        let (whole, reader) = read(&[RECORDED]);
        assert_eq!(
            whole,
            [
                message(""),
                message("{\"a\":\n 1}"),
                Event { is_message: false, data: b"x".to_vec() },
                message("last"),
            ]
        );
        assert_eq!(reader.last_id(), Some(&b"2"[..]));
        assert_eq!(reader.retry_ms(), Some(20));
        for at in 0..=RECORDED.len() {
            let (head, tail) = RECORDED.split_at(at);
            let (events, reader) = read(&[head, tail]);
            assert_eq!(events, whole, "cut at {at}");
            assert_eq!(reader.last_id(), Some(&b"2"[..]), "cut at {at}");
        }
        let single: Vec<&[u8]> = RECORDED.chunks(1).collect();
        assert_eq!(read(&single).0, whole);
    }

    #[test]
    fn an_event_without_its_blank_line_never_comes_out() {
        let (events, reader) = read(&[b"id: 9\ndata: {\"half\":true}\n"]);
        assert!(events.is_empty());
        assert_eq!(reader.last_id(), None);
    }

    #[test]
    fn bad_ids_and_retries_are_ignored() {
        let (_, reader) = read(&[b"id: a\0b\nretry: -1\ndata: x\n\n"]);
        assert_eq!(reader.last_id(), None);
        assert_eq!(reader.retry_ms(), None);
        let (_, reader) = read(&[b"retry: 99999999999999999999999\n\n"]);
        assert_eq!(reader.retry_ms(), Some(u64::MAX));
    }

    #[test]
    fn an_empty_id_takes_the_last_one_back() {
        let (_, reader) = read(&[b"id: a\ndata: x\n\nid\ndata: y\n\n"]);
        assert_eq!(reader.last_id(), None);
    }

    #[test]
    fn a_long_line_in_small_chunks_is_searched_once() {
        let mut reader = Reader::default();
        reader.push(b"data: ");
        for _ in 0..200_000 {
            reader.push(b"x");
            assert!(reader.next_event().is_none());
        }
        reader.push(b"\n\n");
        assert_eq!(reader.next_event().map(|e| e.data.len()), Some(200_000));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_read_the_same_however_they_are_cut(
            pieces in proptest::collection::vec(
                "(data|id|event|retry|x)?:? ?[a-c0-3]{0,3}(\r|\n|\r\n|\n\n)?", 0..30),
            cuts in proptest::collection::vec(0..200_usize, 0..10),
        ) {
            let text = pieces.concat();
            let (whole, reader) = read(&[text.as_bytes()]);
            let mut chunks = vec![text.as_bytes()];
            for cut in cuts {
                let last = chunks.pop().unwrap_or_default();
                let (head, tail) = last.split_at(cut.min(last.len()));
                chunks.extend([head, tail]);
            }
            let (events, cut_reader) = read(&chunks);
            proptest::prop_assert_eq!(events, whole);
            proptest::prop_assert_eq!(cut_reader.last_id(), reader.last_id());
            proptest::prop_assert_eq!(cut_reader.retry_ms(), reader.retry_ms());
        }
    }
}
