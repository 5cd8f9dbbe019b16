//! Why a run of a server ended without figures: said in one line, with the conversation below it.
//!
//! Must not know: how it was found.

use std::fmt;
use std::time::Duration;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It answered something else.
    Wrong {
        /// What had to come.
        expected: String,
        /// What came.
        came: String,
    },
    /// It sent bytes that nobody asked for.
    Unasked(String),
    /// It did not answer in time.
    Silent(Duration),
    /// It did not close the connection in time.
    Open(Duration),
    /// It closed the connection too early.
    Closed,
    /// It reset the connection.
    Reset,
    /// A connection could not be made.
    Refused(String),
    /// The handshake of TLS was not completed, and why.
    Handshake(String),
    /// It broke the rules of TLS on a connection whose handshake was complete.
    Tls(String),
    /// It closed connections of idle clients.
    Dropped {
        /// So many.
        closed: usize,
        /// Of so many.
        all: usize,
    },
    /// It is not running any more.
    Died(String),
    /// The driver itself failed, or was asked to end.
    Own(String),
}

/// What went wrong, and in which conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What.
    pub kind: Kind,
    /// The conversation up to there, in lines; empty: it is about none.
    pub talk: String,
    /// The numbers of the conversation, and of the request that was to be answered.
    pub place: Option<(usize, usize)>,
}

impl From<Kind> for Trouble {
    fn from(kind: Kind) -> Trouble {
        Trouble {
            kind,
            talk: String::new(),
            place: None,
        }
    }
}

impl Trouble {
    /// The conversation, and its request to which the server answers otherwise; `None`: the trouble is
    /// about something else.
    #[must_use]
    pub fn differs(&self) -> Option<(usize, usize)> {
        let (talk, request) = self.place?;
        match self.kind {
            Kind::Wrong { .. } | Kind::Silent(_) | Kind::Closed | Kind::Reset => {
                Some((talk, request))
            }
            // What is too long, or should have closed the connection, is the answer before.
            Kind::Unasked(_) | Kind::Open(_) => Some((talk, request.saturating_sub(1))),
            Kind::Refused(_)
            | Kind::Handshake(_)
            | Kind::Tls(_)
            | Kind::Dropped { .. }
            | Kind::Died(_)
            | Kind::Own(_) => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Wrong { expected, came } => {
                f.write_str("it answered something else")?;
                write!(f, "\n{}  expected {expected}\n  received {came}", self.talk)?;
                return Ok(());
            }
            Kind::Unasked(came) => {
                f.write_str("it sent bytes that nobody asked for")?;
                write!(f, "\n{}  received {came}", self.talk)?;
                return Ok(());
            }
            Kind::Silent(time) => write!(f, "it did not answer within {time:?}")?,
            Kind::Open(time) => write!(f, "it did not close the connection within {time:?}")?,
            Kind::Closed => f.write_str("it closed a connection before its answer was complete")?,
            Kind::Reset => f.write_str("it reset a connection")?,
            Kind::Refused(why) => write!(f, "a client could not connect: {why}")?,
            Kind::Handshake(why) => write!(f, "the TLS handshake failed: {why}")?,
            Kind::Tls(why) => write!(f, "TLS: {why}")?,
            Kind::Dropped { closed, all } => write!(
                f,
                "it closed {closed} of {all} idle connections while it was measured: it does not keep \
                 so many, or not so long"
            )?,
            Kind::Died(how) => write!(f, "it ended while it was measured: {how}")?,
            Kind::Own(why) => f.write_str(why)?,
        }
        if !self.talk.is_empty() {
            write!(f, "\n{}", self.talk.trim_end_matches('\n'))?;
        }
        Ok(())
    }
}
