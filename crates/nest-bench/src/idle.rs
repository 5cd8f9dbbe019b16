//! Idle clients: they connect, say nothing, and stay.
//!
//! Must not know: what the other clients do, what is measured.

use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

use crate::trouble::{Kind, Trouble};

/// Connections on which nothing is sent.
#[derive(Debug)]
pub struct Idle(Vec<TcpStream>);

impl Idle {
    /// So many connections, all of which exist when it returns.
    ///
    /// # Errors
    /// A connection that cannot be made within `timeout`.
    pub fn connect(count: usize, to: SocketAddrV4, timeout: Duration) -> Result<Idle, Trouble> {
        let one = || -> std::io::Result<TcpStream> {
            let stream = TcpStream::connect_timeout(&to.into(), timeout)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let all = (0..count).map(|_| one()).collect::<std::io::Result<_>>();
        all.map(Idle).map_err(|e| {
            let text = e.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            Kind::Refused(text.to_owned()).into()
        })
    }

    /// Fails if the server has closed some of them: then it was not under this load.
    ///
    /// # Errors
    /// [`Kind::Dropped`].
    pub fn verify(&mut self) -> Result<(), Trouble> {
        let mut closed = 0;
        for stream in &mut self.0 {
            closed += usize::from(is_closed(stream));
        }
        if closed == 0 {
            return Ok(());
        }
        let all = self.0.len();
        Err(Kind::Dropped { closed, all }.into())
    }
}

/// Reads what has come, such as a greeting, and says whether the end has come as well.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 4096];
    // A server that sends without end is open.
    for _ in 0..64 {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return e.kind() != ErrorKind::WouldBlock,
        }
    }
    false
}
