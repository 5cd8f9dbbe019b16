//! The command line as data: what `nest` accepts, and the help that teaches it.
//!
//! Must not know: how anything is done. Completions and manual pages are made from this too.

use std::path::PathBuf;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::builder::{PossibleValue, PossibleValuesParser, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Cyan.on_default().bold())
    .invalid(Style::new().bold());

/// Turns the specification of a server into a server.
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
    long_about = "Turns the specification of a server into a server.\n\n\
        A specification says which states a conversation can be in, which input is legal in which \
        state, and what C code runs when it arrives. nest makes a C program from it, in the \
        concurrency model that one line picks.",
    after_help = "A specification, say echo.nest:\n\n    \
        %%\n    \
        \"QUIT\\n\"    { $reply(\"Goodbye.\\n\"); $close(); }\n    \
        [^\\n]* \"\\n\" { $reply(\"You said: \", $0); }\n\n\
        First steps:\n  \
        nest run echo.nest        builds it and serves; talk to it: nc localhost 8080\n  \
        nest run --watch --trace echo.nest\n                            \
        the same, seen from inside, rebuilt on every save\n  \
        nest new hello            writes hello.nest, with comments that explain it\n  \
        nest build hello.nest     makes a program that needs nothing of nest; ./hello --help\n\n\
        nest COMMAND --help tells more and gives examples"
)]
pub struct Cli {
    /// When to use colours: auto, always or never; NO_COLOR is honoured
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: Color,
    /// What to do.
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
    /// Write a new specification, commented and ready to run
    #[command(after_help = "Example:\n  nest new hello && nest run hello.nest")]
    New(New),
    /// Say everything that is wrong with a specification
    #[command(after_help = "Example:\n  nest check login.nest\n  \
        nest check --format json - < login.nest\n  \
        nest check --explain-matching login.nest\n  \
        nest check --bounds login.nest\n  \
        nest check --max-connection-memory 1M --require-deadlines login.nest\n\n\
        Exit status: 0 no error, 1 errors in the specification, or more than its limits allow, \
        2 wrong usage")]
    Check(Check),
    /// Draw its conversations, or the automaton of a rule
    #[command(after_help = "Example:\n  nest graph login.nest -o login.svg\n  \
        nest graph login.nest --format mermaid\n  \
        nest graph login.nest --rule quit -o quit.svg\n  \
        nest graph login.nest --replay 2 -o second.svg   the way to a finding of nest check")]
    Graph(Graph),
    /// Write the server's C project into a directory
    #[command(
        after_help = "Example:\n  nest gen login.nest -o login-server && make -C login-server\n  \
        nest gen login.nest -o login-server --with systemd,docker\n\n\
        Only files whose content changes are written"
    )]
    Gen(Gen),
    /// Build the server
    #[command(after_help = "Example:\n  nest build login.nest && ./login\n  \
        nest build login.nest -o server users.c -l sqlite3 --model thread\n\n\
        The environment is heard as make would: CC, CPPFLAGS, CFLAGS, LDFLAGS, LDLIBS")]
    Build(Build),
    /// Build the server and run it
    #[command(after_help = "Example:\n  nest run login.nest\n  \
        nest run --watch --trace --model event login.nest\n  \
        nest run login.nest -- --port 9000\n\n\
        What stands behind -- goes to the server; its own options: nest run login.nest -- --help")]
    Run(Run),
    /// Hold the conversations that are written beside a specification, and say what they cover
    #[command(after_help = "Example:\n  nest test login.nest\n  \
        nest test login.nest known.md --model event --quick\n  \
        nest test login.nest --min-coverage 90\n  \
        nest test login.nest --generate\n\n\
        A conversation is a page in Markdown; pages of the specification's directory, and of cases/ \
        and tests/ in it, are taken that have a line `spec: login.nest`.\n\n\
        Exit status: 0 all went as written, 1 one did not or too little is covered, 2 wrong usage")]
    Test(Test),
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
    /// The server's name: letters, digits and _, a letter first
    pub name: String,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// What every subcommand that compiles takes.
#[derive(Debug, Args)]
pub struct Spec {
    /// The specification; - is standard input
    pub file: PathBuf,
    /// The concurrency model, in place of the specification's
    #[arg(long, value_name = "MODEL", value_parser = models(false))]
    pub model: Option<String>,
}

/// `nest check`.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub spec: Spec,
    /// How to print the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Say also how the rules are matched, and why
    #[arg(long)]
    pub explain_matching: bool,
    /// Build the server and show the Nth finding happen
    #[arg(long, value_name = "N", conflicts_with = "format")]
    pub replay: Option<usize>,
    #[command(flatten)]
    pub bounds: Bounds,
}

/// What a connection can take, and how much of it is allowed.
#[derive(Debug, Args)]
pub struct Bounds {
    /// Say also what a connection can take at most: messages, time, memory in each model
    #[arg(long, conflicts_with = "replay")]
    pub bounds: bool,
    /// Fail if a connection can take more memory, as in 512K
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "replay")]
    pub max_connection_memory: Option<u64>,
    /// Fail if a client can keep its connection for ever by doing nothing
    #[arg(long, conflicts_with = "replay")]
    pub require_deadlines: bool,
}

/// A time, as options are written.
fn time(text: &str) -> Result<Duration, String> {
    let found = nest_machine::options::duration(text).filter(|ms| *ms > 0);
    let found = found.map(|ms| Duration::from_millis(ms.into()));
    found.ok_or_else(|| "write a time of at most 24h, as in 500ms, 10s, 2m".to_owned())
}

/// Bytes, as options are written.
fn size(text: &str) -> Result<u64, String> {
    let found = nest_machine::options::size(text).filter(|n| *n > 0);
    found.ok_or_else(|| "write bytes, as in 512, 8K, 1M".to_owned())
}

/// `nest graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// The specification; - is standard input
    pub file: PathBuf,
    /// The picture [default: standard output]; its ending says the format
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// How to write it [default: svg]
    #[arg(long, value_name = "FORMAT", value_parser = pictures())]
    pub format: Option<String>,
    /// Draw the automaton of this rule: its name, or its line
    #[arg(long, value_name = "NAME")]
    pub rule: Option<String>,
    /// Show the way to the Nth finding of nest check
    #[arg(long, value_name = "N", conflicts_with = "rule")]
    pub replay: Option<usize>,
}

/// `nest gen`.
#[derive(Debug, Args)]
pub struct Gen {
    #[command(flatten)]
    pub spec: Spec,
    /// The directory; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Write even into a directory that holds other files
    #[arg(long)]
    pub force: bool,
    /// Compile the trace in: a line for all that happens in a conversation
    #[arg(long)]
    pub trace: bool,
    /// Write also what runs the server where it is to stay
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub with: Vec<With>,
}

/// `--with`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum With {
    /// NAME.service and NAME.socket: hardened units for systemd
    Systemd,
    /// Dockerfile and .dockerignore: an image that holds the server alone
    Docker,
}

/// Where the C compiler finds what a server needs, and which it is.
#[derive(Clone, Debug, Default, Args)]
pub struct Link {
    /// Search DIR for #include files
    #[arg(short = 'I', value_name = "DIR", help_heading = "C options")]
    pub include: Vec<PathBuf>,
    /// Search DIR for libraries
    #[arg(short = 'L', value_name = "DIR", help_heading = "C options")]
    pub library_path: Vec<PathBuf>,
    /// Link the library LIB
    #[arg(short = 'l', value_name = "LIB", help_heading = "C options")]
    pub library: Vec<String>,
    /// The C compiler [default: $CC, or cc]
    #[arg(long, value_name = "CC", help_heading = "C options")]
    pub cc: Option<String>,
}

/// What the C compiler is told; `build` and `run` share it.
#[derive(Debug, Default, Args)]
pub struct Cc {
    #[command(flatten)]
    pub link: Link,
    /// For a debugger: no optimisation
    #[arg(long, help_heading = "C options")]
    pub debug: bool,
    /// Compile with sanitizers; address brings undefined along
    #[arg(long, value_name = "KIND", help_heading = "C options")]
    pub sanitize: Option<Sanitize>,
}

/// `--sanitize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sanitize {
    /// Memory errors and undefined behaviour
    Address,
    /// Undefined behaviour alone
    Undefined,
    /// Data races
    Thread,
}

/// `nest build`.
#[derive(Debug, Args)]
pub struct Build {
    #[command(flatten)]
    pub spec: Spec,
    /// More C files of the server
    #[arg(value_name = "MORE.c")]
    pub more: Vec<PathBuf>,
    /// The server [default: the specification's name]
    #[arg(short, long, value_name = "SERVER")]
    pub output: Option<PathBuf>,
    /// Compile the trace in: a line for all that happens in a conversation
    #[arg(long)]
    pub trace: bool,
    #[command(flatten)]
    pub cc: Cc,
}

/// `nest run`.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub spec: Spec,
    /// More C files of the server
    #[arg(value_name = "MORE.c")]
    pub more: Vec<PathBuf>,
    /// Show what comes, which rule takes it, what goes out, and the states
    #[arg(long)]
    pub trace: bool,
    /// Build and start anew whenever a file of the server is saved
    #[arg(long)]
    pub watch: bool,
    #[command(flatten)]
    pub cc: Cc,
    /// Arguments for the server
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<std::ffi::OsString>,
}

/// `nest test`.
#[derive(Debug, Args)]
pub struct Test {
    /// The specification
    pub file: PathBuf,
    /// Pages with conversations, in place of all; more C files of the server
    #[arg(value_name = "CASE.md|MORE.c")]
    pub more: Vec<PathBuf>,
    /// Only in this concurrency model, or as a script, without sockets; may be repeated [default: all]
    #[arg(long, value_name = "MODEL", value_parser = models(true))]
    pub model: Vec<String>,
    /// Each conversation once in a model, whole; without sanitizers
    #[arg(long)]
    pub quick: bool,
    /// How long a server may keep a conversation waiting, in any one step, before it fails
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub timeout: Duration,
    /// Fail if less is covered, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub min_coverage: Option<u8>,
    /// How to print what comes of it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Write pages with conversations for what is not covered, as the server holds them
    #[arg(long, conflicts_with = "format")]
    pub generate: bool,
    /// Where --generate writes [default: NAME-cases.md beside the specification]
    #[arg(short, long, value_name = "FILE.md", requires = "generate")]
    pub output: Option<PathBuf>,
    /// Let --generate overwrite
    #[arg(long, requires = "generate")]
    pub force: bool,
    /// Keep what the servers wrote, and say where
    #[arg(long)]
    pub keep: bool,
    #[command(flatten)]
    pub link: Link,
}

/// `nest explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The code, such as E0301; all are listed if there is none
    pub code: Option<String>,
}

/// `nest completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// The shells that completions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// `nest man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The subcommand; nest itself if there is none
    pub command: Option<String>,
    /// Write all pages into DIR instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub all: Option<PathBuf>,
}

/// The models by name; those that no specification can select are accepted, and `shown` or not.
fn models(shown: bool) -> PossibleValuesParser {
    PossibleValuesParser::new(nest_machine::MODELS.iter().map(move |model| {
        PossibleValue::new(model.name)
            .help(model.doc)
            .hide(!shown && model.option.is_empty())
    }))
}

/// The formats of `nest graph`.
fn pictures() -> PossibleValuesParser {
    let formats = nest_graph::FORMATS.iter();
    PossibleValuesParser::new(formats.map(|f| PossibleValue::new(f.name).help(f.doc)))
}
