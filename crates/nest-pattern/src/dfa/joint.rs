//! One DFA for several rules, of which one of several sets is active: it accepts where a message may
//! end. It is exact for one set. For several it never accepts later than the set that is active
//! would, so nothing waits for more than a complete message. Must not know:
//! conditions, which rule a message belongs to.

use super::classes::{BYTES, divide};
use super::minimise;
use super::state::{DEAD, DONE, Dfa, Raw};
use crate::hash::Table;

/// A rule's automaton, and whether the rule decides as soon as it accepts.
pub type Rule<'a> = (&'a Dfa, bool);

/// How much time a state may take, in steps of a rule.
const STEPS: usize = 1 << 12;

/// What is known of a set: no message can follow any more; it is live; it is live and has accepted.
const OUT: u32 = 0;
const LIVE: u32 = 1;
const ACCEPTED: u32 = 2;

impl Dfa {
    /// The automaton of `rules` if one of `sets`, which are ascending places of rules, is active.
    /// Its dead state means: if it has accepted before, the message ended there, otherwise no
    /// message begins like this. `None` if that needs more than `budget` states, or as much time as
    /// that many states of many rules.
    #[must_use]
    pub fn joint(rules: &[Rule<'_>], sets: &[Vec<usize>], budget: usize) -> Option<Dfa> {
        let mut classes = [0; 256];
        for (dfa, _) in rules {
            divide(&mut classes, &BYTES, &dfa.classes, dfa.class_count as usize);
        }
        let mut samples = Vec::new();
        for (kind, byte) in classes.iter().zip(BYTES) {
            if usize::from(*kind) == samples.len() {
                samples.push(byte);
            }
        }
        let joint = Joint { rules, sets };
        let members: usize = sets.iter().map(Vec::len).sum();
        let mut steps = budget.saturating_mul(STEPS) / (rules.len() + members).max(1);
        let mut keys: Vec<(Vec<u32>, bool)> = vec![(vec![DEAD], false), (vec![DONE], true)];
        let mut numbers: Table<(Vec<u32>, bool), u32> = Table::default();
        let start = (joint.start(), false);
        numbers.insert(start.clone(), 2);
        keys.push(start);
        let mut next = vec![DEAD; 2 * samples.len()];
        let mut done = 2;
        while done < keys.len() {
            let from = keys[done].0.clone();
            steps = steps.checked_sub(samples.len())?;
            for byte in &samples {
                let to = match joint.step(&from, *byte) {
                    Next::End(number) => number,
                    Next::Live(key) => {
                        if let Some(number) = numbers.get(&key) {
                            *number
                        } else if keys.len() >= budget {
                            return None;
                        } else {
                            let number = u32::try_from(keys.len()).ok()?;
                            numbers.insert(key.clone(), number);
                            keys.push(key);
                            number
                        }
                    }
                };
                next.push(to);
            }
            done += 1;
        }
        Some(minimise::minimise(&Raw {
            classes,
            class_count: samples.len(),
            next,
            start: 2,
            accepts: keys.iter().map(|(_, accepts)| *accepts).collect(),
        }))
    }
}

/// Where a byte leads.
enum Next {
    /// Nothing is live any more: [`DEAD`] or [`DONE`].
    End(u32),
    /// A state, and whether a rule accepts there.
    Live((Vec<u32>, bool)),
}

/// A state is what is known of each set, then the state of each rule.
struct Joint<'a> {
    rules: &'a [Rule<'a>],
    sets: &'a [Vec<usize>],
}

impl Joint<'_> {
    fn start(&self) -> Vec<u32> {
        let sets = self.sets.iter().map(|_| LIVE);
        sets.chain(self.rules.iter().map(|(dfa, _)| dfa.start))
            .collect()
    }

    fn step(&self, from: &[u32], byte: u8) -> Next {
        let (known, states) = from.split_at(self.sets.len());
        let rules = self.rules.iter().zip(states);
        let mut states: Vec<u32> = rules.map(|((dfa, _), at)| dfa.step(*at, byte)).collect();
        let mut known = known.to_vec();
        let (mut accepts, mut decided) = (false, None);
        for (known, set) in known.iter_mut().zip(self.sets) {
            if *known == OUT {
                continue;
            }
            let accepting = |rule: &&usize| self.rules[**rule].0.accepts(states[**rule]);
            let here = set.iter().any(|rule| accepting(&rule));
            let early = set.iter().filter(accepting).any(|rule| self.rules[*rule].1);
            let live = set
                .iter()
                .any(|rule| self.rules[*rule].0.is_live(states[*rule]));
            accepts |= here;
            if here {
                *known = ACCEPTED;
            }
            if early || !live {
                if *known == ACCEPTED {
                    let ended = if here { DONE } else { DEAD };
                    decided = decided.max(Some(ended));
                } else {
                    *known = OUT;
                }
            }
        }
        if let Some(ended) = decided {
            return Next::End(ended);
        }
        if known.iter().all(|known| *known == OUT) {
            return Next::End(DEAD);
        }
        // The states of rules that no set needs any more must not distinguish states.
        let mut needed = vec![false; states.len()];
        for (_, set) in known.iter().zip(self.sets).filter(|(k, _)| **k != OUT) {
            set.iter().for_each(|rule| needed[*rule] = true);
        }
        for ((state, needed), (dfa, _)) in states.iter_mut().zip(needed).zip(self.rules) {
            if !needed || !dfa.is_live(*state) {
                *state = DEAD;
            }
        }
        known.extend(states);
        Next::Live((known, accepts))
    }
}
