//! Signals sent to `nest` itself: held back during cleanup, or passed on.
//!
//! Must not know: what runs in the meantime.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;

use crate::term::Failure;

/// Signals that ask a program to end.
pub const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The last one that was caught while signals were held.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// Whether signals are held.
static HELD: AtomicBool = AtomicBool::new(false);

/// Keeps ending signals from ending the program while it owns temporary files.
pub struct Hold;

/// Whether ending signals are held back: code that starts a child must then end it on such a signal.
pub fn held() -> bool {
    HELD.load(Ordering::SeqCst)
}

/// Whether a held signal has arrived.
pub fn caught() -> bool {
    CAUGHT.load(Ordering::SeqCst) != 0
}

impl Hold {
    /// From now on signals are held.
    pub fn new() -> Result<Self, Failure> {
        if !HELD.swap(true, Ordering::SeqCst) {
            for signal in ENDING {
                // nohup has said that the program goes on when its terminal is closed.
                if signal == SIGHUP && is_ignored(signal) {
                    continue;
                }
                let number = usize::try_from(signal).unwrap_or(0);
                signal_hook::flag::register_usize(signal, Arc::clone(&CAUGHT), number)
                    .map_err(|e| Failure::io("cannot catch signals", &e))?;
            }
        }
        Ok(Hold)
    }

    /// If one arrived, ends the program as that signal would have.
    pub fn release(self) {
        end_by(i32::try_from(CAUGHT.load(Ordering::SeqCst)).unwrap_or(0));
    }
}

/// Whether the program ignores a signal, because it was started so.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ends the program as if the signal had not been caught; 0: no signal.
pub fn end_by(signal: i32) {
    if signal != 0 {
        let _ = emulate_default_handler(signal);
    }
}

/// A signal that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Caught {
    pub number: i32,
    /// It was sent by the terminal to the whole foreground process group, so the children have
    /// received it.
    pub to_all: bool,
}

impl Caught {
    /// A request to reload the configuration: SIGHUP, but not because the terminal was closed.
    pub fn reloads(self) -> bool {
        self.number == SIGHUP && !self.to_all
    }
}

/// Returns all signals that a supervisor needs as they arrive, including SIGCHLD.
pub fn stream() -> Result<Receiver<Caught>, Failure> {
    let numbers = [&ENDING[..], &[SIGUSR1, SIGUSR2, SIGCHLD]].concat();
    let mut signals = SignalsInfo::<WithOrigin>::new(numbers)
        .map_err(|e| Failure::io("cannot catch signals", &e))?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for origin in signals.forever() {
            let caught = Caught {
                number: origin.signal,
                to_all: origin.process.is_none(),
            };
            if sender.send(caught).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}
