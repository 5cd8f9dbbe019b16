//! Random rule sets, and conversations that tend to match them.

use crate::differential::Case;
use crate::notation::{nowhere, piece};
use crate::print::Macros;
use crate::random::Random;
use nest_pattern::{Hir, lower};
use nest_syntax::ast::{Alt, Atom, ByteSet, Element, Flags, Name, Pattern, Piece, Quant};
use std::collections::BTreeSet;

/// Few bytes, so that rules meet each other; both cases, a newline, one beyond ASCII.
const BYTES: &[u8] = b"aaabbbccABd\n\n1\xe9";

/// Longest conversation.
const LENGTH: usize = 20;

/// One to four rules without a conversation.
pub fn rules(random: &mut Random) -> Case {
    let mut macros = Macros::new();
    for name in ["ONE", "TWO"] {
        if random.chance(30) {
            let body = pattern(random, &macros);
            macros.insert(name.into(), body);
        }
    }
    let caseless = random.chance(10);
    let mut rules = Vec::new();
    for _ in 0..1 + random.below(4) {
        let rule = loop {
            let mut rule = pattern(random, &macros);
            if random.chance(5) {
                rule.elements[0].alt.branches[0].insert(0, piece(Atom::Nothing));
            }
            // What can match only the empty string is refused: not a rule.
            if lower(&rule, &macros, caseless).is_ok() {
                break rule;
            }
        };
        rules.push(rule);
    }
    let conditions = conditions(random, rules.len());
    let mut parts = |rule: &Pattern| -> BTreeSet<u32> {
        let all = 0..u32::try_from(rule.elements.len()).expect("few elements");
        all.filter(|_| random.chance(50)).collect()
    };
    let requested = rules.iter().map(&mut parts).collect();
    let marks = if random.chance(50) { 30 } else { 0 };
    let early = rules.iter().map(|_| random.chance(marks)).collect();
    Case {
        rules,
        macros,
        caseless,
        conditions,
        early,
        requested,
        ..Case::default()
    }
}

/// One for each rule, or fewer.
fn conditions(random: &mut Random, rules: usize) -> Vec<u32> {
    let shared = random.chance(50);
    let mut count = 0;
    (0..rules)
        .map(|_| {
            let fresh = count == 0 || !shared || random.chance(50);
            let at = if fresh { count } else { random.below(count) };
            count += usize::from(fresh);
            u32::try_from(at).expect("few rules")
        })
        .collect()
}

/// A conversation for these rules, put in place of the last one.
pub fn conversation(random: &mut Random, case: &mut Case, hirs: &[Vec<Hir>]) {
    let mut input = Vec::new();
    for _ in 0..1 + random.below(4) {
        for element in random.pick(hirs) {
            sample(random, element, &mut input);
        }
    }
    for _ in 0..random.below(4) {
        let at = random.below(input.len() + 1);
        match random.below(4) {
            0 => input.insert(at, *random.pick(BYTES)),
            1 if at < input.len() => input[at] = *random.pick(BYTES),
            2 if at < input.len() => drop(input.remove(at)),
            3 if random.chance(30) => input.truncate(at),
            _ => {}
        }
    }
    input.truncate(LENGTH);
    case.cuts = (0..input.len()).filter(|_| random.chance(30)).collect();
    case.input = input;
    case.eof = random.chance(70);
    case.input_buffer = if random.chance(20) {
        1 + random.below(8)
    } else {
        LENGTH
    };
    let count = case.conditions.iter().max().map_or(0, |most| most + 1);
    let every = (1u64 << count) - 1;
    case.masks = (0..3)
        .map(|_| {
            let hold = if random.chance(50) {
                every
            } else {
                1 + random.next() % every
            };
            let each = (0..).zip(&case.conditions);
            each.map(|(rule, condition)| (hold >> condition & 1) << rule)
                .sum()
        })
        .collect();
}

fn pattern(random: &mut Random, macros: &Macros) -> Pattern {
    let flags = if random.chance(20) {
        flags(random)
    } else {
        Flags::default()
    };
    let elements = (0..1 + random.below(3))
        .map(|_| {
            // Deep nests of loops are rare: libpcre2 needs exponential time for them.
            let depth = *random.pick(&[1, 2, 2, 2, 3]);
            Element {
                alt: alt(random, macros, depth, false),
                span: nowhere(),
            }
        })
        .collect();
    Pattern {
        flags,
        elements,
        span: nowhere(),
        now: None,
    }
}

fn alt(random: &mut Random, macros: &Macros, depth: usize, may_be_empty: bool) -> Alt {
    let branches = *random.pick(&[1, 1, 1, 2, 2, 3]);
    Alt {
        branches: (0..branches)
            .map(|_| {
                let empty = may_be_empty && random.chance(15);
                let pieces = if empty { 0 } else { 1 + random.below(3) };
                (0..pieces)
                    .map(|_| one_piece(random, macros, depth))
                    .collect()
            })
            .collect(),
    }
}

fn one_piece(random: &mut Random, macros: &Macros, depth: usize) -> Piece {
    let mut piece = piece(atom(random, macros, depth));
    if !matches!(piece.atom, Atom::SetFlags(_)) && random.chance(40) {
        piece.quant = Some(quant(random));
    }
    piece
}

fn atom(random: &mut Random, macros: &Macros, depth: usize) -> Atom {
    match random.below(20) {
        0..=7 => Atom::Bytes(vec![*random.pick(BYTES)]),
        8..=9 => Atom::Bytes(
            (0..1 + random.below(3))
                .map(|_| *random.pick(BYTES))
                .collect(),
        ),
        10..=12 => {
            let mut set = ByteSet::EMPTY;
            (0..1 + random.below(3)).for_each(|_| set.insert(*random.pick(BYTES)));
            Atom::Class {
                set,
                negated: random.chance(30),
            }
        }
        13 => Atom::Dot,
        14 if random.chance(50) => Atom::SetFlags(flags(random)),
        15 if !macros.is_empty() => {
            let names: Vec<&String> = macros.keys().collect();
            Atom::Macro(Name {
                text: (*random.pick(&names)).clone(),
                span: nowhere(),
            })
        }
        _ if depth == 0 => Atom::Bytes(vec![*random.pick(BYTES)]),
        _ => {
            let flags = if random.chance(15) {
                flags(random)
            } else {
                Flags::default()
            };
            Atom::Group {
                flags,
                alt: alt(random, macros, depth - 1, true),
            }
        }
    }
}

fn quant(random: &mut Random) -> Quant {
    let (min, max) = match random.below(8) {
        0..=2 => (0, None),
        3..=4 => (1, None),
        5 => (0, Some(1)),
        _ => {
            let min = random.below(4) as u32;
            (
                min,
                if random.chance(30) {
                    None
                } else {
                    Some(min + random.below(3) as u32)
                },
            )
        }
    };
    Quant {
        min,
        max,
        greedy: random.chance(60),
    }
}

fn flags(random: &mut Random) -> Flags {
    let mut flag = || {
        if random.chance(50) {
            Some(random.chance(70))
        } else {
            None
        }
    };
    Flags {
        caseless: flag(),
        dot_all: flag(),
        swap_greed: flag(),
        multiline: None,
    }
}

/// Appends something that the element matches.
fn sample(random: &mut Random, hir: &Hir, out: &mut Vec<u8>) {
    if out.len() > LENGTH {
        return;
    }
    match hir {
        Hir::Empty => {}
        Hir::Class(set) => {
            let usual: Vec<u8> = BYTES.iter().copied().filter(|b| set.contains(*b)).collect();
            let any: Vec<u8> = set.iter().collect();
            out.push(*random.pick(if usual.is_empty() { &any } else { &usual }));
        }
        Hir::Concat(items) => items.iter().for_each(|i| sample(random, i, out)),
        Hir::Alt(branches) => {
            let branch = random.pick(branches);
            sample(random, branch, out);
        }
        Hir::Repeat {
            inner, min, max, ..
        } => {
            let more = random.below(3) as u32;
            for _ in 0..(min + more).min(max.unwrap_or(u32::MAX)) {
                sample(random, inner, out);
            }
        }
    }
}
