//! What the user chooses.
//!
//! Must not know: what is done with it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What to accelerate.
#[derive(Debug)]
pub struct Options {
    /// The server's port.
    pub port: u16,
    /// The files of all names of `Host` that have no folder of their own.
    pub root: Option<PathBuf>,
    /// Folders of names of `Host`, in lower case.
    pub hosts: Vec<(String, PathBuf)>,
    /// Bytes for answers.
    pub size: u32,
    /// An answer is compared with the server's own after this time.
    pub age: Duration,
    /// The Unix socket that answers questions.
    pub state: PathBuf,
    /// Where the counts are told over HTTP.
    pub metrics: Option<SocketAddr>,
    /// A generated server has started nest for itself: the file to which the counts are written.
    pub counts: Option<PathBuf>,
    /// The same server waits until a connection is readable before it reads, also with io_uring.
    pub polls: bool,
    /// The same server's pipe for what was answered.
    pub tell: Option<PathBuf>,
    /// The access log.
    pub log: Option<PathBuf>,
    /// The server's command and arguments; none: the server that listens on the port.
    pub server: Option<Vec<OsString>>,
}
