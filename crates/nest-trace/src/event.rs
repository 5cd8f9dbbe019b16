//! What a record says.
//!
//! Must not know: how records lie in a file, how they are shown.

/// The kinds of events, in the order of their numbers from 1 (runtime/service/debug/recorder.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A process of the server began.
    Start,
    /// The supervisor noticed that a worker has ended.
    Gone,
    /// A signal has ended a process.
    Killed,
    /// A phase of the stop began.
    Stop,
    /// The configuration was read again.
    Reload,
    /// The server ended.
    Finish,
    /// A connection was accepted.
    Accept,
    /// Bytes of the client were received.
    Read,
    /// A rule was selected for a message.
    Match,
    /// The time of a TIMEOUT rule came.
    Timeout,
    /// An action began.
    Begin,
    /// An action ended.
    End,
    /// An action waits from here on.
    Wait,
    /// An action goes on after a wait.
    Resume,
    /// The states of the conversation changed.
    States,
    /// A message of another connection was delivered.
    Mail,
    /// A reply was queued.
    Reply,
    /// Output was sent.
    Sent,
    /// The conversation ended.
    Over,
    /// The connection was closed, and nothing refers to it any more.
    Close,
}

/// All kinds, and what the command line calls them.
pub const KINDS: &[(Kind, &str)] = &[
    (Kind::Start, "start"),
    (Kind::Gone, "gone"),
    (Kind::Killed, "killed"),
    (Kind::Stop, "stop"),
    (Kind::Reload, "reload"),
    (Kind::Finish, "finish"),
    (Kind::Accept, "accept"),
    (Kind::Read, "read"),
    (Kind::Match, "match"),
    (Kind::Timeout, "timeout"),
    (Kind::Begin, "begin"),
    (Kind::End, "end"),
    (Kind::Wait, "wait"),
    (Kind::Resume, "resume"),
    (Kind::States, "states"),
    (Kind::Mail, "mail"),
    (Kind::Reply, "reply"),
    (Kind::Sent, "sent"),
    (Kind::Over, "over"),
    (Kind::Close, "close"),
];

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind of that number in a file.
    pub(crate) fn from_number(number: u8) -> Option<Kind> {
        let index = usize::from(number).checked_sub(1)?;
        KINDS.get(index).map(|(kind, _)| *kind)
    }

    /// Whether it is about a connection.
    #[must_use]
    pub fn of_connection(self) -> bool {
        self >= Kind::Accept
    }
}

/// What an action belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A pattern rule.
    Rule,
    /// A TIMEOUT rule.
    Timer,
    /// START.
    Start,
    /// END.
    End,
    /// OVERLOAD.
    Overload,
}

impl Role {
    /// The role of that number in a file.
    pub(crate) fn from_number(number: u8) -> Option<Role> {
        Some(match number {
            1 => Role::Rule,
            2 => Role::Timer,
            3 => Role::Start,
            4 => Role::End,
            5 => Role::Overload,
            _ => return None,
        })
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// ns since the server began.
    pub time: u64,
    /// The ring that it was in: 0 is the supervisor's.
    pub ring: u32,
    /// What happened.
    pub kind: Kind,
    /// Of [`Kind::Begin`].
    pub role: Option<Role>,
    /// The number of a rule, state, worker or reason.
    pub what: Option<u16>,
    /// The connection's number; 0: it is about none.
    pub connection: u64,
    /// Bytes, a process, a descriptor, a phase, or bits.
    pub value: u64,
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Kind};

    #[test]
    fn kinds_are_in_the_order_of_the_header() {
        for (i, (kind, _)) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, i);
        }
        let header = include_str!("../../../runtime/service/debug/recorder.h");
        let (_, rest) = header.split_once("enum nest__recorder_kind {").unwrap();
        let (body, _) = rest.split_once("};").unwrap();
        assert_eq!(body.matches("NEST__DEBUG_").count(), KINDS.len() + 1);
        assert_eq!(Kind::from_number(0), None);
        assert_eq!(Kind::from_number(1), Some(Kind::Start));
        assert_eq!(Kind::from_number(21), None);
    }
}
