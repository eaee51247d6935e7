//! A small HTTP/1.1 client that shows every byte it was sent and hides no ending.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

/// Why an exchange failed below the level of HTTP.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("no connection")]
    Connect(#[source] std::io::Error),
    #[error("the connection broke")]
    Io(#[from] std::io::Error),
    #[error("the URL can't be used")]
    Url,
    #[error("the answer is not HTTP/1.1")]
    NotHttp,
    #[error("the body ended before its end was announced")]
    Truncated,
    #[error("the body's chunked framing is broken")]
    Chunking,
    #[error("no answer in time")]
    TimedOut,
}

/// A connection of either kind.
trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// What is sent: raw header bytes, so that hostile values go out as they are.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn new(method: &'static str, url: Url) -> Self {
        Self { method, url, headers: Vec::new(), body: None }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self.header("Content-Type", content_type)
    }
}

/// Status line and headers.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    /// The first header of that name, whatever its case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The media type without its parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// How the body's end is known.
#[derive(Debug)]
enum Framing {
    None,
    Length(u64),
    Chunked { left: u64, crlf_due: bool, trailers: bool },
    UntilClose,
}

/// A body that is read piece by piece.
pub(crate) struct Body {
    conn: Box<dyn Duplex>,
    buffer: Vec<u8>,
    framing: Framing,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("framing", &self.framing).finish_non_exhaustive()
    }
}

enum Taken {
    Data(Vec<u8>),
    End,
    More,
}

impl Body {
    /// The next piece, `None` at the proper end. An end that was not announced is an error.
    ///
    /// Cancel safe: what was read stays in the buffer.
    pub(crate) async fn piece(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        loop {
            match self.take()? {
                Taken::Data(data) => return Ok(Some(data)),
                Taken::End => return Ok(None),
                Taken::More => {}
            }
            let read = self.conn.read_buf(&mut self.buffer).await?;
            if read == 0 {
                return match self.framing {
                    Framing::UntilClose | Framing::None => Ok(None),
                    Framing::Length(_) | Framing::Chunked { .. } => Err(HttpError::Truncated),
                };
            }
        }
    }

    fn take(&mut self) -> Result<Taken, HttpError> {
        match &mut self.framing {
            Framing::None | Framing::Length(0) => Ok(Taken::End),
            Framing::Length(left) => {
                if self.buffer.is_empty() {
                    return Ok(Taken::More);
                }
                let size = self.buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= size as u64;
                Ok(Taken::Data(self.buffer.drain(..size).collect()))
            }
            Framing::UntilClose => {
                if self.buffer.is_empty() {
                    return Ok(Taken::More);
                }
                Ok(Taken::Data(std::mem::take(&mut self.buffer)))
            }
            Framing::Chunked { left, crlf_due, trailers } => loop {
                if *trailers {
                    let Some(line) = take_line(&mut self.buffer) else { return Ok(Taken::More) };
                    if line.is_empty() {
                        self.framing = Framing::None;
                        return Ok(Taken::End);
                    }
                    continue;
                }
                if *left > 0 {
                    if self.buffer.is_empty() {
                        return Ok(Taken::More);
                    }
                    let size = self.buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= size as u64;
                    *crlf_due = *left == 0;
                    return Ok(Taken::Data(self.buffer.drain(..size).collect()));
                }
                let Some(line) = take_line(&mut self.buffer) else { return Ok(Taken::More) };
                if *crlf_due {
                    if !line.is_empty() {
                        return Err(HttpError::Chunking);
                    }
                    *crlf_due = false;
                    continue;
                }
                let text = String::from_utf8_lossy(&line);
                let size = text.split(';').next().unwrap_or_default().trim();
                *left = u64::from_str_radix(size, 16).ok().ok_or(HttpError::Chunking)?;
                *trailers = *left == 0;
            },
        }
    }
}

/// Takes one line up to CRLF out of the buffer.
fn take_line(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = buffer.windows(2).position(|pair| pair == b"\r\n")?;
    let line = buffer.drain(..end).collect();
    buffer.drain(..2);
    Some(line)
}

/// An answer whose body is still coming.
#[derive(Debug)]
pub(crate) struct Streaming {
    pub(crate) head: Head,
    pub(crate) body: Body,
}

/// Makes one connection per exchange.
#[derive(Clone)]
pub(crate) struct Client {
    tls: TlsConnector,
    limit: Duration,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Client {
    /// `limit` bounds the wait for an answer's head and for a whole short body; `ca` adds roots to the public ones.
    pub(crate) fn new(limit: Duration, ca: Option<&std::path::Path>) -> anyhow::Result<Self> {
        let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(path) = ca {
            for cert in CertificateDer::pem_file_iter(path)? {
                roots.add(cert?)?;
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: TlsConnector::from(Arc::new(config)), limit })
    }

    /// Sends and reads the whole answer.
    pub(crate) async fn send(&self, request: &Request) -> Result<Answer, HttpError> {
        let whole = async {
            let mut streaming = self.exchange(request).await?;
            let mut body = Vec::new();
            while let Some(piece) = streaming.body.piece().await? {
                body.extend_from_slice(&piece);
            }
            Ok(Answer { head: streaming.head, body })
        };
        tokio::time::timeout(self.limit, whole).await.unwrap_or(Err(HttpError::TimedOut))
    }

    /// Sends and reads the head alone.
    pub(crate) async fn open(&self, request: &Request) -> Result<Streaming, HttpError> {
        tokio::time::timeout(self.limit, self.exchange(request)).await.unwrap_or(Err(HttpError::TimedOut))
    }

    async fn connect(&self, url: &Url) -> Result<Box<dyn Duplex>, HttpError> {
        let host = url.host_str().ok_or(HttpError::Url)?;
        let port = url.port_or_known_default().ok_or(HttpError::Url)?;
        let tcp =
            TcpStream::connect((host.trim_matches(['[', ']']), port)).await.map_err(HttpError::Connect)?;
        tcp.set_nodelay(true)?;
        if url.scheme() == "https" {
            let name = ServerName::try_from(host.to_owned()).ok().ok_or(HttpError::Url)?;
            Ok(Box::new(self.tls.connect(name, tcp).await.map_err(HttpError::Connect)?))
        } else {
            Ok(Box::new(tcp))
        }
    }

    async fn exchange(&self, request: &Request) -> Result<Streaming, HttpError> {
        let mut conn = self.connect(&request.url).await?;
        let wire = encode(request)?;
        // A server may answer and close before it has read a body it refuses, so a failed write is no verdict yet.
        let written = match conn.write_all(&wire).await {
            Ok(()) => conn.flush().await,
            Err(err) => Err(err),
        };
        let mut buffer = Vec::with_capacity(8 * 1024);
        loop {
            if let Some((head, rest)) = parse_head(&buffer)? {
                if (100..200).contains(&head.status) {
                    buffer = rest;
                    continue;
                }
                let framing = framing_of(request.method, &head)?;
                return Ok(Streaming { head, body: Body { conn, buffer: rest, framing } });
            }
            if conn.read_buf(&mut buffer).await? == 0 {
                written?;
                return Err(HttpError::NotHttp);
            }
        }
    }
}

fn encode(request: &Request) -> Result<Vec<u8>, HttpError> {
    let url = &request.url;
    let host = url.host_str().ok_or(HttpError::Url)?;
    let mut target = url.path().to_owned();
    if let Some(query) = url.query() {
        target.push('?');
        target.push_str(query);
    }
    let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut wire = format!("{} {target} HTTP/1.1\r\nHost: {authority}\r\n", request.method).into_bytes();
    for (name, value) in &request.headers {
        wire.extend_from_slice(name.as_bytes());
        wire.extend_from_slice(b": ");
        wire.extend_from_slice(value);
        wire.extend_from_slice(b"\r\n");
    }
    let body = request.body.as_deref().unwrap_or_default();
    if request.method == "POST" {
        wire.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    wire.extend_from_slice(b"\r\n");
    wire.extend_from_slice(body);
    Ok(wire)
}

fn parse_head(buffer: &[u8]) -> Result<Option<(Head, Vec<u8>)>, HttpError> {
    let mut slots = [httparse::EMPTY_HEADER; 96];
    let mut response = httparse::Response::new(&mut slots);
    match response.parse(buffer) {
        Ok(httparse::Status::Complete(size)) => {
            let status = response.code.ok_or(HttpError::NotHttp)?;
            let headers = response
                .headers
                .iter()
                .map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned()))
                .collect();
            Ok(Some((Head { status, headers }, buffer.get(size..).unwrap_or_default().to_vec())))
        }
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err(HttpError::NotHttp),
    }
}

fn framing_of(method: &str, head: &Head) -> Result<Framing, HttpError> {
    if method == "HEAD" || matches!(head.status, 204 | 304) {
        return Ok(Framing::None);
    }
    if head.header("transfer-encoding").is_some_and(|value| value.to_ascii_lowercase().contains("chunked")) {
        return Ok(Framing::Chunked { left: 0, crlf_due: false, trailers: false });
    }
    match head.header("content-length") {
        Some(value) => value.trim().parse().map(Framing::Length).ok().ok_or(HttpError::NotHttp),
        None => Ok(Framing::UntilClose),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(wire: &[u8], framing: Framing) -> Body {
        let (near, mut far) = tokio::io::duplex(1024);
        let wire = wire.to_vec();
        futures_util::FutureExt::now_or_never(async move { far.write_all(&wire).await.unwrap() }).unwrap();
        Body { conn: Box::new(near), buffer: Vec::new(), framing }
    }

    fn chunked() -> Framing {
        Framing::Chunked { left: 0, crlf_due: false, trailers: false }
    }

    #[tokio::test]
    async fn a_chunked_body_ends_at_its_last_chunk() {
        let mut body = body(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", chunked());
        let mut all = Vec::new();
        while let Some(piece) = body.piece().await.unwrap() {
            all.extend(piece);
        }
        assert_eq!(all, b"abcde");
    }

    #[tokio::test]
    async fn a_chunked_body_without_its_last_chunk_is_truncated() {
        let mut body = body(b"3\r\nabc\r\n", chunked());
        assert_eq!(body.piece().await.unwrap().unwrap(), b"abc");
        assert!(matches!(body.piece().await, Err(HttpError::Truncated)));
    }

    #[tokio::test]
    async fn a_short_body_is_truncated() {
        let mut body = body(b"abc", Framing::Length(5));
        assert_eq!(body.piece().await.unwrap().unwrap(), b"abc");
        assert!(matches!(body.piece().await, Err(HttpError::Truncated)));
    }

    #[test]
    fn raw_header_bytes_go_out_as_given() {
        let request =
            Request::new("GET", Url::parse("http://h:1/p?q=1").unwrap()).header("Last-Event-ID", b"\xff9");
        let wire = encode(&request).unwrap();
        assert_eq!(wire, b"GET /p?q=1 HTTP/1.1\r\nHost: h:1\r\nLast-Event-ID: \xff9\r\n\r\n");
    }
}
