//! The machine as data (a language of its own; documented here).

/// A checked specification.
#[derive(Clone, Debug)]
pub struct Machine {
    /// A C identifier from the file's name: `login` for `login.nest`.
    pub name: String,
}

/// What `--model` accepts: name, the option that selects it, one line of description.
pub const MODELS: &[(&str, &str, &str)] = &[
    ("process", "processServer", "a process for each client, forked ahead"),
    ("thread", "threadServer", "a thread for each client, made ahead"),
    ("event", "eventServer", "one loop for all clients (epoll)"),
    ("script", "", "no sockets: conversations from standard input, deterministic (for tests)"),
];
