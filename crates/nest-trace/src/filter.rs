//! Which events are wanted.
//!
//! Must not know: how events are read or shown.

use crate::event::{Event, Kind};
use crate::file::Trace;

/// What is wanted; empty lists and `None` want all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Numbers of connections.
    pub connections: Vec<u64>,
    /// Numbers of workers, each with that of a thread; `None`: all of its threads.
    pub workers: Vec<(u32, Option<u32>)>,
    /// Kinds.
    pub kinds: Vec<Kind>,
    /// From this moment on: ns since the server began.
    pub from: Option<u64>,
    /// Until this moment.
    pub to: Option<u64>,
    /// The last ns of the trace.
    pub last: Option<u64>,
}

impl Filter {
    /// The events of a trace that are wanted, in their order.
    pub fn of<'t>(&'t self, trace: &'t Trace) -> impl Iterator<Item = &'t Event> {
        let end = trace.events.last().map_or(0, |event| event.time);
        let last = self.last.map_or(0, |ns| end.saturating_sub(ns));
        let from = self.from.unwrap_or_default().max(last);
        let to = self.to.unwrap_or(u64::MAX);
        trace.events.iter().filter(move |event| {
            let of = |(worker, thread): &(u32, Option<u32>)| {
                trace.worker(event.ring) == Some(*worker)
                    && thread.is_none_or(|thread| trace.thread(event.ring) == Some(thread))
            };
            (from..=to).contains(&event.time)
                && (self.connections.is_empty() || self.connections.contains(&event.connection))
                && (self.workers.is_empty() || self.workers.iter().any(of))
                && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
        })
    }
}
