//! Asks the server itself: one connection, requests one after the other, whole answers.
//!
//! Must not know: files, and which answers are kept.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::sockets;

/// A server that does not answer in this time is not asked further.
const LIMIT: Duration = Duration::from_secs(5);

/// One read. A process that is stopped and continued, and one that handles a signal, finds a read with a time
/// limit interrupted: that says nothing about the other side.
pub fn receive(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// An answer, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status line and the fields, without the empty line.
    pub lines: Vec<String>,
    pub body: Vec<u8>,
}

/// A connection to the server.
pub struct Origin {
    stream: TcpStream,
    rest: Vec<u8>,
    version: &'static str,
}

impl Origin {
    /// Connects to the port at this machine's own address, or at the first other one at which somebody listens.
    pub fn connect(port: u16) -> Result<Self, String> {
        let connect = |address: &SocketAddr| TcpStream::connect_timeout(address, LIMIT);
        let own = [
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
        ];
        let mut stream = connect(&own[0]).or_else(|_| connect(&own[1]));
        if stream.is_err() {
            for listener in sockets::listeners(port) {
                stream = stream.or_else(|_| connect(&listener.address));
            }
        }
        let stream =
            stream.map_err(|e| format!("cannot connect: {}", crate::failure::reason(&e)))?;
        Self::over(stream)
    }

    /// Connects to the address at which the server was reached, and to no other: somebody else may listen there.
    pub fn at(address: &SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect_timeout(address, LIMIT);
        Self::over(stream.map_err(|e| format!("cannot connect: {}", crate::failure::reason(&e)))?)
    }

    fn over(stream: TcpStream) -> Result<Self, String> {
        let bounded = stream
            .set_read_timeout(Some(LIMIT))
            .and_then(|()| stream.set_write_timeout(Some(LIMIT)));
        bounded.map_err(|e| crate::failure::reason(&e))?;
        Ok(Origin {
            stream,
            rest: Vec::new(),
            version: "1.1",
        })
    }

    /// The same connection, whose client speaks HTTP/1.0.
    pub fn old(mut self) -> Self {
        self.version = "1.0";
        self
    }

    /// Whether the server ends the connection now, and has sent nothing more.
    pub fn ends_here(mut self) -> bool {
        let mut byte = [0; 1];
        self.rest.is_empty() && matches!(receive(&mut self.stream, &mut byte), Ok(0))
    }

    /// The two ends: ours, the server's.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((
            self.stream.local_addr().ok()?,
            self.stream.peer_addr().ok()?,
        ))
    }

    /// Sends a request and reads the head of the answer. `fields` end with CRLF each. The programs of the
    /// kernel leave a request with `Pragma` to the server.
    pub fn head(
        &mut self,
        method: &str,
        host: &str,
        path: &str,
        fields: &str,
    ) -> Result<Answer, String> {
        let version = self.version;
        let request = format!(
            "{method} {path} HTTP/{version}\r\nHost: {host}\r\nPragma: no-cache\r\n{fields}\r\n"
        );
        let sent = self.stream.write_all(request.as_bytes());
        sent.map_err(|e| crate::failure::reason(&e))?;
        let until = Instant::now() + LIMIT;
        let end = loop {
            if let Some(at) = self.rest.windows(4).position(|w| w == b"\r\n\r\n") {
                break at;
            }
            if self.rest.len() > 65_536 {
                return Err("the head of the answer is too long".to_owned());
            }
            self.more(until)?;
        };
        let head = String::from_utf8(self.rest[..end].to_vec());
        let head = head.map_err(|_| "the head of the answer is no text".to_owned())?;
        self.rest.drain(..end + 4);
        Ok(Answer {
            lines: head.split("\r\n").map(str::to_owned).collect(),
            body: Vec::new(),
        })
    }

    /// Sends a request and reads the whole answer, whose body has at most `limit` bytes.
    pub fn request(
        &mut self,
        method: &str,
        host: &str,
        path: &str,
        fields: &str,
        limit: usize,
    ) -> Result<Answer, String> {
        let mut answer = self.head(method, host, path, fields)?;
        if answer.status() == Some(304) {
            return Ok(answer);
        }
        let until = Instant::now() + LIMIT;
        let length = answer.field("content-length").map(str::parse::<usize>);
        let Some(Ok(length)) = length else {
            return Err("the answer does not say its length".to_owned());
        };
        if method == "HEAD" {
            return Ok(answer);
        }
        if length > limit {
            return Err("the answer is longer than the file".to_owned());
        }
        while self.rest.len() < length {
            self.more(until)?;
        }
        answer.body = self.rest.drain(..length).collect();
        Ok(answer)
    }

    fn more(&mut self, until: Instant) -> Result<(), String> {
        let mut buffer = [0; 16_384];
        match receive(&mut self.stream, &mut buffer) {
            Ok(0) => Err("the server closed the connection".to_owned()),
            Ok(_) if Instant::now() > until => Err("the server is too slow".to_owned()),
            Ok(count) => {
                self.rest.extend_from_slice(&buffer[..count]);
                Ok(())
            }
            Err(error) => Err(crate::failure::reason(&error)),
        }
    }
}

impl Answer {
    /// The status, if the first line has one.
    pub fn status(&self) -> Option<u16> {
        self.lines.first()?.split(' ').nth(1)?.parse().ok()
    }

    /// The values of a field, given by its name in lower case: it may stand in several lines.
    pub fn fields(&self, name: &str) -> impl Iterator<Item = &str> {
        self.lines.iter().skip(1).filter_map(move |line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The first of them.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields(name).next()
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    #[test]
    fn who_is_stopped_and_continued_reads_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut origin = Origin::over(stream).unwrap();
        let served = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = client.read(&mut request).unwrap();
            let own = std::process::id();
            let pair = format!("for i in 1 2 3 4 5; do kill -STOP {own}; kill -CONT {own}; done");
            assert!(
                Command::new("sh")
                    .args(["-c", &pair])
                    .status()
                    .unwrap()
                    .success()
            );
            client
                .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                .unwrap();
        });
        let answer = origin.head("GET", "a", "/", "");
        served.join().unwrap();
        assert_eq!(answer.unwrap().status(), Some(204));
    }
}
