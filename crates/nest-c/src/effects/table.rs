//! What functions do that are given the session: found together, since they call each other.
//!
//! At first no function is known to return. A function is looked at again whenever more is known of one
//! that it calls, until nothing changes. Must not know: C.

use super::paths::Paths;
use super::text::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// Looks at one function after which it is given up: it may do anything.
const LOOKS: usize = 40;

/// A function, and which of its arguments are the session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Positions from 0.
    pub given: Vec<usize>,
}

/// What is known of a function so far.
#[derive(Debug)]
struct Known {
    found: Result<Paths, Stop>,
    /// The functions that call it.
    callers: BTreeSet<Key>,
    looks: usize,
    pending: bool,
}

/// What is known so far.
#[derive(Debug, Default)]
pub struct Table {
    known: BTreeMap<Key, Known>,
    /// The functions to look at. The last one is the next, so that a function comes before its callers.
    pending: Vec<Key>,
    /// The function that is looked at; none while actions are.
    current: Option<Key>,
    /// Whether something became known since this was last false.
    pub changed: bool,
}

impl Table {
    /// What a function does, as far as it is known; nothing if that may be anything.
    pub fn get(&mut self, key: &Key) -> Option<Paths> {
        if !self.known.contains_key(key) {
            self.changed = true;
            self.pending.push(key.clone());
        }
        let known = self.known.entry(key.clone()).or_insert_with(|| Known {
            found: Ok(Paths::none()),
            callers: BTreeSet::new(),
            looks: 0,
            pending: true,
        });
        if let Some(caller) = &self.current
            && !known.callers.contains(caller)
        {
            known.callers.insert(caller.clone());
        }
        known.found.clone().ok()
    }

    /// The function to look at next; `put` follows.
    pub fn next(&mut self) -> Option<Key> {
        self.current = self.pending.pop();
        self.current.clone()
    }

    /// What was found in the function that `next` named.
    pub fn put(&mut self, key: &Key, found: Result<Paths, Stop>) {
        self.current = None;
        let Some(known) = self.known.get_mut(key) else {
            return;
        };
        known.pending = false;
        known.looks += 1;
        let next = match (known.found.clone(), found) {
            (Ok(mut before), Ok(found)) if known.looks <= LOOKS => {
                before.join(found);
                Ok(before)
            }
            _ => Err(Stop::Anything),
        };
        if known.found == next {
            return;
        }
        known.found = next;
        self.changed = true;
        for caller in known.callers.clone() {
            if let Some(known) = self.known.get_mut(&caller)
                && !known.pending
            {
                known.pending = true;
                self.pending.push(caller);
            }
        }
    }
}
