//! Whether the events of a trace can have happened: an oracle for tests of the runtime.
//!
//! Must not know: how events are shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Event, Kind};
use crate::file::Trace;

/// Where a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Between two actions.
    Rest,
    /// A rule was selected, and its action has not begun.
    Chosen,
    /// An action runs.
    Runs,
    /// An action waits.
    Waits,
    /// The conversation has ended.
    Over,
}

/// What a kind of event makes of a connection; `None`: it cannot come there.
fn step(at: At, kind: Kind) -> Option<At> {
    match (at, kind) {
        (At::Rest, Kind::Match | Kind::Timeout) => Some(At::Chosen),
        (At::Rest | At::Chosen, Kind::Begin) => Some(At::Runs),
        (At::Runs, Kind::End) => Some(At::Rest),
        (At::Runs, Kind::Wait) => Some(At::Waits),
        (At::Waits, Kind::Resume) => Some(At::Runs),
        (At::Rest, Kind::Over) => Some(At::Over),
        (At::Rest, Kind::States | Kind::Read | Kind::Mail)
        | (At::Runs, Kind::Reply | Kind::Read)
        | (At::Rest | At::Runs | At::Waits | At::Over, Kind::Sent)
        // Delivered between two actions, and queued as a reply.
        | (At::Rest | At::Waits, Kind::Reply) => Some(at),
        _ => None,
    }
}

/// Says what cannot have happened, a line each: times that go back, a begin without an end, a
/// conversation that goes on after its end. A connection whose first events were overwritten is
/// looked at from its next action on. At the end of the trace, a connection may be anywhere only if
/// the server or its worker did not end in order.
#[must_use]
pub fn check(trace: &Trace) -> Vec<String> {
    let mut found = Vec::new();
    let mut times: BTreeMap<u32, u64> = BTreeMap::new();
    let mut known: BTreeMap<(u32, u64), At> = BTreeMap::new();
    let mut closed: BTreeSet<(u32, u64)> = BTreeSet::new();
    let mut cut: BTreeSet<u32> = BTreeSet::new(); // workers that a signal has ended
    let mut gone: BTreeMap<u64, u32> = BTreeMap::new(); // process: worker
    for event in &trace.events {
        let mut say = |what: &str| {
            found.push(format!("{what}: {}", crate::text::line(trace, event)));
        };
        let last = times.entry(event.ring).or_default();
        if event.time < *last {
            say("the time goes back");
        }
        *last = event.time;
        match event.kind {
            Kind::Start => {
                // What another process of this number had is lost with it.
                let worker = trace.worker(event.ring);
                known.retain(|(ring, _), _| trace.worker(*ring) != worker || worker.is_none());
            }
            Kind::Gone => {
                gone.insert(event.value, u32::from(event.what.unwrap_or_default()));
            }
            Kind::Killed => cut.extend(gone.get(&event.value)),
            kind if kind.of_connection() => {
                connection(trace, event, &mut known, &mut closed, &mut say);
            }
            _ => {}
        }
    }
    if trace.finished() {
        for ((ring, id), at) in &known {
            let worker = trace.worker(*ring).unwrap_or_default();
            if !cut.contains(&worker) {
                found.push(format!("connection #{id} is not closed at the end: {at:?}"));
            }
        }
    }
    found
}

fn connection(
    trace: &Trace,
    event: &Event,
    known: &mut BTreeMap<(u32, u64), At>,
    closed: &mut BTreeSet<(u32, u64)>,
    say: &mut impl FnMut(&str),
) {
    let key = (event.ring, event.connection);
    if event.kind == Kind::Accept {
        if known.insert(key, At::Rest).is_some() || closed.contains(&key) {
            say("the connection exists already");
        }
        return;
    }
    let Some(at) = known.get(&key).copied() else {
        let overwritten = trace.lost.get(event.ring as usize).is_some_and(|n| *n > 0);
        if !overwritten || closed.contains(&key) {
            say("there is no such connection");
        } else if event.kind == Kind::Begin {
            known.insert(key, At::Runs);
        }
        return;
    };
    if event.kind == Kind::Close {
        known.remove(&key);
        closed.insert(key);
        if at != At::Over {
            say("the connection is closed before its end");
        }
        return;
    }
    match step(at, event.kind) {
        Some(next) => {
            known.insert(key, next);
        }
        None => say(match at {
            At::Rest => "no action runs",
            At::Chosen => "the action of the rule has not begun",
            At::Runs => "an action runs",
            At::Waits => "the action waits",
            At::Over => "the conversation has ended",
        }),
    }
}
