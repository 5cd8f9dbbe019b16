//! The repetitions of an element: by example, and against libpcre2 with the repetition of random
//! patterns written out, so that each has a group of its own.

use crate::generate;
use crate::notation::{class, group, one, text, times};
use crate::pcre2::{Found, Regex};
use crate::print::pcre;
use crate::random::Random;
use nest_pattern::{Hir, Nfa, NfaState, lower, sim};
use nest_syntax::ast::{Atom, Element, Pattern, Piece};
use std::collections::BTreeMap;
use std::ops::Range;

/// More repetitions than the longest text has bytes.
const UNROLLED: u32 = 7;

fn items(piece: Piece, input: &[u8]) -> Vec<Range<usize>> {
    let pattern = crate::notation::pattern(vec![one(vec![piece])]);
    let hirs = lower(&pattern, &BTreeMap::new(), false).expect("it is a pattern");
    let nfa = Nfa::repeated(&hirs[0]).expect("it is a repetition");
    sim::items(&nfa.expect("it is small"), input).expect("it matches")
}

#[test]
fn items_by_example() {
    let words = || group(vec![vec![text(" "), times(class("ab"), "+")]]);
    assert_eq!(items(times(words(), "+"), b" a ab b"), [0..2, 2..5, 5..7]);
    assert_eq!(items(times(words(), "*"), b""), []);
    assert_eq!(items(times(words(), "{2,3}"), b" a b"), [0..2, 2..4]);
    // An empty repetition ends the loop; a minimum is always reached.
    let maybe = || group(vec![vec![times(text("a"), "?")]]);
    assert_eq!(items(times(maybe(), "*"), b"a"), [0..1, 1..1]);
    assert_eq!(items(times(maybe(), "{3}"), b"a"), [0..1, 1..1, 1..1]);
    let either = group(vec![vec![text("a")], vec![text("ab")], vec![text("bb")]]);
    assert_eq!(items(times(either, "*"), b"aabb"), [0..1, 1..2, 2..4]);
    assert!(Nfa::repeated(&Hir::Empty).is_none());
}

#[test]
fn states_without_bytes_lead_upwards() {
    for seed in 0..400 {
        let case = generate::rules(&mut Random::new(seed));
        for element in lower(&case.rules[0], &case.macros, case.caseless).expect("it was tried") {
            let Some(Ok(nfa)) = Nfa::repeated(&element) else {
                continue;
            };
            for (id, state) in (0u32..).zip(&nfa.states) {
                match state {
                    NfaState::Split(targets) => assert!(targets.iter().all(|t| *t > id)),
                    NfaState::Mark { next, .. } => assert!(*next > id),
                    NfaState::Byte { .. } | NfaState::Match => {}
                }
            }
        }
    }
}

/// All texts of at most five bytes.
fn inputs() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..5 {
        let to = all.len();
        for at in from..to {
            for byte in b"abc" {
                let mut longer = all[at].clone();
                longer.push(*byte);
                all.push(longer);
            }
        }
        from = to;
    }
    all
}

/// `(x)(x)(?:(x)(?:(x))?)?` for `x{2,4}`; the number of groups.
fn unrolled(x: &str, min: u32, max: Option<u32>, greedy: bool) -> (String, usize) {
    let max = max.unwrap_or(UNROLLED.max(min));
    let optional = max - min;
    let mut out = format!("({x})").repeat(min as usize);
    out += &format!("(?:({x})").repeat(optional as usize);
    out += &(if greedy { ")?" } else { ")??" }).repeat(optional as usize);
    (out, max as usize)
}

#[test]
fn libpcre2_takes_the_same_repetitions() {
    let inputs = inputs();
    let (mut compared, mut repetitions) = (0, 0);
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let case = generate::rules(&mut random);
        let mut rule = case.rules[0].clone();
        // libpcre2 takes `\A` only at the start, but here elements stand anywhere.
        rule.elements[0].alt.branches[0].retain(|p| !matches!(p.atom, Atom::Nothing));
        let inner = &rule.elements[random.below(rule.elements.len())];
        let around = &rule.elements[0];
        let greedy = random.chance(60);
        let quantifier = *random.pick(&["*", "+", "?", "{1,3}", "{2}", "{0,2}", "{2,}"]);
        let mut repeated = times(group_of(inner), quantifier);
        let quant = repeated.quant.as_mut().expect("it has one");
        quant.greedy = greedy;
        let quant = *quant;
        // What stands around the element competes with it for bytes.
        let pattern = Pattern {
            flags: Default::default(),
            elements: vec![around.clone(), one(vec![repeated]), around.clone()],
            span: rule.span,
            now: None,
        };
        let Ok(hirs) = lower(&pattern, &case.macros, false) else {
            continue;
        };
        let (whole, Some(alone)) = (Nfa::build(&hirs), Nfa::repeated(&hirs[1])) else {
            continue;
        };
        let (Ok(whole), Ok(alone)) = (whole, alone) else {
            continue;
        };
        // If a repetition may be empty, loops end after an empty one, which cannot be written out.
        let inner_alone = lower(&one_group(inner), &case.macros, false);
        let empty = inner_alone.map_or(true, |hirs| {
            sim::parts(&Nfa::build(&hirs).expect("it is small"), b"").is_some()
        });
        if empty && quant.max.is_none() {
            continue;
        }
        let text = |element: &Element| {
            let alone = crate::notation::pattern(vec![element.clone()]);
            let printed = pcre(&alone, &case.macros, false);
            printed.trim_start_matches("(*LF)").replacen('(', "(?:", 1)
        };
        let (middle, groups) = unrolled(&text(inner), quant.min, quant.max, greedy);
        let regex = format!("(*LF)({0}){middle}({0})", text(around));
        let regex = Regex::new(regex.as_bytes(), groups + 2, 100_000).expect("it is a pattern");
        for input in &inputs {
            let Found::Match(bounds) = regex.find(input) else {
                continue;
            };
            if bounds[0] != (0..input.len()) {
                continue;
            }
            let parts = sim::parts(&whole, input).expect("libpcre2 matches it");
            let taken = &bounds[2..2 + groups];
            let taken: Vec<Range<usize>> = taken
                .iter()
                .filter(|b| b.start != usize::MAX)
                .cloned()
                .collect();
            let at = parts[1].start;
            let found = sim::items(&alone, &input[parts[1].clone()]).expect("it matches");
            let found: Vec<Range<usize>> = found.iter().map(|r| r.start + at..r.end + at).collect();
            assert_eq!(found, taken, "{seed}: {input:?}");
            compared += 1;
            repetitions += taken.len();
        }
    }
    assert!(compared > 5_000, "{compared} texts compared");
    assert!(repetitions > compared, "{repetitions} repetitions");
}

fn one_group(element: &Element) -> Pattern {
    crate::notation::pattern(vec![element.clone()])
}

fn group_of(element: &Element) -> Piece {
    crate::notation::piece(Atom::Group {
        flags: Default::default(),
        alt: element.alt.clone(),
    })
}

#[test]
fn large_repetitions_are_refused() {
    let pattern = crate::notation::pattern(vec![one(vec![times(text("ab"), "{1,300}")])]);
    let hirs = lower(&pattern, &BTreeMap::new(), false).expect("it is a pattern");
    assert!(Nfa::repeated(&hirs[0]).expect("a repetition").is_err());
}
