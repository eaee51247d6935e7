//! Where an HTTP/1.1 body ends: by its length, in chunks, or with the connection.

use anyhow::{Result, bail};

/// How a body is framed, and how far it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// This many bytes are left.
    Length(usize),
    /// In chunks.
    Chunked(Chunk),
    /// Until the connection closes.
    Open,
    /// Read to its end.
    Over,
}

/// Where in the chunked form the reader stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// In a size line; what was read of it.
    Size(Vec<u8>),
    /// In data; this many bytes are left.
    Data(usize),
    /// Behind data; this many bytes of its line end are left.
    Behind(usize),
    /// In the last line; this many bytes of its end are left.
    Last(usize),
}

impl Body {
    /// A body in chunks.
    pub(crate) const fn chunked() -> Self {
        Self::Chunked(Chunk::Size(Vec::new()))
    }

    pub(crate) fn is_over(&self) -> bool {
        *self == Self::Over
    }

    /// Hands the content within `bytes` to `sink`; how many bytes belong to this body.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self {
                Self::Over => break,
                Self::Open => {
                    sink(rest);
                    rest = &[];
                }
                Self::Length(left) => {
                    let (now, later) = rest.split_at(rest.len().min(*left));
                    sink(now);
                    *left -= now.len();
                    if *left == 0 {
                        *self = Self::Over;
                    }
                    rest = later;
                }
                Self::Chunked(chunk) => {
                    rest = chunk.feed(rest, &mut sink)?;
                    if *chunk == Chunk::Last(0) {
                        *self = Self::Over;
                    }
                }
            }
        }
        Ok(bytes.len() - rest.len())
    }
}

impl Chunk {
    fn feed<'a>(&mut self, bytes: &'a [u8], sink: &mut impl FnMut(&[u8])) -> Result<&'a [u8]> {
        match self {
            Self::Size(line) => {
                let Some(end) = memchr::memchr(b'\n', bytes) else {
                    line.extend_from_slice(bytes);
                    if line.len() > 64 {
                        bail!("a chunk's size has more than 64 bytes");
                    }
                    return Ok(&[]);
                };
                let (head, rest) = bytes.split_at(end);
                line.extend_from_slice(head);
                let text = String::from_utf8_lossy(line);
                let digits = text.split(';').next().unwrap_or_default().trim();
                let size = usize::from_str_radix(digits, 16)?;
                *self = if size == 0 { Self::Last(2) } else { Self::Data(size) };
                Ok(rest.get(1..).unwrap_or_default())
            }
            Self::Data(left) => {
                let (now, rest) = bytes.split_at(bytes.len().min(*left));
                sink(now);
                *left -= now.len();
                if *left == 0 {
                    *self = Self::Behind(2);
                }
                Ok(rest)
            }
            Self::Behind(left) => {
                let skipped = bytes.len().min(*left);
                *left -= skipped;
                if *left == 0 {
                    *self = Self::Size(Vec::new());
                }
                Ok(bytes.get(skipped..).unwrap_or_default())
            }
            Self::Last(left) => {
                let skipped = bytes.len().min(*left);
                *left -= skipped;
                Ok(bytes.get(skipped..).unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_reads_the_same_however_it_is_cut() {
        let wire = b"5\r\nhello\r\n1;x=y\r\n \r\n00a\r\n0123456789\r\n0\r\n\r\nHTTP";
        for size in 1..wire.len() {
            let (mut body, mut text, mut used) = (Body::chunked(), Vec::new(), 0);
            for piece in wire.chunks(size) {
                used += body.feed(piece, |bytes| text.extend_from_slice(bytes)).unwrap();
            }
            assert_eq!((text.as_slice(), used), (&b"hello 0123456789"[..], wire.len() - 4), "{size}");
            assert!(body.is_over());
        }
    }

    #[test]
    fn a_length_ends_a_body_and_a_bad_size_is_an_error() {
        let mut body = Body::Length(3);
        assert_eq!(body.feed(b"abcd", |bytes| assert_eq!(bytes, b"abc")).unwrap(), 3);
        assert!(body.is_over());
        assert!(Body::chunked().feed(b"zz\r\n", |_| {}).is_err());
        assert!(Body::chunked().feed(&[b'1'; 65], |_| {}).is_err());
    }
}
