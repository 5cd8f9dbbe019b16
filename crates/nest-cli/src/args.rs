//! The command line as data: what `nest` accepts, and its help texts. Completions and manual pages are
//! generated from it.
//!
//! Must not know: how the commands work.

mod bench;
mod cache_sim;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::builder::{PossibleValue, PossibleValuesParser, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

mod run;
mod trace;
mod values;

pub use bench::{Bench, Tls as BenchTls};
pub use cache_sim::CacheSim;
pub use run::Run;
pub use trace::{Trace, TraceFormat};
pub use values::{Cc, Link, Sanitize, Spec};
use values::{models, size, time};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Cyan.on_default().bold())
    .invalid(Style::new().bold());

/// Compiles the specification of a protocol into a network server in C.
#[derive(Debug, Parser)]
#[command(
    name = "nest",
    version,
    styles = STYLES,
    max_term_width = 100,
    disable_help_subcommand = true,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    long_about = "Compiles the specification of a protocol into a network server in C.\n\n\
        A specification lists the states of a connection, the input that is legal in each state, \
        and the C code that runs when that input arrives. One line selects the concurrency model.",
    after_help = "A specification, for example echo.nest:\n\n    \
        %%\n    \
        \"QUIT\\n\"    { $reply(\"Goodbye.\\n\"); $close(); }\n    \
        [^\\n]* \"\\n\" { $reply(\"You said: \", $0); }\n\n\
        First steps:\n  \
        nest run echo.nest        builds and runs it; connect with: nc localhost 8080\n  \
        nest run --watch --trace echo.nest\n                            \
        the same, with a trace, and rebuilt on every save\n  \
        nest new hello            writes hello.nest with explanatory comments\n  \
        nest build hello.nest     builds an executable that does not need nest; ./hello --help\n\n\
        nest COMMAND --help gives details and examples"
)]
pub struct Cli {
    /// When to use colours: auto, always or never. The variable NO_COLOR turns them off
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: Color,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// `--color`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The subcommands, in the order of `--help`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a new specification with comments, ready to run
    #[command(after_help = "Example:\n  nest new hello && nest run hello.nest")]
    New(New),
    /// Report all errors and warnings of a specification
    #[command(after_help = "Example:\n  nest check login.nest\n  \
        nest check --format json - < login.nest\n  \
        nest check --explain-matching login.nest\n  \
        nest check --bounds login.nest\n  \
        nest check --max-connection-memory 1M --require-deadlines login.nest\n\n\
        Exit status: 0 no errors, 1 errors in the specification or exceeded limits, \
        2 wrong usage")]
    Check(Check),
    /// Draw the conversations of a specification, or the automaton of a rule
    #[command(after_help = "Example:\n  nest graph login.nest -o login.svg\n  \
        nest graph login.nest --format mermaid\n  \
        nest graph login.nest --rule quit -o quit.svg\n  \
        nest graph login.nest --replay 2 -o second.svg   the conversation of a finding of nest check")]
    Graph(Graph),
    /// Write the server's C project into a directory
    #[command(
        after_help = "Example:\n  nest gen login.nest -o login-server && make -C login-server\n  \
        nest gen login.nest -o login-server --with systemd,docker\n\n\
        Only files whose content has changed are written"
    )]
    Gen(Gen),
    /// Build the server
    #[command(after_help = "Example:\n  nest build login.nest && ./login\n  \
        nest build login.nest -o server users.c -l sqlite3 --model thread\n  \
        nest build login.nest --model all -o servers\n  \
        nest build --filter request login.nest -o login-request\n\n\
        It overwrites a server that nest has built, but no other file, unless you add --force.\n\n\
        It uses the same environment variables as make: CC, CPPFLAGS, CFLAGS, LDFLAGS, LDLIBS")]
    Build(Build),
    /// Build the server and run it
    #[command(after_help = run::HELP)]
    Run(Run),
    /// Run the conversation tests beside a specification and report their coverage
    #[command(after_help = "Example:\n  nest test login.nest\n  \
        nest test login.nest known.md --model event --quick\n  \
        nest test login.nest --min-coverage 90\n  \
        nest test login.nest known.md --write\n  \
        nest test login.nest --generate\n\n\
        A test is a Markdown page with a line `spec: login.nest`, in the directory of the \
        specification, or in cases/ or tests/ below it.\n\n\
        Exit status: 0 all tests passed, 1 a test failed or the coverage is too low, 2 wrong usage")]
    Test(Test),
    /// Measure which concurrency model serves a specification best
    #[command(after_help = bench::HELP)]
    Bench(Box<Bench>),
    /// Run a server that needs no change behind filters
    ///
    /// The filters accept the clients in place of the server, so that clients that only wait cost it nothing.
    #[command(
        after_help = "Examples:\n  nest condition --check -- nginx -g 'daemon off;'\n  \
        nest condition --filter request,timeout=5s --state /run/cc -- nginx -g 'daemon off;'\n  \
        nest condition --status --state /run/cc\n  \
        nest condition --change --state /run/cc --filter request --filter slowread\n\n\
        Each filter has a manual page, such as cc-request(8); cc-condition(8) has the details.\n\n\
        Exit status: that of the server; 2 wrong usage, 69 this system or this server cannot do it"
    )]
    Condition(Condition),
    /// Answer small static files from inside the kernel, in front of a server
    ///
    /// Starts the server, which need not know, or takes one that runs. Programs in the kernel answer GET and HEAD of small plain
    /// files with the server's own answers; the server gets everything else on the same connection.
    #[command(after_help = "Example:\n  \
        nest accelerate --port 80 --root /srv/www -- nginx -g 'daemon off;'\n  \
        nest accelerate --port 80 --root /srv/www --attach\n  \
        nest accelerate --port 80 --status\n\n\
        Exit status: that of the server, or 0 with --attach; 2 wrong usage, 69 this system or this server cannot do it")]
    Accelerate(Accelerate),
    /// Show what a running server does
    ///
    /// The server must tell its counts: `%option metrics ADDRESS`. Or the address is that of `nest accelerate`: the
    /// one after its `--metrics`, or its socket.
    #[command(after_help = "Example:\n  nest top 127.0.0.1:9100\n  \
        nest top unix:/run/login.metrics --once\n  \
        nest top /run/nest-accelerate-80.sock")]
    Top(Top),
    /// Show the events that a server in debug mode recorded
    ///
    /// The server must be generated with `%option mode debug`. It may still run, or have been killed.
    #[command(after_help = "Example:\n  nest trace login.trace --last 2s\n  \
        nest trace login.trace --connection 3\n  \
        nest trace login.trace --worker 0 --event begin,end,wait,resume\n  \
        nest trace login.trace --format perfetto -o login.json   for https://ui.perfetto.dev\n\n\
        Exit status: 0; 1 a file is no trace, or is damaged, or --check found something; \
        2 wrong usage")]
    Trace(Trace),
    CacheSim(CacheSim),
    /// Explain a diagnostic code
    #[command(
        after_help = "Example:\n  nest explain E0301\n  nest explain            lists all codes"
    )]
    Explain(Explain),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  source <(nest completions bash)")]
    Completions(Completions),
    /// Print a manual page
    #[command(after_help = "Example:\n  nest man build | man -l -")]
    Man(Man),
}

/// `nest new`.
#[derive(Debug, Args)]
pub struct New {
    /// The server's name: letters, digits and _, beginning with a letter
    pub name: String,
}

/// The output format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For humans
    Text,
    /// One JSON object a line
    Json,
}

/// `nest check`.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub spec: Spec,
    /// How to print the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Also explain how the rules are matched, and why
    #[arg(long)]
    pub explain_matching: bool,
    /// Build the server and reproduce finding N
    #[arg(long, value_name = "N", conflicts_with = "format")]
    pub replay: Option<usize>,
    #[command(flatten)]
    pub bounds: Bounds,
}

/// What a connection can use, and how much of it is allowed.
#[derive(Debug, Args)]
pub struct Bounds {
    /// Also report what a connection can use at most: message sizes, times, memory in each model
    #[arg(long, conflicts_with = "replay")]
    pub bounds: bool,
    /// Fail if a connection can use more memory, for example 512K
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "replay")]
    pub max_connection_memory: Option<u64>,
    /// Fail if a client can keep its connection for ever by doing nothing
    #[arg(long, conflicts_with = "replay")]
    pub require_deadlines: bool,
}

/// `nest graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// The specification; - is standard input
    pub file: PathBuf,
    /// The output file [default: standard output]; its extension selects the format
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// How to write it [default: svg]
    #[arg(long, value_name = "FORMAT", value_parser = pictures())]
    pub format: Option<String>,
    /// Draw the automaton of this rule: its name, or its line
    #[arg(long, value_name = "NAME")]
    pub rule: Option<String>,
    /// Mark the conversation of finding N of nest check
    #[arg(long, value_name = "N", conflicts_with = "rule")]
    pub replay: Option<usize>,
}

/// `nest gen`.
#[derive(Debug, Args)]
pub struct Gen {
    #[command(flatten)]
    pub spec: Spec,
    /// The directory; it is created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Write even into a directory that contains other files
    #[arg(long)]
    pub force: bool,
    /// Compile the server with tracing: it prints every message, reply and change of states
    #[arg(long)]
    pub trace: bool,
    /// Also write files for deployment
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub with: Vec<With>,
    /// Write the C project of this filter for the server's protocol instead of the server's
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["model", "trace", "with"])]
    pub filter: Option<Filter>,
}

/// `--filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Filter {
    /// Holds each connection until the client's first message is complete
    Request,
    /// Refuses packaged requests that are not a first message
    Check,
    /// Presents each message of a connection as a connection of its own
    Persist,
}

/// `--with`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum With {
    /// NAME.service and NAME.socket: hardened units for systemd
    Systemd,
    /// Dockerfile and .dockerignore: an image that contains only the server
    Docker,
}

impl From<Filter> for nest_emit::filter::Filter {
    fn from(filter: Filter) -> Self {
        match filter {
            Filter::Request => Self::Request,
            Filter::Check => Self::Check,
            Filter::Persist => Self::Persist,
        }
    }
}

/// `nest build`.
#[derive(Debug, Args)]
pub struct Build {
    /// The specification; - is standard input
    pub file: PathBuf,
    /// The concurrency model, instead of the one in the specification; all: a server for each
    #[arg(long, value_name = "MODEL", value_parser = models_and_all())]
    pub model: Option<String>,
    /// Additional C files of the server
    #[arg(value_name = "MORE.c")]
    pub more: Vec<PathBuf>,
    /// The executable [default: the specification's name]; with --model all, the directory of the
    /// executables [default: the working directory]
    #[arg(short, long, value_name = "SERVER")]
    pub output: Option<PathBuf>,
    /// Overwrite a file that nest did not build
    #[arg(long)]
    pub force: bool,
    /// Compile the server with tracing: it prints every message, reply and change of states
    #[arg(long)]
    pub trace: bool,
    /// Compile the server with option tls, so that its configuration can encrypt connections
    #[arg(long)]
    pub tls: bool,
    /// Build this filter for the server's protocol instead of the server; see cc-chain(8)
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["model", "trace", "more"])]
    pub filter: Option<Filter>,
    #[command(flatten)]
    pub cc: Cc,
}

/// `nest test`.
#[derive(Debug, Args)]
pub struct Test {
    /// The specification
    pub file: PathBuf,
    /// Test pages to run instead of all; additional C files of the server
    #[arg(value_name = "CASE.md|MORE.c")]
    pub more: Vec<PathBuf>,
    /// Test only this concurrency model, or script (without sockets); may be repeated [default: all]
    #[arg(long, value_name = "MODEL", value_parser = models(true))]
    pub model: Vec<String>,
    /// Run each conversation once in each model, without splitting the input and without sanitizers
    #[arg(long)]
    pub quick: bool,
    /// How long to wait for the server in each step before the test fails
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub timeout: Duration,
    /// Fail if the coverage is lower, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub min_coverage: Option<u8>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Add traces to test pages that have none, from the behaviour of the server
    #[arg(long, conflicts_with = "generate")]
    pub write: bool,
    /// Write test pages for what is not covered, from the behaviour of the server
    #[arg(long, conflicts_with = "format")]
    pub generate: bool,
    /// Where --generate writes [default: NAME-cases.md beside the specification]
    #[arg(short, long, value_name = "FILE.md", requires = "generate")]
    pub output: Option<PathBuf>,
    /// Let --generate overwrite
    #[arg(long, requires = "generate")]
    pub force: bool,
    /// Keep the output of the servers, and print where it is
    #[arg(long)]
    pub keep: bool,
    #[command(flatten)]
    pub link: Link,
}

/// `nest condition`.
#[derive(Debug, Args)]
pub struct Condition {
    /// A filter; the first one accepts the clients. Give the option once for each filter
    #[arg(long = "filter", value_name = "NAME[,key=value]", required_unless_present_any = ["check", "status", "metrics"])]
    pub filters: Vec<String>,
    /// Start the server for a moment, and say whether filters can be put in front of it
    #[arg(long, conflicts_with_all = ["state", "ready"])]
    pub check: bool,
    /// How filters get in front of the server: held calls, or a library in the server [default: seccomp]
    #[arg(long, value_name = "WAY", value_parser = ["seccomp", "preload"], conflicts_with = "check")]
    pub by: Option<String>,
    /// How many connections may wait until the server accepts them [default: 8]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub ready: Option<u16>,
    /// Say after SECONDS that the server does not listen [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub wait: Option<u32>,
    /// Also answer when the server asks for the address and options of its socket
    #[arg(long)]
    pub options: bool,
    /// Show counters and accept commands on a Unix socket
    #[arg(long, value_name = "SOCKET")]
    pub state: Option<String>,
    /// Print the counters of a running one, which was started with the same --state
    #[arg(long, requires = "state", conflicts_with_all = ["filters", "check", "server", "by", "ready", "wait", "options"])]
    pub status: bool,
    /// With --status: print them as OpenMetrics text
    #[arg(long)]
    pub metrics: bool,
    /// Give a running one, which was started with the same --state, these filters in place of its own
    #[arg(long, requires_all = ["state", "filters"], conflicts_with_all = ["check", "status", "server", "by", "ready", "wait", "options"])]
    pub change: bool,
    /// The server and its arguments
    #[arg(last = true, required_unless_present_any = ["status", "change", "metrics"], value_name = "SERVER")]
    pub server: Vec<std::ffi::OsString>,
}

/// `nest accelerate`.
#[derive(Debug, Args)]
pub struct Accelerate {
    /// The server's port
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// The folder with the files of all hosts that have no folder of their own
    #[arg(long, value_name = "DIR", required_unless_present_any = ["hosts", "status", "metrics", "stop"])]
    pub root: Option<PathBuf>,
    /// The folder with the files of one host. Give the option once for each host
    #[arg(long = "host", value_name = "NAME=DIR")]
    pub hosts: Vec<String>,
    /// Kilobytes for answers
    #[arg(long, value_name = "KB", default_value_t = 8192,
          value_parser = clap::value_parser!(u32).range(64..=1_048_576))]
    pub size: u32,
    /// An answer is compared with the server's again after SECONDS
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub age: u32,
    /// Write an access log of what the kernel answered
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The Unix socket that answers --status, --metrics and --stop [default: /run/nest-accelerate-PORT.sock]
    #[arg(long, value_name = "SOCKET")]
    pub state: Option<PathBuf>,
    /// Take the server that listens on the port already. It goes on when nest ends
    #[arg(long, conflicts_with = "server")]
    pub attach: bool,
    /// For servers with the option kernelCache, which start nest themselves: write the counts to FILE
    #[arg(long, value_name = "FILE", requires = "attach")]
    pub counts: Option<PathBuf>,
    /// The same: the server waits until a connection is readable before it reads, also with io_uring
    #[arg(long, requires = "counts")]
    pub polls: bool,
    /// The same: write a line for each answer to the pipe FILE
    #[arg(long, value_name = "FILE", requires = "counts")]
    pub tell: Option<PathBuf>,
    /// Print what a running one does
    #[arg(long, conflicts_with_all = ["root", "hosts", "log", "attach", "server", "metrics", "stop"])]
    pub status: bool,
    /// Tell the counts over HTTP at ADDRESS, for Prometheus. Without it, print those of a running one
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, conflicts_with = "stop")]
    pub metrics: Option<Option<std::net::SocketAddr>>,
    /// Let the server answer everything from now on; no connection ends
    #[arg(long, conflicts_with_all = ["root", "hosts", "log", "attach", "server"])]
    pub stop: bool,
    /// The server and its arguments, after --
    #[arg(last = true, value_name = "SERVER", required_unless_present_any = ["attach", "status", "metrics", "stop"])]
    pub server: Vec<OsString>,
}

/// `nest top`.
#[derive(Debug, Args)]
pub struct Top {
    /// Where the server tells its counts: 127.0.0.1:9100, unix:/path, or a URL
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// How often the counts are read
    #[arg(short, long, value_name = "MS", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub interval: u64,
    /// Print one table of an interval, and exit
    #[arg(long)]
    pub once: bool,
}

/// `nest explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The code, such as E0301; without it, all codes are listed
    pub code: Option<String>,
}

/// `nest completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// The shells for which completions are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// `nest man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The subcommand; without it, the page of nest itself
    pub command: Option<String>,
    /// Write all pages into DIR instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub all: Option<PathBuf>,
}

/// What `--model` is for every model that a specification can select.
pub const ALL_MODELS: &str = "all";

/// The same, and all of them.
fn models_and_all() -> PossibleValuesParser {
    let shown = nest_machine::MODELS.iter().map(|model| {
        PossibleValue::new(model.name)
            .help(model.doc)
            .hide(model.option.is_empty())
    });
    let all = PossibleValue::new(ALL_MODELS).help("each of these, NAME-MODEL in a directory");
    PossibleValuesParser::new(shown.chain([all]))
}

/// The formats of `nest graph`.
fn pictures() -> PossibleValuesParser {
    let formats = nest_graph::FORMATS.iter();
    PossibleValuesParser::new(formats.map(|f| PossibleValue::new(f.name).help(f.doc)))
}
