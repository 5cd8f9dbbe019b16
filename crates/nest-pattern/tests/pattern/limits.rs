//! Patterns that are refused, and how fast.

use crate::notation::{any, class, group, one, pattern, piece, text, times, use_macro};
use crate::print::Macros;
use nest_diag::Code;
use nest_pattern::{Dfa, Nfa, STATE_LIMIT, lower};
use nest_syntax::ast::{Atom, ByteSet, Pattern, Piece};
use std::time::{Duration, Instant};

/// The code of the only diagnostic, found in reasonable time.
fn refused(pattern: &Pattern, macros: &Macros) -> Code {
    let start = Instant::now();
    let found = lower(pattern, macros, false).expect_err("it must be refused");
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "took {:?}",
        start.elapsed()
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let message = &found[0].message;
    assert!(
        !message.ends_with('.') && !message.starts_with(char::is_uppercase),
        "{message}"
    );
    assert!(found[0].help.is_some(), "{message}");
    found[0].code
}

fn alone(what: Piece) -> Code {
    refused(&pattern(vec![one(vec![what])]), &Macros::new())
}

fn impossible() -> Piece {
    piece(Atom::Class {
        set: ByteSet::ALL,
        negated: true,
    })
}

#[test]
fn what_matches_only_the_empty_string() {
    assert_eq!(alone(group(vec![vec![]])), Code::E0310);
    assert_eq!(alone(times(text("a"), "{0}")), Code::E0310);
    assert_eq!(alone(piece(Atom::Nothing)), Code::E0310);
    assert_eq!(
        alone(times(
            group(vec![vec![], vec![times(impossible(), "*")]]),
            "+"
        )),
        Code::E0310
    );
    let two = pattern(vec![
        one(vec![group(vec![vec![]])]),
        one(vec![times(text("a"), "{0}")]),
    ]);
    assert_eq!(refused(&two, &Macros::new()), Code::E0310);
}

#[test]
fn what_matches_nothing_at_all() {
    assert_eq!(alone(impossible()), Code::E0316);
    assert_eq!(alone(times(impossible(), "+")), Code::E0316);
    let behind = pattern(vec![
        one(vec![text("a")]),
        any(vec![vec![impossible()], vec![text("b"), impossible()]]),
    ]);
    assert_eq!(refused(&behind, &Macros::new()), Code::E0316);
    // A way around it is enough.
    let around = pattern(vec![any(vec![vec![impossible()], vec![text("b")]])]);
    assert!(lower(&around, &Macros::new(), false).is_ok());
}

#[test]
fn counts_inside_counts() {
    let mut nested = text("a");
    for _ in 0..8 {
        nested = times(group(vec![vec![nested]]), "{1000}");
    }
    assert_eq!(alone(nested), Code::E0311);
    assert_eq!(alone(times(text("ab"), "{40000}")), Code::E0311);
    assert_eq!(
        alone(times(
            group(vec![vec![times(text("a"), "?")]]),
            "{4000000000,}"
        )),
        Code::E0311
    );
    assert_eq!(alone(text(&"a".repeat(1_000_000))), Code::E0311);
    // Counts of the empty string cost nothing.
    let mut empty = group(vec![vec![]]);
    for _ in 0..8 {
        empty = times(group(vec![vec![empty]]), "{1000}");
    }
    assert!(
        lower(
            &pattern(vec![one(vec![empty, text("a")])]),
            &Macros::new(),
            false
        )
        .is_ok()
    );
}

/// Macros that each use the one before twice.
fn doubling(first: Vec<Piece>, levels: usize) -> Macros {
    let mut macros = Macros::new();
    macros.insert("M0".into(), pattern(vec![one(first)]));
    for n in 1..=levels {
        let before = || use_macro(&format!("M{}", n - 1));
        macros.insert(
            format!("M{n}"),
            pattern(vec![one(vec![before(), before()])]),
        );
    }
    macros
}

#[test]
fn macros_that_double() {
    for first in [vec![text("ha")], vec![group(vec![vec![]])], vec![]] {
        let use_last = pattern(vec![one(vec![use_macro("M100"), text("!")])]);
        assert_eq!(refused(&use_last, &doubling(first, 100)), Code::E0311);
    }
    let small = pattern(vec![one(vec![use_macro("M10")])]);
    let hirs = lower(&small, &doubling(vec![text("x")], 10), false).expect("1,024 bytes");
    assert_eq!(
        Nfa::build(&hirs).expect("it was checked").states.len(),
        1025
    );
}

#[test]
fn macros_that_are_wrong_are_reported_all_the_same() {
    let mut macros = Macros::new();
    macros.insert("A".into(), pattern(vec![one(vec![use_macro("B")])]));
    macros.insert(
        "B".into(),
        pattern(vec![one(vec![text("b"), use_macro("A")])]),
    );
    assert_eq!(
        refused(&pattern(vec![one(vec![use_macro("A")])]), &macros),
        Code::E0104
    );
    assert_eq!(
        refused(&pattern(vec![one(vec![use_macro("C")])]), &macros),
        Code::E0203
    );
}

#[test]
fn groups_that_nest_too_deep() {
    let nest = |levels, quant| {
        let inner = |what| if quant { times(what, "*") } else { what };
        (0..levels).fold(text("a"), |what, _| {
            group(vec![vec![inner(what), text("b")], vec![]])
        })
    };
    assert_eq!(alone(nest(400, true)), Code::E0311);
    assert_eq!(alone(nest(400, false)), Code::E0311);
    let good = pattern(vec![one(vec![nest(200, true)])]);
    let hirs = lower(&good, &Macros::new(), false).expect("200 levels are allowed");
    assert!(Nfa::build(&hirs).is_ok());
}

#[test]
fn nested_loops_grow_slowly() {
    let nest = |levels| {
        let deep = (0..levels).fold(times(text("a"), "*"), |what, _| {
            times(group(vec![vec![what, times(text("b"), "?")]]), "*?")
        });
        let hirs = lower(
            &pattern(vec![one(vec![deep, text("!")])]),
            &Macros::new(),
            false,
        );
        Nfa::build(&hirs.expect("small"))
            .expect("it was checked")
            .states
            .len()
    };
    assert!(nest(40) < 20_000, "{} states", nest(40));
}

#[test]
fn a_long_rule_has_a_dfa_in_little_time() {
    let start = Instant::now();
    let long = pattern(vec![one(vec![text(&"abcdefgh".repeat(1_000))])]);
    let hirs = lower(&long, &Macros::new(), false).expect("8,000 states");
    let dfa = Dfa::build(&Nfa::build(&hirs).expect("it was checked"), 10_000).expect("it fits");
    assert_eq!(dfa.count, 8_002);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "took {:?}",
        start.elapsed()
    );
}

#[test]
fn a_budget_bounds_the_time() {
    let late = vec![
        times(class("ab"), "*"),
        text("a"),
        times(class("ab"), "{5000}"),
    ];
    let hirs = lower(&pattern(vec![one(late)]), &Macros::new(), false).expect("5,000 states");
    let start = Instant::now();
    assert_eq!(
        Dfa::build(&Nfa::build(&hirs).expect("it was checked"), 20_000),
        None
    );
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "took {:?}",
        start.elapsed()
    );
}

#[test]
fn the_limit_is_the_one_that_is_said() {
    let exact = pattern(vec![one(vec![times(
        text("a"),
        &format!("{{{}}}", STATE_LIMIT - 1),
    )])]);
    assert!(lower(&exact, &Macros::new(), false).is_ok());
    assert_eq!(
        alone(times(text("a"), &format!("{{{STATE_LIMIT}}}"))),
        Code::E0311
    );
}
