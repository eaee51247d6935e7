//! Whether the service that listens here is alive, for health checks that can only run a program.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks the service at `addr` for `/health/live`.
///
/// # Errors
///
/// When nothing listens there, no answer comes in time, or the answer is not 200.
pub fn probe(addr: SocketAddr) -> io::Result<()> {
    let mut connection = TcpStream::connect_timeout(&addr, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    write!(connection, "GET /health/live HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n")?;
    let mut head = [0; 12];
    connection.read_exact(&mut head)?;
    let is_alive = head == *b"HTTP/1.1 200";
    is_alive.then_some(()).ok_or_else(|| io::Error::other("it does not say that it is alive"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn answering(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        drop(std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            // To its end: a connection that is closed over what was not read takes the answer with it.
            let (mut asked, mut one) = (Vec::new(), [0]);
            while !asked.ends_with(b"\r\n\r\n") {
                connection.read_exact(&mut one).unwrap();
                asked.push(one[0]);
            }
            connection.write_all(answer.as_bytes()).unwrap();
        }));
        addr
    }

    #[test]
    fn only_a_service_that_says_so_is_alive() {
        assert!(probe(answering("HTTP/1.1 200 OK\r\n\r\n")).is_ok());
        assert!(probe(answering("HTTP/1.1 503 Service Unavailable\r\n\r\n")).is_err());
        assert!(probe(answering("HTTP/1.1 2")).is_err());
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(probe(closed).is_err());
    }
}
