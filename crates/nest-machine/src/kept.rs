//! What a server keeps from one message of a client to the next. Must not know: who asks.

use crate::model::{Cond, Machine};
use crate::reach::{Reach, Reached, Step};
use nest_c::What;
use nest_c::directives::Others;
use nest_c::kept::changes;
use nest_diag::{Code, Diagnostic, Span};
use nest_feature::Feature;
use std::collections::BTreeSet;

/// The first thing that a message leaves for the next one, as the reason why the messages of a
/// connection cannot be presented one by one: a state, a variable, a directive.
#[must_use]
pub fn kept(m: &Machine) -> Option<Diagnostic> {
    state(m).or_else(|| variable(m)).or_else(|| directive(m))
}

/// What every refusal says of the filter.
const PERSIST: &str = "persist presents each message as a new connection, which begins with START: it \
                       fits only servers that keep nothing between messages";

fn refusal(span: Span, what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::E0703, span, what).help(PERSIST)
}

/// A set of states at a later read point that is not one of the first.
fn state(m: &Machine) -> Option<Diagnostic> {
    let reach = Reach::of(m);
    let tested = tested(m);
    let seen = |set: &Reached| (set.states & tested, set.last);
    let first = reach.sets.iter().filter(|set| set.from.is_none());
    let first: BTreeSet<_> = first.map(seen).collect();
    for set in &reach.sets {
        let Some((_, step)) = set.from else { continue };
        if first.contains(&seen(set)) {
            continue;
        }
        let span = match step {
            Step::Rule(n) => m.rules[n].span,
            Step::Timer(n) => m.timers[n].span,
        };
        // The states that differ from the first set that is most like it.
        let differs = |(states, _): &(u64, Option<u32>)| states ^ seen(set).0;
        let least = first.iter().map(differs).min_by_key(|d| d.count_ones())?;
        let which = match least {
            0 => set.last.map_or(0, |last| last as usize),
            some => some.trailing_zeros() as usize,
        };
        let name = m.states.get(which).map_or("", String::as_str);
        let what = format!("this rule may change the state {name}, which the next message finds");
        return Some(refusal(span, what));
    }
    if !reach.is_complete() {
        let span = m.rules.first()?.span;
        let what = "there are too many sets of states to tell what a message leaves for the next";
        return Some(refusal(span, what));
    }
    None
}

/// The states that a condition tests, and all that are declared: actions may test these.
fn tested(m: &Machine) -> u64 {
    fn of(cond: &Cond) -> u64 {
        match cond {
            Cond::True => 0,
            Cond::State(n) | Cond::Last(n) => 1 << n,
            Cond::Not(c) => of(c),
            Cond::And(all) | Cond::Or(all) => all.iter().map(of).fold(0, |a, b| a | b),
        }
    }
    let conditions = m.rules.iter().map(|r| &r.cond);
    let conditions = conditions.chain(m.timers.iter().map(|t| &t.cond));
    let declared = (2..m.states.len()).map(|n| 1 << n);
    conditions.map(of).chain(declared).fold(0, |a, b| a | b)
}

/// A per-connection variable that an action may change.
fn variable(m: &Machine) -> Option<Diagnostic> {
    let found = changes(&m.source(), |n| depth(m, n));
    let change = found.first()?;
    let name = &m.locals.variables[change.variable].name;
    let what = format!("the variable `{name}` may be changed here, and the next message finds it");
    let help = format!("declare `{name}` in the action if only this message needs it: {PERSIST}");
    Some(refusal(change.span, what).help(help))
}

/// How often a variable must be dereferenced until it is a number; `None` if its type may be something
/// else.
fn depth(m: &Machine, variable: usize) -> Option<usize> {
    const NUMBERS: [&str; 22] = [
        "_Bool", "bool", "char", "const", "double", "float", "int", "int16_t", "int32_t",
        "int64_t", "int8_t", "long", "short", "signed", "size_t", "ssize_t", "time_t", "uint16_t",
        "uint32_t", "uint64_t", "uint8_t", "unsigned",
    ];
    let mut groups = m.locals.groups.iter();
    let group = groups.find(|group| group.variables.contains(&variable))?;
    let mut words = group.specifiers.text.split_whitespace();
    let declarator = &m.locals.variables[variable].declarator.text;
    let numbers = words.all(|word| NUMBERS.contains(&word)) && !declarator.contains('(');
    numbers.then(|| declarator.matches(['*', '[']).count())
}

/// A directive that leaves something with the connection.
fn directive(m: &Machine) -> Option<Diagnostic> {
    const KEEPS: [Feature; 3] = [Feature::Keep, Feature::Uploads, Feature::StartTls];
    let rules = m.rules.iter().map(|r| &r.action);
    for action in rules.chain(m.timers.iter().map(|t| &t.action)) {
        for u in &action.uses {
            let What::Directive { directive, .. } = &u.what else {
                continue;
            };
            let needs = directive.does.needs;
            let joins = directive.does.others == Others::Joins;
            if joins || needs.is_some_and(|need| KEEPS.contains(&need)) {
                let what = format!("{} leaves something for the next message", directive.word());
                return Some(refusal(nest_c::inner(action.span, &u.at), what));
            }
        }
    }
    None
}
