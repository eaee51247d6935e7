//! One HTTP/1.1 connection, with next to no work of its own: an idle one holds no buffer.

use std::cell::RefCell;
use std::io::ErrorKind;

use anyhow::{Context as _, Result, bail};
use tokio::net::TcpStream;

use crate::body::Body;
use crate::target::Target;

/// What is read at once.
const BUFFER: usize = 256 * 1024;

thread_local! {
    static SHARED: RefCell<Vec<u8>> = RefCell::new(vec![0; BUFFER]);
}

/// A connection, and what was read of it too early.
#[derive(Debug)]
pub(crate) struct Conn {
    stream: TcpStream,
    early: Vec<u8>,
    /// Whether another request may be sent.
    pub(crate) reusable: bool,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) body: Body,
}

impl Conn {
    pub(crate) async fn open(target: &Target) -> Result<Self> {
        let stream = TcpStream::connect(target.address).await.context("no connection")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, early: Vec::new(), reusable: true })
    }

    /// Sends a whole request and reads the answer's head.
    pub(crate) async fn send(&mut self, mut request: &[u8]) -> Result<Head> {
        while !request.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(request) {
                Ok(count) => request = request.get(count..).unwrap_or_default(),
                Err(err) if err.kind() == ErrorKind::WouldBlock => {}
                Err(err) => return Err(err.into()),
            }
        }
        loop {
            if let Some(head) = self.parse_head()? {
                return Ok(head);
            }
            let early = &mut self.early;
            let count = read(&self.stream, |bytes| early.extend_from_slice(bytes)).await?;
            if count == 0 {
                self.reusable = false;
                bail!("closed before an answer");
            }
        }
    }

    fn parse_head(&mut self) -> Result<Option<Head>> {
        let mut headers = [httparse::EMPTY_HEADER; 48];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(length) = response.parse(&self.early)? else { return Ok(None) };
        let status = response.code.unwrap_or(0);
        let mut body = if status == 204 { Body::Over } else { Body::Open };
        for header in response.headers.iter() {
            let value = String::from_utf8_lossy(header.value);
            if header.name.eq_ignore_ascii_case("content-length") {
                let left = value.trim().parse()?;
                body = if left == 0 { Body::Over } else { Body::Length(left) };
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                body = Body::chunked();
            } else if header.name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
                self.reusable = false;
            }
        }
        self.early.drain(..length);
        Ok(Some(Head { status, body }))
    }

    /// Reads on; whether the body has more.
    pub(crate) async fn more(&mut self, body: &mut Body, mut sink: impl FnMut(&[u8])) -> Result<bool> {
        if body.is_over() {
            return Ok(false);
        }
        if !self.early.is_empty() {
            let early = std::mem::take(&mut self.early);
            let used = body.feed(&early, &mut sink)?;
            self.early = early.get(used..).unwrap_or_default().to_vec();
            return Ok(!body.is_over());
        }
        let mut fed = Ok(0);
        let early = &mut self.early;
        let count = read(&self.stream, |bytes| {
            fed = body.feed(bytes, &mut sink);
            if let Ok(used) = fed {
                early.extend_from_slice(bytes.get(used..).unwrap_or_default());
            }
        })
        .await?;
        fed?;
        if count == 0 {
            self.reusable = false;
            if *body != Body::Open {
                bail!("closed within a body");
            }
            *body = Body::Over;
        }
        Ok(!body.is_over())
    }

    /// A whole call with a short answer.
    pub(crate) async fn call(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>)> {
        let mut head = self.send(request).await?;
        let mut answer = Vec::new();
        while self.more(&mut head.body, |bytes| answer.extend_from_slice(bytes)).await? {}
        Ok((head.status, answer))
    }
}

/// Reads what is there, or waits for it; 0 at the end.
async fn read(stream: &TcpStream, mut sink: impl FnMut(&[u8])) -> Result<usize> {
    loop {
        stream.readable().await?;
        let outcome = SHARED.with_borrow_mut(|buffer| {
            let count = stream.try_read(buffer)?;
            sink(buffer.get(..count).unwrap_or_default());
            Ok::<_, std::io::Error>(count)
        });
        match outcome {
            Err(err) if err.kind() == ErrorKind::WouldBlock => {}
            outcome => return Ok(outcome?),
        }
    }
}
