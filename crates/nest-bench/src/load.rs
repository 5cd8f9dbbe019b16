//! What is asked of a server, and what was measured.
//!
//! Must not know: how clients are played.

use std::net::SocketAddrV4;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::crowd::{Crowd, Crowded};
use crate::schedule::Pace;
use crate::talk::Talk;
use crate::tls::{Encrypted, Tls};
use crate::trouble::Trouble;
use crate::usage::Driver;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub struct Load<'a> {
    /// The server.
    pub to: SocketAddrV4,
    /// How connections are encrypted, if they are: from their beginning, or where a conversation says so.
    pub tls: Option<&'a Tls>,
    /// The conversations; not empty.
    pub talks: &'a [Talk],
    /// The number of clients.
    pub clients: usize,
    /// The number of further clients, which connect first and say nothing.
    pub idle: usize,
    /// Slow and hostile clients beside those that are measured.
    pub crowd: Crowd<'a>,
    /// From how many addresses clients come, if the server is on the loopback.
    pub sources: u32,
    /// Whether conversations go on over the same connection where they may.
    pub keep: bool,
    /// How many requests a client sends before their answers have come.
    pub pipeline: usize,
    /// Whether messages are sent in two pieces, cut at a random byte.
    pub cut: bool,
    /// Whether a conversation is drawn only when it has been played once, and clients do not think.
    pub trial: bool,
    /// Whether a conversation that is answered otherwise is noted and played no more; else it ends the
    /// load.
    pub lenient: bool,
    /// When requests begin.
    pub pace: Pace,
    /// Time that is not measured.
    pub warm: Duration,
    /// Time that is measured.
    pub measured: Duration,
    /// When a server that does not answer is given up.
    pub timeout: Duration,
    /// For random numbers.
    pub seed: u64,
}

/// What happens during a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The measured time begins.
    Begin,
    /// A tenth of a second has passed.
    Tick,
    /// The measured time ends; all connections still exist.
    End,
}

/// What was measured.
#[derive(Clone)]
pub struct Measured {
    /// Answered requests.
    pub requests: u64,
    /// Requests that were answered before the measured time ended.
    pub in_time: u64,
    /// Requests that were due but not answered; only in an open loop.
    pub unserved: u64,
    /// Connections that were made.
    pub connections: u64,
    /// Seconds.
    pub seconds: f64,
    /// In nanoseconds.
    pub latency: Histogram<u64>,
    /// Requests of each client.
    pub shares: Vec<u64>,
    /// What slow and hostile clients came to.
    pub crowd: Crowded,
    /// The handshakes of the measured connections.
    pub encrypted: Encrypted,
    /// How much of the time the driver was busy, or waited for a core.
    pub driver: Driver,
    /// What was answered otherwise; only of a lenient load.
    pub otherwise: Vec<Trouble>,
}
