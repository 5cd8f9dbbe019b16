//! Events as JSON in the Trace Event Format, which Perfetto and Chrome's about:tracing open.
//!
//! A process of the view is a worker, a thread of it a ring. There, a slice is a stretch of time in
//! which an action runs. Beside it each connection has a track of its own, on which actions are
//! slices whether they run or wait. Must not know: how a file is read, where the JSON goes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::event::{Event, Kind};
use crate::file::Trace;

/// The view as it is written.
struct View<'t> {
    trace: &'t Trace,
    /// Added to the numbers of processes, so that several traces do not share any.
    base: u64,
    /// Added to times: the server began so many ns after the first one.
    shift: u64,
    out: Vec<Value>,
    /// The action that runs in each ring.
    runs: BTreeMap<u32, String>,
    /// What is open of each connection: its ring, and its action.
    open: BTreeMap<u64, (u32, Option<String>)>,
}

impl View<'_> {
    fn event(&self, ring: u32, time: u64, phase: &str, name: &str) -> Value {
        let threads = self.trace.threads.max(1);
        let worker = self.trace.worker(ring);
        let ns = time + self.shift;
        json!({
            "name": name,
            "ph": phase,
            "ts": ns as f64 / 1000.0,
            "pid": self.base + worker.map_or(0, |w| u64::from(w) + 1),
            "tid": worker.map_or(0, |_| (ring - 1) % threads),
        })
    }

    fn add(&mut self, ring: u32, time: u64, phase: &str, name: &str) {
        let mut event = self.event(ring, time, phase, name);
        event["cat"] = json!("action");
        self.out.push(event);
    }

    /// On the track of the connection.
    fn nested(&mut self, of: (u32, u64), time: u64, phase: &str, name: &str) {
        let mut event = self.event(of.0, time, phase, name);
        event["cat"] = json!("connection");
        event["id"] = json!(format!("{:#x}", of.1 + (self.base << 48)));
        self.out.push(event);
    }

    fn run(&mut self, ring: u32, time: u64, name: String) {
        self.rest(ring, time);
        self.add(ring, time, "B", &name);
        self.runs.insert(ring, name);
    }

    fn rest(&mut self, ring: u32, time: u64) {
        if let Some(name) = self.runs.remove(&ring) {
            self.add(ring, time, "E", &name);
        }
    }

    fn connect(&mut self, ring: u32, id: u64, time: u64) {
        if let std::collections::btree_map::Entry::Vacant(entry) = self.open.entry(id) {
            entry.insert((ring, None));
            self.nested((ring, id), time, "b", &format!("connection {id}"));
        }
    }

    fn leave_action(&mut self, id: u64, time: u64) {
        let open = self.open.get_mut(&id);
        if let Some((ring, name)) = open.and_then(|(ring, name)| Some((*ring, name.take()?))) {
            self.nested((ring, id), time, "e", &name);
        }
    }

    fn disconnect(&mut self, id: u64, time: u64) {
        self.leave_action(id, time);
        if let Some((ring, _)) = self.open.remove(&id) {
            self.nested((ring, id), time, "e", &format!("connection {id}"));
        }
    }

    /// Closes all that a ring, or all rings, still have open.
    fn end(&mut self, ring: Option<u32>, time: u64) {
        let of = |r: u32| ring.is_none_or(|ring| ring == r);
        let runs: Vec<u32> = self.runs.keys().copied().filter(|r| of(*r)).collect();
        for ring in runs {
            self.rest(ring, time);
        }
        let open: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, o)| of(o.0))
            .map(|o| *o.0)
            .collect();
        for id in open {
            self.disconnect(id, time);
        }
    }

    fn take(&mut self, event: &Event) {
        let (ring, id, time) = (event.ring, event.connection, event.time);
        if event.kind.of_connection() && event.kind != Kind::Close {
            self.connect(ring, id, time);
        }
        match event.kind {
            Kind::Begin => {
                let name = self.trace.action(event);
                self.leave_action(id, time);
                self.nested((ring, id), time, "b", &name);
                if let Some(open) = self.open.get_mut(&id) {
                    open.1 = Some(name.clone());
                }
                self.run(ring, time, name);
            }
            Kind::End => {
                self.rest(ring, time);
                self.leave_action(id, time);
            }
            Kind::Wait => self.rest(ring, time),
            Kind::Resume => {
                let name = self.open.get(&id).and_then(|(_, name)| name.clone());
                self.run(ring, time, name.unwrap_or_else(|| "action".to_owned()));
            }
            Kind::Close => self.disconnect(id, time),
            kind => {
                if kind == Kind::Start && ring > 0 {
                    self.end(Some(ring), time);
                }
                let mut instant = self.event(ring, time, "i", kind.name());
                instant["s"] = json!("t");
                instant["cat"] = json!("event");
                let said = crate::text::told(self.trace, event);
                instant["args"] = json!({"connection": id, "what": said});
                self.out.push(instant);
            }
        }
    }
}

fn named(view: &View, ring: u32) -> [Value; 2] {
    let trace = view.trace;
    let process = match trace.worker(ring) {
        None => format!("{}: supervisor", trace.server),
        Some(worker) => format!("{}: worker {worker}", trace.server),
    };
    [
        ("process_name", process),
        ("thread_name", trace.ring_name(ring)),
    ]
    .map(|(kind, name)| {
        let mut event = view.event(ring, 0, "M", kind);
        event["args"] = json!({"name": name});
        event
    })
}

/// The traces as one JSON text. `wanted`: the events of each, in their order.
#[must_use]
pub fn perfetto(traces: &[(&Trace, Vec<Event>)]) -> String {
    let first = traces.iter().map(|(trace, _)| trace.date).min();
    let mut out = Vec::new();
    let mut base = 1;
    for (trace, wanted) in traces {
        let mut view = View {
            trace,
            base,
            shift: trace.date - first.unwrap_or_default(),
            out: Vec::new(),
            runs: BTreeMap::new(),
            open: BTreeMap::new(),
        };
        let mut rings: Vec<u32> = wanted.iter().map(|event| event.ring).collect();
        rings.sort_unstable();
        rings.dedup();
        for ring in rings {
            let names = named(&view, ring);
            view.out.extend(names);
        }
        for event in wanted {
            view.take(event);
        }
        view.end(None, wanted.last().map_or(0, |event| event.time));
        out.append(&mut view.out);
        base += u64::from(trace.workers) + 1;
    }
    let mut text = json!({"displayTimeUnit": "ns", "traceEvents": out}).to_string();
    text.push('\n');
    text
}
