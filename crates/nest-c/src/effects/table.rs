//! What functions do that are given the session: found together, since they call each other.
//!
//! At first none comes back; each round knows more, until nothing changes. Must not know: C.

use super::paths::Paths;
use super::text::Stop;
use std::collections::BTreeMap;

/// A function, and which of its arguments are the session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Positions from 0.
    pub given: Vec<usize>,
}

/// What is known so far.
#[derive(Debug, Default)]
pub struct Table {
    known: BTreeMap<Key, Result<Paths, Stop>>,
    /// Whether something became known since this was last false.
    pub changed: bool,
}

impl Table {
    /// What a function does, as far as it is known; nothing if that may be anything.
    pub fn get(&mut self, key: &Key) -> Option<Paths> {
        match self.known.get(key) {
            Some(known) => known.clone().ok(),
            None => {
                self.changed = true;
                self.known.insert(key.clone(), Ok(Paths::none()));
                Some(Paths::none())
            }
        }
    }

    /// All that were looked up.
    pub fn keys(&self) -> Vec<Key> {
        self.known.keys().cloned().collect()
    }

    /// What was found.
    pub fn put(&mut self, key: &Key, found: Result<Paths, Stop>) {
        let Some(known) = self.known.get_mut(key) else {
            return;
        };
        let next = match (known.clone(), found) {
            (Ok(mut known), Ok(found)) => {
                known.join(found);
                Ok(known)
            }
            _ => Err(Stop::Anything),
        };
        if *known != next {
            *known = next;
            self.changed = true;
        }
    }
}
