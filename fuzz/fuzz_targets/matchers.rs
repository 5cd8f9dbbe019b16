//! Any bytes as a few rules and a conversation: thread lists, DFAs, and the rules side by side in
//! one automaton with tags and registers decide alike: rule, length, parts, the byte of decision.
//!
//! Four bytes of choices (conditions and which of the first two rules decide early, which conditions
//! hold, parts asked for, cuts), then a line for
//! each rule, an empty line, the input. Rules look like patterns, but every text is one: what makes
//! no sense stands for itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nest_diag::{FileId, Span};
use nest_pattern::sim::{Decision, Engine, Outcome, Rule, Together};
use nest_pattern::{Dfa, Nfa, lower};
use nest_syntax::ast::{Alt, Atom, ByteSet, Element, Flags, Pattern, Piece, Quant};
use std::collections::{BTreeMap, BTreeSet};

const RULES: usize = 3;
const PIECES: usize = 24; // of a rule
const DEPTH: usize = 5;
const STATES: usize = 200; // of the ways of a rule; larger ones only cost time
const INPUT: usize = 48;
const BUDGET: usize = 100; // states; beyond it thread lists
const BUFFER: usize = 40;

fn nowhere() -> Span {
    Span::new(FileId(0), 0, 0)
}

/// The bytes of a rule, one after the other.
struct Reader<'a> {
    rest: &'a [u8],
    pieces: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, byte: u8) -> bool {
        let is = self.rest.first() == Some(&byte);
        if is {
            self.rest = &self.rest[1..];
        }
        is
    }

    /// Branches, up to what ends them: `)` in a group, a blank elsewhere.
    fn alt(&mut self, depth: usize) -> Alt {
        let mut branches = vec![Vec::new()];
        while let Some(byte) = self.next() {
            let branch = branches.last_mut().expect("there is always one");
            match byte {
                b'|' => branches.push(Vec::new()),
                b')' if depth > 0 => break,
                b' ' if depth == 0 => break,
                b'*' | b'+' | b'?' | b'{' if !branch.is_empty() => self.repeat(byte, branch),
                _ if self.pieces == PIECES => {}
                _ => {
                    self.pieces += 1;
                    let atom = self.atom(byte, depth);
                    branch.push(Piece {
                        atom,
                        quant: None,
                        span: nowhere(),
                    });
                }
            }
        }
        Alt { branches }
    }

    fn atom(&mut self, byte: u8, depth: usize) -> Atom {
        match byte {
            b'.' => Atom::Dot,
            b'[' => {
                let negated = self.skip(b'^');
                let mut set = ByteSet::EMPTY;
                while let Some(byte) = self.next().filter(|b| *b != b']') {
                    set.insert(byte);
                }
                Atom::Class { set, negated }
            }
            b'(' if depth < DEPTH => {
                let flags = Flags {
                    caseless: self.skip(b'i').then_some(true),
                    dot_all: self.skip(b's').then_some(true),
                    swap_greed: self.skip(b'U').then_some(true),
                    multiline: None,
                };
                Atom::Group {
                    flags,
                    alt: self.alt(depth + 1),
                }
            }
            byte => Atom::Bytes(vec![byte]),
        }
    }

    /// Of the last piece; `{` stands before two digits.
    fn repeat(&mut self, sign: u8, branch: &mut Vec<Piece>) {
        let mut digit = || u32::from(self.next().unwrap_or(0) % 4);
        let (min, max) = match sign {
            b'*' => (0, None),
            b'+' => (1, None),
            b'?' => (0, Some(1)),
            _ => {
                let (least, more) = (digit(), digit());
                (least, Some(least + more))
            }
        };
        let greedy = !self.skip(b'?');
        if let Some(piece) = branch.pop() {
            // A quantifier of its own is kept: what is repeated is then a group.
            let atom = match piece.quant {
                None => piece.atom,
                Some(_) => Atom::Group {
                    flags: Flags::default(),
                    alt: Alt {
                        branches: vec![vec![piece]],
                    },
                },
            };
            branch.push(Piece {
                atom,
                quant: Some(Quant { min, max, greedy }),
                span: nowhere(),
            });
        }
    }
}

fn rule(line: &[u8]) -> Option<Nfa> {
    let mut reader = Reader {
        rest: line,
        pieces: 0,
    };
    let mut elements = Vec::new();
    while !reader.rest.is_empty() && elements.len() < 4 {
        elements.push(Element {
            alt: reader.alt(0),
            span: nowhere(),
        });
    }
    let pattern = Pattern {
        flags: Flags::default(),
        elements,
        span: nowhere(),
        now: None,
    };
    Nfa::build(&lower(&pattern, &BTreeMap::new(), false).ok()?).ok()
}

struct Case<'a> {
    input: &'a [u8],
    cuts: u8,
    masks: [Vec<usize>; 2],
}

impl Case<'_> {
    fn decisions(&self, mut engine: Engine<'_>, cuts: u8) -> Vec<Decision> {
        let mut made: Vec<Decision> = Vec::new();
        engine.begin(self.masks[0].iter().copied(), false);
        for (at, byte) in self.input.iter().enumerate() {
            engine.feed(std::slice::from_ref(byte));
            let last = at + 1 == self.input.len();
            if cuts >> (at % 8) & 1 == 0 && !last {
                continue;
            }
            if self.go_on(&mut engine, &mut made) {
                return made;
            }
        }
        engine.end_of_file();
        self.go_on(&mut engine, &mut made);
        made
    }

    /// Whether the conversation has ended.
    fn go_on(&self, engine: &mut Engine<'_>, made: &mut Vec<Decision>) -> bool {
        while let Some(decision) = engine.decide() {
            let ended = matches!(decision.outcome, Outcome::End(_));
            made.push(decision);
            if ended {
                return true;
            }
            engine.begin(self.masks[made.len() % 2].iter().copied(), false);
        }
        false
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [conditions, hold, asked, cuts, rest @ ..] = bytes else {
        return;
    };
    let end = rest.windows(2).position(|pair| pair == b"\n\n");
    let (lines, input) = end.map_or((rest, &[][..]), |end| (&rest[..end], &rest[end + 2..]));
    let nfas: Vec<Nfa> = lines
        .split(|b| *b == b'\n')
        .take(RULES)
        .filter_map(rule)
        .collect();
    if nfas.is_empty() || nfas.iter().any(|nfa| nfa.states.len() > STATES) {
        return;
    }
    let early = |rule: usize| rule < 2 && conditions >> (6 + rule) & 1 == 1;
    let with = |budget: usize| -> Vec<Rule> {
        let each = nfas.iter().enumerate().map(|(rule, nfa)| Rule {
            nfa: nfa.clone(),
            dfa: if early(rule) {
                Dfa::build_early(nfa, budget)
            } else {
                Dfa::build(nfa, budget)
            },
            early: early(rule),
        });
        each.collect()
    };
    let (slow, fast) = (with(0), with(BUDGET));
    let conditions: Vec<u32> = (0..nfas.len())
        .map(|rule| u32::from(conditions >> (2 * rule) & 3))
        .collect();
    let all = conditions.iter().all(|bit| *bit == conditions[0]);
    let mask = |hold: u8| -> Vec<usize> {
        let holds = |rule: &usize| all || hold >> conditions[*rule] & 1 == 1;
        (0..nfas.len()).filter(holds).collect()
    };
    let parts = |rule: usize| -> BTreeSet<u32> {
        let bit = |part: u32| (u32::try_from(2 * rule).expect("few rules") + part) % 8;
        let all = 0..nfas[rule].parts;
        all.filter(|part| asked >> bit(*part) & 1 == 1).collect()
    };
    let parts: Vec<BTreeSet<u32>> = (0..nfas.len()).map(parts).collect();
    let case = Case {
        input: &input[..input.len().min(INPUT)],
        cuts: *cuts,
        masks: [mask(*hold), mask(hold >> 4)],
    };
    let expected = case.decisions(Engine::new(&slow, BUFFER), 0xff);
    let made = case.decisions(Engine::new(&fast, BUFFER), case.cuts);
    assert_eq!(made, expected, "each rule by its DFA");
    for (name, together) in [
        ("side by side", Together::build(&fast, BUDGET)),
        (
            "side by side, as asked",
            Together::with(&fast, &parts, &conditions, BUDGET),
        ),
    ] {
        if let Some(together) = together {
            let made = case.decisions(Engine::product(&fast, &together, BUFFER), case.cuts);
            assert_eq!(made, expected, "{name}");
        }
    }
});
