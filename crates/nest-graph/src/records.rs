//! Pictures as JSON, for programs: what there is, not how it looks.
//!
//! The fields are an interface (`docs/howto/pictures.md`): they may grow, they are not renamed.

use crate::automaton::Automaton;
use crate::by::By;
use crate::condition::condition;
use crate::conversation::{Conversation, Place, Steps};
use crate::marks::About;
use crate::text::bytes;
use nest_machine::{Cond, Machine};
use serde::Serialize;
use std::collections::BTreeMap;

/// A conversation.
#[derive(Serialize)]
struct Talk<'a> {
    picture: &'a str,
    file: &'a str,
    states: &'a [String],
    /// Whether all sets are among the nodes.
    complete: bool,
    rules: Vec<Rule<'a>>,
    nodes: Vec<Node<'a>>,
    edges: Vec<Edge>,
    findings: Vec<Finding<'a>>,
    /// The numbers of edges.
    #[serde(rename = "way")]
    path: Vec<usize>,
}

#[derive(Serialize)]
struct Rule<'a> {
    rule: usize,
    kind: &'a str,
    name: &'a str,
    file: &'a str,
    line: usize,
    condition: String,
    pattern: Option<String>,
    after_ms: Option<u32>,
}

#[derive(Serialize)]
struct Node<'a> {
    node: usize,
    kind: &'a str,
    states: Vec<&'a str>,
    last: Option<&'a str>,
    certain: bool,
}

#[derive(Serialize)]
struct Edge {
    from: usize,
    to: usize,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    kind: &'static str,
    rule: Option<usize>,
    certain: bool,
}

#[derive(Serialize)]
struct Finding<'a> {
    number: usize,
    code: &'a str,
    message: &'a str,
    file: &'a str,
    line: usize,
    rule: Option<usize>,
    state: Option<&'a str>,
}

/// The automaton of a rule.
#[derive(Serialize)]
struct Machinery<'a> {
    picture: &'a str,
    title: &'a str,
    pattern: &'a str,
    states: Vec<State<'a>>,
    edges: Vec<Bytes>,
}

#[derive(Serialize)]
struct State<'a> {
    state: usize,
    accepts: bool,
    live: bool,
    elements: &'a [u32],
}

#[derive(Serialize)]
struct Bytes {
    from: usize,
    to: usize,
    bytes: String,
    ranges: Vec<(u8, u8)>,
}

/// Rules are numbered as they are written, TIMEOUT rules behind the others.
fn number(m: &Machine, by: By) -> Option<usize> {
    match by {
        By::Rule(n) => Some(n),
        By::Timer(n) => Some(m.rules.len() + n),
        By::Start | By::Stuck => None,
    }
}

impl Conversation<'_> {
    /// All of it, every set by itself.
    #[must_use]
    pub fn json(&self) -> String {
        let m = self.m;
        let sets = &self.reach.sets;
        let groups: Vec<Vec<usize>> = (0..sets.len()).map(|n| vec![n]).collect();
        let names = |states: u64| -> Vec<&str> {
            let all = (0..).zip(&m.states);
            all.filter(|(n, _)| states >> n & 1 == 1)
                .map(|(_, name)| name.as_str())
                .collect()
        };
        let plain = |node, kind| Node {
            node,
            kind,
            states: Vec::new(),
            last: None,
            certain: true,
        };
        let mut nodes = vec![plain(0, "start")];
        nodes.extend((1..).zip(sets).map(|(node, set)| Node {
            node,
            kind: "set",
            states: names(set.states),
            last: set.last.map(|n| m.states[n as usize].as_str()),
            certain: set.certain,
        }));
        nodes.push(plain(nodes.len(), "end"));
        let node = |place: Place| match place {
            Place::Entry => 0,
            Place::Group(n) => n + 1,
            Place::Any | Place::Exit => sets.len() + 1,
        };
        // Of what is not known whole, parts would mislead.
        let steps = match self.moves {
            Some(_) => self.steps(&groups),
            None => Steps::new(),
        };
        let path = self.path(&groups);
        let mut path_edges = BTreeMap::new();
        let mut edges = Vec::new();
        for ((from, to), by) in &steps {
            for by in by.keys() {
                path_edges.insert((*from, *to, *by), edges.len());
            }
            edges.push(Edge {
                from: node(*from),
                to: node(*to),
                steps: by
                    .iter()
                    .map(|(by, certain)| step(m, *by, *certain))
                    .collect(),
            });
        }
        let findings = self.marks.all.iter().map(|mark| Finding {
            number: mark.number,
            code: mark.code,
            message: &mark.message,
            file: &mark.file,
            line: mark.line,
            rule: match mark.about {
                About::Step(by) => number(m, by),
                About::State(_) | About::Other => None,
            },
            state: match mark.about {
                About::State(n) => Some(&m.states[n as usize]),
                About::Step(_) | About::Other => None,
            },
        });
        written(&Talk {
            picture: "conversation",
            file: &m.file,
            states: &m.states,
            complete: self.reach.is_complete(),
            rules: rules(m),
            nodes,
            edges,
            findings: findings.collect(),
            path: path
                .iter()
                .filter_map(|s| path_edges.get(s).copied())
                .collect(),
        })
    }
}

fn step(m: &Machine, by: By, certain: bool) -> Step {
    Step {
        kind: match by {
            By::Start => "start",
            By::Rule(_) => "rule",
            By::Timer(_) => "timeout",
            By::Stuck => "stuck",
        },
        rule: number(m, by),
        certain,
    }
}

fn rules(m: &Machine) -> Vec<Rule<'_>> {
    let required = |cond: &Cond| condition(m, cond);
    let rules = m.rules.iter().map(|r| Rule {
        rule: 0,
        kind: "rule",
        name: &r.label,
        file: &r.file,
        line: r.line,
        condition: required(&r.cond),
        pattern: Some(r.elements.join(" ")),
        after_ms: None,
    });
    let timers = m.timers.iter().map(|t| Rule {
        rule: 0,
        kind: "timeout",
        name: &t.label,
        file: &t.file,
        line: t.line,
        condition: required(&t.cond),
        pattern: None,
        after_ms: Some(t.after),
    });
    let all = rules.chain(timers).enumerate();
    all.map(|(n, rule)| Rule { rule: n, ..rule }).collect()
}

impl Automaton {
    /// All of it.
    #[must_use]
    pub fn json(&self) -> String {
        let states = self.states.iter().enumerate();
        let edges = self.edges.iter().map(|((from, to), set)| {
            let mut ranges: Vec<(u8, u8)> = Vec::new();
            for byte in (0..=255u8).filter(|b| set[usize::from(*b)]) {
                match ranges.last_mut() {
                    Some((_, to)) if *to + 1 == byte => *to = byte,
                    _ => ranges.push((byte, byte)),
                }
            }
            Bytes {
                from: *from,
                to: *to,
                bytes: bytes(set),
                ranges,
            }
        });
        written(&Machinery {
            picture: "automaton",
            title: &self.title,
            pattern: &self.pattern,
            states: states
                .map(|(n, s)| State {
                    state: n,
                    accepts: s.accepts,
                    live: s.live,
                    elements: &s.elements,
                })
                .collect(),
            edges: edges.collect(),
        })
    }
}

fn written(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("strings and numbers are JSON");
    text + "\n"
}
