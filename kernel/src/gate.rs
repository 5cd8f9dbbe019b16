//! Accepts clients of a listening socket, and pauses when the system refuses. Without descriptors the socket
//! stays readable, so a loop that waits for it would never sleep.
//!
//! Must not know: what is done with the clients.

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

use crate::failure::reason;

/// How long nothing is accepted after an error.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether clients of a socket are accepted at present.
pub struct Gate {
    place: String,
    opens: Option<Instant>,
    told: bool,
}

impl Gate {
    /// An open gate of the socket at this place.
    pub fn new(place: String) -> Self {
        Gate {
            place,
            opens: None,
            told: false,
        }
    }

    /// Whether it is open.
    pub fn open(&self) -> bool {
        self.opens.is_none_or(|at| Instant::now() >= at)
    }

    /// The client that `accept` gave, if one waited. If the system refused, the gate is closed for a second;
    /// the first time `say` prints why.
    pub fn pass<T>(&mut self, accepted: Result<T, Error>, say: &dyn Fn(&str)) -> Option<T> {
        let error = match accepted {
            Ok(client) => return Some(client),
            Err(error) => error,
        };
        let harmless = [
            ErrorKind::WouldBlock,
            ErrorKind::Interrupted,
            ErrorKind::ConnectionAborted,
        ];
        if !harmless.contains(&error.kind()) {
            self.opens = Some(Instant::now() + PAUSE);
            if !self.told {
                self.told = true;
                say(&format!(
                    "cannot accept clients at {}: {}; trying again every second",
                    self.place,
                    reason(&error)
                ));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Gate, PAUSE};
    use std::cell::RefCell;
    use std::io::{Error, ErrorKind};
    use std::time::Instant;

    #[test]
    fn an_error_closes_the_gate_for_a_while_and_is_told_once() {
        let told = RefCell::new(Vec::new());
        let say = |line: &str| told.borrow_mut().push(line.to_owned());
        let mut gate = Gate::new("here".to_owned());
        assert_eq!(gate.pass(Ok(1), &say), Some(1));
        for harmless in [ErrorKind::WouldBlock, ErrorKind::ConnectionAborted] {
            assert_eq!(gate.pass::<i32>(Err(harmless.into()), &say), None);
        }
        assert!(gate.open());
        for _ in 0..2 {
            assert_eq!(
                gate.pass::<i32>(Err(Error::from_raw_os_error(24)), &say),
                None
            );
        }
        assert!(!gate.open());
        gate.opens = gate.opens.map(|at| at - PAUSE);
        assert!(gate.opens <= Some(Instant::now()) && gate.open());
        let wanted =
            "cannot accept clients at here: too many open files; trying again every second";
        assert_eq!(*told.borrow(), [wanted]);
    }
}
