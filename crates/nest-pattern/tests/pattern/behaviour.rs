//! When a rule accepts, when it is live, and how its match falls into parts, by example.

use crate::notation::{any, class, dot, group, one, pattern, set_caseless, text, times, use_macro};
use crate::print::Macros;
use nest_pattern::sim::{Rule, Runner, parts};
use nest_pattern::{Dfa, Hir, Nfa, lower};
use nest_syntax::ast::{Atom, ByteSet, Element, Flags, Pattern, Piece};

fn hirs(elements: Vec<Element>) -> Vec<Hir> {
    lower(&pattern(elements), &Macros::new(), false).expect("a good pattern")
}

/// The automata of a pattern that fits a DFA.
pub fn rule(elements: Vec<Element>) -> Rule {
    let nfa = Nfa::build(&hirs(elements)).expect("small");
    let dfa = Dfa::build(&nfa, 1_000);
    assert!(dfa.is_some(), "these patterns fit a DFA");
    Rule {
        nfa,
        dfa,
        early: false,
    }
}

fn slow(rule: &Rule) -> Rule {
    let dfa = Dfa::build(&rule.nfa, 0);
    assert!(dfa.is_none(), "no DFA without a budget");
    Rule {
        nfa: rule.nfa.clone(),
        dfa,
        early: rule.early,
    }
}

/// One letter for every byte count 1, 2, …: `A` accepts, `L` is live, `B` is both, `-` neither.
/// By DFA and by thread list, which must agree.
fn trace(rule: &Rule, input: &str) -> String {
    let run = |mut runner: Runner<'_>| -> String {
        let mut letter = |b| {
            runner.step(b);
            match (runner.accepts(), runner.is_live()) {
                (true, true) => 'B',
                (true, false) => 'A',
                (false, true) => 'L',
                (false, false) => '-',
            }
        };
        input.bytes().map(&mut letter).collect()
    };
    let fast = run(rule.runner());
    assert_eq!(fast, run(slow(rule).runner()), "thread list and DFA");
    fast
}

fn split(rule: &Rule, bytes: &str) -> Option<Vec<String>> {
    let cut = |r: std::ops::Range<usize>| bytes[r].to_string();
    Some(
        parts(&rule.nfa, bytes.as_bytes())?
            .into_iter()
            .map(cut)
            .collect(),
    )
}

fn newline() -> Piece {
    group(vec![vec![text("\r\n")], vec![text("\n")]])
}

fn anything(quant: &str) -> Element {
    one(vec![times(
        group(vec![vec![dot()], vec![text("\n")]]),
        quant,
    )])
}

#[test]
fn a_fixed_text_decides_at_its_last_byte() {
    let quit = rule(vec![one(vec![text("QUIT")]), one(vec![newline()])]);
    assert_eq!(trace(&quit, "QUIT\r\nX"), "LLLLLA-");
    assert_eq!(trace(&quit, "QUIT\n"), "LLLLA");
    assert_eq!(trace(&quit, "QUX"), "LL-");
    assert_eq!(
        split(&quit, "QUIT\r\n"),
        Some(vec!["QUIT".into(), "\r\n".into()])
    );
    assert_eq!(split(&quit, "QUIT"), None);
}

#[test]
fn a_lazy_loop_alone_takes_one_byte() {
    // Empty is preferred but passed over; one byte is next.
    assert_eq!(
        trace(&rule(vec![one(vec![times(text("a"), "*?")])]), "aaa"),
        "A--"
    );
    assert_eq!(
        trace(&rule(vec![one(vec![times(text("a"), "+?")])]), "aaa"),
        "A--"
    );
    assert_eq!(
        trace(&rule(vec![one(vec![times(text("a"), "*")])]), "aab"),
        "BB-"
    );
    assert_eq!(
        trace(
            &rule(vec![
                one(vec![times(text("a"), "??")]),
                one(vec![text("b")])
            ]),
            "ab"
        ),
        "LA"
    );
}

#[test]
fn the_first_branch_is_preferred() {
    let left = any(vec![vec![text("a")], vec![text("ab")]]);
    let right = any(vec![vec![text("c")], vec![text("bcd")]]);
    let both = rule(vec![left, right]);
    // "abc" is a match, but one behind a thread that is still on its way.
    assert_eq!(trace(&both, "abcd"), "LLBA");
    assert_eq!(split(&both, "abcd"), Some(vec!["a".into(), "bcd".into()]));
    assert_eq!(split(&both, "abc"), Some(vec!["ab".into(), "c".into()]));
    // An accept cuts off what is behind it, though that would have gone on.
    assert_eq!(
        trace(
            &rule(vec![any(vec![vec![text("a")], vec![text("ab")]])]),
            "ab"
        ),
        "A-"
    );
    assert_eq!(
        trace(
            &rule(vec![any(vec![vec![text("ab")], vec![text("a")]])]),
            "ab"
        ),
        "BA"
    );
}

#[test]
fn an_empty_branch_is_passed_over_only_at_the_start() {
    let choice = || group(vec![vec![], vec![text("ab")]]);
    assert_eq!(trace(&rule(vec![one(vec![choice()])]), "ab"), "LA");
    assert_eq!(
        trace(&rule(vec![one(vec![text("x"), choice()])]), "xab"),
        "A--"
    );
    assert_eq!(
        trace(&rule(vec![one(vec![times(choice(), "*")])]), "abab"),
        "LA--"
    );
}

#[test]
fn an_empty_iteration_goes_on_behind_its_loop() {
    // Perl: after an `a` in the loop, the next iteration is empty first, so `a?` takes the second.
    let empty_first = || times(group(vec![vec![], vec![text("a")]]), "*");
    let elements = |last| {
        vec![
            one(vec![empty_first()]),
            one(vec![times(text("a"), "?"), text(last)]),
        ]
    };
    assert_eq!(
        split(&rule(elements("b")), "aab"),
        Some(vec!["a".into(), "ab".into()])
    );
    let nested = times(
        group(vec![vec![times(
            group(vec![vec![times(text("a"), "*")]]),
            "*",
        )]]),
        "+",
    );
    let deep = rule(vec![one(vec![nested]), one(vec![text("b")])]);
    assert_eq!(trace(&deep, "aaab"), "LLLA");
    assert_eq!(trace(&deep, "b"), "A");
    let lazy = times(group(vec![vec![times(text("a"), "*?")]]), "*?");
    assert_eq!(trace(&rule(vec![one(vec![lazy, text("b")])]), "aab"), "LLA");
}

#[test]
fn a_greedy_body_never_decides_and_a_lazy_one_does() {
    let mail = |quant| {
        let dot_line = one(vec![text(".")]);
        rule(vec![
            one(vec![text("DATA")]),
            anything(quant),
            one(vec![newline()]),
            dot_line,
            one(vec![newline()]),
        ])
    };
    let input = "DATAhi\n.\nmore";
    assert_eq!(trace(&mail("*"), input), "LLLLLLLLBLLLL");
    assert_eq!(trace(&mail("*?"), input), "LLLLLLLLA----");
    let expected = ["DATA", "hi", "\n", ".", "\n"].map(String::from).to_vec();
    assert_eq!(split(&mail("*?"), "DATAhi\n.\n"), Some(expected));
}

#[test]
fn a_dead_branch_keeps_nothing_waiting() {
    // `a[^\x00-\xff]` can never match: after "a" only the accept is left.
    let none = crate::notation::piece(Atom::Class {
        set: ByteSet::ALL,
        negated: true,
    });
    assert_eq!(
        trace(
            &rule(vec![any(vec![vec![text("a"), none], vec![text("a")]])]),
            "a"
        ),
        "A"
    );
}

#[test]
fn a_counted_loop_that_is_too_large_for_a_dfa_runs_by_threads() {
    // After n bytes any subset of the last 20 may have been the `a`: 2^20 lists.
    let any_byte = || class("ab");
    let late = vec![one(vec![
        times(any_byte(), "*?"),
        text("a"),
        times(any_byte(), "{20}"),
        text("!"),
    ])];
    let nfa = Nfa::build(&hirs(late)).expect("small");
    assert_eq!(Dfa::build(&nfa, 10_000), None);
    let mut runner = Rule {
        nfa,
        dfa: None,
        early: false,
    };
    let input = format!("bab{}!", "ab".repeat(10));
    let trace: Vec<(bool, bool)> = {
        let mut r = runner.runner();
        let mut step = |b| {
            r.step(b);
            (r.accepts(), r.is_live())
        };
        input.bytes().map(&mut step).collect()
    };
    assert!(trace[..trace.len() - 1].iter().all(|t| *t == (false, true)));
    assert_eq!(trace.last(), Some(&(false, false)));
    let input = format!("ba{}!", "ab".repeat(10));
    runner = Rule {
        nfa: runner.nfa.clone(),
        dfa: None,
        early: false,
    };
    let mut r = runner.runner();
    input.bytes().for_each(|b| r.step(b));
    assert_eq!((r.accepts(), r.is_live()), (true, false));
}

#[test]
fn a_dfa_is_minimal_and_numbered_by_kind() {
    let dfa = |elements| rule(elements).dfa.expect("checked");
    let quit = dfa(vec![one(vec![text("QUIT")])]);
    assert_eq!(
        (quit.count, quit.first_silent, quit.start, quit.class_count),
        (6, 2, 2, 5)
    );
    let once = dfa(vec![one(vec![times(class("ab"), "+")])]);
    assert_eq!((once.count, once.first_silent, once.class_count), (4, 3, 2));
    // The same meaning, written differently, is the same automaton.
    let again = dfa(vec![any(vec![
        vec![times(group(vec![vec![text("b")], vec![text("a")]]), "+")],
        vec![text("ab")],
    ])]);
    assert_eq!(once, again);
    for dfa in [&quit, &once] {
        assert_eq!(dfa.next.len(), (dfa.count * dfa.class_count) as usize);
        let row = dfa.class_count as usize;
        assert!(
            dfa.next[..2 * row].iter().all(|to| *to == 0),
            "dead and done lead to dead"
        );
        assert!(dfa.is_live(dfa.start) && !dfa.accepts(dfa.start));
    }
}

#[test]
fn flags_reach_as_far_as_their_group() {
    let in_group = group(vec![
        vec![text("a"), set_caseless(true), text("b")],
        vec![text("c")],
    ]);
    let flagged = rule(vec![one(vec![in_group, text("d")])]);
    assert_eq!(trace(&flagged, "aBd"), "LLA");
    assert_eq!(trace(&flagged, "Cd"), "LA");
    assert_eq!(trace(&flagged, "AB"), "--");
    assert_eq!(trace(&flagged, "abD"), "LL-");
}

#[test]
fn a_macro_takes_flags_over_and_keeps_its_own() {
    let mut macros = Macros::new();
    macros.insert(
        "AB".into(),
        pattern(vec![any(vec![vec![text("a")], vec![text("b")]])]),
    );
    let loud = Flags {
        caseless: Some(true),
        ..Flags::default()
    };
    macros.insert(
        "C".into(),
        Pattern {
            flags: loud,
            ..pattern(vec![one(vec![text("c")])])
        },
    );
    let body = vec![one(vec![
        times(use_macro("AB"), "{2}"),
        use_macro("C"),
        text("d"),
    ])];
    let built = |caseless| {
        let nfa = Nfa::build(&lower(&pattern(body.clone()), &macros, caseless).expect("good"));
        let nfa = nfa.expect("small");
        Rule {
            dfa: Dfa::build(&nfa, 100),
            nfa,
            early: false,
        }
    };
    assert_eq!(trace(&built(false), "abCd"), "LLLA");
    assert_eq!(trace(&built(false), "abcD"), "LLL-");
    assert_eq!(trace(&built(true), "AbcD"), "LLLA");
}

#[test]
fn case_is_folded_before_a_class_is_negated() {
    let not_a = crate::notation::piece(Atom::Class {
        set: crate::notation::set("a"),
        negated: true,
    });
    let elements = vec![one(vec![set_caseless(true), not_a])];
    assert_eq!(trace(&rule(elements), "A"), "-");
}
