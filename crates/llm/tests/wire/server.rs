//! A TCP server that answers each request with the bytes of a script.

use std::{cell::RefCell, rc::Rc};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// How one request is answered.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes, and the connection stays open for the next request.
    Whole(Vec<u8>),
    /// These bytes one piece after the other, each flushed.
    Pieces(Vec<Vec<u8>>),
    /// These bytes, then a clean close.
    Close(Vec<u8>),
    /// These bytes, then a reset.
    Reset(Vec<u8>),
    /// These bytes, then nothing until the client closes.
    Stall(Vec<u8>),
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The request line and the headers, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Value,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its address, `http://127.0.0.1:port`.
    pub(crate) base: String,
    requests: Rc<RefCell<Vec<Recorded>>>,
    counts: watch::Receiver<Counts>,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Connections accepted.
    pub(crate) connections: usize,
    /// Replies that have been written.
    pub(crate) replied: usize,
    /// Connections that the client closed while a reply stalled.
    pub(crate) closed: usize,
}

impl Server {
    /// Starts a server on a free port. The last reply of the script is given to all further requests.
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let requests = Rc::new(RefCell::new(Vec::new()));
        let (sender, counts) = watch::channel(Counts::default());
        let script = Rc::new(RefCell::new(script));
        tokio::task::spawn_local({
            let requests = Rc::clone(&requests);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    sender.send_modify(|counts| counts.connections += 1);
                    let (script, requests, sender) =
                        (Rc::clone(&script), Rc::clone(&requests), sender.clone());
                    tokio::task::spawn_local(async move { serve(stream, &script, &requests, &sender).await });
                }
            }
        });
        Self { base, requests, counts }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.requests.borrow().clone()
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until the counts are as wanted.
    pub(crate) async fn until(&self, wanted: impl FnMut(&Counts) -> bool) {
        self.counts.clone().wait_for(wanted).await.unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &RefCell<Vec<Reply>>,
    requests: &RefCell<Vec<Recorded>>,
    counts: &watch::Sender<Counts>,
) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        requests.borrow_mut().push(request);
        let reply = {
            let mut script = script.borrow_mut();
            if script.len() > 1 { script.remove(0) } else { script[0].clone() }
        };
        let replied = || counts.send_modify(|counts| counts.replied += 1);
        match reply {
            Reply::Whole(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                replied();
            }
            Reply::Pieces(pieces) => {
                for piece in pieces {
                    // The client may have gone.
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
                replied();
            }
            Reply::Close(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                stream.shutdown().await.unwrap();
                replied();
                return;
            }
            Reply::Reset(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                stream.set_zero_linger().unwrap();
                replied();
                return;
            }
            Reply::Stall(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                replied();
                let mut rest = [0; 1];
                if matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {
                    counts.send_modify(|counts| counts.closed += 1);
                }
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Recorded> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap().to_lowercase();
            let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
            let whole = end + 4 + length;
            if buffer.len() >= whole {
                let body = serde_json::from_slice(&buffer[end + 4..whole]).unwrap();
                buffer.drain(..whole);
                return Some(Recorded { head, body });
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => buffer.extend_from_slice(&piece[..read]),
        }
    }
}

/// The value of a header in a head in lower case.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// A response with a chunked event stream, one chunk an event.
pub(crate) fn stream(events: &str) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for event in events.split_inclusive("\n\n") {
        bytes.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// The same without the last chunk.
pub(crate) fn open_stream(events: &str) -> Vec<u8> {
    let mut bytes = stream(events);
    bytes.truncate(bytes.len() - 5);
    bytes
}

/// A response with a status, headers (each with its line end) and a JSON body.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
