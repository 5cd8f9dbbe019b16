//! One client: connects, sends the messages of a conversation, and compares every byte it receives.
//!
//! Must not know: when a client begins, which conversation comes next, what is counted.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::expect::{Place, Taken, literal};
use crate::failed::{Failed, said, said_of};
use crate::link::Link;
use crate::talk::Talk;
use crate::tls::{Encrypted, Tls};
use crate::trouble::{Kind, Trouble};

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Somebody who tells it to go on.
    Rest,
    /// The connection, and the end of its handshake.
    Connecting,
    /// The end of a handshake in the middle of the conversation.
    Encrypting,
    /// Answers.
    Answers,
    /// The end of the connection.
    End,
}

/// A client and its connection.
pub struct Client {
    /// The conversation.
    pub talk: usize,
    /// The number of requests that were sent.
    pub asked: usize,
    /// The number of requests that were answered.
    pub answered: usize,
    /// When the requests that are not answered were due.
    pub due: VecDeque<u64>,
    /// When the last bytes were sent.
    pub sent_at: u64,
    /// What it waits for.
    pub state: State,
    /// Whether a part of the bytes is held back for a while.
    pub held: bool,
    link: Option<Link>,
    /// Whether the connection exists, and only its handshake is not complete.
    exists: bool,
    number: u64,
    place: Place,
    out: Vec<u8>,
    sent: usize,
    /// Whether events are asked for, and one when the socket takes bytes.
    watched: bool,
    writes: bool,
    /// How much is sent as soon as the connection exists.
    first: usize,
    /// Requests whose answers count when a handshake is complete.
    kept: usize,
    /// A handshake is complete that is not yet counted.
    shook: bool,
}

/// Whether an error of the first bytes says that there is no connection.
fn is_refusal(e: Errno) -> bool {
    !matches!(e, Errno::CONNRESET | Errno::PIPE | Errno::AGAIN)
}

/// Why a connection could not even be begun: often for lack of something that this machine, and not the
/// server, must have.
pub fn unopened(failed: Failed) -> Kind {
    match failed {
        Failed::System(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Kind::Own(
            "the system has no port for another client: let clients come from more addresses, by the line \
             sources of a profile, or send more messages over a connection"
                .to_owned(),
        ),
        Failed::System(e @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
            Kind::Own(format!("no client can be added: {}", said(e)))
        }
        failed => Kind::Refused(said_of(failed)),
    }
}

/// What came of an event.
pub enum Came {
    /// Some requests are answered; more may be outstanding.
    Answers(usize),
    /// The connection ended as it had to.
    Ended,
    /// Nothing that matters.
    Nothing,
}

impl Client {
    /// A client without a connection.
    pub fn new(number: usize) -> Client {
        Client {
            talk: 0,
            asked: 0,
            answered: 0,
            due: VecDeque::new(),
            sent_at: 0,
            state: State::Rest,
            held: false,
            link: None,
            exists: false,
            number: number as u64,
            place: Place::default(),
            out: Vec::new(),
            sent: 0,
            watched: false,
            writes: false,
            first: 0,
            kept: 0,
            shook: false,
        }
    }

    /// Whether there is a connection.
    pub fn connected(&self) -> bool {
        self.link.is_some()
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        if let Some(link) = self.link.take() {
            link.close();
        }
        self.state = State::Rest;
        self.held = false;
        self.due.clear();
        self.out.clear();
        (self.sent, self.kept, self.shook) = (0, 0, false);
    }

    /// Begins a conversation: connects. `from`: the own address. [`Self::flush`] must follow.
    pub fn connect(
        &mut self,
        talk: usize,
        to: SocketAddrV4,
        from: Option<Ipv4Addr>,
        tls: Option<&Tls>,
    ) -> Result<(), Trouble> {
        self.close();
        (self.talk, self.asked, self.answered) = (talk, 0, 0);
        self.place.begin();
        let opened = Link::open(to, from, None, tls);
        let (link, exists) = opened.map_err(unopened)?;
        // The first event of an encrypted connection begins its handshake.
        let exists = exists && tls.is_none();
        self.exists = exists;
        self.state = if exists {
            State::Answers
        } else {
            State::Connecting
        };
        self.watched = false;
        self.link = Some(link);
        Ok(())
    }

    fn flags(&self) -> EventFlags {
        let reads = EventFlags::IN | EventFlags::RDHUP;
        if self.writes {
            reads | EventFlags::OUT
        } else {
            reads
        }
    }

    /// Whether a connection that was begun may exist already, as it usually does on the loopback. If there
    /// is something to send, sending it says so.
    fn may_exist(&self) -> Result<bool, Trouble> {
        match self.link.as_ref().filter(|link| link.is_clear()) {
            None => Ok(false),
            Some(_) if self.waiting() > 0 => Ok(true),
            Some(link) => link.exists().map_err(|e| Kind::Refused(said_of(e)).into()),
        }
    }

    /// Adds the next request to what is to be sent.
    pub fn ask(&mut self, talk: &Talk, due: u64) {
        if let Some(request) = talk.requests.get(self.asked) {
            self.out.extend(&request.send);
            self.asked += 1;
            self.due.push_back(due);
        }
    }

    /// The number of bytes that are to be sent.
    pub fn waiting(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Sends what is to be sent, but not more than `most` bytes.
    pub fn flush(&mut self, most: usize, now: u64, poll: &OwnedFd) -> Result<(), Trouble> {
        self.sent_at = now;
        let tries = self.state == State::Connecting;
        if tries && (self.watched || !self.may_exist()?) {
            self.first = most;
            return self.watch(true, poll);
        }
        let end = self.out.len().min(self.sent.saturating_add(most));
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let mut full = false;
        while self.sent < end {
            match link.send(&self.out[self.sent..end]) {
                Ok(n) => self.sent += n,
                Err(Failed::System(Errno::INTR)) => {}
                Err(Failed::System(Errno::AGAIN)) if tries && self.sent == 0 => {
                    // The connection does not exist yet.
                    self.first = most;
                    return self.watch(true, poll);
                }
                Err(Failed::System(e)) if tries && is_refusal(e) => {
                    return Err(Kind::Refused(said(e)).into());
                }
                Err(failed) => {
                    // What the server said before it closed the connection is more telling.
                    full = failed == Failed::System(Errno::AGAIN);
                    break;
                }
            }
        }
        (self.state, self.exists) = (State::Answers, true);
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        }
        let pushed = link.push();
        let blocked = pushed.is_ok() && link.is_blocked();
        self.watch(full || blocked, poll)
    }

    /// Asks for events, also for one when the socket takes bytes.
    fn watch(&mut self, writes: bool, poll: &OwnedFd) -> Result<(), Trouble> {
        if self.watched && writes == self.writes {
            return Ok(());
        }
        self.writes = writes;
        let Some(link) = &self.link else {
            return Ok(());
        };
        let (data, flags) = (EventData::new_u64(self.number), self.flags());
        let changed = if std::mem::replace(&mut self.watched, true) {
            epoll::modify(poll, link.fd(), data, flags)
        } else {
            epoll::add(poll, link.fd(), data, flags)
        };
        changed.map_err(|e| Kind::Own(format!("epoll: {e}")).into())
    }

    /// Handles an event of the connection. `tls`: how it may become encrypted.
    pub fn event(
        &mut self,
        flags: EventFlags,
        talk: &Talk,
        buffer: &mut [u8],
        tls: Option<&Tls>,
        now: u64,
        poll: &OwnedFd,
    ) -> Result<Came, Trouble> {
        let mut answers = 0;
        if self.state == State::Connecting {
            if !self.connects(flags, poll)? {
                return Ok(Came::Nothing);
            }
            (self.state, self.shook) = (State::Answers, true);
            self.flush(self.first, now, poll)?;
        } else if self.state == State::Encrypting {
            if !self.shakes(talk, now, poll)? {
                return Ok(Came::Nothing);
            }
            answers = std::mem::take(&mut self.kept);
        } else if flags.contains(EventFlags::OUT) && !self.held {
            self.flush(usize::MAX, now, poll)?;
        }
        // The end has come behind all bytes, which one call takes if they are fewer than it may take.
        let ends = flags.contains(EventFlags::RDHUP)
            && !flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && self.link.as_ref().is_some_and(Link::is_clear);
        let mut readable = flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP);
        while readable {
            match self.receive(talk, buffer, ends)? {
                Came::Answers(more) => answers += more,
                Came::Ended => return Ok(Came::Ended),
                Came::Nothing => {}
            }
            if self.state == State::Encrypting && !self.encrypt(talk, tls, now, poll)? {
                self.kept = answers;
                return Ok(Came::Nothing);
            }
            readable = self.link.as_mut().is_some_and(Link::is_ready);
        }
        Ok(match answers {
            0 => Came::Nothing,
            _ => Came::Answers(answers),
        })
    }

    /// Goes on with making the connection, and says whether it can be used.
    fn connects(&mut self, flags: EventFlags, poll: &OwnedFd) -> Result<bool, Trouble> {
        let Some(link) = &mut self.link else {
            return Ok(false);
        };
        if !self.exists {
            match sockopt::socket_error(link.fd()) {
                Ok(Ok(())) => self.exists = flags.contains(EventFlags::OUT),
                Ok(Err(e)) | Err(e) => return Err(Kind::Refused(said(e)).into()),
            }
            if !self.exists {
                return Ok(false);
            }
        }
        match link.shake() {
            Ok(true) => Ok(true),
            Ok(false) => {
                let blocked = link.is_blocked();
                self.watch(blocked, poll)?;
                Ok(false)
            }
            Err(e) => Err(Kind::Handshake(said_of(e)).into()),
        }
    }

    /// Begins to encrypt the connection, and says whether that is complete already.
    fn encrypt(
        &mut self,
        talk: &Talk,
        tls: Option<&Tls>,
        now: u64,
        poll: &OwnedFd,
    ) -> Result<bool, Trouble> {
        let begun = match (&mut self.link, tls) {
            (Some(link), Some(tls)) => link.encrypt(tls),
            _ => Err(Failed::Tls("this load has no certificate".to_owned())),
        };
        begun.map_err(|e| self.trouble(Kind::Handshake(said_of(e)), talk))?;
        // What the server says behind the handshake, without being asked, is awaited from now on.
        if self.next_is_said(talk) {
            self.ask(talk, now);
        }
        self.sent_at = now;
        self.shakes(talk, now, poll)
    }

    /// Whether the next request is something that the server says without being asked.
    fn next_is_said(&self, talk: &Talk) -> bool {
        let next = talk.requests.get(self.asked);
        next.is_some_and(|request| request.send.is_empty() && !request.expect.is_empty())
    }

    /// Goes on with a handshake in the middle of a conversation, and says whether it is complete.
    fn shakes(&mut self, talk: &Talk, now: u64, poll: &OwnedFd) -> Result<bool, Trouble> {
        let Some(link) = &mut self.link else {
            return Ok(false);
        };
        match link.shake() {
            Ok(true) => {
                self.shook = true;
                // The last bytes of the handshake.
                self.flush(usize::MAX, now, poll)?;
                self.goes_on(talk);
                Ok(true)
            }
            Ok(false) => {
                let blocked = link.is_blocked();
                self.watch(blocked, poll).map(|()| false)
            }
            Err(e) => Err(self.trouble(Kind::Handshake(said_of(e)), talk)),
        }
    }

    /// What is awaited behind an answer.
    fn goes_on(&mut self, talk: &Talk) {
        if self.answered == talk.requests.len() && talk.ends {
            self.state = State::End;
        }
    }

    /// What was agreed in a handshake, once; `None`: there was none since then.
    pub fn agreed(&mut self) -> Option<Encrypted> {
        let link = self.link.as_ref();
        let link = link.filter(|_| std::mem::take(&mut self.shook));
        link.and_then(Link::agreed)
    }

    /// Whether the connection exists, and its handshake is not complete.
    pub fn is_shaking(&self) -> bool {
        self.state == State::Encrypting || (self.state == State::Connecting && self.exists)
    }

    /// Receives once. `ends`: if this is less than the buffer, the end follows.
    fn receive(&mut self, talk: &Talk, buffer: &mut [u8], ends: bool) -> Result<Came, Trouble> {
        let Some(link) = &mut self.link else {
            return Ok(Came::Nothing);
        };
        let n = match link.receive(buffer) {
            Ok(n) => n,
            Err(Failed::System(Errno::AGAIN | Errno::INTR)) => return Ok(Came::Nothing),
            Err(Failed::System(Errno::CONNRESET | Errno::PIPE)) => {
                return Err(self.trouble(Kind::Reset, talk));
            }
            Err(Failed::System(e)) => {
                return Err(self.trouble(Kind::Own(format!("receiving: {}", said(e))), talk));
            }
            Err(Failed::Tls(why)) => return Err(self.trouble(Kind::Tls(why), talk)),
        };
        if n == 0 {
            return self.ended(talk);
        }
        let came = self.take(talk, &buffer[..n])?;
        if ends && n < buffer.len() && self.state == State::End {
            return self.ended(talk);
        }
        Ok(came)
    }

    /// The server has closed the connection.
    fn ended(&self, talk: &Talk) -> Result<Came, Trouble> {
        let over = self.answered == talk.requests.len();
        // The end is the answer of a last message that has no other.
        let last = self.answered + 1 == talk.requests.len() && self.asked > self.answered;
        let empty = last && talk.requests[self.answered].expect.is_empty();
        if talk.ends && (over || empty) {
            Ok(Came::Ended)
        } else {
            Err(self.trouble(Kind::Closed, talk))
        }
    }

    /// Compares bytes with what must come.
    fn take(&mut self, talk: &Talk, bytes: &[u8]) -> Result<Came, Trouble> {
        let mut rest = bytes;
        let mut answers = 0;
        while !rest.is_empty() {
            if self.answered == self.asked {
                return Err(self.trouble(Kind::Unasked(literal(rest)), talk));
            }
            let expect = &talk.requests[self.answered].expect;
            if expect.is_empty() {
                return Err(self.trouble(Kind::Unasked(literal(rest)), talk));
            }
            match expect.take(&mut self.place, rest) {
                Taken::All => break,
                Taken::Whole(used) => {
                    rest = &rest[used..];
                    self.place.begin();
                    self.answered += 1;
                    answers += 1;
                    if talk.requests[self.answered - 1].encrypts {
                        if !rest.is_empty() {
                            return Err(self.trouble(Kind::Unasked(literal(rest)), talk));
                        }
                        self.state = State::Encrypting;
                        return Ok(Came::Answers(answers));
                    }
                }
                Taken::Wrong(at) => {
                    let expected = expect.to_string();
                    let came = format!("{}, of which byte {} is wrong", literal(rest), at + 1);
                    return Err(self.trouble(Kind::Wrong { expected, came }, talk));
                }
            }
        }
        if answers == 0 {
            return Ok(Came::Nothing);
        }
        self.goes_on(talk);
        Ok(Came::Answers(answers))
    }

    /// Goes on with the conversation from a request, as if it had been answered up to there.
    pub fn again(&mut self, from: usize) {
        (self.asked, self.answered) = (from, from);
    }

    /// A trouble with the conversation that shows it.
    pub fn trouble(&self, kind: Kind, talk: &Talk) -> Trouble {
        let mut shown = talk.shown(self.answered);
        if let Some(request) = talk.requests.get(self.answered)
            && matches!(kind, Kind::Silent(_) | Kind::Closed | Kind::Reset)
        {
            shown.push_str(&format!("  expected {}\n", request.expect));
        }
        Trouble {
            kind,
            talk: shown,
            place: Some((self.talk, self.answered)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Errno, Failed, Kind, unopened};

    #[test]
    fn what_this_machine_lacks_is_not_the_servers_fault() {
        for e in [Errno::ADDRNOTAVAIL, Errno::ADDRINUSE, Errno::MFILE] {
            assert!(matches!(unopened(Failed::System(e)), Kind::Own(_)));
        }
        let refused = unopened(Failed::System(Errno::CONNREFUSED));
        assert_eq!(refused, Kind::Refused("Connection refused".to_owned()));
    }
}
