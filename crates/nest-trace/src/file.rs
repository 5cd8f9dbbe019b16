//! From the bytes of a file to its events.
//!
//! Must not know: how events are shown, files on disk.

use crate::event::{Event, Kind, Role};

const MAGIC: &[u8] = b"nestring";
const VERSION: u32 = 1;
const HEAD: usize = 64;
const RECORD: usize = 32;
const NOTHING: u16 = 0xffff;

/// The trace of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The server's name.
    pub server: String,
    /// Its specification.
    pub file: String,
    /// Its model.
    pub model: String,
    /// The compiler that generated it.
    pub tool: String,
    /// When it began: ns since 1970.
    pub date: u64,
    /// Names of states.
    pub states: Vec<String>,
    /// Names of pattern rules.
    pub rules: Vec<String>,
    /// Names of TIMEOUT rules.
    pub timers: Vec<String>,
    /// Reasons for which conversations end.
    pub reasons: Vec<String>,
    /// How many workers have rings.
    pub workers: u32,
    /// How many rings each worker has.
    pub threads: u32,
    /// For each ring, how many of its first events are not there any more, because others took their
    /// place.
    pub lost: Vec<u64>,
    /// For each ring that has lost events, the time from which on it has all of them.
    pub since: Vec<u64>,
    /// Events, in the order of time.
    pub events: Vec<Event>,
}

/// The fields of the header, checked.
struct Layout {
    header: usize,
    rings: usize,
    records: usize,
    stride: usize,
    began: u64,
}

fn four(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

fn size(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(four(bytes, at)?).ok()
}

fn damaged(what: &str) -> String {
    format!("the file is damaged: {what}")
}

impl Trace {
    /// Whether the bytes begin like a file that a server writes.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// One line: the file is no trace, or a part of one, or its bytes cannot be true.
    pub fn read(bytes: &[u8]) -> Result<Trace, String> {
        if !bytes.starts_with(MAGIC) {
            let part = MAGIC.starts_with(bytes) || bytes.iter().all(|b| *b == 0);
            return Err(match part {
                true => "the file is not a complete trace: its header was never written".to_owned(),
                false => "the file is not the trace of a server".to_owned(),
            });
        }
        let short = || format!("the file is truncated: it ends after {} bytes", bytes.len());
        let version = four(bytes, 8).ok_or_else(short)?;
        if version != VERSION {
            return Err(format!(
                "the file has version {version} of the format, and this nest reads version {VERSION}"
            ));
        }
        let began = eight(bytes, 32).ok_or_else(short)?;
        let date = eight(bytes, 40).ok_or_else(short)?;
        let workers = four(bytes, 48).ok_or_else(short)?;
        let threads = four(bytes, 52).ok_or_else(short)?;
        let names = (
            size(bytes, 56).ok_or_else(short)?,
            size(bytes, 60).ok_or_else(short)?,
        );
        let sizes: Option<Vec<usize>> = (0..5).map(|i| size(bytes, 12 + 4 * i)).collect();
        let [header, rings, records, stride, record] = sizes.ok_or_else(short)?[..] else {
            return Err(short());
        };
        let fits = u64::from(workers) * u64::from(threads) + 1 == rings as u64
            && record == RECORD
            && (1..=stride / RECORD).contains(&records)
            && HEAD + records * RECORD <= stride
            && names.0 == HEAD
            && names.0.saturating_add(names.1) <= header;
        if !fits {
            return Err(damaged("its sizes do not fit together"));
        }
        let whole = (rings as u64) * (stride as u64) + header as u64;
        if (bytes.len() as u64) < whole {
            return Err(format!(
                "the file is truncated: it has {} of {whole} bytes",
                bytes.len()
            ));
        }
        let layout = Layout {
            header,
            rings,
            records,
            stride,
            began,
        };
        let text = std::str::from_utf8(&bytes[names.0..names.0 + names.1]);
        let text = text.map_err(|_| damaged("its names are no text"))?;
        let mut trace = Trace {
            server: String::new(),
            file: String::new(),
            model: String::new(),
            tool: String::new(),
            date,
            states: Vec::new(),
            rules: Vec::new(),
            timers: Vec::new(),
            reasons: Vec::new(),
            workers,
            threads,
            lost: Vec::new(),
            since: Vec::new(),
            events: Vec::new(),
        };
        trace.names(text)?;
        for ring in 0..layout.rings {
            trace.ring(bytes, &layout, ring)?;
        }
        trace.events.sort_by_key(|event| event.time); // stable: a ring's order remains
        Ok(trace)
    }

    fn names(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines() {
            let (key, name) = line.split_once(' ').unwrap_or((line, ""));
            let name = name.to_owned();
            match key {
                "server" => self.server = name,
                "file" => self.file = name,
                "model" => self.model = name,
                "tool" => self.tool = name,
                "state" => self.states.push(name),
                "rule" => self.rules.push(name),
                "timer" => self.timers.push(name),
                "reason" => self.reasons.push(name),
                _ => return Err(damaged("its names are not in their form")),
            }
        }
        Ok(())
    }

    /// A record that is written at this moment, or whose writer was killed meanwhile, is left out.
    fn ring(&mut self, bytes: &[u8], layout: &Layout, ring: usize) -> Result<(), String> {
        let at = layout.header + ring * layout.stride;
        let head = &bytes[at..at + layout.stride];
        let next = eight(head, 0).unwrap_or_default();
        let first = next.saturating_sub(layout.records as u64);
        let number = u32::try_from(ring).map_err(|_| damaged("it has too many rings"))?;
        let mut lost = first;
        let mut before = 0;
        let (mut gap, mut since) = (first > 0, 0);
        for n in first..next {
            let slot = usize::try_from(n % layout.records as u64).unwrap_or_default();
            let record = &head[HEAD + slot * RECORD..HEAD + (slot + 1) * RECORD];
            let written = four(record, 0).unwrap_or_default();
            if u64::from(written) != (n + 1) & u64::from(u32::MAX) {
                lost += 1;
                gap = true;
                continue;
            }
            let event = self.event(record, number, layout.began);
            let event = event.ok_or_else(|| {
                damaged(&format!(
                    "event {} of {} has no meaning",
                    n + 1,
                    self.ring_name(number)
                ))
            })?;
            if event.time < before {
                let ring = self.ring_name(number);
                return Err(damaged(&format!(
                    "event {} of {ring} is earlier than the one before it",
                    n + 1
                )));
            }
            before = event.time;
            if std::mem::take(&mut gap) {
                since = event.time;
            }
            self.events.push(event);
        }
        self.lost.push(lost);
        self.since.push(if gap { u64::MAX } else { since });
        Ok(())
    }

    fn event(&self, record: &[u8], ring: u32, began: u64) -> Option<Event> {
        let kind = Kind::from_number(record[4])?;
        let role = match record[5] {
            0 => None,
            number => Some(Role::from_number(number)?),
        };
        let what = u16::from_le_bytes([record[6], record[7]]);
        let time = eight(record, 8)?.checked_sub(began)?;
        self.date.checked_add(time)?; // a moment that clocks know
        let event = Event {
            time,
            ring,
            kind,
            role,
            what: (what != NOTHING).then_some(what),
            connection: eight(record, 16)?,
            value: eight(record, 24)?,
        };
        let index = event.what.map(usize::from);
        let named = |names: &[String]| index.is_some_and(|i| i < names.len());
        let sound = match (kind, role) {
            (Kind::Match, None) | (Kind::Begin, Some(Role::Rule)) => named(&self.rules),
            (Kind::Timeout, None) | (Kind::Begin, Some(Role::Timer)) => named(&self.timers),
            (Kind::States, None) => index.is_none() || named(&self.states),
            (Kind::Over, None) => named(&self.reasons),
            (Kind::Begin, role) => role.is_some(),
            (_, role) => role.is_none(),
        };
        let placed = (kind.of_connection() || kind == Kind::Start || ring == 0)
            && kind.of_connection() == (event.connection != 0)
            && !(kind.of_connection() && ring == 0);
        (sound && placed).then_some(event)
    }

    /// The name of a ring: `supervisor`, `worker 2`, or `worker 0.7`, a thread of a worker.
    #[must_use]
    pub fn ring_name(&self, ring: u32) -> String {
        match ring.checked_sub(1) {
            None => "supervisor".to_owned(),
            Some(n) if self.threads <= 1 => format!("worker {n}"),
            Some(n) => format!("worker {}.{}", n / self.threads, n % self.threads),
        }
    }

    /// The worker that a ring belongs to; `None`: it is the supervisor's.
    #[must_use]
    pub fn worker(&self, ring: u32) -> Option<u32> {
        Some(ring.checked_sub(1)? / self.threads.max(1))
    }

    /// The number of the ring's thread in its worker; `None`: the ring is the supervisor's.
    #[must_use]
    pub fn thread(&self, ring: u32) -> Option<u32> {
        Some(ring.checked_sub(1)? % self.threads.max(1))
    }

    /// Whether the server ended in order.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.events.iter().any(|e| e.kind == Kind::Finish)
    }

    /// The name of the action that a [`Kind::Begin`] begins.
    #[must_use]
    pub fn action(&self, event: &Event) -> String {
        let index = usize::from(event.what.unwrap_or_default());
        let name = |names: &[String]| names.get(index).cloned().unwrap_or_default();
        match event.role {
            Some(Role::Rule) => name(&self.rules),
            Some(Role::Timer) => format!("TIMEOUT {}", name(&self.timers)),
            Some(Role::Start) => "START".to_owned(),
            Some(Role::End) => "END".to_owned(),
            Some(Role::Overload) => "OVERLOAD".to_owned(),
            None => String::new(),
        }
    }
}
