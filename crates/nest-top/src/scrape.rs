//! Asks a server for its counts: HTTP/1.1 over TCP or a Unix socket, one request for each connection.
//!
//! Must not know: what the counts mean.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::exposition::Counts;

const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: usize = 64 << 20;

/// Where a server tells its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PORT`
    Tcp(String),
    /// `unix:/path`
    Unix(PathBuf),
}

impl Address {
    /// Reads `HOST:PORT`, `:PORT`, `unix:/path`, `/path`, or one of the first two as a URL. An error
    /// says what is wrong.
    ///
    /// # Errors
    /// The text is no address.
    pub fn parse(text: &str) -> Result<Address, String> {
        let path = text
            .strip_prefix("unix:")
            .or_else(|| text.starts_with(['/', '.']).then_some(text));
        if let Some(path) = path {
            return match path {
                "" => Err("a path must follow `unix:`".to_string()),
                path => Ok(Address::Unix(PathBuf::from(path))),
            };
        }
        let host = text.strip_prefix("http://").unwrap_or(text);
        let host = host.split('/').next().unwrap_or_default();
        match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok_and(|n| n > 0) => {
                let name = match name {
                    "" | "*" | "0.0.0.0" => "127.0.0.1",
                    "[::]" => "[::1]",
                    name => name,
                };
                Ok(Address::Tcp(format!("{name}:{port}")))
            }
            _ => Err(format!(
                "`{text}` is not an address: write 127.0.0.1:9100 or unix:/path, as after `metrics` in the specification"
            )),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(name) => f.write_str(name),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The present counts of the server at this address. An error says why there are none.
///
/// # Errors
/// Nobody answers within five seconds, or what comes are no counts.
pub fn fetch(address: &Address) -> Result<Counts, String> {
    let text = match address {
        Address::Tcp(name) => exchange(connect(name)?),
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(|e| reason(&e))?;
            let patient = stream.set_read_timeout(Some(TIMEOUT));
            patient.map_err(|e| reason(&e))?;
            exchange(stream)
        }
    }?;
    Counts::parse(body(&text)?)
}

fn connect(name: &str) -> Result<TcpStream, String> {
    let addresses = name.to_socket_addrs().map_err(|e| reason(&e))?;
    let mut last = "the name has no address".to_string();
    for address in addresses {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                let patient = stream.set_read_timeout(Some(TIMEOUT));
                return patient.map(|()| stream).map_err(|e| reason(&e));
            }
            Err(error) => last = reason(&error),
        }
    }
    Err(last)
}

fn exchange(mut stream: impl Read + Write) -> Result<String, String> {
    let request = "GET /metrics?fine HTTP/1.1\r\nHost: nest\r\n\
                   Accept: application/openmetrics-text; version=1.0.0\r\nConnection: close\r\n\r\n";
    let (mut text, mut piece) = (Vec::new(), [0; 8 * 1024]);
    let end = Instant::now() + TIMEOUT;
    let sent = stream.write_all(request.as_bytes());
    sent.map_err(|e| reason(&e))?;
    while text.len() < LONGEST {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => text.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(reason(&e)),
        }
        if Instant::now() > end {
            return Err(late("the answer is not complete after"));
        }
    }
    String::from_utf8(text).map_err(|_| "what comes is no text".to_string())
}

/// The body of a reply with status 200.
fn body(reply: &str) -> Result<&str, String> {
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((reply, ""));
    let line = head.lines().next().unwrap_or_default();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let same = name.eq_ignore_ascii_case("Content-Length");
        same.then(|| value.trim().parse::<usize>().ok())?
    });
    match line.split(' ').collect::<Vec<_>>()[..] {
        [version, "200", ..] if version.starts_with("HTTP/1.") => {
            let whole = length.is_none_or(|n| body.len() >= n);
            whole
                .then_some(body)
                .ok_or_else(|| "the answer ends too early".to_string())
        }
        [version, status, ..] if version.starts_with("HTTP/1.") => {
            Err(format!("it answers with status {status}"))
        }
        _ => Err("what answers there does not speak HTTP".to_string()),
    }
}

fn late(what: &str) -> String {
    format!("{what} {} s", TIMEOUT.as_secs())
}

/// Without Rust's "(os error N)".
fn reason(error: &std::io::Error) -> String {
    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
        return late("nothing comes within");
    }
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Address, body};

    #[test]
    fn addresses_are_those_that_a_specification_has_and_urls() {
        let tcp = |text: &str| Ok(Address::Tcp(text.to_string()));
        assert_eq!(Address::parse("127.0.0.1:9100"), tcp("127.0.0.1:9100"));
        assert_eq!(Address::parse("*:9100"), tcp("127.0.0.1:9100"));
        assert_eq!(Address::parse(":9100"), tcp("127.0.0.1:9100"));
        assert_eq!(Address::parse("[::]:9100"), tcp("[::1]:9100"));
        assert_eq!(
            Address::parse("http://localhost:9100/metrics"),
            tcp("localhost:9100")
        );
        assert_eq!(
            Address::parse("unix:/run/x"),
            Ok(Address::Unix("/run/x".into()))
        );
        assert_eq!(Address::parse("./x"), Ok(Address::Unix("./x".into())));
        for wrong in [
            "",
            "9100",
            "host",
            "host:0",
            "host:x",
            "host:70000",
            "unix:",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_good_reply_has_a_body() {
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nA: b\r\n\r\nx\r\n\r\ny"),
            Ok("x\r\n\r\ny")
        );
        assert!(
            body("HTTP/1.1 503 No\r\n\r\nx")
                .unwrap_err()
                .contains("503")
        );
        assert_eq!(
            body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nxy"),
            Ok("xy")
        );
        let early = body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxy");
        assert!(early.unwrap_err().contains("too early"));
        for other in ["", "hello\n", "HTTP/1.1", "SSH-2.0 200 OK\r\n\r\n"] {
            assert!(body(other).is_err(), "{other}");
        }
    }
}
