//! The table of steps: what each proves, what it reads and how it is run.
//!
//! Must not know: in which order and beside whom steps run, what a stamp is.

use crate::check::stamp::{GENERATED, NEST};
use crate::tool::Outcome;
use crate::{book, tidy};

/// One check.
pub struct Step {
    pub name: &'static str,
    /// What it proves.
    pub about: &'static str,
    pub inputs: Inputs,
    /// It draws from `CHECK_SEED`.
    pub draws: bool,
    /// It does its share of everything when `CHECK_SHARD` says so; others belong to one share as a whole.
    pub splits: bool,
    /// About how many seconds it takes in full; by these, steps that do not split are shared out.
    pub takes: u32,
    /// It is part of `--all` alone.
    pub rare: bool,
    /// It measures times, so nothing runs beside it.
    pub alone: bool,
    pub work: Work,
}

/// What a step reads. If it and the tools are unchanged since it passed, it is not repeated.
pub enum Inputs {
    /// Much of the project; the step is so quick that it runs always.
    Any,
    /// Files and folders, from the root; `crate:NAME`, a crate with all crates that it depends on; and
    /// what `stamp` defines. Add one when in doubt: what is missing here is not tested.
    Paths(&'static [&'static str]),
}

pub enum Work {
    /// Arguments of cargo.
    Cargo(&'static [&'static str]),
    /// A program and its arguments, in the root.
    Program(&'static [&'static str]),
    /// A function here.
    Task(fn() -> Outcome),
}

use Inputs::{Any, Paths};
use Work::{Cargo, Program, Task};

impl Step {
    pub const fn new(name: &'static str, about: &'static str, inputs: Inputs, work: Work) -> Self {
        Step {
            name,
            about,
            inputs,
            draws: false,
            splits: false,
            takes: 10,
            rare: false,
            alone: false,
            work,
        }
    }

    const fn draws(mut self) -> Self {
        self.draws = true;
        self
    }

    const fn splits(mut self) -> Self {
        self.splits = true;
        self
    }

    const fn takes(mut self, seconds: u32) -> Self {
        self.takes = seconds;
        self
    }

    const fn rare(mut self) -> Self {
        self.rare = true;
        self
    }

    pub const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }
}

impl Step {
    /// Whether the compiler must have been built before.
    pub fn needs_nest(&self) -> bool {
        match self.inputs {
            Any => false,
            Paths(paths) => {
                let made = [NEST, GENERATED, GENERATOR];
                paths.iter().any(|path| made.contains(path))
            }
        }
    }
}

impl Work {
    /// The command as text, for a step's stamp.
    pub fn describe(&self) -> String {
        match self {
            Cargo(words) => format!("cargo {}", words.join(" ")),
            Program(words) => words.join(" "),
            Task(_) => "a task".to_owned(),
        }
    }
}

/// What turns any specification into C, for steps that draw specifications.
const GENERATOR: &str = "crate:nest-emit";

/// All that cargo compiles, and the documents and examples that its tests read.
const RUST: &[&str] = &[
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "CONTRIBUTING.md",
    "README.md",
    "conditioning",
    "conformance",
    "crates",
    "docs",
    "examples",
    "fuzz/corpus",
    "kernel",
    "runtime",
    "tests",
    "xtask",
];

/// A new check is a new row. Steps begin in this order: what is quick and finds much stands first, then
/// what takes longest, so that no lane is left with a long one at the end.
pub const STEPS: &[Step] = &[
    Step::new(
        "format",
        "the Rust is formatted",
        Any,
        Cargo(&["fmt", "--check"]),
    ),
    Step::new("tidy", "the house rules hold", Any, Task(tidy::tidy)),
    Step::new("c-format", "the C is formatted", Any, Task(tidy::c_format)),
    Step::new(
        "layers",
        "each part of the runtime imports what it may, and unused services leave no symbol",
        Paths(&["crate:nest-runtime", "tests/support"]),
        Program(&["make", "-C", "runtime/tests", "layers", "selected"]),
    )
    .draws()
    .takes(150),
    Step::new(
        "clippy",
        "no lint is unheard",
        Paths(RUST),
        Cargo(&[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    )
    .takes(50),
    Step::new(
        "conformance",
        "every model gives the transcript that the language asks for, examples included",
        Paths(&["conformance", "examples", "tests/support", NEST]),
        Program(&["python3", "conformance/run.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "dispatchers-all",
        "clients of two loops get what those of one get",
        Paths(&["conformance", "examples", "tests/support", NEST]),
        Program(&[
            "python3",
            "conformance/run.py",
            "--model",
            "event",
            "--model",
            "uring",
            "--set",
            "dispatchers=2",
        ]),
    )
    .splits()
    .rare(),
    Step::new(
        "test",
        "the compiler's own tests pass",
        Paths(RUST),
        Cargo(&["test", "--quiet", "--workspace", "--no-fail-fast"]),
    )
    .takes(370),
    Step::new(
        "servers",
        "the web and mail servers serve the clients that people use",
        Paths(&[
            "tests/servers",
            "tests/support",
            "conformance",
            "examples",
            GENERATED,
        ]),
        Program(&["python3", "tests/servers/run.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "book",
        "every command, specification and conversation of the documentation does what it says",
        Paths(&[
            "README.md",
            "conditioning",
            "crates/nest-diag/codes",
            "docs",
            "examples",
            "tests/book",
            "tests/support",
            "conformance/runner/rings.py",
            NEST,
        ]),
        Program(&["python3", "tests/book/run.py"]),
    )
    .draws()
    .takes(240),
    Step::new(
        "project",
        "generated C builds everywhere, clean, and says where it came from",
        Paths(&[
            "tests/project",
            "tests/support",
            "examples",
            "crates/nest-cli/src",
            GENERATED,
        ]),
        Program(&["python3", "tests/project/run.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "costs",
        "a request costs the system calls, allocations and wake-ups that are published",
        Paths(&["tests/cost", "tests/support", "benches/record", GENERATED]),
        Program(&["python3", "tests/cost/run.py"]),
    )
    .takes(230),
    Step::new(
        "growth",
        "the compiler's work on hostile specifications grows no faster than their size",
        Paths(&["tests/growth", "tests/support", NEST]),
        Program(&["python3", "tests/growth/run.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "runtime",
        "the engine and its io hold under every cut, stall and failed allocation",
        Paths(&["crate:nest-runtime", "tests/support"]),
        Program(&["make", "-C", "runtime/tests", "behaviour"]),
    )
    .takes(110)
    .draws(),
    Step::new(
        "conditioning",
        "the conditioning library, its filters and its chains hold under load, kills, hostile input",
        Paths(&["conditioning", "examples", NEST]),
        Program(&["make", "-s", "-C", "conditioning", "check"]),
    )
    .takes(140),
    Step::new(
        "meeting",
        "connections send to each other: in order, to members only, however workers die",
        Paths(&[
            "tests/meeting",
            "tests/support",
            "examples/chat",
            GENERATED,
        ]),
        Program(&["python3", "tests/meeting/run.py"]),
    )
    .takes(240)
    .draws(),
    Step::new(
        "helpers",
        "files and blocks hold: paths, cuts, full and failing disks, helper threads",
        Paths(&["tests/helpers", "tests/support", GENERATED]),
        Program(&["python3", "tests/helpers/run.py"]),
    )
    .draws()
    .takes(120),
    Step::new(
        "coverage",
        "conversations that nest makes go as they are written, and cover what it says",
        Paths(&["tests/coverage", "tests/support", "examples", NEST]),
        Program(&["python3", "tests/coverage/run.py"]),
    )
    .draws()
    .takes(80),
    Step::new(
        "simulate",
        "drawn conversations, in virtual time, with faults: nothing is ever wrong",
        Paths(&["crate:nest-runtime", "tests/support"]),
        Program(&["python3", "runtime/tests/simulate.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "mutations",
        "the simulation finds bugs that are planted",
        Paths(&["crate:nest-runtime", "tests/support"]),
        Program(&["python3", "runtime/tests/simulate.py", "--few"]),
    )
    .draws()
    .splits(),
    Step::new(
        "uncovered",
        "each line of the loop that the simulation does not run has its reason",
        Paths(&["crate:nest-runtime"]),
        Program(&["make", "-C", "runtime/tests", "coverage"]),
    )
    .takes(30)
    .rare(),
    Step::new(
        "patterns",
        "random conversations are decided as libpcre2 decides them",
        Paths(&["crate:nest-pattern"]),
        Cargo(&[
            "test",
            "--quiet",
            "--workspace",
            "--test",
            "pattern",
            "differential",
        ]),
    )
    .draws()
    .splits(),
    Step::new(
        "reach",
        "random conversations come to no states but those that the checker knows",
        Paths(&["crate:nest-machine"]),
        Cargo(&["test", "--quiet", "--workspace", "--test", "reach_random"]),
    )
    .draws()
    .splits(),
    Step::new(
        "damaged",
        "the compiler comes back from random damage to specifications, in time",
        Paths(RUST),
        Cargo(&[
            "test",
            "--quiet",
            "--workspace",
            "--test",
            "mutations",
            "every_mutation_comes_back_in_time",
        ]),
    )
    .draws()
    .splits(),
    Step::new(
        "workers",
        "worker models, listeners and configuration hold, with memory watched",
        Paths(&["crate:nest-runtime"]),
        Program(&[
            "python3",
            "runtime/tests/workers.py",
            "--sanitize",
            "address,undefined",
        ]),
    )
    .takes(200),
    Step::new(
        "races",
        "threads of a thread server have no data race",
        Paths(&["crate:nest-runtime"]),
        Program(&[
            "python3",
            "runtime/tests/workers.py",
            "--model",
            "thread",
            "--cc",
            "gcc",
            "--sanitize",
            "thread",
        ]),
    )
    .takes(60),
    Step::new(
        "deploy",
        "units and images that nest writes are sound, and servers work in them",
        Paths(&["tests/deploy", "tests/support", NEST]),
        Program(&["python3", "tests/deploy/run.py"]),
    )
    .draws()
    .takes(60),
    Step::new(
        "pages",
        "the documentation renders, and no link of it is dead",
        Any,
        Task(book::book),
    ),
    Step::new(
        "experiments",
        "the page of all experiments is what their records say",
        Paths(&["experiments"]),
        Program(&["python3", "experiments/all.py", "--check"]),
    ),
    Step::new(
        "load",
        "the load generator counts answers, faults and connections that a server ends",
        Paths(&["benches/load", "tests/load", "tests/support"]),
        Program(&["python3", "tests/load/run.py"]),
    ),
    Step::new(
        "listeners",
        "systemd's and inetd's clients are served; stops, settings, the log, memory",
        Paths(&["tests/listeners", "tests/support", GENERATED]),
        Program(&["python3", "tests/listeners/run.py"]),
    )
    .draws()
    .takes(110),
    Step::new(
        "tls",
        "encrypted connections serve real clients, and every way in which they fail is noticed",
        Paths(&["tests/tls", "tests/support", "examples/mail", GENERATED]),
        Program(&["python3", "tests/tls/run.py"]),
    )
    .draws()
    .takes(40),
    Step::new(
        "browser",
        "Chromium loads the book over HTTPS from examples/web, and sends nothing twice that it may keep",
        Paths(&["tests/browser", "tests/support", "examples/web", "docs", "xtask/src/book", GENERATED]),
        Program(&["python3", "tests/browser/run.py"]),
    )
    .draws()
    .takes(25),
    Step::new(
        "stages",
        "zlib decodes what clients send and encodes replies; bombs, slow clients and resets harm nobody",
        Paths(&["tests/stages", "tests/tls", "tests/support", GENERATED]),
        Program(&["python3", "tests/stages/run.py"]),
    )
    .draws()
    .takes(30),
    Step::new(
        "dispatchers",
        "several loops share their clients, and one that dies or hangs affects no other",
        Paths(&["tests/dispatchers", "tests/support", GENERATED]),
        Program(&["python3", "tests/dispatchers/run.py"]),
    )
    .takes(80),
    Step::new(
        "shared",
        "shared variables are exact, also when processes die inside the lock",
        Paths(&["tests/shared", "tests/support", GENERATED]),
        Program(&["python3", "tests/shared/run.py"]),
    )
    .draws()
    .takes(150),
    Step::new(
        "memcached",
        "a cache answers as memcached does, and is linearizable, also when workers are killed",
        Paths(&[
            "tests/memcached",
            "tests/support",
            "examples/memcached",
            GENERATED,
        ]),
        Program(&["python3", "tests/memcached/run.py"]),
    )
    .draws()
    .takes(60),
    Step::new(
        "user",
        "processes that serve clients leave root for good, and lack nothing then",
        Paths(&["tests/user", "tests/support", GENERATED]),
        Program(&["python3", "tests/user/run.py"]),
    )
    .draws()
    .takes(50),
    Step::new(
        "dial",
        "second connections: every way in which the other side can fail, in every model",
        Paths(&["tests/dial", "tests/support", "examples/proxy", GENERATED]),
        Program(&["python3", "tests/dial/run.py"]),
    )
    .draws()
    .takes(60),
    Step::new(
        "ftp",
        "the FTP server by its RFCs, with foreign clients and hostile ones, in every model",
        Paths(&["tests/ftp", "tests/helpers/shim.c", "tests/support", "examples/ftp", GENERATED]),
        Program(&["python3", "tests/ftp/run.py"]),
    )
    .draws()
    .takes(100),
    Step::new(
        "filters",
        "servers behind filters: answers, limits, the stop, kills under load",
        Paths(&["tests/filters", "tests/support", GENERATED]),
        Program(&["python3", "tests/filters/run.py"]),
    )
    .draws()
    .takes(80),
    Step::new(
        "kernel",
        "answers from inside the kernel are those of the server alone, under every cut, change and kill",
        Paths(&["kernel", "examples", "tests/support", NEST]),
        Program(&["python3", "kernel/tests/run.py"]),
    )
    .draws()
    .takes(240),
    Step::new(
        "matching",
        "emitted matchers decide as libpcre2 does, at the same byte, each way of matching in turn",
        Paths(&[
            "tests/matching",
            "tests/support",
            "crates/nest-cli/src",
            GENERATOR,
        ]),
        Program(&["python3", "tests/matching/run.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "matchers",
        "so do those of many small specifications; no byte is looked at twice",
        Paths(&[
            "tests/matching",
            "tests/support",
            "crates/nest-cli/src",
            GENERATOR,
        ]),
        Program(&["python3", "tests/matching/many.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "planted",
        "both find bugs that are planted in the engine's matcher",
        Paths(&[
            "tests/matching",
            "tests/support",
            "crates/nest-cli/src",
            GENERATOR,
        ]),
        Program(&["python3", "tests/matching/planted.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "reached",
        "generated servers come to no states but those that the checker knows",
        Paths(&[
            "Cargo.lock",
            "Cargo.toml",
            "crates",
            "runtime",
            "tests/reach",
            "tests/support",
            NEST,
        ]),
        Program(&["python3", "tests/reach/servers.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "unreached",
        "random conversations find bugs that are planted in what the checker knows of states",
        Paths(&["crate:nest-machine"]),
        Program(&["python3", "tests/reach/planted.py"]),
    )
    .draws()
    .splits(),
    Step::new(
        "attacks",
        "an attack harms nobody else, and nothing of it is left",
        Paths(&["tests/faults", "tests/support", GENERATED]),
        Program(&["python3", "tests/faults/run.py"]),
    )
    .draws()
    .splits()
    .alone(),
];
