//! The DFA of one rule, built by ordered subset construction over the thread list.
//!
//! The determinisation of regex libraries cannot be used here. regex-automata reports a match one
//! byte after its end, and in the start state an empty match cuts off the threads after it. The
//! language defines what is true *at* a byte, and ignores empty matches. Must not know: notation,
//! other rules.

pub(crate) mod classes;
mod joint;
pub(crate) mod minimise;
mod state;

use crate::hash::Table;
use crate::nfa::Nfa;
use crate::threads::Stepper;
pub use state::Dfa;
use state::{DEAD, Raw};

impl Dfa {
    /// Builds the DFA. Returns `None` if that needs more than `state_budget` states before
    /// minimisation, or lists so long that they cost as much. The result depends only on the NFA
    /// and the budget; time and memory are proportional to the budget.
    #[must_use]
    pub fn build(nfa: &Nfa, state_budget: usize) -> Option<Dfa> {
        Some(minimise::minimise(&determinise(nfa, state_budget, false)?))
    }

    /// The same for a rule that decides as soon as it accepts: there it is not live any more.
    #[must_use]
    pub fn build_early(nfa: &Nfa, state_budget: usize) -> Option<Dfa> {
        Some(minimise::minimise(&determinise(nfa, state_budget, true)?))
    }
}

/// A state is its thread list, followed by a number that tells whether the rule accepted on the
/// transition to it.
type Key = Vec<u32>;

fn determinise(nfa: &Nfa, state_budget: usize, early: bool) -> Option<Raw> {
    // A step costs as much as its list is long, so long lists use up the budget faster.
    let mut threads_left = state_budget.saturating_mul(64);
    let (classes, samples) = classes::of(nfa);
    let mut stepper = Stepper::new(nfa);
    let mut keys: Vec<Key> = vec![vec![0], vec![1]];
    let mut numbers: Table<Key, u32> = (0..).zip(&keys).map(|(n, k)| (k.clone(), n)).collect();
    let mut number_of = |key: &mut Key, accepts: bool, keys: &mut Vec<Key>| -> Option<u32> {
        key.push(accepts.into());
        if let Some(&number) = numbers.get(key) {
            return Some(number);
        }
        threads_left = threads_left.checked_sub(key.len() - 1)?;
        if keys.len() >= state_budget {
            return None;
        }
        let number = u32::try_from(keys.len()).ok()?;
        keys.push(key.clone());
        numbers.insert(key.clone(), number);
        Some(number)
    };
    let mut list = stepper.start();
    let start = number_of(&mut list, false, &mut keys)?;
    let mut next = Vec::new();
    let mut done = 0;
    while done < keys.len() {
        let mut from = std::mem::take(&mut keys[done]);
        let accepts = from.pop();
        for sample in &samples {
            let accepts = stepper.step(&from, *sample, &mut list);
            if accepts && early {
                list.clear();
            }
            if list.is_empty() && !accepts {
                next.push(DEAD);
                continue;
            }
            next.push(number_of(&mut list, accepts, &mut keys)?);
        }
        keys[done].extend(accepts);
        done += 1;
    }
    let accepts = keys.iter().map(|key| key.last() == Some(&1)).collect();
    Some(Raw {
        classes,
        class_count: samples.len(),
        next,
        start,
        accepts,
    })
}
