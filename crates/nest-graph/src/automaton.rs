//! The automaton of a rule as a picture: states, the bytes between them, and which elements of the
//! pattern are being read. Large ones are drawn with texts and counts folded ([`folds`]).

mod folds;
mod state;

use crate::by::By;
use crate::conversation::short_name;
use crate::graph::{Edge, Graph, Kind, Label, Node, Note};
use crate::text::{bytes, plain, short, title};
use folds::Run;
use nest_machine::{Machine, Rule};
use nest_pattern::{Dfa, Nfa, NfaState};
pub use state::{Automaton, Bytes, State};
use state::{LONGEST, letter};
use std::collections::{BTreeMap, BTreeSet};

/// Beyond this it is not told which elements are read.
const MOST_WORK: usize = 4_000_000;

/// The automaton of a rule; nothing if it has none, being too large.
#[must_use]
pub fn automaton(m: &Machine, rule: usize) -> Option<Automaton> {
    let number = rule;
    let rule = &m.rules[rule];
    let dfa = rule.dfa.as_ref()?;
    let mut numbers = BTreeMap::from([(dfa.start, 0)]);
    let mut order = vec![dfa.start];
    let mut edges: BTreeMap<(usize, usize), Bytes> = BTreeMap::new();
    let mut next = 0;
    while let Some(state) = order.get(next).copied() {
        for byte in 0..=255u8 {
            let to = dfa.step(state, byte);
            if !dfa.is_live(to) && !dfa.accepts(to) {
                continue;
            }
            let number = *numbers.entry(to).or_insert(order.len());
            if number == order.len() {
                order.push(to);
            }
            let set = edges.entry((next, number));
            set.or_insert_with(|| Box::new([false; 256]))[usize::from(byte)] = true;
        }
        next += 1;
    }
    let elements = elements(rule, dfa);
    let states = order.iter().map(|state| State {
        accepts: dfa.accepts(*state),
        live: dfa.is_live(*state),
        elements: elements.get(*state as usize).cloned().unwrap_or_default(),
    });
    Some(Automaton {
        title: format!("{}: {}", title(m), short_name(m, By::Rule(number))),
        pattern: plain(&pattern(rule)),
        states: states.collect(),
        edges,
    })
}

/// The pattern as it is written, with its mark.
fn pattern(rule: &Rule) -> String {
    let now = rule.early.then_some("NOW");
    let elements = rule.elements.iter().map(String::as_str);
    elements.chain(now).collect::<Vec<_>>().join(" ")
}

/// For each state, the elements in which something may be read next.
fn elements(rule: &Rule, dfa: &Dfa) -> Vec<Vec<u32>> {
    let nfa = &rule.nfa;
    if nfa.states.len() * dfa.count as usize * dfa.class_count as usize > MOST_WORK {
        return Vec::new();
    }
    let parts = parts(nfa);
    let mut samples: Vec<u8> = (0..=255).collect();
    samples.sort_by_key(|b| dfa.classes[usize::from(*b)]);
    samples.dedup_by_key(|b| dfa.classes[usize::from(*b)]);
    let mut threads: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); dfa.count as usize];
    threads[dfa.start as usize] = closure(nfa, nfa.start);
    let mut todo = BTreeSet::from([dfa.start]);
    while let Some(state) = todo.pop_first() {
        for byte in &samples {
            let to = dfa.step(state, *byte);
            if !dfa.is_live(to) {
                continue;
            }
            let mut more = BTreeSet::new();
            for id in &threads[state as usize] {
                if let NfaState::Byte { set, next } = nfa.state(*id)
                    && set.contains(*byte)
                {
                    more.extend(closure(nfa, *next));
                }
            }
            let known = &mut threads[to as usize];
            let before = known.len();
            known.extend(more);
            if known.len() > before {
                todo.insert(to);
            }
        }
    }
    let part = |ids: &BTreeSet<u32>| {
        let all: BTreeSet<u32> = ids.iter().map(|id| parts[*id as usize] + 1).collect();
        all.into_iter().collect()
    };
    threads.iter().map(part).collect()
}

/// The Byte states that are reached without a byte.
fn closure(nfa: &Nfa, from: u32) -> BTreeSet<u32> {
    let (mut found, mut met, mut todo) = (BTreeSet::new(), BTreeSet::from([from]), vec![from]);
    while let Some(id) = todo.pop() {
        match nfa.state(id) {
            NfaState::Byte { .. } => {
                found.insert(id);
            }
            NfaState::Split(targets) => todo.extend(targets.iter().filter(|t| met.insert(**t))),
            NfaState::Mark { next, .. } => todo.extend(met.insert(*next).then_some(*next)),
            NfaState::Match => {}
        }
    }
    found
}

/// The element that each state belongs to, from 0.
fn parts(nfa: &Nfa) -> Vec<u32> {
    let mut parts = vec![u32::MAX; nfa.states.len()];
    let mut todo = vec![(nfa.start, 0)];
    while let Some((id, part)) = todo.pop() {
        if std::mem::replace(&mut parts[id as usize], part) != u32::MAX {
            continue;
        }
        match nfa.state(id) {
            NfaState::Byte { next, .. } => todo.push((*next, part)),
            NfaState::Split(targets) => todo.extend(targets.iter().map(|t| (*t, part))),
            NfaState::Mark { next, part } => todo.push((*next, part + 1)),
            NfaState::Match => {}
        }
    }
    parts
}

impl Automaton {
    /// The picture.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let folds = self.folds();
        let drawn: Vec<usize> = (0..self.states.len())
            .filter(|s| !folds.hidden(*s))
            .collect();
        let numbers: BTreeMap<usize, usize> = drawn.iter().copied().zip(1..).collect();
        let mut nodes = vec![Node::new(Kind::Entry, Vec::new(), "before any byte".into())];
        nodes.extend(drawn.iter().map(|s| self.node(*s, folds.runs.get(s))));
        let mut edges = vec![Edge {
            from: 0,
            to: 1,
            labels: Vec::new(),
            on_path: false,
        }];
        let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for ((from, to), set) in &self.edges {
            if folds.passed[*from] || folds.within(*from, *to) {
                continue;
            }
            // What all states of a count have is the first one's, but for the way on from the last.
            let from = match folds.heads.get(from) {
                Some(head) if head != from => {
                    let run = &folds.runs[head];
                    if (run.last, run.on) != (*from, Some(*to)) {
                        continue;
                    }
                    head
                }
                _ => from,
            };
            let (mut to, mut text) = (*to, vec![set]);
            while folds.passed[to]
                && let Some(((_, next), set)) = self.edges.range((to, 0)..).next()
            {
                text.push(set);
                to = *next;
            }
            let to = folds.heads.get(&to).copied().unwrap_or(to);
            let label = label(&text);
            if *from == to {
                nodes[numbers[from]].loops.push(label);
                continue;
            }
            let (from, to) = (numbers[from], numbers[&to]);
            let edge = places.entry((from, to)).or_insert(edges.len());
            if *edge == edges.len() {
                edges.push(Edge {
                    from,
                    to,
                    labels: Vec::new(),
                    on_path: false,
                });
            }
            edges[*edge].labels.push(label);
        }
        let count = match self.states.len() {
            1 => "1 state".to_owned(),
            n => format!("{n} states"),
        };
        let mut notes = vec![Note {
            text: "Double: what was read matches. Filled: nothing more can be read.".into(),
            finding: false,
        }];
        if self.states.iter().any(|s| !s.elements.is_empty()) {
            notes[0].text += " $2: an element of the pattern that is read there.";
        }
        let (strings, counts) = folds.count();
        for (count, what) in [
            (strings, "A text is one arrow"),
            (counts, "A count is one circle"),
        ] {
            if count > 0 {
                notes.push(Note {
                    text: format!("{what}: {count} states are not drawn."),
                    finding: false,
                });
            }
        }
        Graph {
            title: self.title.clone(),
            subtitle: format!("{}: {count}", short(&self.pattern, 80)),
            nodes,
            edges,
            notes,
        }
    }

    /// How many states a picture of it shows.
    #[must_use]
    pub fn drawn(&self) -> usize {
        let folds = self.folds();
        (0..self.states.len()).filter(|s| !folds.hidden(*s)).count()
    }

    fn node(&self, number: usize, run: Option<&Run>) -> Node {
        let state = &self.states[number];
        let kind = Kind::Step {
            accepts: state.accepts,
            live: state.live,
        };
        let elements = match state.elements.as_slice() {
            [] => String::new(),
            [one] => format!("${one}"),
            [first, .., last] => format!("${first}-{last}"),
        };
        let mut tip = format!("state {number}");
        if state.accepts {
            tip += ", accepts";
        }
        tip += if state.live { ", live" } else { ", decided" };
        if !elements.is_empty() {
            let all: Vec<String> = state.elements.iter().map(|n| format!("${n}")).collect();
            tip += &format!(", reads {}", all.join(" "));
        }
        let mut name = number.to_string();
        if let Some(run) = run {
            tip += &format!("; and {} more, to state {}", run.more, run.last);
            name.push('+');
        }
        let mut node = Node::new(kind, vec![name], tip);
        node.small.extend(Some(elements).filter(|e| !e.is_empty()));
        node.loops.extend(run.map(|run| run.label.clone()));
        node
    }
}

fn label(text: &[&Bytes]) -> Label {
    let all = match text {
        [one] => bytes(one),
        _ => {
            let letters: Vec<(u8, bool)> = text.iter().filter_map(|set| letter(set)).collect();
            let caseless = letters.iter().any(|(_, both)| *both);
            let word: Vec<u8> = letters.iter().map(|(byte, _)| *byte).collect();
            let literal = nest_check::literal(&word);
            if caseless {
                format!("(?i){literal}")
            } else {
                literal
            }
        }
    };
    Label {
        text: short(&all, LONGEST),
        tip: all,
        certain: true,
        codes: Vec::new(),
        on_path: false,
    }
}
