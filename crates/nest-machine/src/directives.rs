//! The one table of directives. The action scanner, the emitter, diagnostics and the reference
//! take everything they know of a directive's shape from here.

use nest_feature::Feature;

/// How a directive is written and what it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `$1`, `$0`: not in the table by name.
    Part,
    /// `$self`: no parentheses.
    Plain,
    /// `$return`: a statement without parentheses.
    Return,
    /// A call of the C function with the session and the arguments, `least..=most` of them.
    Call {
        /// Fewest arguments.
        least: usize,
        /// Most arguments.
        most: usize,
    },
    /// The same; arguments that may be left out, and what stands for them then.
    Filled {
        /// Fewest arguments.
        least: usize,
        /// For each further one.
        rest: &'static [&'static str],
    },
    /// One argument: a duration, or C's milliseconds.
    Duration,
    /// `$block { … }`.
    Block,
    /// A call without the session (`$date()`).
    Global,
    /// One argument: the number of a part.
    OfPart,
    /// One or more states, or `*` where `star`.
    States {
        /// Whether `(*)` means all of them.
        star: bool,
    },
    /// Exactly one state.
    OneState,
    /// `$reply`.
    Reply,
    /// `$log(level, format, …)`.
    Log,
    /// Known to the language, not in this version.
    Later,
}

/// One directive.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// Without the `$`.
    pub name: &'static str,
    /// Its shape.
    pub form: Form,
    /// Its C counterpart in nest.h.
    pub c: &'static str,
    /// As the reference shows it.
    pub usage: &'static str,
    /// One line.
    pub doc: &'static str,
}

const fn d(
    name: &'static str,
    form: Form,
    c: &'static str,
    usage: &'static str,
    doc: &'static str,
) -> Directive {
    Directive {
        name,
        form,
        c,
        usage,
        doc,
    }
}

/// The part directive, `$0`, `$1`, ….
pub const PART: Directive = d(
    "n",
    Form::Part,
    "nest_part",
    "$n",
    "a part as a private string",
);

/// Every directive by name, those of later versions last.
pub const DIRECTIVES: &[Directive] = &[
    d(
        "len",
        Form::OfPart,
        "nest_length",
        "$len(n)",
        "the length of a part",
    ),
    d(
        "ptr",
        Form::OfPart,
        "nest_bytes_at",
        "$ptr(n)",
        "a part's bytes in place",
    ),
    d(
        "be",
        Form::OfPart,
        "nest_be",
        "$be(n)",
        "the big-endian number in a part",
    ),
    d(
        "le",
        Form::OfPart,
        "nest_le",
        "$le(n)",
        "the little-endian number in a part",
    ),
    d(
        "seen",
        Form::States { star: false },
        "nest_seen",
        "$seen(S, …)",
        "marks states",
    ),
    d(
        "clear",
        Form::States { star: true },
        "nest_clear",
        "$clear(S, …)",
        "forgets states",
    ),
    d(
        "next",
        Form::States { star: false },
        "nest_seen",
        "$next(S, …)",
        "these states and no other",
    ),
    d(
        "isset",
        Form::OneState,
        "nest_isset",
        "$isset(S)",
        "whether a state holds",
    ),
    d(
        "LASTSEEN",
        Form::OneState,
        "nest_lastseen",
        "$LASTSEEN(S)",
        "whether S was marked last",
    ),
    d(
        "reply",
        Form::Reply,
        "nest_replyf",
        "$reply(…)",
        "queues output",
    ),
    d(
        "replyBytes",
        Form::Call { least: 2, most: 2 },
        "nest_reply_bytes",
        "$replyBytes(p, n)",
        "queues n bytes",
    ),
    d(
        "flush",
        Form::Call { least: 0, most: 0 },
        "nest_flush",
        "$flush()",
        "sends now",
    ),
    d(
        "close",
        Form::Call { least: 0, most: 0 },
        "nest_close",
        "$close()",
        "ends the connection",
    ),
    d(
        "return",
        Form::Return,
        "return",
        "$return",
        "leaves the action",
    ),
    d(
        "reason",
        Form::Call { least: 0, most: 0 },
        "nest_reason",
        "$reason()",
        "why it ends",
    ),
    d(
        "reasonText",
        Form::Call { least: 0, most: 0 },
        "nest_reason_text",
        "$reasonText()",
        "why it ends, in words",
    ),
    d(
        "peer",
        Form::Call { least: 0, most: 0 },
        "nest_peer",
        "$peer()",
        "the client's address",
    ),
    d(
        "id",
        Form::Call { least: 0, most: 0 },
        "nest_id",
        "$id()",
        "a number unique in this run",
    ),
    d(
        "self",
        Form::Plain,
        "nest_self",
        "$self",
        "the session, for C helpers",
    ),
    d(
        "log",
        Form::Log,
        "nest_log",
        "$log(level, format, …)",
        "a line in the server's log",
    ),
    d(
        "keep",
        Form::Call { least: 1, most: 1 },
        "nest_keep",
        "$keep(n)",
        "memory until END",
    ),
    d(
        "date",
        Form::Global,
        "nest_date",
        "$date()",
        "the HTTP date",
    ),
    d(
        "read",
        Form::Call { least: 1, most: 1 },
        "nest_read",
        "$read(n)",
        "the next n bytes",
    ),
    d(
        "readLine",
        Form::Filled {
            least: 0,
            rest: &["SIZE_MAX"],
        },
        "nest_read_line",
        "$readLine(max)",
        "the next line",
    ),
    d(
        "readInto",
        Form::Call { least: 2, most: 2 },
        "nest_read_into",
        "$readInto(buffer, n)",
        "the next n bytes, into a buffer",
    ),
    d(
        "skip",
        Form::Call { least: 1, most: 1 },
        "nest_skip",
        "$skip(n)",
        "drops the next n bytes",
    ),
    d(
        "pending",
        Form::Call { least: 0, most: 0 },
        "nest_pending",
        "$pending()",
        "whether input is waiting",
    ),
    d(
        "sleep",
        Form::Duration,
        "nest_sleep",
        "$sleep(5s)",
        "a pause of this connection",
    ),
    d(
        "timeout",
        Form::Duration,
        "nest_timeout",
        "$timeout(30s)",
        "this connection's idle limit",
    ),
    d(
        "draining",
        Form::Call { least: 0, most: 0 },
        "nest_draining",
        "$draining()",
        "whether the server is stopping",
    ),
    d(
        "fileOpen",
        Form::Call { least: 2, most: 2 },
        "nest_file_open",
        "$fileOpen(path, &info)",
        "opens a file and says what it is",
    ),
    d(
        "fileReply",
        Form::Filled {
            least: 1,
            rest: &["0", "NEST_WHOLE"],
        },
        "nest_file_reply",
        "$fileReply(path or info, offset, length)",
        "queues a file",
    ),
    d(
        "fileReceive",
        Form::Filled {
            least: 1,
            rest: &["NEST_WHOLE", "0"],
        },
        "nest_file_receive",
        "$fileReceive(path, length, NEST_SYNC)",
        "receives a file",
    ),
    d(
        "fileCreate",
        Form::Call { least: 1, most: 1 },
        "nest_file_create",
        "$fileCreate(path)",
        "begins a file that is written piece by piece",
    ),
    d(
        "fileWrite",
        Form::Call { least: 3, most: 3 },
        "nest_file_write",
        "$fileWrite(upload, p, n)",
        "appends to it",
    ),
    d(
        "fileCommit",
        Form::Filled {
            least: 1,
            rest: &["0"],
        },
        "nest_file_commit",
        "$fileCommit(upload, NEST_SYNC)",
        "puts it in its place",
    ),
    d(
        "fileDrop",
        Form::Call { least: 1, most: 1 },
        "nest_file_drop",
        "$fileDrop(upload)",
        "gives it up",
    ),
    d(
        "fileDelete",
        Form::Call { least: 1, most: 1 },
        "nest_file_delete",
        "$fileDelete(path)",
        "deletes a file",
    ),
    d(
        "fileList",
        Form::Call { least: 2, most: 2 },
        "nest_file_list",
        "$fileList(path, &list)",
        "what a folder holds",
    ),
    d(
        "block",
        Form::Block,
        "nest_block_begin",
        "$block { … }",
        "code that blocks, beside the loop",
    ),
    d("lock", Form::Later, "", "$lock { … }", ""),
    d("recovered", Form::Later, "", "$recovered()", ""),
    d("join", Form::Later, "", "$join(g)", ""),
    d("leave", Form::Later, "", "$leave(g)", ""),
    d("broadcast", Form::Later, "", "$broadcast(g, …)", ""),
    d("dial", Form::Later, "", "$dial(address)", ""),
    d("listen", Form::Later, "", "$listen(…)", ""),
    d("relay", Form::Later, "", "$relay(a, b)", ""),
    d("readAny", Form::Later, "", "$readAny(…)", ""),
    d("startTLS", Form::Later, "", "$startTLS()", ""),
    d("priority", Form::Later, "", "$priority(n)", ""),
];

/// The directive of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|d| d.name == name)
}

/// Whether the directive may stand inside `$block`.
#[must_use]
pub fn in_block(directive: &Directive) -> bool {
    matches!(directive.name, "len" | "ptr" | "log" | "id" | "peer")
}

/// The feature that a function of nest.h needs, and so the directive that becomes it.
#[must_use]
pub fn feature(c: &str) -> Option<Feature> {
    match c {
        "nest_peer" => Some(Feature::Peer),
        "nest_timeout" => Some(Feature::Timeout),
        "nest_block_begin" | "nest_block_end" => Some(Feature::Blocks),
        "nest_keep" => Some(Feature::Keep),
        "nest_file_create" => Some(Feature::Uploads),
        "nest_file_list" => Some(Feature::Lists),
        _ if c.starts_with("nest_file_") => Some(Feature::Files),
        _ => None,
    }
}
