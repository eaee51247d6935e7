//! HTTP/1.1 as the mini-service needs it: one request a connection, bodies of known length, chunked streams.

use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{MAX_BODY, Mini, routes};

/// A request that was read whole.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) too_large: bool,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(&found.1).into_owned())
    }
}

/// What is answered in one piece.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

pub(super) async fn serve(mini: Rc<Mini>, mut conn: TcpStream) {
    let most = if mini.is("large-bodies-taken") { usize::MAX } else { MAX_BODY };
    let Some(request) = read(most, &mut conn).await else { return };
    let (_reader, mut writer) = conn.split();
    if let Some(response) = routes::route(&mini, &request, &mut writer).await {
        answer(&mut writer, &response).await;
    }
    let _gone = writer.shutdown().await;
}

/// Writes an answer; a client that has left is no concern of a server's.
pub(crate) async fn answer(writer: &mut (impl tokio::io::AsyncWrite + Unpin), response: &Response) {
    let mut wire = format!("HTTP/1.1 {} Status\r\nConnection: close\r\n", response.status).into_bytes();
    for (name, value) in &response.headers {
        wire.extend(format!("{name}: {value}\r\n").bytes());
    }
    if response.status != 204 || !response.body.is_empty() {
        wire.extend(format!("Content-Length: {}\r\n", response.body.len()).bytes());
    }
    wire.extend(b"\r\n");
    wire.extend(&response.body);
    let _gone = writer.write_all(&wire).await;
}

/// Reads a request whole; of one with a body over `most` bytes only that it was too large.
pub(crate) async fn read(most: usize, conn: &mut TcpStream) -> Option<Request> {
    let mut buffer = Vec::new();
    let mut request = loop {
        let mut slots = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Request::new(&mut slots);
        if let Ok(httparse::Status::Complete(size)) = parsed.parse(&buffer) {
            let target = parsed.path.unwrap().to_owned();
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            let headers =
                parsed.headers.iter().map(|header| (header.name.to_owned(), header.value.to_vec())).collect();
            let request = Request {
                method: parsed.method.unwrap().to_owned(),
                path: path.to_owned(),
                query: query.to_owned(),
                headers,
                body: Vec::new(),
                too_large: false,
            };
            buffer.drain(..size);
            break request;
        }
        if conn.read_buf(&mut buffer).await.ok()? == 0 {
            return None;
        }
    };
    let length: usize = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    if length > most {
        // Read and thrown away, so that the client gets to read the answer.
        let mut left = length - buffer.len();
        let mut sink = vec![0; 64 * 1024];
        while left > 0 {
            let read = conn.read(&mut sink).await.ok()?;
            if read == 0 {
                return None;
            }
            left -= read;
        }
        request.too_large = true;
        return Some(request);
    }
    while buffer.len() < length {
        if conn.read_buf(&mut buffer).await.ok()? == 0 {
            return None;
        }
    }
    request.body = buffer;
    Some(request)
}

/// Writes one chunk.
pub(super) async fn chunk(
    writer: &mut (impl tokio::io::AsyncWrite + Unpin),
    bytes: &[u8],
) -> std::io::Result<()> {
    let mut wire = format!("{:x}\r\n", bytes.len()).into_bytes();
    wire.extend(bytes);
    wire.extend(b"\r\n");
    writer.write_all(&wire).await
}
