//! Rules side by side: a search that leaves out bytes which the live rules take alike finds the same, by
//! the same count of steps, as one that tries all.

use nest_machine::reach::{At, DfaProduct, Search};
use nest_machine::{Overrides, compile};
use nest_pattern::Dfa;
use nest_syntax::Loader;
use std::collections::{BTreeSet, VecDeque};

struct Nothing;

impl Loader for Nothing {
    fn load(&mut self, _from: &str, _path: &str) -> Result<(String, String), String> {
        Err("no file".to_string())
    }
}

/// Rules that leave each other behind after different bytes.
const RULES: &str = r#"
%%
DEFAULT: "get " [a-z]+ "\n" { $close(); }
DEFAULT: "get " [0-9]{1,3} " " [^\n]* "\n" { $close(); }
DEFAULT: "put " ([a-f] | [d-k] "x")+ "\n" { $close(); }
DEFAULT: [a-z]{3} "?" { $close(); }
DEFAULT: [^\n]* "\n" { $close(); }
"#;

/// The search as it is written down: every kind of byte from every state, the one that is easiest to
/// read first; each costs a step, and one for each live rule.
fn searched(
    automata: &[&Dfa],
    steps: &mut usize,
    goes_on: impl Fn(&[At]) -> bool,
    goal: impl Fn(&[At]) -> bool,
) -> Search {
    let nice = [b'a'..=b'z', b'A'..=b'Z', b'0'..=b'9', b' '..=b'~'];
    let order = nice.into_iter().flatten().chain(*b"\n\r\t").chain(0..=255);
    let mut kinds = BTreeSet::new();
    let kind = |b: &u8| -> Vec<u8> {
        automata
            .iter()
            .map(|a| a.classes[usize::from(*b)])
            .collect()
    };
    let bytes: Vec<u8> = order.filter(|b| kinds.insert(kind(b))).collect();
    let start: Vec<At> = (0..).zip(automata).map(|(n, a)| (n, a.start)).collect();
    let mut met = BTreeSet::from([start.clone()]);
    let mut todo = VecDeque::from([(start, Vec::new())]);
    while let Some((from, input)) = todo.pop_front() {
        for byte in &bytes {
            let Some(left) = steps.checked_sub(from.len() + 1) else {
                return Search::TooLong;
            };
            *steps = left;
            let on = from
                .iter()
                .map(|(n, at)| (*n, automata[*n as usize].step(*at, *byte)));
            let to: Vec<At> = on.filter(|(_, at)| *at != 0).collect();
            let input = [input.as_slice(), &[*byte]].concat();
            if goal(&to) {
                return Search::Found(input);
            }
            if goes_on(&to) && met.insert(to.clone()) {
                todo.push_back((to, input));
            }
        }
    }
    Search::Nowhere
}

#[test]
fn bytes_that_are_taken_alike_count_as_steps() {
    let compiled = compile("t.nest", RULES, &mut Nothing, &Overrides::default());
    let m = compiled.machine.expect("the rules are right");
    let mut ends = [0; 3];
    for which in [&[0, 1, 2, 3, 4][..], &[0, 1, 2, 3], &[2, 3], &[1]] {
        let product = DfaProduct::of(&m.rules, which).expect("each has an automaton");
        let automata: Vec<&Dfa> = which.iter().flat_map(|r| &m.rules[*r].dfa).collect();
        for rule in which {
            let goal = |states: &[At]| {
                product.first(states) == Some(*rule) && product.live(states).next().is_none()
            };
            let goes_on = |states: &[At]| product.live(states).next().is_some();
            for most in (0..200).chain((200..20_000).step_by(97)) {
                let [mut some, mut all, mut left] = [most; 3];
                let found = product.search(&mut some, goes_on, goal);
                let tried = product.find(&mut all, goes_on, |states, _| goal(states));
                let expected = searched(&automata, &mut left, goes_on, goal);
                assert_eq!((&found, some), (&expected, left), "{which:?} {rule} {most}");
                assert_eq!((&tried, all), (&expected, left), "{which:?} {rule} {most}");
                ends[match found {
                    Search::Found(_) => 0,
                    Search::Nowhere => 1,
                    Search::TooLong => 2,
                }] += 1;
            }
        }
    }
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}
