//! A client's connection: it is opened without waiting, and bytes go out and come in.
//!
//! Must not know: what is sent, what is awaited, who watches it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send,
    socket_with, sockopt,
};

/// A connection.
pub struct Link {
    fd: OwnedFd,
}

impl Link {
    /// Begins a connection, and says whether it exists already. `from`: the own address; `window`: the
    /// size of the buffer for what arrives, if not the system's.
    pub fn open(
        to: SocketAddrV4,
        from: Option<Ipv4Addr>,
        window: Option<usize>,
    ) -> Result<(Link, bool), Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        if let Some(window) = window {
            sockopt::set_socket_recv_buffer_size(&fd, window)?;
        }
        if let Some(from) = from {
            sockopt::set_socket_reuseaddr(&fd, true)?;
            bind(&fd, &SocketAddrV4::new(from, 0))?;
        }
        let exists = match connect(&fd, &to) {
            Ok(()) => true,
            Err(Errno::INPROGRESS) => false,
            Err(e) => return Err(e),
        };
        Ok((Link { fd }, exists))
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Sends some of these bytes, and says how many.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        send(&self.fd, bytes, SendFlags::NOSIGNAL)
    }

    /// Receives some bytes; none: the end.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        recv(&self.fd, buffer, RecvFlags::empty()).map(|(n, _)| n)
    }

    /// Ends the connection by a reset.
    pub fn reset(self) {
        // If this fails, the connection ends in the usual way.
        let _ = sockopt::set_socket_linger(&self.fd, Some(Duration::ZERO));
    }
}

/// The text of an error, without its number.
pub fn said(e: Errno) -> String {
    let text = std::io::Error::from(e).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_owned()
}

/// The address of a client: one of `sources` from `first` on.
pub fn source(first: Ipv4Addr, number: u32, sources: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(first) + number % sources.max(1))
}
