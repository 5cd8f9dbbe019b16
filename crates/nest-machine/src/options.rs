//! The one table of options: what `%option` takes, what a running server takes, what comes later.

use crate::model::{Framing, ModelKind, RunOption, Settings};
use nest_diag::{Code, Diagnostic, Span, nearest};
use nest_syntax::ast::{Name, OptionDecl};

/// What an option's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A model and its most simultaneous clients.
    Model(ModelKind),
    /// No value.
    Flag,
    /// A plain number.
    Number {
        /// Least.
        least: u32,
        /// Most.
        most: u32,
    },
    /// Bytes: a number with K, M or G.
    Size {
        /// Least.
        least: u32,
        /// Most.
        most: u32,
    },
    /// One word or quoted text.
    Text,
    /// One or more addresses.
    Addresses,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Not in this version.
    Later,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub value: Value,
    /// The value when nobody says one, as text.
    pub default: &'static str,
    /// Whether a running server takes it (config.nest, environment, command line).
    pub run: bool,
    /// Whether `%option` takes it (`maxClients` is given behind the model).
    pub spec: bool,
    /// One line.
    pub doc: &'static str,
}

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
        spec: true,
        doc,
    }
}

/// Every option of the language.
pub const OPTIONS: &[OptionInfo] = &[
    o(
        "processServer",
        Value::Model(ModelKind::Process),
        "",
        false,
        "a process for each client, at most N at once",
    ),
    o(
        "threadServer",
        Value::Model(ModelKind::Thread),
        "",
        false,
        "a thread for each client, at most N at once",
    ),
    o(
        "eventServer",
        Value::Model(ModelKind::Event),
        "",
        false,
        "one loop for all clients, at most N at once",
    ),
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
        spec: false,
        doc: "most simultaneous clients; more wait until one leaves",
    },
    o(
        "serverName",
        Value::Text,
        "",
        true,
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
        "the TCP port, on all interfaces; 0 lets the system choose",
    ),
    o(
        "listen",
        Value::Addresses,
        "",
        true,
        "addresses in place of serverPort: 127.0.0.1:8080, [::1]:8080, *:8080, unix:/path",
    ),
    o(
        "inputBuffer",
        Value::Size {
            least: 16,
            most: 64 * M,
        },
        "8K",
        true,
        "most bytes of one message; beyond it the connection ends",
    ),
    o(
        "outputBuffer",
        Value::Size {
            least: 64,
            most: 1024 * M,
        },
        "64K",
        true,
        "bytes queued for a client before its action waits",
    ),
    o(
        "keepLimit",
        Value::Size {
            least: 0,
            most: 1024 * M,
        },
        "64K",
        true,
        "bytes a connection may $keep",
    ),
    o(
        "framing",
        Value::Word(&["stream", "message"]),
        "stream",
        false,
        "stream: matching goes on until decided; message: what one receive brought is a message",
    ),
    o(
        "caseless",
        Value::Flag,
        "",
        false,
        "patterns match letters of both cases",
    ),
    o("preforkServer", Value::Later, "", false, ""),
    o("uringServer", Value::Later, "", false, ""),
    o("fiberServer", Value::Later, "", false, ""),
    o("inetd", Value::Later, "", false, ""),
    o("readTimeout", Value::Later, "", true, ""),
    o("writeTimeout", Value::Later, "", true, ""),
    o("idleTimeout", Value::Later, "", true, ""),
    o("lingerTimeout", Value::Later, "", true, ""),
    o("drainTimeout", Value::Later, "", true, ""),
    o("dispatchers", Value::Later, "", true, ""),
    o("processors", Value::Later, "", true, ""),
    o("completion", Value::Later, "", false, ""),
    o("helpers", Value::Later, "", true, ""),
    o("fileCache", Value::Later, "", true, ""),
    o("fileRoot", Value::Later, "", true, ""),
    o("priorities", Value::Later, "", false, ""),
    o("quota", Value::Later, "", true, ""),
    o("overload", Value::Later, "", true, ""),
    o("mode", Value::Later, "", false, ""),
    o("profiling", Value::Later, "", false, ""),
    o("logging", Value::Later, "", false, ""),
    o("kernelCache", Value::Later, "", false, ""),
    o("tls", Value::Later, "", false, ""),
    o("user", Value::Later, "", false, ""),
    o("chroot", Value::Later, "", false, ""),
    o("sandbox", Value::Later, "", false, ""),
    o("backtracking", Value::Later, "", false, ""),
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
            let what = format!("`{}` is not written in a specification", info.name);
            out.push(
                Diagnostic::new(Code::E0601, decl.name.span, what)
                    .help("write the number behind the model, as in `%option eventServer 1000`"),
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
        if !check_words(info, decl, out) {
            continue;
        }
        let words: Vec<&str> = decl.values.iter().map(|v| v.text.as_str()).collect();
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
                }
            }
            Value::Word(_) if info.name == "framing" && words[0] == "message" => {
                settings.framing = Framing::Message;
            }
            Value::Flag if info.name == "caseless" => settings.caseless = true,
            Value::Flag | Value::Word(_) | Value::Later => {}
            Value::Number { .. } | Value::Size { .. } | Value::Text | Value::Addresses => {
                initial.push((info.name, words.join(" ")));
            }
        }
        seen.push((info, decl));
    }
    exclusions(&seen, out);
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

fn exclusions(seen: &[(&'static OptionInfo, &OptionDecl)], out: &mut Vec<Diagnostic>) {
    let given = |name: &str| seen.iter().find(|(i, _)| i.name == name).map(|(_, d)| d);
    if let (Some(port), Some(listen)) = (given("serverPort"), given("listen")) {
        out.push(
            Diagnostic::new(
                Code::E0604,
                listen.name.span,
                "`listen` beside `serverPort`",
            )
            .label(port.name.span, "the port is given here")
            .help("write the port into the address, as in `%option listen *:8080`"),
        );
    }
}

fn run_options(settings: &Settings, initial: &[(&'static str, String)]) -> Vec<RunOption> {
    OPTIONS
        .iter()
        .filter(|o| o.run && o.value != Value::Later)
        .map(|info| {
            let given = initial
                .iter()
                .find(|(n, _)| *n == info.name)
                .map(|(_, v)| v.clone());
            let default = match info.name {
                "maxClients" => settings.max_clients.to_string(),
                "serverName" => settings.name.clone(),
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
    match nearest(&name.text, OPTIONS.iter().map(|o| o.name)) {
        Some(n) => d.help(format!("did you mean `{n}`?")),
        None => d,
    }
}

/// Whether number and range of the words fit; says what does not.
fn check_words(info: &OptionInfo, decl: &OptionDecl, out: &mut Vec<Diagnostic>) -> bool {
    let mut bad = |span: Span, what: String, help: String| {
        out.push(Diagnostic::new(Code::E0602, span, what).help(help));
        false
    };
    let (least, most) = match info.value {
        Value::Flag => (0, 0),
        Value::Addresses => (1, 16),
        _ => (1, 1),
    };
    let n = decl.values.len();
    if n < least {
        return bad(
            decl.name.span,
            format!("%option {} lacks its value", info.name),
            usage(info),
        );
    }
    if n > most {
        return bad(
            decl.values[most].span,
            format!("%option {} takes {most} value(s), here are {n}", info.name),
            usage(info),
        );
    }
    match info.value {
        Value::Model(kind) => {
            let word = &decl.values[0];
            match word.text.parse::<u32>() {
                Ok(n) if (1..=kind.most_clients()).contains(&n) => true,
                _ => bad(
                    word.span,
                    format!("`{}` is no number of clients", word.text),
                    format!("a number from 1 to {}", kind.most_clients()),
                ),
            }
        }
        Value::Number { least, most } => {
            let word = &decl.values[0];
            match word.text.parse::<u32>() {
                Ok(n) if (least..=most).contains(&n) => true,
                _ => bad(
                    word.span,
                    format!("`{}` is no value for {}", word.text, info.name),
                    format!("a number from {least} to {most}"),
                ),
            }
        }
        Value::Size { least, most } => {
            let word = &decl.values[0];
            match size(&word.text) {
                Some(n) if (u64::from(least)..=u64::from(most)).contains(&n) => true,
                _ => bad(
                    word.span,
                    format!("`{}` is no value for {}", word.text, info.name),
                    format!(
                        "bytes from {least} to {}, as in 512, 8K, 1M",
                        show_size(most)
                    ),
                ),
            }
        }
        Value::Word(words) => {
            let word = &decl.values[0];
            words.contains(&word.text.as_str())
                || bad(
                    word.span,
                    format!("`{}` is no value for {}", word.text, info.name),
                    format!("one of: {}", words.join(", ")),
                )
        }
        Value::Addresses => decl.values.iter().all(|w| {
            is_address(&w.text)
                || bad(
                    w.span,
                    format!("`{}` is no address", w.text),
                    "as in 127.0.0.1:8080, [::1]:8080, *:8080, unix:/path".to_string(),
                )
        }),
        Value::Text | Value::Flag | Value::Later => true,
    }
}

fn usage(info: &OptionInfo) -> String {
    match info.value {
        Value::Model(_) => format!("%option {} N, most simultaneous clients", info.name),
        Value::Flag => format!("%option {} stands alone", info.name),
        _ => info.doc.to_string(),
    }
}

/// Whether the text has the form of an address (whether it can be bound shows at run time).
#[must_use]
pub fn is_address(text: &str) -> bool {
    if let Some(path) = text.strip_prefix("unix:") {
        return !path.is_empty() && path.len() < 108;
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let host_fits = host == "*"
        || host.parse::<std::net::Ipv4Addr>().is_ok()
        || host
            .strip_prefix('[')
            .and_then(|h| h.strip_suffix(']'))
            .is_some_and(|h| h.parse::<std::net::Ipv6Addr>().is_ok());
    host_fits && port.parse::<u16>().is_ok()
}

/// `8K` as bytes.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1u64 << 10),
        'm' | 'M' => (&text[..text.len() - 1], 1 << 20),
        'g' | 'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn show_size(n: u32) -> String {
    match n {
        n if n != 0 && n % (1 << 30) == 0 => format!("{}G", n >> 30),
        n if n != 0 && n % M == 0 => format!("{}M", n >> 20),
        n if n != 0 && n % 1024 == 0 => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}
