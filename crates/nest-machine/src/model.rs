//! The machine as data: a small language of its own, all names resolved, all values settled.
//!
//! **States** are numbers: 0 is START, 1 is DEFAULT, then as declared; a set of states is a
//! 64-bit mask. **Rules** are pattern rules in matching order (of equals the lower number wins);
//! START and END are actions apart. A rule is active when its [`Cond`] holds over the states and
//! the state marked last. Its **matcher** is the [`Dfa`] if the pattern fits the budget, else the
//! ordered [`Nfa`]; both decide alike. **Timers** are TIMEOUT rules, in a list of their own; of
//! those whose condition holds the shortest fires first, of equals the lower number. **Actions** are C text plus the places ([`Use`]) where
//! something else must stand; an emitter replaces exactly those and leaves the rest untouched.

use crate::directives::Directive;
use crate::options::OptionInfo;
use crate::scope::Body;
use nest_diag::{SourceMap, Span};
use nest_feature::Features;
use nest_pattern::{Dfa, Nfa};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

/// A checked specification.
#[derive(Clone, Debug)]
pub struct Machine {
    /// A C identifier from the file's name: `login` for `login.nest`.
    pub name: String,
    /// The specification's file name as given.
    pub file: String,
    /// START, DEFAULT, then the declared ones; at most 64.
    pub states: Vec<String>,
    /// Pattern rules in matching order.
    pub rules: Vec<Rule>,
    /// TIMEOUT rules, as they are written.
    pub timers: Vec<Timer>,
    /// START's action.
    pub start: Option<Action>,
    /// END's action.
    pub end: Option<Action>,
    /// `%{ %}` of the declarations.
    pub prologue: Vec<Code>,
    /// Per-connection variables and what else stood among them.
    pub locals: Locals,
    /// The start-up section.
    pub startup: Startup,
    /// Options.
    pub settings: Settings,
    /// Features that options, directives and functions select.
    pub features: Features,
}

/// C text of the user's and where it came from.
#[derive(Clone, Debug)]
pub struct Code {
    /// The file, as the user named it.
    pub file: String,
    /// The line on which the text begins, from 1.
    pub line: usize,
    /// The column on which it begins, from 1.
    pub column: usize,
    /// The text.
    pub text: String,
}

impl Code {
    /// The code at `span`.
    #[must_use]
    pub fn at(sources: &SourceMap, span: Span) -> Code {
        let (line, column) = sources.position(span.file, span.start);
        Code {
            file: sources.file(span.file).name.clone(),
            line,
            column,
            text: sources.text(span).to_string(),
        }
    }

    /// A part of it.
    #[must_use]
    pub fn part(&self, at: Range<usize>) -> Code {
        let before = &self.text[..at.start];
        let last = before.rsplit('\n').next().unwrap_or_default();
        let lines = before.matches('\n').count();
        let start = if lines == 0 { self.column } else { 1 };
        Code {
            file: self.file.clone(),
            line: self.line + lines,
            column: start + last.chars().count(),
            text: self.text[at].to_string(),
        }
    }
}

/// A pattern rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its NAME, or `line N`.
    pub label: String,
    /// The file of its pattern.
    pub file: String,
    /// The line of its pattern.
    pub line: usize,
    /// Its pattern.
    pub span: Span,
    /// When it is active.
    pub cond: Cond,
    /// Number of elements.
    pub parts: usize,
    /// The elements as they are written, for messages.
    pub elements: Vec<String>,
    /// The elements (from 0) whose places its action asks for.
    pub asked: BTreeSet<u32>,
    /// Whether others may ask for any: functions that the action hands `$self`.
    pub open: bool,
    /// The ordered NFA.
    pub nfa: Nfa,
    /// The DFA, if it fits the budget.
    pub dfa: Option<Dfa>,
    /// What runs.
    pub action: Action,
}

/// A TIMEOUT rule.
#[derive(Clone, Debug)]
pub struct Timer {
    /// `line N`.
    pub label: String,
    /// The file of its TIMEOUT.
    pub file: String,
    /// The line of its TIMEOUT.
    pub line: usize,
    /// Its TIMEOUT.
    pub span: Span,
    /// When it is active.
    pub cond: Cond,
    /// Milliseconds of silence.
    pub after: u32,
    /// What runs.
    pub action: Action,
}

/// A condition over states (numbers).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cond {
    /// Always.
    True,
    /// The state holds.
    State(u32),
    /// The state was marked last.
    Last(u32),
    /// Not.
    Not(Box<Cond>),
    /// All of them.
    And(Vec<Cond>),
    /// Any of them.
    Or(Vec<Cond>),
}

/// An action: text and what to replace in it.
#[derive(Clone, Debug)]
pub struct Action {
    /// The C between the braces.
    pub code: Code,
    /// Its place.
    pub span: Span,
    /// By position; they do not overlap, but a call's arguments lie inside it.
    pub uses: Vec<Use>,
    /// Parsed as a function's body, once somebody has asked.
    pub(crate) body: OnceLock<Body>,
}

/// A place in an action where something else must stand.
#[derive(Clone, Debug)]
pub struct Use {
    /// The token: the variable's name, the directive's head (`$reply`), or `\$`.
    pub at: Range<usize>,
    /// What it is.
    pub what: What,
}

/// What a [`Use`] is.
#[derive(Clone, Debug)]
pub enum What {
    /// A per-connection variable, by its number in [`Locals::variables`].
    Variable(usize),
    /// `\$`.
    Dollar,
    /// `$n`.
    Part(u32),
    /// A duration, in milliseconds.
    Milliseconds(u32),
    /// `$block`, up to the `}` at `close`.
    Block {
        /// Offset of its `}`.
        close: usize,
    },
    /// A directive.
    Directive {
        /// Which.
        directive: &'static Directive,
        /// Its arguments; none if it has no parentheses.
        call: Option<Args>,
    },
}

/// The arguments of a directive.
#[derive(Clone, Debug)]
pub struct Args {
    /// Offset of `(`.
    pub open: usize,
    /// Offset of `)`.
    pub close: usize,
    /// Each argument.
    pub args: Vec<Arg>,
    /// `$reply`: the first argument is a format.
    pub format: bool,
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Where.
    pub at: Range<usize>,
    /// What it was resolved to, where the directive asks for it.
    pub kind: ArgKind,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A C expression.
    Expression,
    /// Exactly a part: `$n`.
    Part(u32),
    /// A part's number.
    PartNumber(u32),
    /// A state.
    State(u32),
    /// `*`.
    AllStates,
    /// The C name of a log level.
    Level(&'static str),
}

/// What stands before the first rule.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    /// One group for each C declaration, type or preprocessor line, in order.
    pub groups: Vec<Group>,
    /// The variables, in order.
    pub variables: Vec<Variable>,
    /// Macros of the specification whose bodies name variables: redefined after the record.
    pub macros: Vec<MacroFix>,
}

/// A C declaration of per-connection variables; of none: all of it is in `specifiers`.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its specifiers (`const struct {…}`), without storage class.
    pub specifiers: Code,
    /// Uses of earlier variables in the specifiers.
    pub uses: Vec<Use>,
    /// Numbers of the variables it declares.
    pub variables: Vec<usize>,
}

/// A per-connection variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The declarator; `hole` is the name in it.
    pub declarator: Code,
    /// The name's place in the declarator.
    pub hole: Range<usize>,
    /// Uses of variables in the declarator (array sizes).
    pub uses: Vec<Use>,
    /// `T x[] = …`: the size comes from the initialiser.
    pub unsized_array: bool,
    /// Copied as a compound literal (arrays, lists, const) rather than assigned.
    pub aggregate: bool,
    /// The initialiser with its uses.
    pub initialiser: Option<Action>,
}

/// A `#define` of the specification to be written again.
#[derive(Clone, Debug)]
pub struct MacroFix {
    /// The macro.
    pub name: String,
    /// From behind the name to the end: parameters and body, the uses in it.
    pub rest: Action,
}

/// The start-up section, sorted.
#[derive(Clone, Debug, Default)]
pub struct Startup {
    /// Before the actions: preprocessor lines, types, static and extern declarations, prototypes.
    pub file_scope: Vec<Code>,
    /// Function definitions, behind the actions.
    pub functions: Vec<Code>,
    /// main's.
    pub main: Vec<Code>,
}

/// Concurrency models of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelKind {
    /// blocking × process.
    Process,
    /// blocking × thread.
    Thread,
    /// epoll × loops.
    Event,
    /// script × loops.
    Script,
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
}

/// The models of this version.
pub const MODELS: &[Model] = &[
    Model {
        kind: ModelKind::Process,
        name: "process",
        option: "processServer",
        doc: "a process for each client, forked ahead",
        io: "blocking",
        workers: "process",
        most_clients: 32_000,
        clients: 256,
    },
    Model {
        kind: ModelKind::Thread,
        name: "thread",
        option: "threadServer",
        doc: "a thread for each client, made ahead",
        io: "blocking",
        workers: "thread",
        most_clients: 32_000,
        clients: 256,
    },
    Model {
        kind: ModelKind::Event,
        name: "event",
        option: "eventServer",
        doc: "one loop for all clients (epoll)",
        io: "epoll",
        workers: "loops",
        most_clients: 1_000_000,
        clients: 1000,
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

/// `%option framing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Matching goes on until it is decided.
    Stream,
    /// What one receive delivered is a message.
    Message,
}

/// `%option matching`: what becomes of the rules' automata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// What is fastest within the limits.
    #[default]
    Auto,
    /// Side by side, each state as C code.
    Code,
    /// Side by side, as a table.
    Table,
    /// Each rule by itself.
    Apart,
}

/// All options, settled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model.
    pub model: ModelKind,
    /// Most simultaneous clients.
    pub max_clients: u32,
    /// stream or message.
    pub framing: Framing,
    /// What becomes of the rules' automata.
    pub strategy: Strategy,
    /// Most states of an automaton.
    pub matching_states: usize,
    /// Most bytes of C of an automaton.
    pub matching_code: usize,
    /// Patterns ignore case.
    pub caseless: bool,
    /// Features that options select.
    pub features: Features,
    /// The server's name unless an option says another.
    pub name: String,
    /// What a running server may be told, and with what it starts.
    pub run: Vec<RunOption>,
}

impl Settings {
    /// Everything as when nobody says anything.
    #[must_use]
    pub fn new(name: &str) -> Settings {
        Settings {
            model: ModelKind::Event,
            max_clients: ModelKind::Event.row().clients,
            framing: Framing::Stream,
            strategy: Strategy::Auto,
            matching_states: 4096,
            matching_code: 256 << 10,
            caseless: false,
            features: Features::default(),
            name: name.to_string(),
            run: Vec::new(),
        }
    }
}

/// An option of the running server.
#[derive(Clone, Debug)]
pub struct RunOption {
    /// Its row in the table.
    pub info: &'static OptionInfo,
    /// The specification's value, or the default, as text.
    pub initial: String,
}
