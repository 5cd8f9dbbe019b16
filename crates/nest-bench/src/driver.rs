//! The load: many clients in one thread, in a closed or an open loop.
//!
//! In a closed loop each client asks again as soon as it is answered. In an open loop requests are
//! due at a constant rate, whether earlier ones are answered or not. Must not know: which requests count,
//! what the server is, how figures are compared.

use std::collections::{BinaryHeap, VecDeque};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::client::{Came, Client, State};
use crate::crowd::{self, Crowded, Scene};
use crate::failed::late;
use crate::idle::Idle;
use crate::link::source;
use crate::load::{Load, Measured, Moment};
use crate::random::Random;
use crate::schedule::{Pace, Schedule};
use crate::tls::{Encrypted, Tls};
use crate::trouble::{Kind, Trouble};
use crate::usage::Driver;

/// The addresses of clients begin here.
const SOURCE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const BUFFER: usize = 1 << 16;
const TICK: u64 = 100_000_000;
/// How long the second piece of a message is held back, in nanoseconds.
const HELD: u64 = 1_000_000;
const TIMER: u64 = u64::MAX;
/// The maximum number of connections that are being made.
const OPENING: usize = 64;
/// The longest time that the histogram distinguishes, in nanoseconds.
const LONGEST: u64 = 600_000_000_000;

/// What a client does at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    /// It sends the rest of a message.
    Send,
    /// It has thought, and may begin.
    Begin,
}

struct Run<'a, 'b> {
    load: &'a Load<'b>,
    clients: Vec<Client>,
    poll: OwnedFd,
    timer: OwnedFd,
    armed: u64,
    base: Instant,
    /// Clients that may begin, the first come first.
    rest: VecDeque<usize>,
    /// Clients that go on at a time.
    later: BinaryHeap<std::cmp::Reverse<(u64, usize, Later)>>,
    opening: usize,
    /// The conversations that are drawn; of a trial also those that wait for their first time.
    drawn: Vec<usize>,
    fresh: VecDeque<usize>,
    /// Whether a conversation was drawn, or is not drawn any more.
    known: Vec<bool>,
    random: Random,
    source: u32,
    /// Of a closed loop: nobody begins any more.
    over: bool,
    schedule: Schedule,
    tick: u64,
    result: Measured,
}

/// Plays conversations to a server. `watch` is told what happens, and may end the load.
pub fn drive(
    load: &Load,
    watch: &mut dyn FnMut(Moment) -> Result<(), Trouble>,
) -> Result<Measured, Trouble> {
    let own = |what: &str, e: Errno| Trouble::from(Kind::Own(format!("{what}: {e}")));
    let poll = epoll::create(CreateFlags::CLOEXEC).map_err(|e| own("epoll", e))?;
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(|e| own("timer", e))?;
    epoll::add(&poll, &timer, EventData::new_u64(TIMER), EventFlags::IN)
        .map_err(|e| own("epoll", e))?;
    let latency = Histogram::new_with_bounds(1, LONGEST, 3);
    let latency = latency.map_err(|e| Trouble::from(Kind::Own(e.to_string())))?;
    let talks = load.talks.len();
    // Sessions of another load are unknown to this server.
    let tls = load.tls.map(Tls::fresh).transpose();
    let tls = tls.map_err(|e| Trouble::from(Kind::Own(format!("TLS: {e}"))))?;
    let load = &Load {
        tls: tls.as_ref(),
        ..load.clone()
    };
    let mut run = Run {
        load,
        clients: (0..load.clients).map(Client::new).collect(),
        poll,
        timer,
        armed: 0,
        base: Instant::now(),
        rest: (0..load.clients).collect(),
        later: BinaryHeap::new(),
        opening: 0,
        drawn: (0..talks).filter(|_| !load.trial).collect(),
        fresh: (0..talks).filter(|_| load.trial).collect(),
        known: vec![!load.trial; talks],
        random: Random(load.seed),
        source: 0,
        over: false,
        schedule: Schedule::new(load.pace, 0),
        tick: TICK,
        result: Measured {
            requests: 0,
            in_time: 0,
            unserved: 0,
            connections: 0,
            seconds: 0.0,
            latency,
            shares: vec![0; load.clients],
            crowd: Crowded::default(),
            encrypted: Encrypted::default(),
            driver: Driver::default(),
            otherwise: Vec::new(),
        },
    };
    let stop = AtomicBool::new(false);
    let scene = Scene {
        to: load.to,
        tls: load.tls,
        talks: load.talks,
        sources: load.sources,
        seed: load.seed,
        crowd: load.crowd,
    };
    std::thread::scope(|scope| {
        let crowd = (!load.crowd.is_empty()).then(|| scope.spawn(|| crowd::play(scene, &stop)));
        let whole = run.whole(watch);
        stop.store(true, Ordering::Relaxed);
        if let Some(Ok(crowded)) = crowd.map(std::thread::ScopedJoinHandle::join) {
            run.result.crowd = crowded;
        }
        whole
    })?;
    Ok(run.result)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

impl Run<'_, '_> {
    fn now(&self) -> u64 {
        nanoseconds(self.base.elapsed())
    }

    fn whole(
        &mut self,
        watch: &mut dyn FnMut(Moment) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut idle = Idle::connect(
            self.load.idle,
            self.load.to,
            self.load.tls.and_then(Tls::at_once),
            self.load.sources,
            self.load.timeout,
            || watch(Moment::Tick),
        )?;
        let begin = self.now() + nanoseconds(self.load.warm);
        self.schedule = Schedule::new(self.load.pace, self.now());
        self.until(begin, watch)?;
        let measured = self.now();
        let driver = Driver::now();
        watch(Moment::Begin)?;
        let planned = measured + nanoseconds(self.load.measured);
        self.schedule.measure(measured, planned);
        self.until(planned, watch)?;
        let ended = self.now();
        self.result.driver = driver.until_now();
        watch(Moment::End)?;
        idle.verify()?;
        self.result.seconds = (ended - measured) as f64 / 1e9;
        self.schedule.ended(ended);
        self.over = self.load.pace == Pace::Closed;
        // An answer that is missing at the end is missing; a server that hangs is found out here.
        while self.over && self.clients.iter().any(|c| c.state != State::Rest) {
            let next = self.now() + TICK / 10;
            self.until(next, watch)?;
        }
        if let Some((seconds, due)) = self.schedule.planned() {
            // Those that were due in time are waited for.
            let limit = ended + nanoseconds(self.load.timeout);
            while self.now() < limit && !self.is_quiet() {
                let next = (self.now() + TICK / 10).min(limit);
                self.until(next, watch)?;
            }
            self.result.seconds = seconds;
            self.result.unserved = due.saturating_sub(self.result.requests);
        }
        Ok(())
    }

    /// Whether no request of an open loop is outstanding.
    fn is_quiet(&self) -> bool {
        self.schedule.due(self.now()).is_none() && self.clients.iter().all(|c| c.due.is_empty())
    }

    /// Goes on until a time.
    fn until(
        &mut self,
        end: u64,
        watch: &mut dyn FnMut(Moment) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut buffer = vec![0; BUFFER];
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            let now = self.now();
            if now >= end {
                return Ok(());
            }
            let ticks = now >= self.tick;
            if ticks {
                self.tick = now + TICK;
                watch(Moment::Tick)?;
            }
            self.wake(now)?;
            self.begin_all(now)?;
            self.arm(now, end)?;
            let left = end.min(self.tick).saturating_sub(now).div_ceil(1_000_000);
            let left = Timespec {
                tv_sec: 0,
                tv_nsec: i64::try_from(left.min(100) * 1_000_000).unwrap_or_default(),
            };
            events.clear();
            match epoll::wait(
                &self.poll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&left),
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(Kind::Own(format!("epoll: {e}")).into()),
            }
            let now = self.now();
            for event in events.drain(..) {
                let number = event.data.u64();
                if number == TIMER {
                    let mut expired = [0; 8];
                    let _ = rustix::io::read(&self.timer, &mut expired);
                    self.armed = 0;
                } else if let Ok(n) = usize::try_from(number) {
                    self.event(n, event.flags, &mut buffer, now)?;
                }
            }
            // Not before: a driver that was stopped itself finds the answers now.
            if ticks {
                self.look(now)?;
            }
        }
    }

    /// Sets the timer for what is earlier than `end`.
    fn arm(&mut self, now: u64, end: u64) -> Result<(), Trouble> {
        let mut next = self.later.peek().map_or(u64::MAX, |entry| entry.0.0);
        if self.load.pace != Pace::Closed && !self.rest.is_empty() {
            next = next.min(self.schedule.due(now).unwrap_or(u64::MAX));
        }
        if next >= end || next == self.armed {
            return Ok(());
        }
        self.armed = next;
        let left = next.saturating_sub(now).max(1);
        let time = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or_default(),
                tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or_default(),
            },
        };
        let set = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time);
        set.map(drop)
            .map_err(|e| Kind::Own(format!("timer: {e}")).into())
    }

    /// Looks for servers that do not answer.
    fn look(&mut self, now: u64) -> Result<(), Trouble> {
        let most = nanoseconds(self.load.timeout);
        for n in 0..self.clients.len() {
            let client = &self.clients[n];
            if client.state == State::Rest || now.saturating_sub(client.sent_at) < most {
                continue;
            }
            let talk = &self.load.talks[client.talk];
            let limit = self.load.timeout;
            let trouble = match client.state {
                State::End => client.trouble(Kind::Open(limit), talk),
                State::Encrypting => client.trouble(Kind::Handshake(late(limit)), talk),
                _ if client.is_shaking() => Kind::Handshake(late(limit)).into(),
                _ => client.trouble(Kind::Silent(limit), talk),
            };
            self.note(n, trouble)?;
        }
        Ok(())
    }

    /// What a client has found: the end of its conversation if the load is lenient, else of the load.
    fn note(&mut self, n: usize, trouble: Trouble) -> Result<(), Trouble> {
        if !self.load.lenient || trouble.differs().is_none() {
            return Err(trouble);
        }
        let client = &mut self.clients[n];
        let talk = client.talk;
        // A client at rest is called anyway.
        if client.state != State::Rest {
            self.rest.push_back(n);
        }
        self.opening -= usize::from(client.state == State::Connecting);
        client.close();
        self.drawn.retain(|other| *other != talk);
        self.known[talk] = true;
        self.result.otherwise.push(trouble);
        Ok(())
    }

    /// The conversation that a client begins; `None`: there is none now.
    fn next_talk(&mut self) -> Option<usize> {
        let fresh = self.fresh.pop_front();
        fresh.or_else(|| {
            let place = self.random.draw(self.drawn.len());
            self.drawn.get(place).copied()
        })
    }

    /// A conversation was played to its end.
    fn through(&mut self, talk: usize) {
        if !std::mem::replace(&mut self.known[talk], true) {
            self.drawn.push(talk);
        }
    }

    /// Lets clients go on whose time has come.
    fn wake(&mut self, now: u64) -> Result<(), Trouble> {
        while let Some(std::cmp::Reverse((time, n, what))) = self.later.peek().copied() {
            if time > now {
                return Ok(());
            }
            self.later.pop();
            if what == Later::Begin {
                self.rest.push_back(n);
            } else if std::mem::take(&mut self.clients[n].held) && self.clients[n].waiting() > 0 {
                self.clients[n].flush(usize::MAX, now, &self.poll)?;
            }
        }
        Ok(())
    }

    /// Lets clients begin that may.
    fn begin_all(&mut self, now: u64) -> Result<(), Trouble> {
        for _ in 0..if self.over { 0 } else { self.rest.len() } {
            let Some(due) = self.schedule.due(now).filter(|due| *due <= now) else {
                return Ok(());
            };
            let Some(n) = self.rest.pop_front() else {
                break;
            };
            if !self.clients[n].connected() && self.opening >= OPENING {
                self.rest.push_back(n);
                continue;
            }
            self.ask(n, due, now)?;
        }
        Ok(())
    }

    /// A client at rest asks.
    fn ask(&mut self, n: usize, due: u64, now: u64) -> Result<(), Trouble> {
        let begins = !self.clients[n].connected();
        if begins {
            let Some(talk) = self.next_talk() else {
                self.rest.push_back(n);
                return Ok(());
            };
            self.source = self.source.wrapping_add(1);
            let from = source(SOURCE, self.source, self.load.sources);
            // A single address is the one that the system chooses.
            let several = self.load.to.ip().is_loopback() && self.load.sources > 1;
            let tls = self.load.tls.and_then(Tls::at_once);
            self.clients[n].connect(talk, self.load.to, several.then_some(from), tls)?;
            self.result.connections += u64::from(self.schedule.measures(now));
        }
        let talk = &self.load.talks[self.clients[n].talk];
        // What the server says first is not asked for, and counts for nothing.
        let greets = self.clients[n].asked == 0
            && talk.requests.len() > 1
            && talk.requests[0].send.is_empty();
        if greets {
            self.clients[n].ask(talk, due);
            return self.flush(n, begins, usize::MAX, now);
        }
        let left = talk.requests.len() - self.clients[n].asked;
        let mut due = due;
        for _ in 0..self.load.pipeline.clamp(1, left.max(1)) {
            self.schedule.take();
            self.clients[n].ask(talk, due);
            if talk.requests[self.clients[n].asked - 1].encrypts {
                break;
            }
            // At a constant rate a request has its own time, and is not sent before it.
            match self.schedule.due(now).filter(|next| *next <= now) {
                Some(next) => due = next,
                None => break,
            }
        }
        let most = match self.clients[n].waiting() {
            length if self.load.cut && length > 1 => 1 + self.random.draw(length - 1),
            _ => usize::MAX,
        };
        self.flush(n, begins, most, now)?;
        let client = &mut self.clients[n];
        if most != usize::MAX {
            client.held = true;
            self.later
                .push(std::cmp::Reverse((now + HELD, n, Later::Send)));
        }
        Ok(())
    }

    /// Sends what a client has to send. `begins`: its connection is new.
    fn flush(&mut self, n: usize, begins: bool, most: usize, now: u64) -> Result<(), Trouble> {
        let client = &mut self.clients[n];
        client.flush(most, now, &self.poll)?;
        self.opening += usize::from(begins && client.state == State::Connecting);
        Ok(())
    }

    fn event(
        &mut self,
        n: usize,
        flags: EventFlags,
        buffer: &mut [u8],
        now: u64,
    ) -> Result<(), Trouble> {
        let client = &mut self.clients[n];
        let talk = &self.load.talks[client.talk];
        let connecting = client.state == State::Connecting;
        let came = match client.event(flags, talk, buffer, self.load.tls, now, &self.poll) {
            Ok(came) => came,
            Err(trouble) => return self.note(n, trouble),
        };
        if connecting && client.state != State::Connecting {
            self.opening -= 1;
        }
        if let Some(mut agreed) = client.agreed() {
            if !self.schedule.measures(now) {
                (agreed.handshakes, agreed.resumed) = (0, 0);
            }
            self.result.encrypted.add(&agreed);
        }
        match came {
            Came::Nothing => Ok(()),
            Came::Ended => {
                let answered = client.due.len();
                self.count(n, answered, now);
                self.through(self.clients[n].talk);
                self.clients[n].close();
                self.rest.push_back(n);
                Ok(())
            }
            Came::Answers(count) => {
                self.count(n, count, now);
                self.go_on(n, now)
            }
        }
    }

    /// Counts answered requests.
    fn count(&mut self, n: usize, answered: usize, now: u64) {
        let client = &mut self.clients[n];
        let talk = &self.load.talks[client.talk];
        let first = client.asked - client.due.len();
        for number in first..first + answered {
            let Some(due) = client.due.pop_front() else {
                break;
            };
            if talk.requests[number].send.is_empty() && talk.requests.len() > 1 {
                continue;
            }
            if let Some(counted) = self.schedule.answered(due, now) {
                self.result.requests += 1;
                self.result.in_time += u64::from(counted.in_time);
                self.result.shares[n] += 1;
                self.result.latency.saturating_record(counted.latency);
            }
        }
    }

    /// A client has received answers: what it does next.
    fn go_on(&mut self, n: usize, now: u64) -> Result<(), Trouble> {
        let client = &self.clients[n];
        if client.answered < client.asked || client.state == State::End {
            return Ok(());
        }
        let talk = &self.load.talks[client.talk];
        if client.answered == talk.requests.len() {
            self.through(client.talk);
        }
        let client = &mut self.clients[n];
        client.state = State::Rest;
        if client.answered == talk.requests.len() {
            match talk.again.filter(|_| self.load.keep) {
                Some(from) => client.again(from),
                None => client.close(),
            }
        }
        let think = talk.requests.get(client.asked).map_or(0, |r| r.think);
        let think = if self.load.trial { 0 } else { think };
        if think > 0 && client.connected() {
            let time = now + u64::from(think) * 1_000_000;
            self.later.push(std::cmp::Reverse((time, n, Later::Begin)));
        } else if self.load.pace == Pace::Closed
            && client.connected()
            && !self.load.cut
            && !self.over
        {
            return self.ask(n, now, now);
        } else {
            self.rest.push_back(n);
        }
        Ok(())
    }
}
