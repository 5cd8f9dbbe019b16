//! How the rules of a machine are matched: which of them side by side in one automaton, which apart.
//!
//! The result is the same in every case (`docs/language.md`, Matching), only the cost differs. Must
//! not know: the C that comes of it.

use crate::model::{Cond, Machine, Rule, Strategy};
use crate::reach::Reach;
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
    /// Whether all choices of conditions that can hold together are known, and no others have an
    /// automaton.
    pub foreseen: bool,
    /// Rules side by side. Two automata never run together.
    pub automata: Vec<Automaton>,
    /// Rules apart, and why.
    pub apart: BTreeMap<usize, Reason>,
    /// Rules whose parts take a second pass though they are in an automaton, and why.
    pub untagged: BTreeMap<usize, Reason>,
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
    /// Exactly these of its group hold whenever it runs; nothing if that differs, and is asked for.
    pub active: Option<Active>,
    /// The product.
    pub merged: Merged,
    /// As code rather than as a table.
    pub direct: bool,
}

/// The conditions of a group while an automaton runs.
#[derive(Clone, Debug)]
pub struct Active {
    /// Those that hold.
    pub hold: BTreeSet<usize>,
    /// The others of the group: they do not.
    pub others: BTreeSet<usize>,
    /// Nothing else of the group ever holds.
    pub alone: bool,
}

impl Automaton {
    /// Whether the rules of a condition are active whenever it runs.
    #[must_use]
    pub fn is_certain(&self, condition: usize) -> bool {
        self.active.is_some()
            || (self.conditions.len() == 1 && self.conditions.contains(&condition))
    }

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
    merged.blocks().map(|state| STATE + WAY * ways(state)).sum()
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
        // Actions that are understood say which conditions ever hold together.
        let reach = (m.settings.strategy != Strategy::Apart).then(|| Reach::of(m));
        let together = reach.filter(|reach| reach.exact).and_then(|reach| {
            let sets = reach.together(&conditions)?.into_iter();
            Some(sets.map(BTreeSet::from_iter).collect::<Vec<BTreeSet<_>>>())
        });
        let mut matching = Matching {
            foreseen: together.is_some(),
            automata: Vec::new(),
            apart: BTreeMap::new(),
            untagged: BTreeMap::new(),
            cuts: vec![None; m.rules.len()],
            conditions,
            condition_of,
        };
        let groups = match &together {
            Some(sets) => meeting(sets),
            None => groups(&matching.conditions),
        };
        for group in groups {
            let rules: Vec<usize> = (0..m.rules.len())
                .filter(|r| group.contains(&matching.condition_of[*r]))
                .collect();
            let sets = together.iter().flatten();
            let sets: Vec<_> = sets.filter(|set| !set.is_disjoint(&group)).collect();
            let alone = sets.len() == 1;
            let active: Vec<Active> = sets
                .into_iter()
                .map(|set| Active {
                    hold: set.clone(),
                    others: group.difference(set).copied().collect(),
                    alone,
                })
                .collect();
            matching.add(m, &rules, &active);
        }
        // Fixed distances need no automaton.
        for rule in matching.apart.keys() {
            let cuts = Cuts::of(&m.rules[*rule].nfa, &m.rules[*rule].asked);
            matching.cuts[*rule] = cuts.tags.is_empty().then_some(cuts);
        }
        matching
    }

    /// One group: side by side as many as can be, the others apart. `active`: what can hold of it,
    /// if that is known.
    fn add(&mut self, m: &Machine, rules: &[usize], active: &[Active]) {
        if m.settings.strategy == Strategy::Apart {
            let reasons = rules.iter().map(|rule| (*rule, Reason::Asked));
            self.apart.extend(reasons);
            return;
        }
        let (mut members, mut untagged) = (Vec::new(), BTreeMap::new());
        for rule in rules {
            match Candidate::of(&m.rules[*rule], *rule, m.settings.matching_states) {
                Some(candidate) => {
                    if candidate.cuts.is_none() {
                        untagged.insert(*rule, Reason::Rule);
                    }
                    members.push(candidate);
                }
                None => {
                    self.apart.insert(*rule, Reason::Rule);
                }
            }
        }
        if members.is_empty() {
            return;
        }
        if let Some(automata) = self.specialised(m, &members, active) {
            for member in members {
                self.cuts[member.rule] = member.cuts;
            }
            self.untagged.extend(untagged);
            self.automata.extend(automata);
            return;
        }
        // All, or all but a few; else without tags; then the smallest, as many as fit.
        let mut most = self.most(m, &members);
        if let Some(reason) = most.beyond
            && most.left_out(&members) > members.len().div_ceil(FEW)
            && members.iter().any(Candidate::has_tags)
        {
            let mut plain = members.clone();
            let mut lost = BTreeMap::new();
            for member in plain.iter_mut().filter(|member| member.has_tags()) {
                lost.insert(member.rule, reason);
                member.drop_tags(&m.rules[member.rule], m.settings.matching_states);
            }
            let without = self.most(m, &plain);
            if without.left_out(&plain) < most.left_out(&members) {
                untagged.extend(lost);
                (members, most) = (plain, without);
            }
        }
        for member in members {
            if (most.automaton.iter()).any(|automaton| automaton.rules.contains(&member.rule)) {
                self.cuts[member.rule] = member.cuts;
            } else if let Some(reason) = most.beyond {
                untagged.remove(&member.rule);
                self.apart.insert(member.rule, reason);
            }
        }
        self.untagged.extend(untagged);
        self.automata.extend(most.automaton);
    }

    /// An automaton for each choice of conditions that can hold, if they are few and small.
    fn specialised(
        &self,
        m: &Machine,
        members: &[Candidate],
        active: &[Active],
    ) -> Option<Vec<Automaton>> {
        if active.is_empty() || active.len() > SPECIALISED {
            return None;
        }
        let mut automata: Vec<Automaton> = Vec::new();
        for active in active {
            let those = members
                .iter()
                .filter(|member| active.hold.contains(&self.condition_of[member.rule]));
            let those: Vec<&Candidate> = those.collect();
            if !those.is_empty() {
                automata.push(self.merge(m, &those, Some(active)).ok()?);
            }
        }
        let sum = |of: &dyn Fn(&Automaton) -> usize| automata.iter().map(of).sum::<usize>();
        let small = automata.len() == 1
            || (sum(&|a| a.merged.blocks().count()) <= DIRECT
                && sum(&Automaton::size) <= m.settings.matching_code);
        small.then_some(automata)
    }

    /// All members if they fit; else the smallest, as many as do. That is sought from small to
    /// large, for what does not fit costs most.
    fn most(&self, m: &Machine, members: &[Candidate]) -> Most {
        let mut most = match self.merge(m, &members.iter().collect::<Vec<_>>(), None) {
            Ok(automaton) => {
                return Most {
                    automaton: Some(automaton),
                    beyond: None,
                };
            }
            Err(reason) => Most {
                automaton: None,
                beyond: Some(reason),
            },
        };
        let mut by_size: Vec<&Candidate> = members.iter().collect();
        by_size.sort_by_key(|member| member.automaton.accepts.len());
        let (mut fits, mut fails, mut step) = (0, by_size.len(), 1);
        // First all but a few: one that is large is often all that is in the way.
        let mut count = fails - fails.div_ceil(FEW);
        while fits + 1 < fails {
            let mut some = by_size[..count].to_vec();
            some.sort_by_key(|member| member.rule);
            match self.merge(m, &some, None) {
                Ok(automaton) => {
                    (most.automaton, fits) = (Some(automaton), count);
                    step *= 2;
                }
                Err(why) => (most.beyond, fails) = (Some(why), count),
            }
            count = (fits + step).min(fits.midpoint(fails));
        }
        most
    }

    fn merge(
        &self,
        m: &Machine,
        members: &[&Candidate],
        active: Option<&Active>,
    ) -> Result<Automaton, Reason> {
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
        let certain = conditions.len() == 1 || active.is_some();
        let merged = Merged::build(&sides, certain, settings.matching_states);
        let merged = merged.ok_or(Reason::States)?;
        let automaton = Automaton {
            direct: match settings.strategy {
                Strategy::Auto => {
                    merged.blocks().count() <= DIRECT && code(&merged) <= settings.matching_code
                }
                strategy => strategy == Strategy::Code,
            },
            rules: members.iter().map(|member| member.rule).collect(),
            conditions,
            active: active.cloned(),
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

/// So many automata at most for the conditions of one group that can hold together.
const SPECIALISED: usize = 8;

/// Rules have their parts in the same pass unless more than one of so many has to go for that.
const FEW: usize = 8;

/// The most rules that fit into one automaton.
struct Most {
    automaton: Option<Automaton>,
    /// Why one more does not fit; nothing if all do.
    beyond: Option<Reason>,
}

impl Most {
    fn left_out(&self, of: &[Candidate]) -> usize {
        of.len() - self.automaton.as_ref().map_or(0, |a| a.rules.len())
    }
}

/// A rule on its way into an automaton.
#[derive(Clone)]
struct Candidate {
    rule: usize,
    cuts: Option<Cuts>,
    automaton: Tagged,
}

impl Candidate {
    /// With tags if they fit; nothing if it does not fit at all.
    fn of(rule: &Rule, number: usize, budget: usize) -> Option<Candidate> {
        let cuts = Cuts::of(&rule.nfa, &rule.asked);
        let mut candidate = Candidate {
            rule: number,
            cuts: Some(cuts),
            automaton: plain(rule, budget)?,
        };
        if candidate.has_tags() {
            let tags = candidate.cuts.iter().flat_map(|cuts| cuts.tags.clone());
            match Tagged::build(&rule.nfa, &tags.collect::<Vec<_>>(), budget) {
                Some(tagged) => candidate.automaton = tagged,
                None => candidate.cuts = None,
            }
        }
        Some(candidate)
    }

    fn has_tags(&self) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| !cuts.tags.is_empty())
    }

    fn drop_tags(&mut self, rule: &Rule, budget: usize) {
        if let Some(plain) = plain(rule, budget) {
            (self.cuts, self.automaton) = (None, plain);
        }
    }
}

/// The automaton of a rule that keeps no boundary.
fn plain(rule: &Rule, budget: usize) -> Option<Tagged> {
    let built = match &rule.dfa {
        Some(dfa) => Tagged::plain(dfa),
        None => Tagged::build(&rule.nfa, &[], budget)?,
    };
    (built.accepts.len() <= budget).then_some(built)
}

/// Conditions that hold together in one of the sets are in one group, and so are those that they
/// meet.
fn meeting(sets: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let mut groups: Vec<BTreeSet<usize>> = Vec::new();
    for set in sets.iter().filter(|set| !set.is_empty()) {
        let (met, mut others): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| !group.is_disjoint(set));
        others.push(
            met.into_iter()
                .flatten()
                .chain(set.iter().copied())
                .collect(),
        );
        groups = others;
    }
    groups.sort();
    groups
}

/// Conditions that may hold together are in one group, and so are those that they meet.
fn groups(conditions: &[Cond]) -> Vec<BTreeSet<usize>> {
    let mut of: Vec<usize> = (0..conditions.len()).collect();
    let mut steps = STEPS;
    for a in 0..conditions.len() {
        for b in a + 1..conditions.len() {
            if of[a] != of[b] && may_hold_together(&conditions[a], &conditions[b], &mut steps) {
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

/// Most steps of a search, over all pairs: an answer of yes beyond it costs speed, nothing else.
const STEPS: usize = 200_000;

/// Whether some set of states makes both hold; yes if it would take too long to tell.
fn may_hold_together(a: &Cond, b: &Cond, steps: &mut usize) -> bool {
    let (mut states, mut lasts) = (BTreeSet::new(), BTreeSet::new());
    for cond in [a, b] {
        atoms(cond, &mut states, &mut lasts);
    }
    let states: Vec<u32> = states.into_iter().collect();
    // Another one than all that are named stands for the rest.
    let mut others = lasts.into_iter().map(Some).chain([None]);
    others.any(|last| {
        let known = Known {
            states: 0,
            set: 0,
            last,
        };
        known.allows([a, b], &states, steps)
    })
}

/// What is assumed of the states: which are known, and those of them that hold.
#[derive(Clone, Copy)]
struct Known {
    states: u64,
    set: u64,
    last: Option<u32>,
}

impl Known {
    /// Whether all may hold; `unknown` are the states of which nothing is assumed yet.
    fn allows(self, all: [&Cond; 2], unknown: &[u32], steps: &mut usize) -> bool {
        if *steps == 0 {
            return true;
        }
        *steps -= 1;
        let values = all.map(|cond| self.value(cond));
        if values.contains(&Some(false)) {
            return false;
        }
        match unknown.split_first() {
            Some((state, rest)) if values.contains(&None) => [0, 1].into_iter().any(|set| {
                let known = Known {
                    states: self.states | 1 << state,
                    set: self.set | set << state,
                    last: self.last,
                };
                known.allows(all, rest, steps)
            }),
            _ => true,
        }
    }

    /// Whether it holds, as far as that can be told.
    fn value(self, cond: &Cond) -> Option<bool> {
        match cond {
            Cond::True => Some(true),
            Cond::State(n) => (self.states >> n & 1 == 1).then_some(self.set >> n & 1 == 1),
            Cond::Last(n) => Some(self.last == Some(*n)),
            Cond::Not(c) => self.value(c).map(|value| !value),
            Cond::And(all) => self.joined(all, false),
            Cond::Or(all) => self.joined(all, true),
        }
    }

    /// One that is `decides` decides; all others must be known.
    fn joined(self, all: &[Cond], decides: bool) -> Option<bool> {
        let mut value = Some(!decides);
        for cond in all {
            match self.value(cond) {
                Some(known) if known == decides => return Some(decides),
                Some(_) => {}
                None => value = None,
            }
        }
        value
    }
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
