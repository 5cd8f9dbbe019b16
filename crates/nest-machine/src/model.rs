//! The machine as data: a small language of its own, all names resolved, all values settled.
//!
//! **States** are numbers: 0 is START, 1 is DEFAULT, then as declared; a set of states is a
//! 64-bit mask. **Rules** are pattern rules in matching order (of equals the lower number wins);
//! START and END are actions apart. A rule is active when its [`Cond`] holds over the states and
//! the state marked last. Its **matcher** is the [`Dfa`] if the pattern fits the budget, else the
//! ordered [`Nfa`]; both decide alike. **Timers** are TIMEOUT rules, in a list of their own; of
//! those whose condition holds the shortest fires first, of equals the lower number. **Actions** are C text plus the places ([`Use`]) where
//! something else must stand; an emitter replaces exactly those and leaves the rest untouched.

pub use crate::models::{Globals, Kept, MODELS, Model, ModelKind};
use crate::options::row::OptionInfo;
pub use nest_c::{Action, Arg, ArgKind, Args, Code, Use, What};
use nest_c::{Declaration, Source};
use nest_diag::Span;
use nest_feature::Features;
use nest_pattern::{Dfa, Nfa};
use std::collections::BTreeSet;
use std::ops::Range;

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

impl Machine {
    /// Its C, for the analyses.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        let startup = self
            .startup
            .file_scope
            .iter()
            .chain(&self.startup.functions);
        let declarator = |v: &usize| &self.locals.variables[*v].declarator;
        let variables = self.locals.groups.iter().map(|group| Declaration {
            specifiers: &group.specifiers,
            declarators: group.variables.iter().map(declarator).collect(),
        });
        Source {
            name: &self.name,
            states: &self.states,
            rules: self.rules.iter().map(|r| &r.action).collect(),
            timers: self.timers.iter().map(|t| &t.action).collect(),
            start: self.start.as_ref(),
            end: self.end.as_ref(),
            file_scope: self.prologue.iter().chain(startup).collect(),
            variables: variables.collect(),
            macros: self.locals.macros.iter().map(|fix| &fix.rest).collect(),
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
    /// The elements (from 0) whose places its action needs.
    pub requested: BTreeSet<u32>,
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
    Standalone,
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
