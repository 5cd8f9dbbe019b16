//! What a conversation can take at most, and matches without bound: specifications whose bounds are
//! known, and automata that are looked at in another way.

use nest_check::{Act, Bounds, For, Silence, bounds, check};
use nest_machine::{Machine, Overrides, compile};
use nest_pattern::{Dfa, sim};
use nest_syntax::Alone;
use std::collections::BTreeSet;

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

fn of(text: &str) -> Bounds {
    bounds(&machine(text))
}

/// The longest message of one pattern.
#[track_caller]
fn longest(pattern: &str, expected: Option<u64>) {
    let text = format!("%%\n{pattern} {{ }}\n");
    assert_eq!(of(&text).messages, [expected], "{pattern}");
}

#[test]
fn messages_have_a_longest_or_none() {
    longest("\"QUIT\" \\r?\\n", Some(6));
    longest("[a-z]{1,32} \"\\n\"", Some(33));
    longest("[^\\n]* \"\\n\"", None);
    longest("(\"a\"|\"bcd\"){2}", Some(6));
    // Nothing can follow what has matched, though the pattern could.
    longest("[a-z]+?", Some(1));
    longest("(.|\\n)*? \"\\n\"", None);
    longest("(\"a\"|\"ab\")", Some(1));
    longest("(\"ab\"|\"a\")", Some(2));
    // Too large for an automaton of its own: by its states.
    longest(
        "([^\\n]{0,99}\"x\"){3} [ab]{0,40} \"a\" [ab]{14} \"\\n\"",
        Some(356),
    );
}

/// The same by all lengths up to twice as many as there are states: a longer message goes in a circle.
fn by_length(dfa: &Dfa) -> Option<u64> {
    let (mut now, mut longest) = (BTreeSet::from([dfa.start]), 0);
    for length in 1..=2 * u64::from(dfa.count) {
        let mut next = BTreeSet::new();
        for state in now.iter().filter(|s| dfa.is_live(**s)) {
            next.extend((0..=255).map(|byte| dfa.step(*state, byte)));
        }
        if next.iter().any(|s| dfa.accepts(*s)) {
            longest = length;
        }
        now = next;
    }
    (longest <= u64::from(dfa.count)).then_some(longest)
}

fn goes_on_for_ever(dfa: &Dfa, from: u32) -> bool {
    let (mut met, mut todo) = (BTreeSet::from([from]), vec![from]);
    while let Some(state) = todo.pop() {
        if !dfa.is_live(state) {
            return false;
        }
        let next = (0..=255).map(|byte| dfa.step(state, byte));
        todo.extend(next.filter(|to| met.insert(*to)));
    }
    true
}

/// A pattern; `left` bounds its size.
fn pattern(seed: &mut u64, left: u32) -> String {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005);
    *seed = seed.wrapping_add(1_442_695_040_888_963_407);
    let draw = (*seed >> 33) % 9;
    if left == 0 || draw == 0 {
        return ["\"a\"", "\"b\"", "[ab]", "(.|\\n)"][(*seed >> 40) as usize % 4].to_string();
    }
    let one = pattern(seed, left - 1);
    match draw {
        1 | 2 => format!("({one}|{})", pattern(seed, left - 1)),
        3 => format!("({one})?"),
        4 => format!("({one}){{1,3}}"),
        5 => format!("({one})*"),
        6 => format!("({one})*?"),
        _ => format!("({one}{})", pattern(seed, left - 1)),
    }
}

#[test]
fn bounds_of_random_patterns_are_those_of_all_lengths() {
    let (mut seed, mut bounded, mut endless) = (7, 0, 0);
    for _ in 0..600 {
        let text = format!("%%\n\"x\"? {} {{ }}\n", pattern(&mut seed, 4));
        let compiled = compile("t.nest", &text, &mut Alone, &Overrides::default());
        // It may match nothing but the empty string.
        let Some(m) = compiled.machine else { continue };
        let Some(dfa) = &m.rules[0].dfa else { continue };
        assert_eq!(dfa.longest(), by_length(dfa), "{text}");
        if let (Some(exact), Some(most)) = (dfa.longest(), m.rules[0].nfa.longest()) {
            assert!(exact <= most, "{text}");
            bounded += 1;
        }
        let found = dfa.endless();
        for state in 0..dfa.count {
            let expected = goes_on_for_ever(dfa, state);
            assert_eq!(found[state as usize], expected, "{state} of {text}");
            endless += usize::from(expected);
        }
    }
    assert!(bounded > 100 && endless > 100, "{bounded} {endless}");
}

/// `CODE: witness` of each finding.
#[track_caller]
fn finds(text: &str, expected: &[&str]) {
    let found: Vec<String> = check(&machine(text))
        .into_iter()
        .map(|f| {
            let witness = f.witness.map_or("-".to_string(), |w| w.to_string());
            format!("{}: {witness}", f.diagnostic.code.name())
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn matches_without_bound() {
    let count = "%{\nint n;\n%}\n";
    finds(
        &format!("{count}%%\n\"D\" (.|\\n)* \"\\n.\\n\" {{ n++; }}\n"),
        &["W0304: \"D\""],
    );
    finds(
        &format!("{count}%%\n\"D\" (.|\\n)*? \"\\n.\\n\" {{ n++; }}\n"),
        &[],
    );
    // One byte that ends it is enough, and so is a count.
    finds(&format!("{count}%%\n[^\\0]* \"\\n\" {{ n++; }}\n"), &[]);
    finds(&format!("{count}%%\n(.|\\n){{1,9000}} {{ n++; }}\n"), &[]);
    finds(
        &format!("{count}%%\n([^\\n]+ \"\\n\")* \"\\n\" {{ n++; }}\n"),
        &[],
    );
    // It comes to that only behind a mark.
    finds(
        &format!("{count}%%\n[a-z]+ (\":\" (.|\\n)*)? \"\\n\" {{ n++; }}\n"),
        &["W0304: \"a:\""],
    );
    // Where it is never active nothing can be seen.
    finds(
        "%state A B\n%%\n\"a\\n\" { $next(A); }\nA: \"b\\n\" { $next(B); }\nB: (.|\\n)* \"z\" { $clear(B); }\n",
        &["W0304: \"a\\n\", \"b\\n\", \"a\""],
    );
    // An action that answers: W0302 says it, once.
    finds(
        "%%\n\"D\" (.|\\n)* \"\\n.\\n\" { $reply(\"ok\\n\"); }\n",
        &["W0302: \"D\\n.\\n\""],
    );
    // A message ends with its packet.
    finds(
        &format!("%option framing message\n{count}%%\n(.|\\n)* {{ n++; }}\n"),
        &[],
    );
}

/// Behind the witness the rule stays undecided whatever comes, and the end of file decides.
#[test]
fn witnesses_of_matches_without_bound_stay_undecided() {
    let m = machine(
        "%{\nint n;\n%}\n%%\n\"D\" [0-9] (.|\\n)* \".\" { n++; }\n\"q\\n\" { $close(); }\n",
    );
    let found = check(&m);
    let witness = found[0]
        .witness
        .clone()
        .expect("it is known how to come there");
    let rules: Vec<sim::Rule> = m
        .rules
        .iter()
        .map(|r| sim::Rule {
            nfa: r.nfa.clone(),
            dfa: r.dfa.clone(),
            early: r.early,
        })
        .collect();
    let mut engine = sim::Engine::new(&rules, 8192);
    engine.begin(vec![0, 1], false);
    for act in &witness.acts {
        let Act::Send(bytes) = act else {
            panic!("{act}")
        };
        engine.feed(bytes);
    }
    for byte in 0..=255 {
        engine.feed(&[byte]);
        assert!(engine.decide().is_none(), "{byte}");
    }
    engine.end_of_file();
    assert!(engine.decide().is_some());
}

/// `SETS: HELD, SILENCE`, for each place where conversations read.
#[track_caller]
fn reads(text: &str, expected: &[&str]) {
    let of = of(text);
    let shown = of.reading.iter().map(|r| {
        let sets: Vec<String> = r.sets.iter().map(|s| s.join(" ")).collect();
        let held = r.held.map_or("-".to_string(), |n| n.to_string());
        let silence = match &r.silence {
            Silence::Ends { ms, timer } => format!("ends {ms} {timer:?}"),
            Silence::May(timers) => format!("may {timers:?}"),
            Silence::Stays(timers) => format!("stays {timers:?}"),
        };
        format!("{}: {held}, {silence}", sets.join("; "))
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn what_becomes_of_a_client_that_sends_nothing() {
    reads("%%\n\"a\\n\" { }\n", &["DEFAULT: 2, ends 300000 None"]);
    reads(
        "%option idleTimeout none\n%%\n\"a\\n\" { }\n",
        &["DEFAULT: 2, stays []"],
    );
    // TIMEOUT rules one after the other, of which the last closes.
    let two = "%state W\n%%\n[^\\n]* \"\\n\" { $clear(W); }\n!W: TIMEOUT(20s) { $seen(W); }\n\
               W: TIMEOUT(10s) { $close(); }\n";
    reads(
        two,
        &[
            "DEFAULT: -, ends 30000 Some(0)",
            "DEFAULT W: -, ends 10000 Some(1)",
        ],
    );
    // One that fires for ever, and puts the idle limit to rest.
    reads(
        "%%\n\"a\\n\" { }\nTIMEOUT(5s) { $reply(\"there?\\n\"); }\n",
        &["DEFAULT: 2, stays [0]"],
    );
    reads(
        "%{\nint n;\n%}\n%%\n\"a\\n\" { }\nTIMEOUT(5s) { if (n) $close(); }\n",
        &["DEFAULT: 2, may [0]"],
    );
    // The limit that an action sets counts as long as it is longer.
    reads(
        "%%\n\"a\\n\" { $timeout(10m); }\n\"b\\n\" { $timeout(1s); }\n",
        &["DEFAULT: 2, ends 600000 None"],
    );
    reads(
        "%{\nint n;\n%}\n%%\n\"a\\n\" { $timeout(n); }\n",
        &["DEFAULT: 2, stays []"],
    );
    // Equal ones are together.
    reads(
        "%state A\n%%\n!A: \"a\\n\" { $seen(A); }\nA: \"b\\n\" { $clear(A); }\n",
        &["DEFAULT; DEFAULT A: 2, ends 300000 None"],
    );
}

#[test]
fn what_actions_wait_for() {
    let text = "%{\n#include <stdlib.h>\nstatic void f(nest_session *s) { nest_read_line(s, 4); }\n%}\n%%\n\
                a = \"a\\n\" { char *p = $read(3); $reply(\"%s\", p); f($self); }\n\
                b = \"b\\n\" { $block { free(malloc(1)); } $sleep(1s); }\n";
    let of = of(text);
    let shown: Vec<String> = of
        .waits
        .iter()
        .map(|w| format!("{:?} {} {}", w.what, w.by.join(","), w.places.join(",")))
        .collect();
    let expected = [
        "Message $read,nest_read_line a,%{ %}",
        "Output $reply a",
        "Time $sleep b",
        "Block $block b",
    ];
    assert_eq!(shown, expected);
    assert!(of.waits[0].what == For::Message && of.formats && of.complete);
    assert_eq!(
        of.allocates,
        [("malloc".to_string(), vec!["b".to_string()])]
    );
}
