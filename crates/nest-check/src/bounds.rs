//! What a conversation can take at most: how long its messages are, how long it waits, and for what.
//!
//! From the rules' automata, the sets of states that are reached, and the options as they are built
//! in. Must not know: how much memory a server needs for it, how bounds are shown.

mod silence;

use nest_c::directives::{self, Form};
use nest_c::effects::Effects;
use nest_machine::options::{duration, size};
use nest_machine::reach::{Reach, Winners};
use nest_machine::{Action, Machine, Rule, What};
use std::collections::BTreeSet;

pub use nest_c::directives::Wait as For;
pub use silence::Silence;

/// The bounds of a specification.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The options that bound it.
    pub limits: Limits,
    /// Actions in which `$timeout` takes the limit of silence away, or may.
    pub unlimited: Vec<String>,
    /// The longest message of each rule; none: there is no bound but inputBuffer.
    pub messages: Vec<Option<u64>>,
    /// Where conversations read; sets of states of which the same is to be said are together.
    pub reading: Vec<Reading>,
    /// Where actions wait.
    pub waits: Vec<Wait>,
    /// Functions that allocate, and where: of how much memory nothing is known.
    pub allocates: Vec<(String, Vec<String>)>,
    /// Whether a `$reply` has a format, whose text may be as long as it likes.
    pub formats: bool,
    /// Whether all sets of states are known; else what is said of one holds for all.
    pub complete: bool,
}

/// Options, as they are built in. Times are in milliseconds; none: there is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a message.
    pub input: u64,
    /// From its first byte until it is whole.
    pub read: Option<u64>,
    /// How long output may wait.
    pub write: Option<u64>,
    /// How long a client may send nothing, whatever `$timeout` says.
    pub idle: Option<u64>,
    /// Whether `$timeout`, too, says how long that is.
    pub own_idle: bool,
}

/// Sets of states at a read point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The states of each, but START where there are others.
    pub sets: Vec<Vec<String>>,
    /// Bytes that may come before a message is decided; none: as many as inputBuffer holds.
    pub held: Option<u64>,
    /// What becomes of a client that sends nothing.
    pub silence: Silence,
}

/// A kind of waiting, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// For what.
    pub what: For,
    /// The directives, and functions of nest.h.
    pub by: Vec<String>,
    /// Names of rules, `START`, `END`, `%{ %}`, in order.
    pub places: Vec<String>,
}

/// Of a machine.
#[must_use]
pub fn bounds(m: &Machine) -> Bounds {
    let effects = Effects::of(&m.source());
    let reach = Reach::by(m, &effects, &mut Winners::new(m));
    let limits = limits(m);
    let messages: Vec<Option<u64>> = m.rules.iter().map(longest).collect();
    let complete = reach.is_complete();
    let mut reading: Vec<Reading> = Vec::new();
    if complete {
        let silence = silence::of_sets(m, &reach, &effects, limits.idle);
        for (set, silence) in reach.sets.iter().zip(silence) {
            let active = (0..m.rules.len()).filter(|r| set.holds(&m.rules[*r].cond));
            let here = Reading {
                sets: vec![names(m, set.states)],
                held: most(active.map(|r| messages[r])),
                silence,
            };
            if set.is_stuck() {
                continue;
            }
            let same = |r: &&mut Reading| (r.held, &r.silence) == (here.held, &here.silence);
            match reading.iter_mut().find(same) {
                Some(known) if known.sets.contains(&here.sets[0]) => {}
                Some(known) => known.sets.extend(here.sets),
                None => reading.push(here),
            }
        }
    } else {
        reading.push(Reading {
            sets: vec![vec!["any".to_string()]],
            held: most(messages.iter().copied()),
            silence: silence::of_any(m, limits.idle),
        });
    }
    let own = idle_limits(m).into_iter();
    let unlimited = own.filter(|(_, limit)| limit.is_none());
    let unlimited: BTreeSet<&str> = unlimited.map(|(name, _)| name).collect();
    Bounds {
        limits,
        unlimited: unlimited.into_iter().map(str::to_string).collect(),
        messages,
        reading,
        waits: waits(m),
        allocates: allocates(m),
        formats: formats(m),
        complete,
    }
}

/// None if the pattern does not bound it. A look-ahead may wait for more than the rule matches.
fn longest(rule: &Rule) -> Option<u64> {
    match &rule.dfa {
        _ if rule.backtracking.is_some() => None,
        Some(dfa) => dfa.longest(),
        None => rule.nfa.longest(),
    }
}

/// None if one has no bound.
fn most(mut all: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    all.try_fold(0, |most, n| n.map(|n| n.max(most)))
}

/// The states of a set by name; START only where it is alone.
fn names(m: &Machine, states: u64) -> Vec<String> {
    let all = (0..m.states.len()).filter(|n| states >> n & 1 == 1 && (*n > 0 || states == 1));
    all.map(|n| m.states[n].clone()).collect()
}

fn limits(m: &Machine) -> Limits {
    let text = |name: &str| {
        let option = m.settings.run.iter().find(|o| o.info.name == name);
        option.map_or("", |o| o.initial.as_str())
    };
    let time = |name: &str| {
        let ms = duration(text(name)).unwrap_or(0);
        (ms > 0).then_some(u64::from(ms))
    };
    let own = idle_limits(m);
    let idle = own.iter().fold(time("idleTimeout"), |most, (_, own)| {
        Some(most?.max(u64::from((*own)?)))
    });
    Limits {
        input: size(text("inputBuffer")).unwrap_or(0),
        read: time("readTimeout"),
        write: time("writeTimeout"),
        idle,
        own_idle: !own.is_empty(),
    }
}

/// What `$timeout` says in which action; none: there is no limit, or it is computed.
fn idle_limits(m: &Machine) -> Vec<(&str, Option<u32>)> {
    let mut found = Vec::new();
    for (name, action) in actions(m) {
        for place in &action.uses {
            let What::Directive { directive, call } = &place.what else {
                continue;
            };
            if directive.does.limits_idle {
                let args = call.iter().flat_map(|c| &c.args);
                let words = args.map(|a| action.code.text[a.at.clone()].trim());
                found.extend(words.map(|w| (name, duration(w).filter(|ms| *ms > 0))));
            }
        }
    }
    let mut own = words(m).into_iter();
    let limits = own.any(|word| directives::does(word).limits_idle);
    found.extend(limits.then_some((C, None)));
    found
}

/// All actions, and what they are called.
fn actions(m: &Machine) -> impl Iterator<Item = (&str, &Action)> {
    let rules = m.rules.iter().map(|r| (r.label.as_str(), &r.action));
    let timers = m.timers.iter().map(|t| (t.label.as_str(), &t.action));
    let start = m.start.iter().map(|a| ("START", a));
    let end = m.end.iter().map(|a| ("END", a));
    let overload = m.overload.iter().map(|a| ("OVERLOAD", a));
    start.chain(rules).chain(timers).chain(end).chain(overload)
}

/// What the C outside of actions is called.
const C: &str = "%{ %}";

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The words of the C outside of actions, but for what runs at the start; those in comments, too.
fn words(m: &Machine) -> BTreeSet<&str> {
    let startup = m.startup.file_scope.iter().chain(&m.startup.functions);
    let all = m.prologue.iter().chain(startup);
    all.flat_map(|c| identifiers(&c.text)).collect()
}

/// What the C library gives memory by.
const ALLOCATORS: &[&str] = &[
    "aligned_alloc",
    "asprintf",
    "calloc",
    "getdelim",
    "getline",
    "malloc",
    "mmap",
    "open_memstream",
    "posix_memalign",
    "realloc",
    "reallocarray",
    "strdup",
    "strndup",
    "vasprintf",
];

fn allocates(m: &Machine) -> Vec<(String, Vec<String>)> {
    let own = words(m);
    let name = |function: &&str| {
        let named = |(_, a): &(&str, &Action)| identifiers(&a.code.text).any(|w| w == *function);
        let mut places: Vec<String> = actions(m)
            .filter(named)
            .map(|(n, _)| n.to_string())
            .collect();
        places.extend(own.contains(*function).then(|| C.to_string()));
        (!places.is_empty()).then(|| ((*function).to_string(), places))
    };
    ALLOCATORS.iter().filter_map(name).collect()
}

fn formats(m: &Machine) -> bool {
    let mut uses = actions(m).flat_map(|(_, a)| &a.uses);
    let directive = uses.any(|u| match &u.what {
        What::Directive { call, .. } => call.as_ref().is_some_and(|c| c.format),
        _ => false,
    });
    directive || words(m).iter().any(|w| w.ends_with("replyf"))
}

fn waits(m: &Machine) -> Vec<Wait> {
    let mut found: Vec<Wait> = Vec::new();
    let mut add = |what: For, by: String, place: &str| {
        let at = found.binary_search_by_key(&what, |w| w.what);
        let at = at.unwrap_or_else(|at| {
            let (by, places) = (Vec::new(), Vec::new());
            found.insert(at, Wait { what, by, places });
            at
        });
        let known = &mut found[at];
        if !known.by.contains(&by) {
            known.by.push(by);
        }
        if known.places.last().is_none_or(|last| last != place) {
            known.places.push(place.to_string());
        }
    };
    for (name, action) in actions(m) {
        for place in &action.uses {
            match &place.what {
                What::Block { .. } => {
                    if let Some(block) = directives::of_form(Form::Block) {
                        add(For::Block, block.word().to_string(), name);
                    }
                }
                What::Directive { directive, .. } => {
                    if let Some(what) = directive.does.waits {
                        add(what, directive.word().to_string(), name);
                    }
                }
                _ => {}
            }
        }
    }
    for function in words(m) {
        if let Some(what) = directives::does(function).waits {
            add(what, function.to_string(), C);
        }
    }
    found
}
