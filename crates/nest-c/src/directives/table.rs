//! The rows: every directive. Must not know: how rows are looked up.

use super::build::d;
use super::roles::Role;
use super::rows::{Directive, Form, InLock, Others, PartAs, Reads, SELF, States, Wait};
use super::second;
use nest_feature::Feature;

/// The part directive, `$0`, `$1`, ….
pub const PART: Directive = d(
    "n",
    Form::Part,
    "nest_part",
    "$n",
    "a part as a private string",
);

/// Every directive by name, those of later versions last. Of several rows with the same function
/// the first one says what the function does.
pub const DIRECTIVES: &[Directive] = &[
    d(
        "len",
        Form::OfPart(PartAs::Length),
        "nest_length",
        "$len(n)",
        "the length of a part",
    )
    .in_block(),
    d(
        "ptr",
        Form::OfPart(PartAs::Bytes),
        "nest_bytes_at",
        "$ptr(n)",
        "a part's bytes in place",
    )
    .private()
    .in_block(),
    d(
        "be",
        Form::OfPart(PartAs::Number),
        "nest_be",
        "$be(n)",
        "the big-endian number in a part",
    ),
    d(
        "le",
        Form::OfPart(PartAs::Number),
        "nest_le",
        "$le(n)",
        "the little-endian number in a part",
    ),
    d(
        "count",
        Form::OfPart(PartAs::Count),
        "nest_count",
        "$count(n)",
        "how often a repeated part was repeated",
    )
    .in_block()
    .needs(Feature::Items),
    d(
        "item",
        Form::OfPart(PartAs::Item),
        "nest_item",
        "$item(n, i)",
        "the text of repetition i, from 0",
    )
    .private()
    .in_block()
    .needs(Feature::Items),
    d(
        "itemLen",
        Form::OfPart(PartAs::ItemLength),
        "nest_item_length",
        "$itemLen(n, i)",
        "the length of repetition i",
    )
    .in_block()
    .needs(Feature::Items),
    d(
        "seen",
        Form::States { star: false },
        "nest_seen",
        "$seen(S, …)",
        "marks states",
    )
    .states(States::Marks),
    d(
        "clear",
        Form::States { star: true },
        "nest_clear",
        "$clear(S, …)",
        "forgets states",
    )
    .states(States::Clears),
    d(
        "next",
        Form::States { star: false },
        "nest_seen",
        "$next(S, …)",
        "these states and no other",
    )
    .states(States::Only)
    .known_as(&["goto"]),
    d(
        "isset",
        Form::OneState,
        "nest_isset",
        "$isset(S)",
        "whether a state holds",
    )
    .states(States::Tests),
    d(
        "LASTSEEN",
        Form::OneState,
        "nest_lastseen",
        "$LASTSEEN(S)",
        "whether S was marked last",
    )
    .states(States::TestsLast),
    d(
        "reply",
        Form::Reply {
            lead: 0,
            one: "nest_reply",
            list: "nest_reply_list",
        },
        "nest_replyf",
        "$reply(…)",
        "queues output",
    )
    .replies()
    .known_as(&["print", "printf", "write"]),
    d(
        "replyBytes",
        Form::Call { least: 2, most: 2 },
        "nest_reply_bytes",
        "$replyBytes(p, n)",
        "queues n bytes",
    )
    .replies(),
    d(
        "flush",
        Form::Call { least: 0, most: 0 },
        "nest_flush",
        "$flush()",
        "sends now",
    )
    .not_in_lock(),
    d(
        "startTLS",
        Form::Call { least: 0, most: 0 },
        "nest_start_tls",
        "$startTLS()",
        "drops unread input, and encrypts the connection from here on; 0, or -1 and errno",
    )
    .reads(Reads::Dropped, Wait::Bytes)
    .needs(Feature::StartTls),
    d(
        "tls",
        Form::Call { least: 0, most: 0 },
        "nest_tls",
        "$tls()",
        "NEST_TLS_ON: encrypted; NEST_TLS_READY: $startTLS can do so; or NEST_TLS_NONE",
    )
    .needs(Feature::Tls),
    d(
        "close",
        Form::Filled {
            least: 0,
            rest: &["0"],
        },
        "nest_close_flags",
        "$close(NEST_MORE)",
        "ends the connection",
    )
    .closes()
    .known_as(&["exit"]),
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
    )
    .private()
    .in_block()
    .needs(Feature::Peer),
    d(
        "id",
        Form::Call { least: 0, most: 0 },
        "nest_id",
        "$id()",
        "a number unique in this run",
    )
    .in_block(),
    d(
        "self",
        Form::Plain,
        SELF,
        "$self",
        "the session, for C helpers",
    )
    .private()
    .not_in_lock()
    .states(States::HandsOn),
    d(
        "log",
        Form::Log,
        "nest_log",
        "$log(level, format, …)",
        "a line in the server's log",
    )
    .not_in_lock()
    .in_block()
    .text(&[Role::Other, Role::Format, Role::Other]),
    d(
        "logField",
        Form::Call { least: 2, most: 2 },
        "nest_log_field",
        "$logField(\"name\", value)",
        "a field of the next line about this client",
    )
    .needs(Feature::Fields),
    d(
        "logRequest",
        Form::Call { least: 0, most: 0 },
        "nest_log_request",
        "$logRequest()",
        "the action ends a request, which is logged",
    )
    .needs(Feature::Marks),
    d(
        "keep",
        Form::Call { least: 1, most: 1 },
        "nest_keep",
        "$keep(n)",
        "memory until END",
    )
    .private()
    .needs(Feature::Keep),
    d(
        "date",
        Form::Global { arguments: 0 },
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
    )
    .private()
    .reads(Reads::Bytes, Wait::Message),
    d(
        "readLine",
        Form::Filled {
            least: 0,
            rest: &["SIZE_MAX"],
        },
        "nest_read_line",
        "$readLine(max)",
        "the next line",
    )
    .private()
    .reads(Reads::Line, Wait::Message),
    d(
        "readInto",
        Form::Call { least: 2, most: 2 },
        "nest_read_into",
        "$readInto(buffer, n)",
        "the next n bytes, into a buffer",
    )
    .reads(Reads::Into(0), Wait::Bytes),
    d(
        "skip",
        Form::Call { least: 1, most: 1 },
        "nest_skip",
        "$skip(n)",
        "drops the next n bytes",
    )
    .reads(Reads::Dropped, Wait::Bytes),
    d(
        "pending",
        Form::Call { least: 0, most: 0 },
        "nest_pending",
        "$pending()",
        "whether input is waiting",
    )
    .not_in_lock(),
    d(
        "sleep",
        Form::Duration { none: false },
        "nest_sleep",
        "$sleep(5s)",
        "a pause of this connection",
    )
    .waits(Wait::Time)
    .known_as(&["wait"]),
    d(
        "timeout",
        Form::Duration { none: true },
        "nest_timeout",
        "$timeout(30s)",
        "this connection's idle limit",
    )
    .limits_idle()
    .needs(Feature::Timeout),
    d(
        "priority",
        Form::Call { least: 1, most: 1 },
        "nest_priority",
        "$priority(n)",
        "this connection's class",
    )
    .needs(Feature::Priorities),
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
    )
    .names_file()
    .instead_of(&[
        "open", "open64", "openat", "fopen", "fopen64", "freopen", "stat", "lstat", "access",
    ]),
    d(
        "fileReply",
        Form::Filled {
            least: 1,
            rest: &["0", "NEST_WHOLE"],
        },
        "nest_file_reply",
        "$fileReply(path or info, offset, length)",
        "queues a file",
    )
    .replies()
    .names_file(),
    d(
        "fileReceive",
        Form::Filled {
            least: 1,
            rest: &["NEST_WHOLE", "0"],
        },
        "nest_file_receive",
        "$fileReceive(path, length, NEST_SYNC)",
        "receives a file",
    )
    .reads(Reads::Dropped, Wait::Bytes)
    .names_file()
    .instead_of(&["creat"]),
    d(
        "fileCreate",
        Form::Call { least: 1, most: 1 },
        "nest_file_create",
        "$fileCreate(path)",
        "begins a file that is written piece by piece",
    )
    .private()
    .in_block()
    .names_file()
    .needs(Feature::Uploads)
    .instead_of(&["creat"]),
    d(
        "fileWrite",
        Form::Call { least: 3, most: 3 },
        "nest_file_write",
        "$fileWrite(upload, p, n)",
        "appends to it",
    )
    .in_block()
    .not_in_lock()
    .needs(Feature::Files),
    d(
        "fileCommit",
        Form::Filled {
            least: 1,
            rest: &["0"],
        },
        "nest_file_commit",
        "$fileCommit(upload, NEST_SYNC)",
        "puts it in its place",
    )
    .in_block()
    .not_in_lock()
    .needs(Feature::Files),
    d(
        "fileDrop",
        Form::Call { least: 1, most: 1 },
        "nest_file_drop",
        "$fileDrop(upload)",
        "gives it up",
    )
    .in_block()
    .not_in_lock()
    .needs(Feature::Files),
    d(
        "fileDelete",
        Form::Call { least: 1, most: 1 },
        "nest_file_delete",
        "$fileDelete(path)",
        "deletes a file",
    )
    .in_block()
    .names_file()
    .instead_of(&["unlink", "unlinkat", "remove"]),
    d(
        "fileList",
        Form::Call { least: 2, most: 2 },
        "nest_file_list",
        "$fileList(path, &list)",
        "what a folder holds",
    )
    .names_file()
    .needs(Feature::Lists)
    .instead_of(&["opendir", "scandir"]),
    d(
        "block",
        Form::Block,
        "nest_block_begin",
        "$block { … }",
        "code that blocks, beside the loop",
    )
    .waits(Wait::Block)
    .needs(Feature::Blocks),
    d(
        "send",
        Form::Reply {
            lead: 1,
            one: "nest_send",
            list: "nest_send_list",
        },
        "nest_sendf",
        "$send(id, …)",
        "a message to one other connection",
    )
    .others(Others::One, Feature::Send)
    .known_as(&["tell"]),
    d(
        "join",
        Form::Call { least: 1, most: 1 },
        "nest_join",
        "$join(g)",
        "becomes a member of a group",
    )
    .others(Others::Joins, Feature::Groups)
    .known_as(&["subscribe"]),
    d(
        "leave",
        Form::Call { least: 1, most: 1 },
        "nest_leave",
        "$leave(g)",
        "is no member any more",
    )
    .others(Others::Leaves, Feature::Groups)
    .known_as(&["unsubscribe"]),
    d(
        "broadcast",
        Form::Reply {
            lead: 1,
            one: "nest_broadcast",
            list: "nest_broadcast_list",
        },
        "nest_broadcastf",
        "$broadcast(g, …)",
        "a message to the other members of a group",
    )
    .others(Others::Group, Feature::Groups)
    .known_as(&["publish"]),
    d(
        "broadcastAll",
        Form::Reply {
            lead: 1,
            one: "nest_broadcast_all",
            list: "nest_broadcast_all_list",
        },
        "nest_broadcast_allf",
        "$broadcastAll(g, …)",
        "a message to all members of a group",
    )
    .others(Others::Group, Feature::Groups),
    d(
        "members",
        Form::Call { least: 1, most: 1 },
        "nest_members",
        "$members(g)",
        "how many members a group has",
    )
    .others(Others::Counts, Feature::Groups),
    d(
        "lock",
        Form::Lock,
        "nest_lock_begin",
        "$lock { … }",
        "code that uses shared variables, alone in the server",
    )
    .in_block()
    .needs(Feature::Shared),
    d(
        "recovered",
        Form::Global { arguments: 0 },
        "nest_recovered",
        "$recovered()",
        "whether the last holder of the lock died",
    )
    .in_block()
    .lock_only(InLock::Recovers),
    d(
        "alloc",
        Form::Global { arguments: 1 },
        "nest_alloc",
        "$alloc(n)",
        "n bytes that all connections share",
    )
    .in_block()
    .lock_only(InLock::Only)
    .needs(Feature::Alloc),
    d(
        "free",
        Form::Global { arguments: 1 },
        "nest_free",
        "$free(p)",
        "frees them",
    )
    .in_block()
    .lock_only(InLock::Only)
    .needs(Feature::Alloc),
    d(
        "alive",
        Form::Global { arguments: 1 },
        "nest_alive",
        "$alive(id)",
        "whether a connection still exists",
    )
    .in_block()
    .needs(Feature::Alive),
    second::DIAL,
    second::DIAL_ERROR,
    second::REPLY_TO,
    second::REPLY_BYTES_TO,
    second::FLUSH_TO,
    second::END_TO,
    second::DRAIN_TO,
    second::FILE_REPLY_TO,
    second::FILE_RECEIVE_FROM,
    second::START_TLS_ON,
    second::READ_FROM,
    second::READ_LINE_FROM,
    second::READ_INTO_FROM,
    second::READ_SOME_FROM,
    second::TIMEOUT_OF,
    second::CANCEL_ON_END,
    second::CLOSE_TO,
    second::RELAY,
    second::READ_ANY,
    second::LISTEN,
    second::ACCEPT,
    second::PORT_OF,
    second::ADDRESS_OF,
    second::WAIT_FOR,
];
