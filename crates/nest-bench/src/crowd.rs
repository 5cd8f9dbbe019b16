//! Slow and hostile clients, beside those that are measured, in a thread of their own.
//!
//! A slow client plays conversations, sends a byte at a time and reads a few. A hostile one sends half of
//! a message or bytes that the server rejects and then says nothing, or resets the connection. What they are
//! answered is not measured. Must not know: what is measured, how the other clients do.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::expect::{Place, Taken};
use crate::failed::Failed;
use crate::link::{Link, source};
use crate::random::Random;
use crate::talk::Talk;
use crate::tls::Tls;

/// How many there are, and what they do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd<'a> {
    /// Slow clients.
    pub slow: usize,
    /// Hostile clients.
    pub hostile: usize,
    /// Bytes that the server rejects; nothing: hostile clients send none.
    pub garbage: &'a [Vec<u8>],
    /// Whether a message must arrive in one piece: then slow clients are slow between messages, and
    /// nobody sends half of one.
    pub whole: bool,
}

/// What became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowded {
    /// Slow clients.
    pub slow: usize,
    /// Hostile clients.
    pub hostile: usize,
    /// Conversations of slow clients that were answered to their end.
    pub finished: u64,
    /// Those that the server ended, or answered otherwise, such as after a time limit.
    pub otherwise: u64,
    /// Connections of hostile clients.
    pub attacks: u64,
    /// Those that the server ended.
    pub ended: u64,
}

impl Crowd<'_> {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slow + self.hostile == 0
    }
}

impl Crowded {
    /// Adds what another load came to.
    pub fn add(&mut self, other: &Crowded) {
        (self.slow, self.hostile) = (other.slow, other.hostile);
        self.finished += other.finished;
        self.otherwise += other.otherwise;
        self.attacks += other.attacks;
        self.ended += other.ended;
    }
}

/// The time between two bytes of a slow client.
const STEP: Duration = Duration::from_millis(2);
/// What a slow client reads at a time, and the size of its buffer in the kernel.
const READ: usize = 64;
const WINDOW: usize = 4096;
/// How long a hostile client says nothing.
const SILENCE: Duration = Duration::from_millis(200);
/// Their addresses begin here, apart from those of other clients.
const SLOW: Ipv4Addr = Ipv4Addr::new(127, 100, 0, 2);
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 200, 0, 2);

/// What they know of the load.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The server.
    pub to: SocketAddrV4,
    /// The conversations; not empty.
    pub talks: &'a [Talk],
    /// How connections are encrypted, if they are.
    pub tls: Option<&'a Tls>,
    /// From how many addresses they come, each kind from others.
    pub sources: u32,
    /// For random numbers.
    pub seed: u64,
    /// How many they are.
    pub crowd: Crowd<'a>,
}

struct Players<'a> {
    load: Scene<'a>,
    random: Random,
    source: u32,
    result: Crowded,
}

/// Plays them until `stop` is set.
pub fn play(load: Scene, stop: &AtomicBool) -> Crowded {
    let crowd = load.crowd;
    let mut all = Players {
        load,
        random: Random(load.seed ^ 0x5107),
        source: 0,
        result: Crowded {
            slow: crowd.slow,
            hostile: crowd.hostile,
            ..Crowded::default()
        },
    };
    let mut slow: Vec<Option<Slow>> = (0..crowd.slow).map(|_| None).collect();
    let mut hostile: Vec<Option<Hostile>> = (0..crowd.hostile).map(|_| None).collect();
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        for place in &mut slow {
            *place = match place.take() {
                Some(client) => client.step(&mut all),
                None => all.slow(),
            };
        }
        for place in &mut hostile {
            *place = match place.take() {
                Some(client) => client.step(&mut all, begun),
                None => all.hostile(begun),
            };
        }
        std::thread::sleep(STEP.saturating_sub(begun.elapsed()));
    }
    all.result
}

impl Players<'_> {
    /// A connection; `None`: it cannot be made now.
    fn open(&mut self, first: Ipv4Addr, window: Option<usize>, tls: Option<&Tls>) -> Option<Link> {
        self.source = self.source.wrapping_add(1);
        let from = source(first, self.source, self.load.sources);
        let from = self.load.to.ip().is_loopback().then_some(from);
        Link::open(self.load.to, from, window, tls)
            .ok()
            .map(|(link, _)| link)
    }

    /// A slow client begins.
    fn slow(&mut self) -> Option<Slow> {
        Some(Slow {
            link: self.open(SLOW, Some(WINDOW), self.load.tls.and_then(Tls::at_once))?,
            talk: self.random.draw(self.load.talks.len()),
            at: 0,
            sent: 0,
            place: Place::default(),
        })
    }

    /// A hostile client begins.
    fn hostile(&mut self, now: Instant) -> Option<Hostile> {
        let Crowd { garbage, whole, .. } = self.load.crowd;
        let talk = self.random.draw(self.load.talks.len());
        let first = first(&self.load.talks[talk]);
        let part = 1 + self.random.draw(first.len().saturating_sub(1));
        let tls = self.load.tls.and_then(Tls::at_once);
        let (out, resets, tls) = match self.random.draw(if tls.is_some() { 5 } else { 4 }) {
            // Half of a message.
            0 if !whole && first.len() > 1 => (first[..part].to_vec(), false, tls),
            // What no rule matches.
            1 if !garbage.is_empty() => {
                let chosen = self.random.draw(garbage.len());
                (garbage[chosen].clone(), false, tls)
            }
            // A message whose answer nobody reads.
            2 => (first.to_vec(), true, tls),
            // In clear, although the server encrypts.
            4 => (first.to_vec(), false, None),
            // Nothing.
            _ => (Vec::new(), true, tls),
        };
        let link = self.open(HOSTILE, None, tls)?;
        self.result.attacks += 1;
        Some(Hostile {
            link,
            out,
            sent: 0,
            resets,
            until: now + SILENCE,
        })
    }
}

/// The first message of a conversation.
fn first(talk: &Talk) -> &[u8] {
    let mut sent = talk.requests.iter().map(|request| &request.send[..]);
    sent.find(|send| !send.is_empty()).unwrap_or_default()
}

/// Whether an error says only that it must be tried again later.
fn is_later(failed: &Failed) -> bool {
    let later = [Errno::AGAIN, Errno::INTR, Errno::NOTCONN];
    matches!(failed, Failed::System(e) if later.contains(e))
}

struct Slow {
    link: Link,
    talk: usize,
    /// The request that is to be answered, and how much of it is sent.
    at: usize,
    sent: usize,
    place: Place,
}

impl Slow {
    /// Sends a byte and reads some; `None`: the conversation is over.
    fn step(mut self, all: &mut Players) -> Option<Slow> {
        let talk = &all.load.talks[self.talk];
        if let Some(request) = talk.requests.get(self.at)
            && self.sent < request.send.len()
        {
            let end = if all.load.crowd.whole {
                request.send.len()
            } else {
                self.sent + 1
            };
            // If the connection has ended, receiving says so.
            self.sent += self.link.send(&request.send[self.sent..end]).unwrap_or(0);
        }
        let mut buffer = [0; READ];
        let n = match self.link.receive(&mut buffer) {
            Ok(n) if n > 0 => n,
            Err(e) if is_later(&e) => return Some(self),
            ended => {
                let over = ended.is_ok() && self.is_over(talk);
                return all.close(self.link, over);
            }
        };
        let mut rest = &buffer[..n];
        while !rest.is_empty() {
            let Some(request) = talk.requests.get(self.at) else {
                return all.close(self.link, false);
            };
            match request.expect.take(&mut self.place, rest) {
                Taken::All => break,
                Taken::Whole(used) if used > 0 => {
                    rest = &rest[used..];
                    self.place.begin();
                    (self.at, self.sent) = (self.at + 1, 0);
                    let tls = all.load.tls.filter(|_| request.encrypts);
                    if tls.is_some_and(|tls| !rest.is_empty() || self.link.encrypt(tls).is_err()) {
                        return all.close(self.link, false);
                    }
                }
                Taken::Whole(_) | Taken::Wrong(_) => return all.close(self.link, false),
            }
        }
        if self.at == talk.requests.len() && !talk.ends {
            return all.close(self.link, true);
        }
        Some(self)
    }

    /// Whether the server had to close the connection.
    fn is_over(&self, talk: &Talk) -> bool {
        let last = self.at + 1 == talk.requests.len()
            && talk.requests[self.at].expect.is_empty()
            && self.sent == talk.requests[self.at].send.len();
        talk.ends && (self.at == talk.requests.len() || last)
    }
}

impl Players<'_> {
    /// A conversation of a slow client is over, as it had to or otherwise.
    fn close<T>(&mut self, link: Link, over: bool) -> Option<T> {
        link.close();
        if over {
            self.result.finished += 1;
        } else {
            self.result.otherwise += 1;
        }
        None
    }
}

struct Hostile {
    link: Link,
    out: Vec<u8>,
    sent: usize,
    resets: bool,
    until: Instant,
}

impl Hostile {
    /// Sends what is left, after the handshake. One that sends nothing does not complete it.
    fn send(&mut self) -> Result<(), Failed> {
        if !self.link.shake()? && !self.out.is_empty() {
            return Err(Errno::AGAIN.into());
        }
        while self.sent < self.out.len() {
            self.sent += self.link.send(&self.out[self.sent..])?;
        }
        self.link.push()
    }

    /// Goes on; `None`: the connection has ended.
    fn step(mut self, all: &mut Players, now: Instant) -> Option<Hostile> {
        if now >= self.until {
            return None;
        }
        match self.send() {
            Ok(()) => {}
            Err(e) if is_later(&e) => return Some(self),
            Err(_) => {
                all.result.ended += 1;
                return None;
            }
        }
        if self.resets {
            self.link.reset();
            return None;
        }
        match self.link.receive(&mut [0; 4096]) {
            Ok(n) if n > 0 => Some(self),
            Err(e) if is_later(&e) => Some(self),
            _ => {
                all.result.ended += 1;
                None
            }
        }
    }
}
