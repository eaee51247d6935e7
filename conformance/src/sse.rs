//! A strict reader of Server-Sent Events that keeps each frame's bytes as they came.

use tokio::time::Instant;

/// One block between blank lines.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The block's bytes with its blank line, less the second byte of a two-byte line end that closes it.
    pub(crate) raw: Vec<u8>,
    /// Every field line in order, name and value.
    pub(crate) fields: Vec<(String, String)>,
    /// Comment lines without their colon.
    pub(crate) comments: Vec<String>,
    /// When its last byte was read.
    pub(crate) at: Instant,
    /// Whether the bytes were valid UTF-8.
    pub(crate) utf8: bool,
}

impl Frame {
    /// Values of all fields of that name.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value when the field occurs exactly once.
    pub(crate) fn only(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter().filter(|(key, _)| key == name);
        let first = fields.next();
        if fields.next().is_some() { None } else { first.map(|(_, value)| value.as_str()) }
    }

    /// Whether a browser would dispatch an event for it.
    pub(crate) fn is_event(&self) -> bool {
        self.values("data").next().is_some()
    }
}

/// Splits bytes into frames; CR, LF and CRLF all end a line.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    raw: Vec<u8>,
    line: Vec<u8>,
    fields: Vec<(String, String)>,
    comments: Vec<String>,
    invalid: bool,
    after_cr: bool,
    begun: bool,
}

impl Reader {
    /// Takes bytes and gives the frames they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8], at: Instant) -> Vec<Frame> {
        let mut frames = Vec::new();
        for &byte in bytes {
            let line_feed_of_pair = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            if line_feed_of_pair {
                // The second byte of a pair that ended a frame is left out, wherever the bytes were cut.
                if !self.raw.is_empty() {
                    self.raw.push(byte);
                }
                continue;
            }
            self.raw.push(byte);
            if byte == b'\r' || byte == b'\n' {
                frames.extend(self.end_line(at));
            } else {
                self.line.push(byte);
            }
        }
        frames
    }

    /// Bytes of a block that never got its blank line.
    pub(crate) fn leftover(&self) -> &[u8] {
        &self.raw
    }

    fn end_line(&mut self, at: Instant) -> Option<Frame> {
        let mut line = std::mem::take(&mut self.line);
        if !self.begun {
            self.begun = true;
            if line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
        }
        if line.is_empty() {
            let frame = Frame {
                raw: std::mem::take(&mut self.raw),
                fields: std::mem::take(&mut self.fields),
                comments: std::mem::take(&mut self.comments),
                at,
                utf8: !std::mem::take(&mut self.invalid),
            };
            return Some(frame);
        }
        self.invalid |= std::str::from_utf8(&line).is_err();
        let text = String::from_utf8_lossy(&line).into_owned();
        match text.split_once(':') {
            Some(("", comment)) => self.comments.push(comment.to_owned()),
            Some((name, value)) => {
                self.fields.push((name.to_owned(), value.strip_prefix(' ').unwrap_or(value).to_owned()));
            }
            None => self.fields.push((text, String::new())),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(wire: &str) -> Vec<Frame> {
        Reader::default().feed(wire.as_bytes(), Instant::now())
    }

    #[tokio::test]
    async fn all_three_line_ends_are_read() {
        for wire in ["id: 1\ndata: x\n\n", "id: 1\r\ndata: x\r\n\r\n", "id: 1\rdata: x\r\r"] {
            let read = frames(wire);
            assert_eq!(read.len(), 1, "{wire:?}");
            assert_eq!(read[0].only("id"), Some("1"));
            assert_eq!(read[0].only("data"), Some("x"));
            assert!(wire.as_bytes().starts_with(&read[0].raw));
        }
    }

    #[tokio::test]
    async fn a_cut_at_any_byte_reads_the_same() {
        let wire = ": hi\r\n\r\nid: 1\r\nevent: a\r\ndata: x\r\n\r\nretry: 5\n\nid:2\ndata:y\n\n";
        let whole: Vec<_> = frames(wire).into_iter().map(|frame| (frame.fields, frame.comments)).collect();
        assert_eq!(whole.len(), 4);
        for cut in 0..wire.len() {
            let mut reader = Reader::default();
            let mut read = reader.feed(&wire.as_bytes()[..cut], Instant::now());
            read.extend(reader.feed(&wire.as_bytes()[cut..], Instant::now()));
            let read: Vec<_> = read.into_iter().map(|frame| (frame.fields, frame.comments)).collect();
            assert_eq!(read, whole, "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn two_data_lines_are_seen_as_two() {
        assert_eq!(frames("data: a\ndata: b\n\n")[0].only("data"), None);
    }
}
