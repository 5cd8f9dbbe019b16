//! Which rules can take anything among others, and the shortest input that they take: as in
//! conversations with every short input. Some rules decide as soon as they accept.

use nest_machine::reach::{Winners, Wins};
use nest_machine::{Machine, Overrides, compile};
use nest_pattern::sim::{Engine, Outcome, Rule};
use nest_syntax::Alone;

/// All inputs of these bytes up to this length are tried. The patterns tell apart no others.
const BYTES: &[u8] = b"ab";
const LONGEST: usize = 6;

const PATTERNS: &[&str] = &[
    "\"a\"",
    "\"ab\"",
    "\"b\"",
    "[ab]*? \"b\"",
    "[ab]{2}",
    "\"a\"+",
    "[ab]{1,3}",
    "\"ba\" \"b\"?",
    "\"aa\" [ab]",
    "[ab]+ \"ab\"",
    "(\"b\" | \"bab\")",
    "[ab]* \"a\"",
];

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

/// All inputs, the shortest first.
fn inputs() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() && all[at].len() < LONGEST {
        for byte in BYTES {
            let longer = [all[at].as_slice(), &[*byte]].concat();
            all.push(longer);
        }
        at += 1;
    }
    all.split_off(1)
}

/// The rule that takes all of an input which the end of file follows.
fn taker(rules: &[Rule], active: &[bool], input: &[u8]) -> Option<usize> {
    let mut engine = Engine::new(rules, 100);
    engine.feed(input);
    engine.end_of_file();
    engine.begin((0..rules.len()).filter(|r| active[*r]), false);
    match engine.decide()?.outcome {
        Outcome::Run { rule, length, .. } if length == input.len() => Some(rule),
        _ => None,
    }
}

#[test]
fn rules_win_what_conversations_show() {
    let (mut state, mut marked) = (1u64, [0, 0]);
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap_or(0) % n
    };
    let inputs = inputs();
    for _ in 0..300 {
        let mut text = String::from("%%\n");
        for _ in 0..2 + random(4) {
            let now = ["NOW ", "", ""][random(3)];
            text.push_str(&format!(
                "DEFAULT: {} {now}{{ }}\n",
                PATTERNS[random(PATTERNS.len())]
            ));
        }
        let m = machine(&text);
        let rules: Vec<Rule> = (m.rules.iter())
            .map(|r| Rule {
                nfa: r.nfa.clone(),
                dfa: None,
                early: r.early,
            })
            .collect();
        let active: Vec<bool> = rules.iter().map(|_| random(5) > 0).collect();
        let takers: Vec<Option<usize>> =
            (inputs.iter()).map(|i| taker(&rules, &active, i)).collect();
        let mut winners = Winners::new(&m);
        for rule in (0..rules.len()).filter(|r| active[*r]) {
            let shown = takers.iter().position(|taker| *taker == Some(rule));
            let shown = shown.map(|at| inputs[at].len());
            let found = match winners.wins(rule, &active) {
                Wins::With(input) => {
                    assert_eq!(taker(&rules, &active, input), Some(rule), "{rule}: {text}");
                    Some(input.len())
                }
                Wins::Never => None,
                Wins::Perhaps => panic!("few rules are easily told"),
            };
            assert_eq!(found, shown, "{rule} among {active:?}: {text}");
            marked[usize::from(found.is_some())] += usize::from(rules.iter().any(|r| r.early));
        }
    }
    assert!(marked[0] > 50 && marked[1] > 200, "{marked:?}");
}
