//! Idle clients: they connect, say nothing, and stay.
//!
//! Must not know: what the other clients do, what is measured.

use std::net::SocketAddrV4;
use std::time::Duration;

use rustix::io::Errno;

use crate::failed::{Failed, said};
use crate::link::Link;
use crate::tls::Tls;
use crate::trouble::{Kind, Trouble};

/// Connections on which nothing is sent.
pub struct Idle(Vec<Link>);

impl Idle {
    /// So many connections, all of which exist when it returns, with complete handshakes.
    ///
    /// # Errors
    /// A connection that cannot be made within `timeout`.
    pub fn connect(
        count: usize,
        to: SocketAddrV4,
        tls: Option<&Tls>,
        timeout: Duration,
    ) -> Result<Idle, Trouble> {
        let one = || -> Result<Link, Failed> {
            let (mut link, _) = Link::open(to, None, None, tls)?;
            link.wait(timeout)?;
            Ok(link)
        };
        let all = (0..count).map(|_| one()).collect::<Result<_, _>>();
        all.map(Idle).map_err(|failed| match failed {
            Failed::System(e) => Kind::Refused(said(e)).into(),
            Failed::Tls(why) => Kind::Handshake(why).into(),
        })
    }

    /// Fails if the server has closed some of them: then it was not under this load.
    ///
    /// # Errors
    /// [`Kind::Dropped`].
    pub fn verify(&mut self) -> Result<(), Trouble> {
        let mut closed = 0;
        for link in &mut self.0 {
            closed += usize::from(is_closed(link));
        }
        if closed == 0 {
            return Ok(());
        }
        let all = self.0.len();
        Err(Kind::Dropped { closed, all }.into())
    }
}

/// Reads what has come, such as a greeting, and says whether the end has come as well.
fn is_closed(link: &mut Link) -> bool {
    let mut buffer = [0; 4096];
    // A server that sends without end is open.
    for _ in 0..64 {
        match link.receive(&mut buffer) {
            Ok(0) => return true,
            Ok(_) | Err(Failed::System(Errno::INTR)) => {}
            Err(failed) => return failed != Failed::System(Errno::AGAIN),
        }
    }
    false
}
