//! Join points: the places at which the runtime calls every service that is selected.
//!
//! A service `NAME` that is listed for a point defines `nest__NAME_POINT`; the parts of the runtime
//! call `nest__on_POINT`, which is generated (unit.rs) and calls the services in the order of their
//! list. Must not know what the services do.

use crate::For::{self, All, Both, Poller, Sockets, With, Workers};
use crate::{Feature, MAILED, TLS};

const LOOPS: For = Workers("loops");

const LOOPS_MAILED: For = Both(&LOOPS, &MAILED);

/// A join point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Called first in main, before anything is printed.
    Begin,
    /// The configuration has been read, to serve or to be checked. Nonzero ends the server.
    Check,
    /// The server is to serve; start-up code has not run. Nonzero ends the server.
    Prepare,
    /// Start-up code has run; workers do not exist yet. Nonzero ends the server.
    Start,
    /// A process of the server is about to serve clients, or to do the server's own work. Nonzero ends
    /// the process.
    Serve,
    /// The server ends, and no client is left.
    Close,
    /// The supervisor is asked to stop the server for the first time. Workers have not been told.
    Halt,
    /// A process of the server has died.
    Lost,
    /// A worker has ended, in whatever way. Its report is still there.
    Reaped,
    /// The supervisor has read the configuration again.
    Reloaded,
    /// This process has read the configuration again, whether or not it has changed.
    Renewed,
    /// Whether no worker may be forked now. Asked by the supervisor.
    Pause,
    /// Milliseconds after which the supervisor is to call this again, as it does whenever it wakes;
    /// 0: it need not.
    Mind,
    /// May claim up to `most` of the descriptors that clients do not need. Returns how many.
    Spare,
    /// Milliseconds after which a loop is to call `Tick`; 0: never. A loop asks before it sleeps.
    Due,
    /// Called by a loop when the time of any service has come, not necessarily of this one.
    Tick,
    /// Whether new clients have to wait, when so many sessions of a loop have something to do. A loop
    /// asks before and after it sleeps.
    Load,
    /// Whether new clients have to wait, because of those that a loop took since it looked.
    Enough,
    /// The descriptor that tells a worker of messages from other workers; 0: it gets none.
    Mailbox,
    /// A worker hands one such message to its session. Whether there may be more.
    Letter,
    /// A message for a session has come, which is between two actions.
    Mail,
    /// A message for a loop as a whole has come.
    Spread,
    /// A script sends a message to a session. Nonzero: the mailbox is full.
    Post,
    /// Wakes a worker that blocks while it waits for mail. Async-signal-safe.
    Nudge,
    /// A need of memory for each client, for the budget.
    Need,
    /// A need of memory for all clients together, for the budget.
    Common,
    /// Descriptors that a client needs besides its connection, for the budget.
    Descriptors,
    /// A handshake of TLS is about to begin, before there is a session: an `enum nest__admission`. The
    /// session's slot is released in any case.
    Shaking,
    /// A handshake of TLS is complete, and may have resumed a session; or its connection ends without
    /// it. Called by a worker, perhaps before there is a session.
    Shaken,
    /// A connection begins; START has not run.
    Open,
    /// Called next, unless the session was begun elsewhere: an `enum nest__admission`. Nonzero ends
    /// the session.
    Admit,
    /// An action is about to run.
    Act,
    /// The running action is about to wait; others may run meanwhile.
    Wait,
    /// The running action goes on after a wait.
    Resume,
    /// So many bytes of the client have been received.
    Input,
    /// A pattern rule was selected for a message; its action has not run.
    Take,
    /// These bytes of the client belong to no match: an action reads or relays them, or the session ends
    /// with them. They are still there.
    Read,
    /// Whether the session has to leave its further messages for another turn. Asked before each
    /// message of a turn but the first.
    Yield,
    /// A TIMEOUT rule's action is about to run.
    Timer,
    /// A directive queues an item for the client. Called once for each item, before any wait.
    Reply,
    /// A directive replies with so many items, `n` bytes in all. Called once, before any wait.
    Replied,
    /// Bytes of a file were sent without being queued.
    File,
    /// So many bytes of the queue of a session's channel 0 have been sent.
    Output,
    /// All output of a session's channel 0 has been sent.
    Drained,
    /// An action has returned. It is still the running action, so the service may wait.
    Leave,
    /// An action has ended; `taken` bytes were consumed after its match.
    Acted,
    /// START has run, or the states or the last seen state differ from those of the previous read
    /// point.
    States,
    /// END's action has ended; the session's reason is set.
    End,
    /// Whether the session must keep its work block between actions.
    Holds,
    /// The work block no longer belongs to this connection.
    Drop,
    /// Nothing refers to the session any more, and its connection is closed.
    Release,
}

/// How the results of the services are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// There are no results.
    Nothing,
    /// The first result that is not 0; later services are not called then.
    Error,
    /// Whether any result is true.
    Any,
    /// The sum.
    Sum,
    /// The least result that is not 0; 0 if there is none.
    Least,
    /// Each service fills one element of an array; the result is their number.
    Elements,
}

/// A row of the table of join points.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The join point.
    pub point: Point,
    /// The last part of the names of its functions.
    pub name: &'static str,
    pub(crate) joined: Joined,
    pub(crate) parameters: &'static str,
    pub(crate) arguments: &'static str,
    /// The servers that call it. In others it is left out, because some C compilers warn about
    /// unused functions.
    pub(crate) called: For,
}

const fn row(
    point: Point,
    name: &'static str,
    joined: Joined,
    parameters: &'static str,
    arguments: &'static str,
) -> Row {
    Row {
        point,
        name,
        joined,
        parameters,
        arguments,
        called: All,
    }
}

/// All join points.
pub const POINTS: &[Row] = &[
    row(Point::Begin, "begin", Joined::Nothing, "void", ""),
    row(Point::Check, "check", Joined::Error, "void", ""),
    row(Point::Prepare, "prepare", Joined::Error, "void", ""),
    row(Point::Start, "start", Joined::Error, "void", ""),
    Row {
        called: Sockets,
        ..row(Point::Serve, "serve", Joined::Error, "void", "")
    },
    row(Point::Close, "close", Joined::Nothing, "void", ""),
    Row {
        called: Sockets,
        ..row(Point::Halt, "halt", Joined::Nothing, "void", "")
    },
    Row {
        called: Sockets,
        ..row(
            Point::Lost,
            "lost",
            Joined::Nothing,
            "long process",
            "process",
        )
    },
    Row {
        called: Sockets,
        ..row(
            Point::Reaped,
            "reaped",
            Joined::Nothing,
            "uint32_t worker",
            "worker",
        )
    },
    Row {
        called: Sockets,
        ..row(Point::Reloaded, "reloaded", Joined::Nothing, "void", "")
    },
    row(Point::Renewed, "renewed", Joined::Nothing, "void", ""),
    Row {
        called: Sockets,
        ..row(Point::Pause, "pause", Joined::Any, "void", "")
    },
    Row {
        called: Sockets,
        ..row(Point::Mind, "mind", Joined::Least, "void", "")
    },
    Row {
        called: LOOPS,
        ..row(Point::Spare, "spare", Joined::Sum, "uint64_t most", "most")
    },
    Row {
        called: LOOPS,
        ..row(Point::Due, "due", Joined::Least, "void", "")
    },
    Row {
        called: LOOPS,
        ..row(Point::Tick, "tick", Joined::Nothing, "void", "")
    },
    Row {
        called: LOOPS,
        ..row(
            Point::Load,
            "load",
            Joined::Any,
            "uint32_t actions",
            "actions",
        )
    },
    Row {
        called: LOOPS,
        ..row(Point::Enough, "enough", Joined::Any, "void", "")
    },
    row(Point::Mailbox, "mailbox", Joined::Error, "void", ""),
    row(
        Point::Letter,
        "letter",
        Joined::Any,
        "nest_session **s",
        "s",
    ),
    Row {
        called: MAILED,
        ..row(
            Point::Mail,
            "mail",
            Joined::Nothing,
            "nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n",
            "s, kind, bytes, n",
        )
    },
    Row {
        called: LOOPS_MAILED,
        ..row(
            Point::Spread,
            "spread",
            Joined::Nothing,
            "uint32_t kind, const uint8_t *bytes, uint32_t n",
            "kind, bytes, n",
        )
    },
    Row {
        called: Poller("script"),
        ..row(
            Point::Post,
            "post",
            Joined::Error,
            "nest__ref to, const uint8_t *bytes, uint32_t n",
            "to, bytes, n",
        )
    },
    Row {
        called: Poller("blocking"),
        ..row(
            Point::Nudge,
            "nudge",
            Joined::Nothing,
            "uint32_t worker",
            "worker",
        )
    },
    row(
        Point::Need,
        "need",
        Joined::Elements,
        "struct nest__need *needs",
        "",
    ),
    row(
        Point::Common,
        "common",
        Joined::Elements,
        "struct nest__need *needs",
        "",
    ),
    row(
        Point::Descriptors,
        "descriptors",
        Joined::Sum,
        "bool most",
        "most",
    ),
    Row {
        called: TLS,
        ..row(
            Point::Shaking,
            "shaking",
            Joined::Error,
            "nest_session *s",
            "s",
        )
    },
    Row {
        called: TLS,
        ..row(
            Point::Shaken,
            "shaken",
            Joined::Nothing,
            "bool complete, bool resumed",
            "complete, resumed",
        )
    },
    row(Point::Open, "open", Joined::Nothing, "nest_session *s", "s"),
    row(Point::Admit, "admit", Joined::Error, "nest_session *s", "s"),
    row(Point::Act, "act", Joined::Nothing, "nest_session *s", "s"),
    row(Point::Wait, "wait", Joined::Nothing, "nest_session *s", "s"),
    row(
        Point::Resume,
        "resume",
        Joined::Nothing,
        "nest_session *s",
        "s",
    ),
    row(
        Point::Input,
        "input",
        Joined::Nothing,
        "nest_session *s, uint64_t n",
        "s, n",
    ),
    row(
        Point::Take,
        "take",
        Joined::Nothing,
        "nest_session *s, const struct nest__rule *rule, const uint8_t *bytes, uint32_t n",
        "s, rule, bytes, n",
    ),
    row(
        Point::Read,
        "read",
        Joined::Nothing,
        "nest_session *s, const uint8_t *bytes, uint32_t n",
        "s, bytes, n",
    ),
    row(
        Point::Yield,
        "yield",
        Joined::Any,
        "const nest_session *s",
        "s",
    ),
    row(
        Point::Timer,
        "timer",
        Joined::Nothing,
        "nest_session *s, const struct nest__timer *timer",
        "s, timer",
    ),
    row(
        Point::Reply,
        "reply",
        Joined::Nothing,
        "nest_session *s, const void *bytes, size_t n",
        "s, bytes, n",
    ),
    row(
        Point::Replied,
        "replied",
        Joined::Nothing,
        "nest_session *s, size_t items, uint64_t n",
        "s, items, n",
    ),
    Row {
        called: With(Feature::Files),
        ..row(
            Point::File,
            "file",
            Joined::Nothing,
            "nest_session *s, int fd, uint64_t at, uint64_t n",
            "s, fd, at, n",
        )
    },
    row(
        Point::Output,
        "output",
        Joined::Nothing,
        "nest_session *s, uint64_t n",
        "s, n",
    ),
    row(
        Point::Drained,
        "drained",
        Joined::Nothing,
        "nest_session *s",
        "s",
    ),
    row(
        Point::Leave,
        "leave",
        Joined::Nothing,
        "nest_session *s",
        "s",
    ),
    row(
        Point::Acted,
        "acted",
        Joined::Nothing,
        "nest_session *s, uint64_t taken",
        "s, taken",
    ),
    row(
        Point::States,
        "states",
        Joined::Nothing,
        "nest_session *s",
        "s",
    ),
    row(Point::End, "end", Joined::Nothing, "nest_session *s", "s"),
    row(
        Point::Holds,
        "holds",
        Joined::Any,
        "const struct nest__work *work",
        "work",
    ),
    row(
        Point::Drop,
        "drop",
        Joined::Nothing,
        "struct nest__work *work",
        "work",
    ),
    row(
        Point::Release,
        "release",
        Joined::Nothing,
        "nest_session *s",
        "s",
    ),
];

#[cfg(test)]
mod tests {
    use super::POINTS;

    #[test]
    fn each_point_has_a_row() {
        for (i, row) in POINTS.iter().enumerate() {
            assert_eq!(row.point as usize, i, "{}", row.name);
            assert_eq!(format!("{:?}", row.point).to_lowercase(), row.name);
        }
    }
}
