//! Idle clients: they connect, say nothing, and stay.
//!
//! Must not know: what the other clients do, what is measured.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use rustix::io::Errno;

use crate::client::unopened;
use crate::failed::Failed;
use crate::link::{Link, source};
use crate::tls::Tls;
use crate::trouble::{Kind, Trouble};

/// Their addresses begin here, apart from those of other clients.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 50, 0, 2);

/// Connections on which nothing is sent.
pub struct Idle(Vec<Link>);

impl Idle {
    /// So many connections from `sources` addresses, all of which exist when it returns, with complete
    /// handshakes. `watch` is called before each of them, and may end it.
    ///
    /// # Errors
    /// A connection that cannot be made within `timeout`; what `watch` says.
    pub fn connect(
        count: usize,
        to: SocketAddrV4,
        tls: Option<&Tls>,
        sources: u32,
        timeout: Duration,
        mut watch: impl FnMut() -> Result<(), Trouble>,
    ) -> Result<Idle, Trouble> {
        // A single address is the one that the system chooses.
        let several = to.ip().is_loopback() && sources > 1;
        let one = |number: u32| -> Result<Link, Failed> {
            let from = several.then(|| source(FIRST, number, sources));
            let (mut link, _) = Link::open(to, from, None, tls)?;
            link.wait(timeout)?;
            Ok(link)
        };
        let mut all = Vec::new();
        for number in (0..).take(count) {
            watch()?;
            all.push(one(number).map_err(|failed| match failed {
                Failed::System(_) => unopened(failed),
                Failed::Tls(why) => Kind::Handshake(why),
            })?);
        }
        Ok(Idle(all))
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
