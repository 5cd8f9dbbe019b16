//! A client's connection, in clear or encrypted: it is opened without waiting, and bytes go out and
//! come in.
//!
//! Must not know: what is sent, what is awaited, who watches it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send,
    socket_with, sockopt,
};

use crate::failed::{Failed, late};
use crate::tls::{Encrypted, Session, Tls};

/// A connection.
pub struct Link {
    fd: OwnedFd,
    session: Option<Box<Session>>,
    /// How often bytes were sent in clear, up to 2.
    sends: u8,
}

impl Link {
    /// Begins a connection, and says whether it exists already. `from`: the own address; `window`: the
    /// size of the buffer for what arrives, if not the system's; `tls`: how it is encrypted, if it is.
    pub fn open(
        to: SocketAddrV4,
        from: Option<Ipv4Addr>,
        window: Option<usize>,
        tls: Option<&Tls>,
    ) -> Result<(Link, bool), Failed> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        if tls.is_some() {
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
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
            Err(e) => return Err(e.into()),
        };
        let session = tls.map(Session::new).transpose()?.map(Box::new);
        let link = Link {
            fd,
            session,
            sends: 0,
        };
        Ok((link, exists))
    }

    /// Whether the connection exists already, although [`Self::open`] did not know.
    pub fn exists(&self) -> Result<bool, Failed> {
        match send(&self.fd, &[], SendFlags::NOSIGNAL) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Begins to encrypt a connection that is in clear: the handshake follows.
    pub fn encrypt(&mut self, tls: &Tls) -> Result<(), Failed> {
        sockopt::set_tcp_nodelay(&self.fd, true)?;
        self.session = Some(Box::new(Session::new(tls)?));
        Ok(())
    }

    /// Goes on with the handshake of a connection that exists, and says whether it is complete. Its
    /// last bytes go out with the first ones that follow, or by [`Self::push`].
    pub fn shake(&mut self) -> Result<bool, Failed> {
        let session = self.session.as_mut();
        session.map_or(Ok(true), |session| session.shake(&self.fd))
    }

    /// Waits until the connection exists, and its handshake is complete.
    pub fn wait(&mut self, limit: Duration) -> Result<(), Failed> {
        let until = Instant::now() + limit;
        let mut exists = false;
        let mut wanted = PollFlags::OUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
            let mut place = [PollFd::new(&self.fd, wanted)];
            match poll(&mut place, Some(&left)) {
                Ok(0) if exists => return Err(Failed::Tls(late(limit))),
                Ok(0) => return Err(Errno::TIMEDOUT.into()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
            if !exists {
                sockopt::socket_error(&self.fd)??;
                exists = true;
            }
            if self.shake()? {
                return self.push();
            }
            wanted = if self.is_blocked() {
                PollFlags::IN | PollFlags::OUT
            } else {
                PollFlags::IN
            };
        }
    }

    /// What was agreed in the handshake; `None`: the connection is not encrypted.
    pub fn agreed(&self) -> Option<Encrypted> {
        self.session.as_ref().map(|session| session.agreed())
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Takes some of these bytes, and says how many. Encrypted ones are sent by [`Self::push`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Failed> {
        match &mut self.session {
            Some(session) => session.encrypt(bytes),
            None => {
                // What is sent first waits for no acknowledgement.
                if self.sends == 1 {
                    sockopt::set_tcp_nodelay(&self.fd, true)?;
                }
                let sent = send(&self.fd, bytes, SendFlags::NOSIGNAL)?;
                self.sends = (self.sends + 1).min(2);
                Ok(sent)
            }
        }
    }

    /// Sends what is encrypted, as far as the socket takes it.
    pub fn push(&mut self) -> Result<(), Failed> {
        let session = self.session.as_mut();
        session.map_or(Ok(()), |session| session.push(&self.fd))
    }

    /// Whether something encrypted waits for the socket.
    pub fn is_blocked(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.is_blocked())
    }

    /// Whether what the socket shows is what was sent.
    pub fn is_clear(&self) -> bool {
        self.session.is_none()
    }

    /// Receives some bytes; none: the end.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, Failed> {
        match &mut self.session {
            Some(session) => session.receive(&self.fd, buffer),
            None => Ok(recv(&self.fd, buffer, RecvFlags::empty()).map(|(n, _)| n)?),
        }
    }

    /// Whether bytes, or the end, have come that the socket does not show any more.
    pub fn is_ready(&mut self) -> bool {
        let session = self.session.as_mut();
        session.is_some_and(|session| session.is_ready())
    }

    /// Closes the connection; the server is told that this is its end.
    pub fn close(mut self) {
        if let Some(session) = &mut self.session {
            session.close(&self.fd);
        }
    }

    /// Ends the connection by a reset.
    pub fn reset(self) {
        // If this fails, the connection ends in the usual way.
        let _ = sockopt::set_socket_linger(&self.fd, Some(Duration::ZERO));
    }
}

/// The address of a client: one of `sources` from `first` on.
pub fn source(first: Ipv4Addr, number: u32, sources: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(first) + number % sources.max(1))
}
