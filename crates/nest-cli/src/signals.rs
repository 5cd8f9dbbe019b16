//! Signals to `nest` itself: held back while something must be cleaned up, or passed on.
//!
//! Must not know: what runs meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;

use crate::term::Failure;

/// Those that ask a program to end.
pub const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The one that came last, if a hold caught it.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// Whether they are held, at last.
static HELD: AtomicBool = AtomicBool::new(false);

/// Keeps ending signals from ending the program while it owns temporary files.
pub struct Hold;

/// Whether ending signals are held back: code that starts a child must then end it on such a signal.
pub fn held() -> bool {
    HELD.load(Ordering::SeqCst)
}

/// Whether one came that is held.
pub fn caught() -> bool {
    CAUGHT.load(Ordering::SeqCst) != 0
}

impl Hold {
    /// From now on they wait.
    pub fn new() -> Result<Self, Failure> {
        if !HELD.swap(true, Ordering::SeqCst) {
            for signal in ENDING {
                let number = usize::try_from(signal).unwrap_or(0);
                signal_hook::flag::register_usize(signal, Arc::clone(&CAUGHT), number)
                    .map_err(|e| Failure::io("cannot catch signals", &e))?;
            }
        }
        Ok(Hold)
    }

    /// Ends the program if one came, as that signal would have.
    pub fn release(self) {
        end_by(i32::try_from(CAUGHT.load(Ordering::SeqCst)).unwrap_or(0));
    }
}

/// Ends the program as the signal would, had nobody caught it; 0 is none.
pub fn end_by(signal: i32) {
    if signal != 0 {
        let _ = emulate_default_handler(signal);
    }
}

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub struct Caught {
    pub number: i32,
    /// The terminal sent it, so to the whole foreground group: our children have it already.
    pub to_all: bool,
}

impl Caught {
    /// A wish that the server reads its configuration again: HUP, but not a terminal's end.
    pub fn reloads(self) -> bool {
        self.number == SIGHUP && !self.to_all
    }
}

/// All signals that matter to a supervisor, as they come; SIGCHLD is among them.
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
