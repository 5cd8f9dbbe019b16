//! The HTTP address from which Prometheus fetches the counts of a running accelerator.
//!
//! Must not know: what the counts are.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::gate::Gate;

/// A client that has not sent its request in this time is dropped.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The text fits into the buffer of a socket, so writing it waits for no client.
const WRITE: Duration = Duration::from_millis(50);
/// The most bytes of a request, and the most clients at a time.
const REQUEST: usize = 8192;
const CLIENTS: usize = 16;

/// A client whose request is not complete.
struct Client {
    stream: TcpStream,
    since: Instant,
    request: Vec<u8>,
}

/// What became of a client in one turn.
enum Progress {
    Waits,
    Complete,
    Ended,
}

impl Client {
    /// Reads what has arrived.
    fn read(&mut self) -> Progress {
        let mut buffer = [0; 1024];
        loop {
            if self.request.windows(4).any(|four| four == b"\r\n\r\n") {
                return Progress::Complete;
            }
            if self.request.len() >= REQUEST {
                return Progress::Ended;
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Progress::Ended,
                Ok(count) => self.request.extend_from_slice(&buffer[..count]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock && self.since.elapsed() < TIMEOUT => {
                    return Progress::Waits;
                }
                Err(_) => return Progress::Ended,
            }
        }
    }

    /// Answers, and ends the connection.
    fn answer(&mut self, counts: &dyn Fn() -> String) {
        let bounded = self.stream.set_nonblocking(false);
        let bounded = bounded.and_then(|()| self.stream.set_write_timeout(Some(WRITE)));
        let text = response(&self.request, &mut || counts());
        // A client that has gone needs no answer.
        let _ = bounded.and_then(|()| self.stream.write_all(text.as_bytes()));
    }
}

/// The answer to a complete request.
pub fn response(request: &[u8], counts: &mut dyn FnMut() -> String) -> String {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or(b"");
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = target.split('?').next().unwrap_or("");
    let (status, kind, body) = match (method, path) {
        ("GET", "/metrics") => (
            "200 OK",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            counts(),
        ),
        ("GET", _) => (
            "404 Not Found",
            "text/plain",
            "The counts are at /metrics.\n".to_owned(),
        ),
        _ => (
            "405 Method Not Allowed\r\nAllow: GET",
            "text/plain",
            "Only GET is answered.\n".to_owned(),
        ),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The listening socket, and its clients.
pub struct Exporter {
    listener: TcpListener,
    gate: Gate,
    clients: Vec<Client>,
}

impl Exporter {
    /// Listens at an address.
    pub fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let failed = |e: std::io::Error| Failure::io(format!("cannot listen at {address}"), &e);
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Exporter {
            listener,
            gate: Gate::new(address.to_string()),
            clients: Vec::new(),
        })
    }

    /// Whether another client can be accepted.
    pub fn accepts(&self) -> bool {
        self.clients.len() < CLIENTS && self.gate.open()
    }

    /// Accepts clients, and answers those whose request is complete. It does not wait for them. `say` prints
    /// why none can be accepted.
    pub fn serve(&mut self, counts: &dyn Fn() -> String, say: &dyn Fn(&str)) {
        while self.accepts() {
            let Some((stream, _)) = self.gate.pass(self.listener.accept(), say) else {
                break;
            };
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client {
                    stream,
                    since: Instant::now(),
                    request: Vec::new(),
                });
            }
        }
        self.clients.retain_mut(|client| match client.read() {
            Progress::Waits => true,
            Progress::Complete => {
                client.answer(counts);
                false
            }
            Progress::Ended => false,
        });
    }
}

impl AsFd for Exporter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::response;

    #[test]
    fn only_a_get_of_the_metrics_gives_the_counts() {
        let mut counts = || "# EOF\n".to_owned();
        let mut of =
            |line: &str| response(format!("{line}\r\nHost: a\r\n\r\n").as_bytes(), &mut counts);
        let found = of("GET /metrics?x HTTP/1.1");
        assert!(
            found.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;")
        );
        assert!(found.ends_with("\r\nContent-Length: 6\r\nConnection: close\r\n\r\n# EOF\n"));
        assert!(of("GET / HTTP/1.1").starts_with("HTTP/1.1 404 "));
        assert!(of("POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405 "));
        assert!(of("").starts_with("HTTP/1.1 405 "));
    }
}
