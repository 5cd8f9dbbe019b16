//! Whether the events of a trace can have happened: an oracle for tests of the runtime.
//!
//! Must not know: how events are shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::Kind;
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
/// conversation that goes on after its end. Its events may be in all rings of a worker; where some
/// of one ring were overwritten, all before the first that is left are passed over, and a connection
/// is looked at from its next action on. At the end of the trace, a connection may be anywhere only if
/// the server or its worker did not end in order. Where the server still ran, what threads did behind the
/// loop's last event is passed over.
#[must_use]
pub fn check(trace: &Trace) -> Vec<String> {
    let mut found = Vec::new();
    let mut times: BTreeMap<u32, u64> = BTreeMap::new();
    let whole = whole(trace);
    let ends = ends(trace);
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
                known.retain(|(of, _), _| Some(*of) != worker);
            }
            Kind::Gone => {
                gone.insert(event.value, u32::from(event.what.unwrap_or_default()));
            }
            Kind::Killed => cut.extend(gone.get(&event.value)),
            kind if kind.of_connection() => {
                let worker = trace.worker(event.ring).unwrap_or_default();
                let since = whole.get(&worker).copied();
                let until = ends.as_ref().map(|ends| ends.get(&worker).copied());
                let there = until.is_none_or(|end| end.is_some_and(|end| event.time <= end));
                if there && since.is_none_or(|since| event.time >= since) {
                    let key = (worker, event.connection);
                    let lost = since.is_some();
                    connection(event.kind, key, lost, &mut known, &mut closed, &mut say);
                }
            }
            _ => {}
        }
    }
    if trace.finished() {
        for ((worker, id), at) in &known {
            if !cut.contains(worker) {
                found.push(format!("connection #{id} is not closed at the end: {at:?}"));
            }
        }
    }
    found
}

/// The workers that have lost events, and from when on each has all of them.
fn whole(trace: &Trace) -> BTreeMap<u32, u64> {
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    for (ring, (lost, time)) in (0..).zip(trace.lost.iter().zip(&trace.since)) {
        if let Some(worker) = trace.worker(ring).filter(|_| *lost > 0) {
            let worker = since.entry(worker).or_default();
            *worker = (*time).max(*worker);
        }
    }
    since
}

/// Until when each worker has all events, if its connections move between threads and the server still
/// ran. The file was read from its begin to its end, and so the loop's ring, a worker's first one, before
/// those of its threads. What led to an event that is not later than the loop's last one was recorded
/// before it, and is there. A later event may depend on one that is missing.
fn ends(trace: &Trace) -> Option<BTreeMap<u32, u64>> {
    if trace.finished() || trace.threads <= 1 || trace.model == "thread" {
        return None;
    }
    let mut ends = BTreeMap::new();
    for event in &trace.events {
        let loops = |worker: &u32| event.ring == 1 + worker * trace.threads;
        if let Some(worker) = trace.worker(event.ring).filter(loops) {
            ends.insert(worker, event.time);
        }
    }
    Some(ends)
}

/// `key`: the worker and the connection. `lost`: the first events of some connections are.
fn connection(
    kind: Kind,
    key: (u32, u64),
    lost: bool,
    known: &mut BTreeMap<(u32, u64), At>,
    closed: &mut BTreeSet<(u32, u64)>,
    say: &mut impl FnMut(&str),
) {
    if kind == Kind::Accept {
        if known.insert(key, At::Rest).is_some() || closed.contains(&key) {
            say("the connection exists already");
        }
        return;
    }
    let Some(at) = known.get(&key).copied() else {
        if !lost || closed.contains(&key) {
            say("there is no such connection");
        } else if kind == Kind::Begin {
            known.insert(key, At::Runs);
        }
        return;
    };
    if kind == Kind::Close {
        known.remove(&key);
        closed.insert(key);
        if at != At::Over {
            say("the connection is closed before its end");
        }
        return;
    }
    match step(at, kind) {
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
