//! The one table of concurrency models. Must not know: options, what runs them.

/// Concurrency models of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelKind {
    /// blocking × process.
    Process,
    /// blocking × prefork.
    Prefork,
    /// blocking × thread.
    Thread,
    /// epoll × loops.
    Event,
    /// uring × loops.
    Uring,
    /// script × loops.
    Script,
}

/// What becomes of a C global that actions write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All connections see one value.
    Right,
    /// Each process has a copy of its own.
    Copies,
    /// Several threads may write it at the same time.
    Race,
}

/// What becomes of C globals in a model, by how actions write them.
#[derive(Clone, Copy, Debug)]
pub struct Globals {
    /// Without protection.
    pub plain: Kept,
    /// While they hold a lock.
    pub locked: Kept,
    /// In `$block`.
    pub helpers: Kept,
}

/// A row of the table of models: everything the tools know of one.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Which.
    pub kind: ModelKind,
    /// For `--model`.
    pub name: &'static str,
    /// The option that selects it; none: only `--model`.
    pub option: &'static str,
    /// One line.
    pub doc: &'static str,
    /// How bytes reach channels: `runtime/poller/NAME.c`.
    pub io: &'static str,
    /// Who runs sessions: `runtime/workers/NAME.c`.
    pub workers: &'static str,
    /// Most clients the model is offered for.
    pub most_clients: u32,
    /// Clients when the specification names another model or none.
    pub clients: u32,
    /// How many workers wait for a client, at least and at most, unless its option says so: `spare A..B`.
    pub spares: Option<(u32, u32)>,
    /// Whether the option `dispatchers` says how many processes serve.
    pub dispatchers: bool,
    /// What becomes of C globals, with one dispatcher.
    pub globals: Globals,
}

/// The models of this version.
pub const MODELS: &[Model] = &[
    Model {
        kind: ModelKind::Process,
        name: "process",
        option: "processServer",
        doc: "one process per client, forked in advance",
        io: "blocking",
        workers: "process",
        most_clients: 32_000,
        clients: 256,
        spares: None,
        dispatchers: false,
        globals: Globals {
            plain: Kept::Copies,
            locked: Kept::Copies,
            helpers: Kept::Copies,
        },
    },
    Model {
        kind: ModelKind::Prefork,
        name: "prefork",
        option: "preforkServer",
        doc: "processes that serve one client after another",
        io: "blocking",
        workers: "prefork",
        most_clients: 32_000,
        clients: 256,
        spares: Some((5, 20)),
        dispatchers: false,
        globals: Globals {
            plain: Kept::Copies,
            locked: Kept::Copies,
            helpers: Kept::Copies,
        },
    },
    Model {
        kind: ModelKind::Thread,
        name: "thread",
        option: "threadServer",
        doc: "threads that serve one client after another",
        io: "blocking",
        workers: "thread",
        most_clients: 32_000,
        clients: 256,
        spares: Some((16, 64)),
        dispatchers: false,
        globals: Globals {
            plain: Kept::Race,
            locked: Kept::Right,
            helpers: Kept::Race,
        },
    },
    Model {
        kind: ModelKind::Event,
        name: "event",
        option: "eventServer",
        doc: "one loop for all clients (epoll), or several in processes",
        io: "epoll",
        workers: "loops",
        most_clients: 1_000_000,
        clients: 1000,
        spares: None,
        dispatchers: true,
        globals: Globals {
            plain: Kept::Right,
            locked: Kept::Right,
            helpers: Kept::Race,
        },
    },
    Model {
        kind: ModelKind::Uring,
        name: "uring",
        option: "uringServer",
        doc: "one loop for all clients (io_uring), or several in processes",
        io: "uring",
        workers: "loops",
        most_clients: 1_000_000,
        clients: 1000,
        spares: None,
        dispatchers: true,
        globals: Globals {
            plain: Kept::Right,
            locked: Kept::Right,
            helpers: Kept::Race,
        },
    },
    Model {
        kind: ModelKind::Script,
        name: "script",
        option: "",
        doc: "no sockets: conversations from standard input, deterministic, for tests",
        io: "script",
        workers: "loops",
        most_clients: 1_000_000,
        clients: 1000,
        spares: None,
        dispatchers: false,
        globals: Globals {
            plain: Kept::Right,
            locked: Kept::Right,
            helpers: Kept::Right,
        },
    },
];

impl ModelKind {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Model {
        MODELS.iter().find(|m| m.kind == self).unwrap_or(&MODELS[0])
    }

    /// Most clients it is offered for.
    #[must_use]
    pub fn most_clients(self) -> u32 {
        self.row().most_clients
    }

    /// The model `--model` means.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ModelKind> {
        MODELS.iter().find(|m| m.name == name).map(|m| m.kind)
    }
}
