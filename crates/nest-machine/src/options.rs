//! The one table of options: what `%option` takes, what a running server takes, what comes later.

mod exclusions;
pub(crate) mod row;
mod words;

use crate::model::{Framing, ModelKind, RunOption, Settings, Strategy};
use nest_diag::{Code, Diagnostic, Span, nearest};
use nest_feature::Feature;
use nest_syntax::ast::{Name, OptionDecl};
pub use row::{LONGEST, OptionInfo, Value};
pub use words::{duration, is_address, size};

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
    o(
        "listen",
        Value::Addresses,
        "",
        true,
        "addresses instead of serverPort: 127.0.0.1:8080, [::1]:8080, *:8080, unix:/path, systemd",
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
    o(
        "fileRoot",
        Value::Text,
        "",
        true,
        "the directory that contains all files; \"\": the working directory",
    ),
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
    selecting(
        "logging",
        Value::Word(&["errors", "connections", "requests"]),
        "errors",
        &[
            ("connections", Feature::Log),
            ("requests", Feature::Requests),
        ],
        "what is logged: errors; also a line per connection; also a line per message",
    ),
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
    o("processors", Value::Later, "", true, ""),
    o("completion", Value::Later, "", false, ""),
    o("fileCache", Value::Later, "", true, ""),
    o("priorities", Value::Later, "", false, ""),
    o("quota", Value::Later, "", true, ""),
    o("overload", Value::Later, "", true, ""),
    o("mode", Value::Later, "", false, ""),
    o("kernelCache", Value::Later, "", false, ""),
    o("tls", Value::Later, "", false, ""),
    o("sandbox", Value::Later, "", false, ""),
];

/// The option of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static OptionInfo> {
    OPTIONS.iter().find(|o| o.name == name)
}

/// Checks all `%option` lines and settles every value. `model`: the command line's, in place of
/// the specification's.
pub fn settle(
    decls: &[&OptionDecl],
    model: Option<ModelKind>,
    name: &str,
    out: &mut Vec<Diagnostic>,
) -> Settings {
    let mut seen: Vec<(&'static OptionInfo, &OptionDecl)> = Vec::new();
    let mut chosen: Option<(ModelKind, u32, Span)> = None;
    let mut settings = Settings::new(name);
    let mut initial: Vec<(&'static str, String)> = Vec::new();
    for decl in decls {
        let Some(info) = find(&decl.name.text) else {
            out.push(unknown(&decl.name));
            continue;
        };
        if info.value == Value::Later {
            let what = format!("%option {} is not in this version", info.name);
            out.push(Diagnostic::new(Code::E0005, decl.name.span, what));
            continue;
        }
        if !info.spec {
            let what = format!("`{}` cannot be set in a specification", info.name);
            out.push(
                Diagnostic::new(Code::E0601, decl.name.span, what).help(match info.models {
                    [] => "write the number after the model, as in `%option eventServer 1000`",
                    _ => "write it after the model, as in `%option preforkServer 100 spare 5..20`",
                }),
            );
            continue;
        }
        if let Some((_, first)) = seen.iter().find(|(i, _)| i.name == info.name) {
            out.push(
                Diagnostic::new(
                    Code::E0605,
                    decl.name.span,
                    format!("%option {} is given twice", info.name),
                )
                .label(first.name.span, "first given here"),
            );
            continue;
        }
        if !words::check(info, decl, out) {
            continue;
        }
        let words: Vec<&str> = decl.values.iter().map(|v| v.text.as_str()).collect();
        let selected = info
            .selects
            .iter()
            .filter(|(w, _)| w.is_empty() || words.contains(w));
        settings
            .features
            .extend(selected.map(|(_, feature)| *feature));
        match info.value {
            Value::Model(kind) => {
                let count = words[0].parse().unwrap_or(1);
                if let Some((_, _, first)) = chosen {
                    out.push(
                        Diagnostic::new(Code::E0603, decl.name.span, "a second model")
                            .label(first, "the first is chosen here")
                            .help("a server has one model; `--model NAME` tries another"),
                    );
                } else {
                    chosen = Some((kind, count, decl.name.span));
                    if let Some((least, most)) = words.get(2).and_then(|w| words::spare(w)) {
                        initial.push(("minSpare", least.to_string()));
                        initial.push(("maxSpare", most.to_string()));
                    }
                }
            }
            Value::Word(_) if info.name == "framing" && words[0] == "message" => {
                settings.framing = Framing::Message;
            }
            Value::Word(_) if info.name == "matching" => {
                settings.strategy = match words[0] {
                    "code" => Strategy::Code,
                    "table" => Strategy::Table,
                    "apart" => Strategy::Standalone,
                    _ => Strategy::Auto,
                };
            }
            Value::Number { .. } if info.name == "matchingStates" => {
                settings.matching_states = words[0].parse().unwrap_or(settings.matching_states);
            }
            Value::Size { .. } if info.name == "matchingCode" => {
                settings.matching_code = words::size(words[0])
                    .and_then(|n| usize::try_from(n).ok())
                    .unwrap_or(settings.matching_code);
            }
            Value::Flag if info.name == "caseless" => settings.caseless = true,
            Value::Flag | Value::Word(_) | Value::Later => {}
            Value::Number { .. }
            | Value::Count { .. }
            | Value::Size { .. }
            | Value::Duration
            | Value::Text
            | Value::Address
            | Value::Addresses => {
                initial.push((info.name, words.join(" ")));
            }
        }
        seen.push((info, decl));
    }
    exclusions::look(&seen, out);
    if let Some((kind, count, _)) = chosen {
        settings.model = kind;
        settings.max_clients = count;
    }
    if let Some(kind) = model {
        if chosen.is_none_or(|(k, _, _)| k != kind && kind != ModelKind::Script) {
            settings.max_clients = settings.max_clients.min(kind.most_clients());
        }
        settings.model = kind;
    }
    settings.run = run_options(&settings, &initial);
    settings
}

fn spares(settings: &Settings) -> (u32, u32) {
    settings.model.row().spares.unwrap_or_default()
}

fn run_options(settings: &Settings, initial: &[(&'static str, String)]) -> Vec<RunOption> {
    OPTIONS
        .iter()
        .filter(|o| o.run && o.value != Value::Later)
        .filter(|o| o.models.is_empty() || o.models.contains(&settings.model))
        .filter(|o| o.needs().is_none_or(|f| settings.features.contains(f)))
        .filter(|o| {
            !(settings.features.contains(Feature::Inetd)
                && matches!(o.name, "serverPort" | "listen"))
        })
        .map(|info| {
            let given = initial
                .iter()
                .find(|(n, _)| *n == info.name)
                .map(|(_, v)| v.clone());
            let default = match info.name {
                "maxClients" => settings.max_clients.to_string(),
                "serverName" => settings.name.clone(),
                "minSpare" => spares(settings).0.to_string(),
                "maxSpare" => spares(settings).1.to_string(),
                _ => info.default.to_string(),
            };
            RunOption {
                info,
                initial: given.unwrap_or(default),
            }
        })
        .collect()
}

fn unknown(name: &Name) -> Diagnostic {
    let d = Diagnostic::new(
        Code::E0601,
        name.span,
        format!("there is no option `{}`", name.text),
    );
    if let Some((known, value)) = name.text.split_once(['=', ':'])
        && find(known).is_some()
    {
        let value = if value.is_empty() { "VALUE" } else { value };
        return d.help(format!("write `%option {known} {value}`"));
    }
    if name.text == "fiberServer" {
        return d.help(
            "use eventServer: an action that waits has a stack of its own there, as a fiber has",
        );
    }
    match nearest(&name.text, OPTIONS.iter().map(|o| o.name)) {
        Some(n) => d.help(format!("did you mean `{n}`?")),
        None => d,
    }
}
