//! The rows about second connections: what an action opens beside its client's. Must not know: how rows
//! are looked up.

use super::build::d;
use super::roles::Role;
use super::rows::{Directive, Form, Reads, Wait};
use nest_feature::Feature;

pub(super) const DIAL: Directive = d(
    "dial",
    Form::Timed { least: 1 },
    "nest_dial",
    "$dial(address, 5s)",
    "opens a second connection",
)
.waits(Wait::Time)
.text(&[Role::Address, Role::Other])
.needs(Feature::Dial)
.known_as(&["connect"]);

pub(super) const DIAL_ERROR: Directive = d(
    "dialError",
    Form::Call { least: 0, most: 0 },
    "nest_dial_error",
    "$dialError()",
    "why the last one failed, in words",
)
.private()
.needs(Feature::Dial);

pub(super) const REPLY_TO: Directive = d(
    "replyTo",
    Form::Reply {
        lead: 1,
        one: "nest_reply_to",
        list: "nest_reply_to_list",
    },
    "nest_replyf_to",
    "$replyTo(c, …)",
    "queues output for a second connection",
)
.waits(Wait::Output)
.needs(Feature::Dial);

pub(super) const REPLY_BYTES_TO: Directive = d(
    "replyBytesTo",
    Form::Call { least: 3, most: 3 },
    "nest_reply_bytes_to",
    "$replyBytesTo(c, p, n)",
    "queues n bytes for it",
)
.waits(Wait::Output)
.needs(Feature::Dial);

pub(super) const FLUSH_TO: Directive = d(
    "flushTo",
    Form::Call { least: 1, most: 1 },
    "nest_flush_to",
    "$flushTo(c)",
    "sends now",
)
.not_in_lock()
.needs(Feature::Dial);

pub(super) const END_TO: Directive = d(
    "endTo",
    Form::Call { least: 1, most: 1 },
    "nest_end_to",
    "$endTo(c)",
    "sends all, and says that no more follows",
)
.waits(Wait::Output)
.needs(Feature::Dial);

pub(super) const READ_FROM: Directive = d(
    "readFrom",
    Form::Call { least: 2, most: 2 },
    "nest_read_from",
    "$readFrom(c, n)",
    "the next n bytes of a second connection",
)
.private()
.waits(Wait::Time)
.needs(Feature::Dial);

pub(super) const READ_LINE_FROM: Directive = d(
    "readLineFrom",
    Form::Filled {
        least: 1,
        rest: &["SIZE_MAX"],
    },
    "nest_read_line_from",
    "$readLineFrom(c, max)",
    "its next line",
)
.private()
.waits(Wait::Time)
.needs(Feature::Dial);

pub(super) const READ_INTO_FROM: Directive = d(
    "readIntoFrom",
    Form::Call { least: 3, most: 3 },
    "nest_read_into_from",
    "$readIntoFrom(c, buffer, n)",
    "its next n bytes, into a buffer",
)
.waits(Wait::Time)
.needs(Feature::Dial);

pub(super) const READ_SOME_FROM: Directive = d(
    "readSomeFrom",
    Form::Call { least: 3, most: 3 },
    "nest_read_some_from",
    "$readSomeFrom(c, buffer, n)",
    "what has come, at most n bytes, into a buffer",
)
.waits(Wait::Time)
.needs(Feature::Dial);

pub(super) const TIMEOUT_OF: Directive = d(
    "timeoutOf",
    Form::Timed { least: 1 },
    "nest_timeout_of",
    "$timeoutOf(c, 5s)",
    "how long reads from it wait",
)
.needs(Feature::Dial);

pub(super) const CANCEL_ON_END: Directive = d(
    "cancelOnEnd",
    Form::Call { least: 0, most: 0 },
    "nest_cancel_on_end",
    "$cancelOnEnd()",
    "a client that ends its output ends the waits of actions",
)
.needs(Feature::Dial);

pub(super) const CLOSE_TO: Directive = d(
    "closeTo",
    Form::Filled {
        least: 1,
        rest: &["0"],
    },
    "nest_close_to",
    "$closeTo(c, NEST_CUT)",
    "closes a second connection",
)
.waits(Wait::Output)
.needs(Feature::Dial);

pub(super) const RELAY: Directive = d(
    "relay",
    Form::Timed { least: 2 },
    "nest_relay",
    "$relay(a, b, 5m)",
    "hands on what two connections say, until both end",
)
.reads(Reads::Dropped, Wait::Bytes)
.needs(Feature::Relay);

pub(super) const READ_ANY: Directive = d(
    "readAny",
    Form::Call { least: 1, most: 16 },
    "nest_read_any",
    "$readAny(a, b, …)",
    "which of several connections has input",
)
.waits(Wait::Bytes)
.needs(Feature::Dial);

pub(super) const LISTEN: Directive = d(
    "listen",
    Form::Filled {
        least: 1,
        rest: &["0"],
    },
    "nest_listen",
    "$listen(range, NEST_ANYONE)",
    "listens for a second connection of the client",
)
.not_in_lock()
.needs(Feature::Dial);

pub(super) const ACCEPT: Directive = d(
    "accept",
    Form::Timed { least: 1 },
    "nest_accept",
    "$accept(l, 5s)",
    "takes it",
)
.waits(Wait::Time)
.needs(Feature::Dial);

pub(super) const PORT_OF: Directive = d(
    "portOf",
    Form::Call { least: 1, most: 1 },
    "nest_port_of",
    "$portOf(l)",
    "the port of a second connection or listener",
)
.needs(Feature::Dial);

pub(super) const ADDRESS_OF: Directive = d(
    "addressOf",
    Form::Call { least: 1, most: 1 },
    "nest_address_of",
    "$addressOf(l)",
    "its address and port",
)
.private()
.needs(Feature::Dial);

pub(super) const WAIT_FOR: Directive = d(
    "waitFor",
    Form::Timed { least: 2 },
    "nest_wait_for",
    "$waitFor(fd, NEST_READABLE, 5s)",
    "waits for a descriptor of a library",
)
.waits(Wait::Time)
.needs(Feature::Dial);

/// Its second argument is the name of a file beneath fileRoot, or no string.
const NAMES_FILE: &[Role] = &[Role::Other, Role::Own, Role::Other];

pub(super) const DRAIN_TO: Directive = d(
    "drainTo",
    Form::Filled {
        least: 1,
        rest: &["0"],
    },
    "nest_drain_to",
    "$drainTo(c, NEST_UNTIL_INPUT)",
    "waits until all output has been sent to it",
)
.waits(Wait::Output)
.needs(Feature::Transfer);

pub(super) const FILE_REPLY_TO: Directive = d(
    "fileReplyTo",
    Form::Filled {
        least: 2,
        rest: &["0", "NEST_WHOLE", "0"],
    },
    "nest_file_reply_to",
    "$fileReplyTo(c, path or info, offset, length, NEST_UNTIL_INPUT)",
    "queues a file for a second connection",
)
.waits(Wait::Output)
.text(NAMES_FILE)
.needs(Feature::Transfer);

pub(super) const FILE_RECEIVE_FROM: Directive = d(
    "fileReceiveFrom",
    Form::Filled {
        least: 2,
        rest: &["NEST_WHOLE", "0"],
    },
    "nest_file_receive_from",
    "$fileReceiveFrom(c, path or upload, length, flags)",
    "receives a file from it",
)
.waits(Wait::Time)
.text(NAMES_FILE)
.needs(Feature::Transfer);

pub(super) const START_TLS_ON: Directive = d(
    "startTLSOn",
    Form::Filled {
        least: 1,
        rest: &["NULL"],
    },
    "nest_start_tls_on",
    "$startTLSOn(c, name)",
    "encrypts it: as a server, or as a client that verifies the name",
)
.waits(Wait::Time)
.needs(Feature::Secured);
