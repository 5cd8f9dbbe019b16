//! The machine as data: all names are resolved and all values are known.
//!
//! **States** are numbers: 0 is START, 1 is DEFAULT, then as declared. A set of states is a 64-bit
//! mask. **Rules** are pattern rules in matching order: among equal matches the lower number wins.
//! The actions of START and END are separate. A rule is active if its [`Cond`] is true for the
//! states and the state that was set last. Its **matcher** is the [`Dfa`] if that is within the
//! limit, otherwise the ordered [`Nfa`]; both give the same result. **Timers** are TIMEOUT rules,
//! in a list of their own: among the active ones the one with the shortest time fires first, among
//! equal times the one with the lower number. **Actions** are C text with a list of places
//! ([`Use`]). An emitter replaces these places and leaves the rest unchanged.

pub use crate::models::{Globals, Kept, MODELS, Model, ModelKind};
use crate::options::row::OptionInfo;
pub use nest_c::{Action, Arg, ArgKind, Args, Code, Use, What};
use nest_c::{Declaration, Source};
use nest_conditioning::inside::Program;
use nest_diag::Span;
use nest_feature::Features;
use nest_pattern::backtracking::Text;
use nest_pattern::{Cuts, Dfa, Nfa};
use std::collections::{BTreeMap, BTreeSet};
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
    /// OVERLOAD's action.
    pub overload: Option<Action>,
    /// `%{ %}` of the declarations.
    pub prologue: Vec<Code>,
    /// Per-connection variables, and the other C code among them.
    pub locals: Locals,
    /// What all connections share.
    pub shared: Option<Shared>,
    /// Code that the server runs periodically.
    pub periodic: Vec<Periodic>,
    /// Code that the server runs when it gets a signal.
    pub signals: Vec<Signal>,
    /// Code that each worker runs when it begins.
    pub beginning: Vec<Action>,
    /// Code that says what a file in memory is worth.
    pub cache: Option<Action>,
    /// Functions that received bytes pass, in this order.
    pub decodes: Vec<Stage>,
    /// Functions that sent bytes pass, in this order.
    pub encodes: Vec<Stage>,
    /// The start-up section.
    pub startup: Startup,
    /// Options.
    pub settings: Settings,
    /// Features that options, directives and functions select.
    pub features: Features,
    /// The filters in front of the server; the first one accepts.
    pub filters: Vec<Filter>,
    /// The automaton of a client's first message, if a filter follows it.
    pub first: Option<Dfa>,
}

impl Machine {
    /// The code of `%timer`, `%signal`, `%cache` and `%worker`, which belongs to no connection.
    pub fn server_code(&self) -> impl Iterator<Item = &Action> {
        self.service_code().chain(&self.beginning)
    }

    /// The code of `%timer`, `%signal` and `%cache`, which runs in the service process.
    fn service_code(&self) -> impl Iterator<Item = &Action> {
        let timers = self.periodic.iter().map(|timer| &timer.action);
        let signals = self.signals.iter().map(|signal| &signal.action);
        timers.chain(signals).chain(&self.cache)
    }

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
            overload: self.overload.as_ref(),
            server: self.service_code().collect(),
            beginning: self.beginning.iter().collect(),
            shared: self.shared.as_ref().and_then(|shared| shared.code.as_ref()),
            startup: self.startup.main.iter().collect(),
            file_scope: self.prologue.iter().chain(startup).collect(),
            variables: variables.collect(),
            macros: self.locals.macros.iter().map(|fix| &fix.rest).collect(),
        }
    }
}

/// A `%decode` or `%encode`.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The C function.
    pub function: Code,
    /// The type of its state, if it has one.
    pub state: Option<Code>,
}

/// A `%filter`.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Which.
    pub program: &'static Program,
    /// Its name and options, as cc-chain takes them.
    pub text: String,
    /// The option that gets the number of clients, if the specification does not set it.
    pub clients: Option<&'static str>,
    /// Its name.
    pub span: Span,
}

impl Filter {
    /// What its line says of an option.
    #[must_use]
    pub fn value(&self, option: &str) -> Option<&str> {
        let mut given = self.text.split(',').skip(1);
        given.find_map(|word| word.strip_prefix(option)?.strip_prefix('='))
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
    /// The elements (from 0) whose positions its action needs.
    pub requested: BTreeSet<u32>,
    /// Whether functions that the action gives `$self` may use any other element.
    pub open: bool,
    /// The NFA of each repeated element (from 0) whose repetitions may be used.
    pub repeated: BTreeMap<u32, Nfa>,
    /// The ordered NFA. With `backtracking` it matches what the rule matches, and perhaps more.
    pub nfa: Nfa,
    /// The DFA, if it is within the limit and there is no `backtracking`. That of an early rule is
    /// not live where it accepts.
    pub dfa: Option<Dfa>,
    /// How libpcre2 matches the rule, if automata cannot.
    pub backtracking: Option<Backtracking>,
    /// Whether it decides as soon as it accepts.
    pub early: bool,
    /// The action.
    pub action: Action,
}

/// What libpcre2 is given to match a rule.
#[derive(Clone, Debug)]
pub struct Backtracking {
    /// The pattern.
    pub text: Text,
    /// The first construct in it that automata cannot express, with an article.
    pub construct: &'static str,
    /// Where the elements that are used end. The tags are the ends of the text's groups.
    pub cuts: Cuts,
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
    /// The action.
    pub action: Action,
}

/// A condition over states (numbers).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cond {
    /// Always.
    True,
    /// The state is set.
    State(u32),
    /// The state was the last one set.
    Last(u32),
    /// Not.
    Not(Box<Cond>),
    /// All of them.
    And(Vec<Cond>),
    /// Any of them.
    Or(Vec<Cond>),
}

/// The C code before the first rule.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    /// One group for each C declaration, type or preprocessor line, in order.
    pub groups: Vec<Group>,
    /// The variables, in order.
    pub variables: Vec<Variable>,
    /// Macros of the specification whose bodies name variables: redefined after the record.
    pub macros: Vec<MacroFix>,
}

impl Locals {
    /// The variables, by number, that are arrays.
    pub fn arrays(&self) -> BTreeSet<usize> {
        let is = |v: &Variable| {
            v.declarator.text[v.hole.end..]
                .trim_start()
                .starts_with('[')
        };
        let numbered = self.variables.iter().enumerate();
        numbered.filter(|(_, v)| is(v)).map(|(i, _)| i).collect()
    }
}

/// A C declaration of per-connection variables. If it declares none, all of it is in `specifiers`.
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
    /// The position of the name in the declarator.
    pub hole: Range<usize>,
    /// Uses of variables in the declarator (array sizes).
    pub uses: Vec<Use>,
    /// `T x[] = …`: the size comes from the initialiser.
    pub unsized_array: bool,
    /// Initialised by copying a compound literal (arrays, lists, const) instead of by assignment.
    pub aggregate: bool,
    /// The initialiser with its uses.
    pub initialiser: Option<Action>,
}

/// `%timer`: code that the server runs periodically.
#[derive(Clone, Debug)]
pub struct Periodic {
    /// Milliseconds.
    pub every: u32,
    /// The code.
    pub action: Action,
}

/// `%signal`: code that the server runs when it gets a signal.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Its name in C, such as `SIGUSR1`.
    pub number: String,
    /// The code.
    pub action: Action,
}

/// `%shared`: variables that all connections share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Bytes for all of them.
    pub size: u64,
    /// The size as it is written.
    pub written: Code,
    /// The variables, and the other C code among them.
    pub variables: Locals,
    /// The code that initialises them, if there is any.
    pub code: Option<Action>,
    /// Whether actions ask whether a holder of the lock has died.
    pub recovers: bool,
}

/// A `#define` of the specification that is emitted again.
#[derive(Clone, Debug)]
pub struct MacroFix {
    /// The macro.
    pub name: String,
    /// Everything after its name: parameters and body, with the uses in them.
    pub rest: Action,
}

/// The start-up section, divided by destination.
#[derive(Clone, Debug, Default)]
pub struct Startup {
    /// Emitted before the actions: preprocessor lines, types, static and extern declarations,
    /// prototypes.
    pub file_scope: Vec<Code>,
    /// Function definitions, emitted after the actions.
    pub functions: Vec<Code>,
    /// Statements of main.
    pub main: Vec<Code>,
}

/// `%option framing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Matching continues until a rule is selected.
    Stream,
    /// The bytes of one receive call are a message.
    Message,
}

/// `%option matching`: how rules are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The fastest method within the limits.
    #[default]
    Auto,
    /// One product automaton as C code.
    Code,
    /// One product automaton as a table.
    Table,
    /// Each rule separately.
    Standalone,
}

/// The values of all options.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model.
    pub model: ModelKind,
    /// The maximum number of clients.
    pub max_clients: u32,
    /// stream or message.
    pub framing: Framing,
    /// How rules are matched.
    pub strategy: Strategy,
    /// The maximum number of states of an automaton.
    pub matching_states: usize,
    /// The maximum number of bytes of C of an automaton.
    pub matching_code: usize,
    /// Patterns ignore case.
    pub caseless: bool,
    /// How many classes of clients there are; 0: clients have none.
    pub classes: u32,
    /// The protocols that encrypted connections may carry, the preferred one first; none: any.
    pub protocols: Vec<String>,
    /// Features that options select.
    pub features: Features,
    /// The default name of the server.
    pub name: String,
    /// The options of the running server and their initial values.
    pub run: Vec<RunOption>,
}

impl Settings {
    /// All defaults.
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
            classes: 0,
            protocols: Vec::new(),
            features: Features::default(),
            name: name.to_string(),
            run: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether several processes with a loop each may serve the clients.
    #[must_use]
    pub fn several(&self) -> bool {
        let mut run = self.run.iter();
        let given = run.find(|option| option.info.name == "dispatchers");
        given.is_some_and(|option| option.initial != "1")
    }
}

/// An option of the running server.
#[derive(Clone, Debug)]
pub struct RunOption {
    /// Its row in the table.
    pub info: &'static OptionInfo,
    /// The value from the specification, or the default, as text.
    pub initial: String,
}
