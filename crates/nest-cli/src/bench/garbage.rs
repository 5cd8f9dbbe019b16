//! Bytes that a server rejects, for hostile clients of `nest bench`: no rule matches them, nor what they begin
//! with, so that they change nothing that answers to other clients depend on.
//!
//! Must not know: who sends them, what the server does about them.

use nest_bench::{Random, Talk};
use nest_machine::Machine;
use nest_pattern::Dfa;

use crate::term;

/// How many are made, and how often it is tried.
const WANTED: usize = 32;
const TRIES: usize = 2000;
/// The longest of those that have nothing of a message.
const LONGEST: usize = 64;

/// What so many hostile clients send that the server rejects.
pub fn of(m: &Machine, talks: &[Talk], seed: u64, hostile: usize) -> Vec<Vec<u8>> {
    if hostile == 0 {
        return Vec::new();
    }
    let all = garbage(m, talks, &mut Random(seed));
    if all.is_empty() {
        term::note("hostile clients send no garbage: every text may be the beginning of a message");
    }
    all
}

/// Some of them; none if every byte may be the beginning of a message, or a rule has no automaton.
fn garbage(m: &Machine, talks: &[Talk], random: &mut Random) -> Vec<Vec<u8>> {
    let rules: Option<Vec<&Dfa>> = m.rules.iter().map(|rule| rule.dfa.as_ref()).collect();
    let Some(rules) = rules.filter(|_| !talks.is_empty()) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for n in 0..TRIES {
        let requests = &talks[random.draw(talks.len())].requests;
        let mut word = match requests.get(random.draw(requests.len())) {
            Some(request) if n % 4 > 0 => request.send.clone(),
            _ => (0..=random.draw(LONGEST)).map(|_| byte(random)).collect(),
        };
        for _ in 0..=random.draw(3) {
            let place = random.draw(word.len());
            if let Some(at) = word.get_mut(place) {
                *at = byte(random);
            }
        }
        if is_rejected(&rules, &word) {
            all.push(word);
        }
        if all.len() == WANTED {
            break;
        }
    }
    all
}

fn byte(random: &mut Random) -> u8 {
    u8::try_from(random.draw(256)).unwrap_or_default()
}

/// Whether no rule can match any more, and none has matched before.
fn is_rejected(rules: &[&Dfa], word: &[u8]) -> bool {
    let mut at: Vec<u32> = rules.iter().map(|dfa| dfa.start).collect();
    for byte in word {
        for (dfa, state) in rules.iter().zip(&mut at) {
            *state = dfa.step(*state, *byte);
        }
        let states = || rules.iter().zip(&at);
        if states().any(|(dfa, state)| dfa.accepts(*state)) {
            return false;
        }
        if !states().any(|(dfa, state)| dfa.is_live(*state)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Random, garbage};
    use crate::bench::specification::machine;
    use nest_bench::{Expect, Request, Talk};

    fn talks() -> Vec<Talk> {
        let request = Request {
            send: b"GET abc\n".to_vec(),
            expect: Expect::exact(b"abc\n"),
            ..Request::default()
        };
        vec![Talk::of(vec![request], false)]
    }

    #[test]
    fn nothing_in_it_is_a_message() {
        let m = machine("%%\n\"GET \" [a-z]{1,9} \"\\n\" { $reply($2); }\n\"Q\" { $close(); }\n");
        let all = garbage(&m, &talks(), &mut Random(1));
        assert_eq!(all.len(), super::WANTED);
        assert!(all.iter().any(|word| word.starts_with(b"GE")));
        assert!(
            all.iter()
                .all(|word| word[0] != b'Q' && !word.ends_with(b"GET abc\n"))
        );
    }

    #[test]
    fn what_always_goes_on_has_none() {
        let m = machine("%%\n[^\\n]* \"\\n\" { $reply(\"x\"); }\n");
        assert!(garbage(&m, &talks(), &mut Random(1)).is_empty());
    }
}
