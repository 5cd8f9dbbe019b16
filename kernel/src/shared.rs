//! What the thread that keeps the programs and the thread that fills the cache share.
//!
//! Must not know: what either of them does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cache::Cache;
use crate::follow::Follow;
use crate::options::Options;

/// Whether the kernel answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The server was not examined yet.
    Waits,
    On,
    /// It does not, and why.
    Off(String),
}

/// What the threads share.
pub struct Shared {
    pub port: u16,
    /// The server is known to poll before it reads.
    pub polls: bool,
    root: Option<PathBuf>,
    hosts: BTreeMap<String, PathBuf>,
    pub cache: Mutex<Cache>,
    pub follow: Mutex<Follow>,
    pub ended: AtomicBool,
    phase: Mutex<Phase>,
    refused: Mutex<BTreeMap<String, u64>>,
}

/// Locks; what a thread that panicked left is used as it is.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Nothing is known of the server yet.
    pub fn new(options: &Options, cache: Cache, follow: Follow) -> Self {
        Shared {
            port: options.port,
            polls: options.polls,
            root: options.root.clone(),
            hosts: options.hosts.iter().cloned().collect(),
            cache: Mutex::new(cache),
            follow: Mutex::new(follow),
            ended: AtomicBool::new(false),
            phase: Mutex::new(Phase::Waits),
            refused: Mutex::default(),
        }
    }

    /// Changes the phase; what is off stays off.
    pub fn enter(&self, phase: Phase) {
        let mut now = locked(&self.phase);
        if !matches!(*now, Phase::Off(_)) {
            *now = phase;
        }
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        locked(&self.phase).clone()
    }

    /// Counts a file that is left to the server.
    pub fn refuse(&self, reason: String) {
        let mut refused = locked(&self.refused);
        // Reasons quote what servers say, so their number has a limit.
        if refused.len() < 64 || refused.contains_key(&reason) {
            *refused.entry(reason).or_default() += 1;
        }
    }

    /// The folder of a value of `Host`.
    pub fn folder(&self, host: &str) -> Option<&Path> {
        let name = host.split(':').next().unwrap_or(host);
        self.hosts
            .get(name)
            .or(self.root.as_ref())
            .map(PathBuf::as_path)
    }

    /// Values of `Host` that the server is likely to know.
    pub fn names(&self) -> Vec<&str> {
        let own = self.hosts.keys().map(String::as_str);
        ["localhost"].into_iter().chain(own).collect()
    }

    /// Why files were left to the server, and how often.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        locked(&self.refused).clone()
    }
}
