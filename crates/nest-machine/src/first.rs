//! The first message of a client: the automaton that tells where it ends, for filters that hold a
//! connection until it is there. Must not know: filters, the C that runs the automaton.

use crate::model::{Machine, Rule};
use crate::reach;
use nest_c::directives::Reads;
use nest_c::effects::{Effects, Opening, opening};
use nest_c::{Use, What, inner};
use nest_diag::{Code, Diagnostic, Span};
use nest_pattern::Dfa;

/// An automaton needs at most so many times `matchingStates`: it becomes a table, never code.
const TABLES: usize = 8;
/// State numbers have 16 bits in the table.
const MOST: usize = 1 << 16;

/// The automaton of the first message, as [`Dfa::joint`] describes it, or the reason why there is
/// none.
///
/// # Errors
///
/// The server speaks first, no message can follow, or automata cannot match it.
pub fn first(m: &Machine) -> Result<Dfa, Diagnostic> {
    if let Some(stage) = m.decodes.first() {
        let what = "a filter reads the first message before `%decode` has decoded it";
        let help = "remove one of the two";
        return Err(Diagnostic::new(Code::E0702, stage.span, what).help(help));
    }
    silent(m)?;
    let effects = Effects::of(&m.source());
    let Some(sets) = reach::first(m, &effects) else {
        let what = "START's action may set too many states independently of each other";
        return Err(Diagnostic::new(Code::E0702, start(m), what)
            .help("set few of them in START: a filter follows the rules that are active then"));
    };
    let mut used: Vec<usize> = sets.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    if used.is_empty() {
        let what = match m.start {
            Some(_) => "START's action ends every connection, or leaves no rule active",
            None => "no rule is active when a client connects",
        };
        return Err(Diagnostic::new(Code::E0701, start(m), what).help(
            "a filter waits for a first message: let some rule with a pattern be active then",
        ));
    }
    let mut rules = Vec::new();
    for rule in used.iter().map(|n| &m.rules[*n]) {
        let Some(dfa) = &rule.dfa else {
            return Err(unfollowed(rule));
        };
        rules.push((dfa, rule.early));
    }
    let place = |rule: &usize| used.binary_search(rule).unwrap_or_default();
    let sets: Vec<Vec<usize>> = sets.iter().map(|s| s.iter().map(place).collect()).collect();
    let budget = m.settings.matching_states.saturating_mul(TABLES).min(MOST);
    Dfa::joint(&rules, &sets, budget).ok_or_else(|| {
        let what = "the automaton of the first message has too many states";
        Diagnostic::new(Code::E0702, m.rules[used[0]].span, what).help(
            "let fewer rules be active after START, shorten counted repetitions, or raise \
             %option matchingStates",
        )
    })
}

/// The refusal of a rule that has no automaton.
fn unfollowed(rule: &Rule) -> Diagnostic {
    match &rule.backtracking {
        Some(backtracking) => {
            let what = format!(
                "{} needs backtracking, but a filter follows the first message by automata",
                backtracking.construct
            );
            let help = "write the rules of the first message without such constructs";
            Diagnostic::new(Code::E0702, rule.span, what).help(help)
        }
        None => {
            let what = "the automaton of this rule has too many states for a filter";
            let help = "shorten counted repetitions in it";
            Diagnostic::new(Code::E0702, rule.span, what).help(help)
        }
    }
}

/// Refuses servers that do not wait for the client's first message.
fn silent(m: &Machine) -> Result<(), Diagnostic> {
    let what = match opening(&m.source()) {
        Opening::Silent => return Ok(()),
        Opening::Speaks => "START replies or reads before the first message is matched",
        Opening::Unknown => {
            "START's action passes the connection to C that may reply before the first message"
        }
    };
    let help = "a filter waits until the client's first message is complete: it fits only servers \
                that wait for the client";
    Err(Diagnostic::new(Code::E0701, speaks(m), what).help(help))
}

/// The first directive of START that replies or reads; otherwise START.
fn speaks(m: &Machine) -> Span {
    let Some(action) = &m.start else {
        return start(m);
    };
    let does = |u: &&Use| match &u.what {
        What::Directive { directive, .. } => {
            directive.does.replies || directive.does.reads != Reads::Nothing
        }
        _ => false,
    };
    let found = action.uses.iter().find(does);
    found.map_or(action.span, |u| inner(action.span, &u.at))
}

/// START's action; if there is none, the first rule, of whatever kind.
fn start(m: &Machine) -> Span {
    let special = m.end.iter().chain(&m.overload).map(|a| a.span);
    let rules = m.rules.iter().map(|r| r.span);
    let rules = rules.chain(m.timers.iter().map(|t| t.span));
    let mut all = m.start.iter().map(|a| a.span).chain(rules).chain(special);
    all.next()
        .unwrap_or_else(|| Span::new(nest_diag::FileId(0), 0, 0))
}
