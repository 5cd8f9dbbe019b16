//! What a client does to come to a set of states, and how that is described.
//!
//! Must not know: what is wrong there.

use nest_machine::Machine;
use nest_machine::reach::{At, DfaProduct, Reach, Search, Step};
use std::collections::HashMap;
use std::fmt;

/// Steps of automata for all messages together.
const MOST_STEPS: usize = 1_000_000;
/// Longer conversations, and longer messages, show nothing to anybody.
const LONGEST_TALK: usize = 12;
pub(crate) const LONGEST_MESSAGE: usize = 200;

/// One thing that a client does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It sends these bytes.
    Send(Vec<u8>),
    /// It is silent for so many milliseconds.
    Silence(u32),
}

/// A step that the server takes on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumed {
    /// By which rule.
    pub by: Step,
    /// The states that are marked behind it, as a mask; none: any may be.
    pub marked: Option<u64>,
}

/// What becomes of the conversation behind its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Whatever it is.
    #[default]
    Any,
    /// Nothing more is taken, as long as the client waits.
    Waits,
    /// It ends.
    Ends,
}

/// What a client does, in order, and what the server makes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// One after the other, each when the one before was handled.
    pub acts: Vec<Act>,
    /// What the server takes, in order.
    pub consumed: Vec<Consumed>,
    /// What comes of it.
    pub then: Then,
}

impl Witness {
    /// This and then one more message.
    #[must_use]
    pub fn and(mut self, message: Vec<u8>) -> Witness {
        self.acts.push(Act::Send(message));
        self
    }

    /// The same, with one more step of a rule.
    #[must_use]
    pub fn consumed_by(mut self, rule: usize) -> Witness {
        let (by, marked) = (Step::Rule(rule), None);
        self.consumed.push(Consumed { by, marked });
        self
    }

    /// The same, which leads there.
    #[must_use]
    pub fn then(mut self, then: Then) -> Witness {
        self.then = then;
        self
    }

    /// This and then so many milliseconds of silence.
    #[must_use]
    pub fn silence(mut self, ms: u32) -> Witness {
        self.acts.push(Act::Silence(ms));
        self
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Send(bytes) => f.write_str(&literal(bytes)),
            Act::Silence(ms) if ms % 1000 == 0 => write!(f, "{}s of silence", ms / 1000),
            Act::Silence(ms) => write!(f, "{ms}ms of silence"),
        }
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, act) in self.acts.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{act}")?;
        }
        Ok(())
    }
}

/// Bytes as a literal of C.
#[must_use]
pub fn literal(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for (n, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // A hexadecimal escape would take in a digit behind it.
            _ if bytes.get(n + 1).is_some_and(u8::is_ascii_hexdigit) => {
                text.push_str(&format!("\\{byte:03o}"));
            }
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

/// Conversations, and what they are made of.
pub struct Talks<'m> {
    m: &'m Machine,
    reach: &'m Reach,
    /// By the rules that are active, and the one that takes it.
    messages: HashMap<(Vec<usize>, usize), Option<Vec<u8>>>,
    steps: usize,
}

impl<'m> Talks<'m> {
    /// For a machine.
    pub fn new(m: &'m Machine, reach: &'m Reach) -> Talks<'m> {
        Talks {
            m,
            reach,
            messages: HashMap::new(),
            steps: MOST_STEPS,
        }
    }

    /// What leads to a set, if there are messages that are decided at once.
    pub fn to(&mut self, set: usize) -> Option<Witness> {
        let path = self.reach.path_to(set);
        if path.len() > LONGEST_TALK {
            return None;
        }
        let behind = path.iter().skip(1).map(|(from, _)| *from).chain([set]);
        let steps = path.iter().zip(behind);
        let consumed = steps.map(|((_, by), behind)| Consumed {
            by: *by,
            marked: Some(self.reach.sets[behind].states),
        });
        let consumed = consumed.collect();
        let acts: Option<Vec<Act>> = path
            .into_iter()
            .map(|(from, step)| match step {
                Step::Rule(rule) => Some(Act::Send(self.message(from, rule)?)),
                Step::Timer(timer) => Some(Act::Silence(self.m.timers[timer].after)),
            })
            .collect();
        Some(Witness {
            acts: acts?,
            consumed,
            then: Then::Any,
        })
    }

    /// Whether a rule takes a message in a set at once, with nothing behind it.
    #[must_use]
    pub fn takes(&self, set: usize, rule: usize, message: &[u8]) -> bool {
        let (mut consumed, mut live, mut decided) = (None, false, false);
        for active in self.active(set) {
            let Some(dfa) = &self.m.rules[active].dfa else {
                return false;
            };
            let early = self.m.rules[active].early;
            let mut end = dfa.start;
            for (at, byte) in (1..).zip(message) {
                end = dfa.step(end, *byte);
                if early && dfa.accepts(end) && at < message.len() {
                    return false;
                }
            }
            live |= dfa.is_live(end);
            if dfa.accepts(end) {
                decided |= early;
                consumed = consumed.or(Some(active));
            }
        }
        consumed == Some(rule) && (decided || !live)
    }

    /// The rules that are active in a set.
    fn active(&self, set: usize) -> Vec<usize> {
        let set = &self.reach.sets[set];
        let all = 0..self.m.rules.len();
        all.filter(|r| set.holds(&self.m.rules[*r].cond)).collect()
    }

    /// The shortest message that a rule takes in a set, with nothing behind it.
    pub fn message(&mut self, set: usize, rule: usize) -> Option<Vec<u8>> {
        let key = (self.active(set), rule);
        if let Some(known) = self.messages.get(&key) {
            return known.clone();
        }
        let product = DfaProduct::of(&self.m.rules, &key.0);
        let found = product.and_then(|product| {
            let live = |states: &[At]| product.live(states).next().is_some();
            let consumed = |states: &[At]| product.first(states) == Some(rule) && !live(states);
            match product.search(&mut self.steps, live, consumed) {
                Search::Found(input) if input.len() <= LONGEST_MESSAGE => Some(input),
                _ => None,
            }
        });
        self.messages.insert(key, found.clone());
        found
    }
}
