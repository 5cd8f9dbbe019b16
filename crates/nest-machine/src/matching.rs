//! How the rules of a machine are matched: which of them side by side in one automaton, which apart.
//!
//! The result is the same in every case (`docs/language.md`, Matching), only the cost differs. Must
//! not know: the C that comes of it.

use crate::model::{Cond, Machine, Rule, Strategy};
use nest_pattern::{Cuts, Member, Merged, Tagged};
use std::collections::{BTreeMap, BTreeSet};

/// Automata of more states become tables: compilers take long for a function of so many labels.
const DIRECT: usize = 400;
/// Bytes of C: an edge of a table; a state as code, and each of the different ways out of it.
const EDGE: usize = 5;
const STATE: usize = 90;
const WAY: usize = 60;

/// How a machine's rules are matched.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The different conditions of the rules.
    pub conditions: Vec<Cond>,
    /// The condition of each rule.
    pub condition_of: Vec<usize>,
    /// Rules side by side. Rules of two automata are never active together.
    pub automata: Vec<Automaton>,
    /// Rules apart, and why.
    pub apart: BTreeMap<usize, Reason>,
    /// Where the elements of each rule end, as far as it is known when it is decided.
    pub cuts: Vec<Option<Cuts>>,
}

/// Why a rule is matched apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `%option matching apart`.
    Asked,
    /// Its own automaton has too many states.
    Rule,
    /// With the others there are more than `matchingStates`.
    States,
    /// With the others it is more than `matchingCode`.
    Code,
}

/// Rules that may be active together, and their product.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The rules, ascending: members of the product.
    pub rules: Vec<usize>,
    /// Their conditions, and no others: it runs while one of these holds.
    pub conditions: BTreeSet<usize>,
    /// The product.
    pub merged: Merged,
    /// As code rather than as a table.
    pub direct: bool,
}

impl Automaton {
    /// About how many bytes of C it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.direct {
            code(&self.merged)
        } else {
            self.merged.next.len() * EDGE
        }
    }
}

fn code(merged: &Merged) -> usize {
    let ways = |state| merged.row(state).iter().collect::<BTreeSet<_>>().len();
    (0..merged.states())
        .map(|state| STATE + WAY * ways(state))
        .sum()
}

impl Matching {
    /// Decides for `m`. The same machine, the same answer.
    #[must_use]
    pub fn of(m: &Machine) -> Matching {
        let mut conditions: Vec<Cond> = Vec::new();
        let condition_of: Vec<usize> = m
            .rules
            .iter()
            .map(|rule| {
                conditions
                    .iter()
                    .position(|c| *c == rule.cond)
                    .unwrap_or_else(|| {
                        conditions.push(rule.cond.clone());
                        conditions.len() - 1
                    })
            })
            .collect();
        let mut matching = Matching {
            automata: Vec::new(),
            apart: BTreeMap::new(),
            cuts: vec![None; m.rules.len()],
            conditions,
            condition_of,
        };
        for together in groups(&matching.conditions) {
            let rules: Vec<usize> = (0..m.rules.len())
                .filter(|r| together.contains(&matching.condition_of[*r]))
                .collect();
            matching.add(m, &rules);
        }
        matching
    }

    /// One group: side by side as many as can be, the others apart.
    fn add(&mut self, m: &Machine, rules: &[usize]) {
        if m.settings.strategy == Strategy::Apart {
            let reasons = rules.iter().map(|rule| (*rule, Reason::Asked));
            self.apart.extend(reasons);
            return;
        }
        let mut members: Vec<Candidate> = Vec::new();
        for rule in rules {
            match Candidate::of(&m.rules[*rule], *rule, m.settings.matching_states) {
                Some(candidate) => members.push(candidate),
                None => {
                    self.apart.insert(*rule, Reason::Rule);
                }
            }
        }
        while !members.is_empty() {
            let reason = match self.merge(m, &members) {
                Ok(automaton) => {
                    for member in members {
                        self.cuts[member.rule] = member.cuts;
                    }
                    self.automata.push(automaton);
                    return;
                }
                Err(reason) => reason,
            };
            // Without tags it may fit; then without those that are largest.
            if members.iter().any(Candidate::has_tags) {
                for member in &mut members {
                    member.drop_tags(&m.rules[member.rule]);
                }
                for stays in members.extract_if(.., |member| member.has_tags()) {
                    self.apart.insert(stays.rule, reason);
                }
                continue;
            }
            for _ in 0..members.len().div_ceil(DROPPED) {
                let sizes = members.iter().enumerate();
                let largest =
                    sizes.max_by_key(|(at, member)| (member.automaton.accepts.len(), *at));
                let Some((at, _)) = largest else { break };
                self.apart.insert(members.remove(at).rule, reason);
            }
        }
    }

    fn merge(&self, m: &Machine, members: &[Candidate]) -> Result<Automaton, Reason> {
        let settings = &m.settings;
        let conditions: BTreeSet<usize> = members
            .iter()
            .map(|member| self.condition_of[member.rule])
            .collect();
        let sides: Vec<Member<'_>> = members
            .iter()
            .map(|member| Member {
                automaton: &member.automaton,
                bit: u32::try_from(self.condition_of[member.rule]).unwrap_or(u32::MAX),
            })
            .collect();
        let certain = conditions.len() == 1;
        let merged = Merged::build(&sides, certain, settings.matching_states);
        let merged = merged.ok_or(Reason::States)?;
        let automaton = Automaton {
            direct: match settings.strategy {
                Strategy::Auto => {
                    merged.states() <= DIRECT && code(&merged) <= settings.matching_code
                }
                strategy => strategy == Strategy::Code,
            },
            rules: members.iter().map(|member| member.rule).collect(),
            conditions,
            merged,
        };
        if automaton.size() > settings.matching_code {
            return Err(Reason::Code);
        }
        Ok(automaton)
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

/// Of the rules that are too many, this part is left out at a time.
const DROPPED: usize = 8;

/// A rule on its way into an automaton.
struct Candidate {
    rule: usize,
    cuts: Option<Cuts>,
    automaton: Tagged,
}

impl Candidate {
    /// With tags if they fit; nothing if it does not fit at all.
    fn of(rule: &Rule, number: usize, budget: usize) -> Option<Candidate> {
        let cuts = Cuts::of(&rule.nfa, &rule.asked);
        let tagged = if cuts.tags.is_empty() {
            rule.dfa.as_ref().map(Tagged::plain)
        } else {
            Tagged::build(&rule.nfa, &cuts.tags, budget)
        };
        let (cuts, automaton) = match tagged {
            Some(automaton) => (Some(cuts), automaton),
            None => (None, rule.dfa.as_ref().map(Tagged::plain)?),
        };
        (automaton.accepts.len() <= budget).then_some(Candidate {
            rule: number,
            cuts,
            automaton,
        })
    }

    fn has_tags(&self) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| !cuts.tags.is_empty())
    }

    fn drop_tags(&mut self, rule: &Rule) {
        if self.has_tags()
            && let Some(dfa) = &rule.dfa
        {
            (self.cuts, self.automaton) = (None, Tagged::plain(dfa));
        }
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
            states
                .iter()
                .position(|s| *s == n)
                .is_some_and(|at| bits >> at & 1 == 1)
        };
        others
            .iter()
            .any(|last| [a, b].iter().all(|c| c.holds(&holds, *last)))
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
