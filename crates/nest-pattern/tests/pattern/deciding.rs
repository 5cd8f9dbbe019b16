//! How several rules come to one decision, by example.

use crate::behaviour::rule;
use crate::notation::{class, one, text, times};
use nest_pattern::sim::{Decision, Engine, Outcome, Reason};

fn runs(rule: usize, length: usize, looked_at: usize) -> Decision {
    let parts = std::iter::once(0..length).collect();
    Decision {
        outcome: Outcome::Run {
            rule,
            length,
            parts,
        },
        looked_at,
    }
}

fn ends(reason: Reason, looked_at: usize) -> Decision {
    Decision {
        outcome: Outcome::End(reason),
        looked_at,
    }
}

#[test]
fn the_longest_rule_wins_then_the_first() {
    let rules = [
        rule(vec![one(vec![text("ab")])]),
        rule(vec![one(vec![class("a"), class("b")])]),
        rule(vec![one(vec![text("abab")])]),
    ];
    let mut engine = Engine::new(&rules, 100);
    engine.feed(b"abaabab");
    engine.begin(0..3, false);
    // Rule 2 kept the decision open until the second "a" of "aa".
    assert_eq!(engine.decide(), Some(runs(0, 2, 4)));
    engine.begin([1], false);
    assert_eq!(engine.decide(), Some(ends(Reason::Input, 2)));
    assert_eq!(engine.unread(), b"aabab");
}

#[test]
fn an_early_rule_decides_where_it_accepts() {
    let any = || one(vec![times(class("aegtx "), "*"), text(";")]);
    for early in [false, true] {
        let mut rules = [rule(vec![one(vec![text("get ")])]), rule(vec![any()])];
        rules[0].early = early;
        let mut engine = Engine::new(&rules, 100);
        engine.feed(b"get x;");
        engine.begin(0..2, false);
        let expected = if early { runs(0, 4, 4) } else { runs(1, 6, 6) };
        assert_eq!(engine.decide(), Some(expected));
        // An inactive rule decides nothing.
        let mut engine = Engine::new(&rules, 100);
        engine.feed(b"get x;");
        engine.begin([1], false);
        assert_eq!(engine.decide(), Some(runs(1, 6, 6)));
    }
    // The first-written rule that accepts there is selected, whichever of them is early.
    let mut rules = [rule(vec![any()]), rule(vec![one(vec![text("a;")])])];
    rules[1].early = true;
    let mut engine = Engine::new(&rules, 100);
    engine.feed(b"a;");
    engine.begin(0..2, false);
    assert_eq!(engine.decide(), Some(runs(0, 2, 2)));
}

#[test]
fn a_live_rule_waits_and_end_of_file_decides() {
    let rules = [rule(vec![one(vec![times(text("a"), "+")])])];
    let mut engine = Engine::new(&rules, 100);
    engine.begin([0], false);
    engine.feed(b"aa");
    assert_eq!(engine.decide(), None);
    engine.end_of_file();
    assert_eq!(engine.decide(), Some(runs(0, 2, 2)));
    engine.begin([0], false);
    assert_eq!(engine.decide(), Some(ends(Reason::Eof, 0)));
}

#[test]
fn the_input_buffer_bounds_an_undecided_message() {
    let rules = [rule(vec![one(vec![times(text("a"), "+"), text("b")])])];
    for (first, rest) in [("aaaa", ""), ("aa", "aab"), ("aaaab", "")] {
        let mut engine = Engine::new(&rules, 4);
        engine.begin([0], false);
        engine.feed(first.as_bytes());
        if engine.decide().is_none() {
            engine.feed(rest.as_bytes());
        }
        engine.end_of_file();
        assert_eq!(
            engine.decide(),
            Some(ends(Reason::Overflow, 4)),
            "{first} {rest}"
        );
    }
    let mut engine = Engine::new(&rules, 4);
    engine.begin([0], false);
    engine.feed(b"aaabx");
    assert_eq!(
        engine.decide(),
        Some(runs(0, 4, 4)),
        "decided at the limit is decided"
    );
}

#[test]
fn without_active_rules_the_conversation_is_stuck_unless_a_timer_runs() {
    let rules = [rule(vec![one(vec![text("a")])])];
    let mut engine = Engine::new(&rules, 4);
    engine.begin([], false);
    assert_eq!(engine.decide(), Some(ends(Reason::Stuck, 0)));
    engine.begin([], true);
    assert_eq!(engine.decide(), None);
    engine.feed(b"x");
    assert_eq!(engine.decide(), Some(ends(Reason::Input, 0)));
}
