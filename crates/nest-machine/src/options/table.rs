//! The one table of options: what `%option` takes, what a running server takes, what comes later.
//! Must not know: what selects or reads them.

use super::row::{OptionInfo, Value};
use crate::models::ModelKind;
use nest_feature::Feature;

const M: u32 = 1 << 20;

const fn o(
    name: &'static str,
    value: Value,
    default: &'static str,
    run: bool,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo {
        name,
        value,
        default,
        run,
        reload: false,
        spec: true,
        models: &[],
        selects: &[],
        doc,
    }
}

const fn selecting(
    name: &'static str,
    value: Value,
    default: &'static str,
    selects: &'static [(&'static str, Feature)],
    doc: &'static str,
) -> OptionInfo {
    OptionInfo {
        selects,
        ..o(name, value, default, false, doc)
    }
}

/// An option that a running server takes, and changes when it is told HUP.
const fn live(
    name: &'static str,
    value: Value,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo {
        reload: true,
        ..o(name, value, default, true, doc)
    }
}

/// Models whose workers serve one client after another.
const SUCCESSIVE: &[ModelKind] = &[ModelKind::Prefork, ModelKind::Thread];

/// Models that have a loop.
const LOOPS: &[ModelKind] = &[ModelKind::Event, ModelKind::Uring, ModelKind::Script];

/// The same, of servers of these models.
const fn of(
    models: &'static [ModelKind],
    name: &'static str,
    value: Value,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo {
        models,
        ..live(name, value, default, doc)
    }
}

/// Every option of the language.
pub const OPTIONS: &[OptionInfo] = &[
    o(
        "processServer",
        Value::Model(ModelKind::Process),
        "",
        false,
        "one process per client, at most N at a time",
    ),
    o(
        "preforkServer",
        Value::Model(ModelKind::Prefork),
        "",
        false,
        "processes that serve one client after another, at most N at a time; spare A..B wait",
    ),
    o(
        "threadServer",
        Value::Model(ModelKind::Thread),
        "",
        false,
        "threads that serve one client after another, at most N at a time; spare A..B wait",
    ),
    o(
        "eventServer",
        Value::Model(ModelKind::Event),
        "",
        false,
        "one event loop for all clients, at most N at a time",
    ),
    OptionInfo {
        selects: &[("fallback", Feature::Fallback)],
        ..o(
            "uringServer",
            Value::Model(ModelKind::Uring),
            "",
            false,
            "the same with io_uring in place of epoll; fallback: with epoll where there is none",
        )
    },
    o(
        "standAlone",
        Value::Flag,
        "",
        false,
        "the server listens itself (the default)",
    ),
    OptionInfo {
        name: "maxClients",
        value: Value::Number {
            least: 1,
            most: 1_000_000,
        },
        default: "",
        run: true,
        reload: false,
        spec: false,
        models: &[],
        selects: &[],
        doc: "maximum number of clients; further clients wait until one leaves",
    },
    live(
        "serverName",
        Value::Text,
        "",
        "the server's name, nest_server_name() in actions",
    ),
    o(
        "serverPort",
        Value::Number {
            least: 0,
            most: 65535,
        },
        "8080",
        true,
        "the TCP port, on all interfaces; 0: the system chooses one",
    ),
    OptionInfo {
        selects: &[("proxy", Feature::Proxied)],
        ..o(
            "listen",
            Value::Addresses,
            "",
            true,
            "addresses instead of serverPort: 127.0.0.1:8080, [::1]:8080, *:8080, unix:/path, \
             systemd; behind one proxy: its connections begin with a PROXY header; tls: they are encrypted, \
             and others are not; or both",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Tls)],
        ..live(
            "tls",
            Value::Pairs,
            "none",
            "connections are encrypted: the PEM files CERT KEY; more pairs may follow, which names select",
        )
    },
    o(
        "alpn",
        Value::Protocols,
        "",
        false,
        "the protocols that encrypted connections may carry, as in http/1.1; the first that a client offers is taken",
    ),
    o(
        "inputBuffer",
        Value::Size {
            least: 16,
            most: 64 * M,
        },
        "8K",
        true,
        "maximum size of a message; a longer one ends the connection",
    ),
    live(
        "outputBuffer",
        Value::Size {
            least: 64,
            most: 1024 * M,
        },
        "64K",
        "bytes queued for a client before its action waits",
    ),
    selecting(
        "messageOverflow",
        Value::Word(&["close", "drop"]),
        "close",
        &[("drop", Feature::Lossy)],
        "a client whose messages from others exceed outputBuffer: close it, or drop the oldest",
    ),
    live(
        "keepLimit",
        Value::Size {
            least: 0,
            most: 1024 * M,
        },
        "64K",
        "bytes that a connection may allocate with $keep",
    ),
    o(
        "framing",
        Value::Word(&["stream", "message"]),
        "stream",
        false,
        "stream: patterns determine messages; message: the bytes of one receive call are a message",
    ),
    o(
        "matching",
        Value::Word(&["auto", "code", "table", "apart"]),
        "auto",
        false,
        "code, table: one automaton for all rules; apart: one for each rule; the result is the \
         same",
    ),
    o(
        "matchingStates",
        Value::Number {
            least: 1,
            most: 60_000,
        },
        "4096",
        false,
        "rules whose automaton has more states are matched separately",
    ),
    o(
        "matchingCode",
        Value::Size {
            least: 1,
            most: 64 * M,
        },
        "256K",
        false,
        "rules whose automaton needs more bytes of C code are matched separately",
    ),
    selecting(
        "backtracking",
        Value::Word(&["no", "yes"]),
        "no",
        &[("yes", Feature::Backtracking)],
        "yes: patterns may have what automata cannot express; libpcre2 matches such rules",
    ),
    OptionInfo {
        selects: &[("", Feature::Backtracking)],
        ..o(
            "backtrackingLimit",
            Value::Number {
                least: 100,
                most: 100_000_000,
            },
            "50000",
            true,
            "steps of libpcre2 for a message; a match that needs more ends the connection",
        )
    },
    o(
        "caseless",
        Value::Flag,
        "",
        false,
        "patterns ignore the case of letters",
    ),
    selecting(
        "inetd",
        Value::Flag,
        "",
        &[("", Feature::Inetd)],
        "inetd or a similar program listens, and passes connections or its socket",
    ),
    live(
        "readTimeout",
        Value::Duration,
        "30s",
        "from the first byte of a message until it is complete",
    ),
    live(
        "writeTimeout",
        Value::Duration,
        "30s",
        "how long a client may take nothing of what it is sent",
    ),
    live(
        "minimumRate",
        Value::Size {
            least: 0,
            most: 1024 * M,
        },
        "0",
        "bytes a second that a client must take of output that waits, over 10s; 0: any",
    ),
    OptionInfo {
        selects: &[("", Feature::Overrun)],
        ..live(
            "actionTimeout",
            Value::Duration,
            "none",
            "how long an action may run without a wait; after that its process is ended",
        )
    },
    live(
        "idleTimeout",
        Value::Duration,
        "5m",
        "how long a client may send nothing between messages",
    ),
    live(
        "lingerTimeout",
        Value::Duration,
        "2s",
        "how long a closed connection waits for a client that still sends",
    ),
    live(
        "drainTimeout",
        Value::Duration,
        "5s",
        "how long a stopping server lets its clients finish",
    ),
    OptionInfo {
        spec: false,
        ..of(
            SUCCESSIVE,
            "minSpare",
            Value::Number {
                least: 1,
                most: 32_000,
            },
            "",
            "minimum number of processes or threads that wait for a client",
        )
    },
    OptionInfo {
        spec: false,
        ..of(
            SUCCESSIVE,
            "maxSpare",
            Value::Number {
                least: 1,
                most: 32_000,
            },
            "",
            "maximum number of processes or threads that wait for a client; at least minSpare",
        )
    },
    of(
        &[ModelKind::Prefork],
        "clientsPerWorker",
        Value::Number {
            least: 0,
            most: 1_000_000_000,
        },
        "0",
        "after how many clients a process is replaced; 0: never",
    ),
    live(
        "dispatchers",
        Value::Count { most: 64 },
        "1",
        "how many loops an event server has, each in a process; auto: one for each processor",
    ),
    o(
        "helpers",
        Value::Number { least: 1, most: 64 },
        "4",
        true,
        "maximum number of threads of an event server for files and $block",
    ),
    live(
        "completion",
        Value::Word(&["async", "sync"]),
        "async",
        "how an event server does what may block, files and $block: by threads, or itself",
    ),
    OptionInfo {
        models: LOOPS,
        selects: &[("", Feature::Processors)],
        ..o(
            "processors",
            Value::Processors,
            "none",
            true,
            "how many threads run the actions of an event server, 4, or as many as are needed of 2..8; \
             none: its loop",
        )
    },
    o(
        "fileRoot",
        Value::Text,
        "",
        true,
        "the directory that contains all files; \"\": the working directory",
    ),
    OptionInfo {
        selects: &[("", Feature::FileCache)],
        ..o(
            "fileCache",
            Value::FileCache,
            "none",
            true,
            "memory for contents of files: POLICY SIZE, such as LRU 64M; none: no such memory",
        )
    },
    OptionInfo {
        selects: &[("", Feature::KernelCache)],
        ..o(
            "kernelCache",
            Value::Size {
                least: 0,
                most: 1024 * M,
            },
            "0",
            true,
            "memory for answers that the kernel gives in place of the server, at least 64K; 0: none",
        )
    },
    OptionInfo {
        spec: false,
        selects: &[("", Feature::Shared)],
        ..o(
            "sharedSize",
            Value::SharedSize,
            "",
            true,
            "memory of %shared: of its variables, and of $alloc",
        )
    },
    o(
        "user",
        Value::Text,
        "",
        true,
        "the user, NAME or NAME:GROUP, as which a server that root starts serves clients",
    ),
    o(
        "chroot",
        Value::Text,
        "",
        true,
        "the directory that is the root directory of the processes that serve clients",
    ),
    OptionInfo {
        selects: &[
            ("connections", Feature::Log),
            ("requests", Feature::Requests),
        ],
        ..live(
            "logging",
            Value::Word(&["errors", "connections", "requests"]),
            "errors",
            "what is logged: errors; also a line per connection; also a line per message",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Log)],
        ..live(
            "logFormat",
            Value::Word(&["line", "common", "combined", "logfmt", "json"]),
            "line",
            "the format of lines about clients; common and combined: those of web servers",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Log)],
        ..live(
            "accessLog",
            Value::Log,
            "stderr",
            "where lines about clients go: stderr, syslog, journal, or a file; HUP and USR1 open it anew",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Log)],
        ..live(
            "errorLog",
            Value::Log,
            "stderr",
            "where other lines go while the server serves: as accessLog",
        )
    },
    selecting(
        "profiling",
        Value::Flag,
        "",
        &[("", Feature::Metrics)],
        "counts connections, messages, bytes and times; without `metrics` printed at the end",
    ),
    OptionInfo {
        selects: &[("", Feature::Metrics)],
        ..o(
            "metrics",
            Value::Address,
            "",
            true,
            "the address of the counts, by HTTP: 127.0.0.1:9100, unix:/path; \"\": none",
        )
    },
    selecting(
        "mode",
        Value::Word(&["production", "debug"]),
        "production",
        &[("debug", Feature::Debug)],
        "debug: every event is recorded in traceFile, which `nest trace` shows",
    ),
    OptionInfo {
        selects: &[("", Feature::Debug)],
        ..o(
            "traceFile",
            Value::Text,
            "",
            true,
            "the file of `mode debug`; \"\": SERVER.trace in the working directory",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Debug)],
        ..o(
            "traceSize",
            Value::Size {
                least: 64 * 1024,
                most: 1024 * M,
            },
            "16M",
            true,
            "size of traceFile; each thread that runs actions has an equal part, a ring",
        )
    },
    OptionInfo {
        selects: &[("", Feature::PerAddress)],
        ..live(
            "perAddress",
            Value::PerAddress,
            "none",
            "maximum number of clients with one address, N, or of one network, N /24 /64; others are turned away",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Overload)],
        ..of(
            LOOPS,
            "overload",
            Value::Overload,
            "none",
            "when a loop takes no clients: QUEUE HIGH LOW of accepted, actions or files, or a duration",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Priorities)],
        ..o(
            "priorities",
            Value::Number { least: 2, most: 8 },
            "",
            false,
            "how many classes of clients there are, whose shares of a loop are their quotas",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Priorities)],
        ..of(
            LOOPS,
            "quota",
            Value::Quota,
            "",
            "how many messages of each class are served, in relation to the others: 8/1",
        )
    },
    OptionInfo {
        selects: &[("", Feature::Priorities)],
        models: LOOPS,
        ..o(
            "listenPriority",
            Value::ListenPriority,
            "none",
            true,
            "the class of the clients of each address of listen, 1/2; none: the last one",
        )
    },
    o("sandbox", Value::Later, "", false, ""),
];
