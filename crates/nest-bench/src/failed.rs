//! Why a connection does not go on, and the text for it.
//!
//! Must not know: connections, TLS.

use std::time::Duration;

use rustix::io::Errno;

/// Why bytes do not go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed {
    /// The error of a system call.
    System(Errno),
    /// The server breaks the rules of TLS, or is not trusted.
    Tls(String),
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Failed {
        Failed::System(error)
    }
}

/// Why a handshake is given up.
pub fn late(limit: Duration) -> String {
    format!("it took longer than {limit:?}")
}

/// The text of what failed.
pub fn said_of(failed: Failed) -> String {
    match failed {
        Failed::System(e) => said(e),
        Failed::Tls(why) => why,
    }
}

/// The text of an error, without its number.
pub fn said(e: Errno) -> String {
    let text = std::io::Error::from(e).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_owned()
}
