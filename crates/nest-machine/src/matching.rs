//! How the rules of a machine are matched: which of them side by side in one automaton, which apart.
//!
//! The result is the same in every case (`docs/language.md`, Matching), only the cost differs. Must
//! not know: the C that comes of it.

use crate::model::{Cond, Machine, Rule};
use nest_pattern::{Cuts, Member, Merged, Tagged};
use std::collections::BTreeSet;

/// What automata may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most states of an automaton.
    pub states: usize,
    /// Most states of an automaton that becomes code, not a table.
    pub direct: usize,
    /// Whether boundaries may be found in the same pass.
    pub tags: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            states: 4096,
            direct: 400,
            tags: true,
        }
    }
}

/// How a machine's rules are matched.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The different conditions of the rules.
    pub conditions: Vec<Cond>,
    /// The condition of each rule.
    pub condition_of: Vec<usize>,
    /// Rules side by side. Rules of two automata are never active together.
    pub automata: Vec<Automaton>,
    /// Rules apart.
    pub apart: BTreeSet<usize>,
    /// Where the elements of each rule end, as far as it is known when it is decided.
    pub cuts: Vec<Option<Cuts>>,
}

/// Rules that may be active together, and their product.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The rules, ascending: members of the product.
    pub rules: Vec<usize>,
    /// Their conditions.
    pub conditions: BTreeSet<usize>,
    /// The product.
    pub merged: Merged,
    /// As code rather than as a table.
    pub direct: bool,
}

impl Matching {
    /// Decides for `m`. The same machine and limits, the same answer.
    #[must_use]
    pub fn of(m: &Machine, limits: Limits) -> Matching {
        let mut conditions: Vec<Cond> = Vec::new();
        let condition_of: Vec<usize> = m
            .rules
            .iter()
            .map(|rule| {
                conditions.iter().position(|c| *c == rule.cond).unwrap_or_else(|| {
                    conditions.push(rule.cond.clone());
                    conditions.len() - 1
                })
            })
            .collect();
        let mut matching = Matching {
            automata: Vec::new(),
            apart: BTreeSet::new(),
            cuts: vec![None; m.rules.len()],
            conditions,
            condition_of,
        };
        for together in groups(&matching.conditions) {
            let rules = (0..m.rules.len())
                .filter(|r| together.contains(&matching.condition_of[*r]))
                .collect();
            matching.add(m, rules, together, limits);
        }
        matching
    }

    /// One group: with tags, else without, else apart.
    fn add(&mut self, m: &Machine, rules: Vec<usize>, conditions: BTreeSet<usize>, limits: Limits) {
        let cuts: Vec<Cuts> = rules
            .iter()
            .map(|r| Cuts::of(&m.rules[*r].nfa, &m.rules[*r].asked))
            .collect();
        let none: Vec<Option<Cuts>> = cuts.iter().map(|c| c.tags.is_empty().then(|| c.clone())).collect();
        let all: Vec<Option<Cuts>> = cuts.into_iter().map(Some).collect();
        let tries = if limits.tags { vec![all, none] } else { vec![none] };
        for cuts in tries {
            let automata = rules.iter().zip(&cuts).map(|(r, cuts)| {
                automaton(&m.rules[*r], cuts.as_ref(), limits.states)
            });
            let Some(automata) = automata.collect::<Option<Vec<Tagged>>>() else {
                continue;
            };
            let members: Vec<Member<'_>> = rules
                .iter()
                .zip(&automata)
                .map(|(r, automaton)| Member {
                    automaton,
                    bit: u32::try_from(self.condition_of[*r]).unwrap_or(u32::MAX),
                })
                .collect();
            let Some(merged) = Merged::build(&members, conditions.len() == 1, limits.states) else {
                continue;
            };
            for (rule, cuts) in rules.iter().zip(cuts) {
                self.cuts[*rule] = cuts;
            }
            self.automata.push(Automaton {
                direct: merged.states() <= limits.direct,
                rules,
                conditions,
                merged,
            });
            return;
        }
        self.apart.extend(rules);
    }

    /// Most tags of a rule.
    #[must_use]
    pub fn tags(&self) -> usize {
        let tags = self.cuts.iter().flatten().map(|c| c.tags.len());
        tags.max().unwrap_or(0)
    }

    /// Most registers of an automaton.
    #[must_use]
    pub fn registers(&self) -> usize {
        let registers = self.automata.iter().map(|a| a.merged.registers);
        registers.max().unwrap_or(0)
    }
}

fn automaton(rule: &Rule, cuts: Option<&Cuts>, budget: usize) -> Option<Tagged> {
    match cuts {
        Some(cuts) if !cuts.tags.is_empty() => Tagged::build(&rule.nfa, &cuts.tags, budget),
        _ => rule.dfa.as_ref().map(Tagged::plain),
    }
}

/// Conditions that may hold together are in one group, and so are those that they meet.
fn groups(conditions: &[Cond]) -> Vec<BTreeSet<usize>> {
    let mut of: Vec<usize> = (0..conditions.len()).collect();
    for a in 0..conditions.len() {
        for b in a + 1..conditions.len() {
            if of[a] != of[b] && may_hold_together(&conditions[a], &conditions[b]) {
                let (from, to) = (of[b].max(of[a]), of[b].min(of[a]));
                for group in &mut of {
                    if *group == from {
                        *group = to;
                    }
                }
            }
        }
    }
    let roots: BTreeSet<usize> = of.iter().copied().collect();
    let members = |root: usize| (0..of.len()).filter(|c| of[*c] == root).collect();
    roots.into_iter().map(members).collect()
}

/// Most states that are tried in all ways.
const TRIED: usize = 12;

/// Whether some set of states makes both hold; yes if it would take too long to tell.
fn may_hold_together(a: &Cond, b: &Cond) -> bool {
    let mut states = BTreeSet::new();
    let mut lasts = BTreeSet::new();
    for cond in [a, b] {
        atoms(cond, &mut states, &mut lasts);
    }
    if states.len() > TRIED {
        return true;
    }
    let states: Vec<u32> = states.into_iter().collect();
    // Another one than all that are named stands for the rest.
    let others: Vec<Option<u32>> = lasts.into_iter().map(Some).chain([None]).collect();
    (0u32..1 << states.len()).any(|bits| {
        let holds = |n: u32| {
            states.iter().position(|s| *s == n).is_some_and(|at| bits >> at & 1 == 1)
        };
        others.iter().any(|last| [a, b].iter().all(|c| c.holds(&holds, *last)))
    })
}

fn atoms(cond: &Cond, states: &mut BTreeSet<u32>, lasts: &mut BTreeSet<u32>) {
    match cond {
        Cond::True => {}
        Cond::State(n) => {
            states.insert(*n);
        }
        Cond::Last(n) => {
            lasts.insert(*n);
        }
        Cond::Not(c) => atoms(c, states, lasts),
        Cond::And(all) | Cond::Or(all) => all.iter().for_each(|c| atoms(c, states, lasts)),
    }
}

impl Cond {
    /// Whether it holds while the states for which `set` is true are, and `last` was marked last.
    #[must_use]
    pub fn holds(&self, set: &impl Fn(u32) -> bool, last: Option<u32>) -> bool {
        match self {
            Cond::True => true,
            Cond::State(n) => set(*n),
            Cond::Last(n) => last == Some(*n),
            Cond::Not(c) => !c.holds(set, last),
            Cond::And(all) => all.iter().all(|c| c.holds(set, last)),
            Cond::Or(all) => all.iter().any(|c| c.holds(set, last)),
        }
    }
}
