//! How the rules of a machine are matched: which of them in a product automaton, which separately.
//!
//! The selected rule is the same in every case (`docs/language.md`, Matching); only the cost differs.
//! Must not know: the generated C.

mod early;
mod size;
pub mod words;

use crate::model::{Cond, Machine, Rule, Strategy};
use crate::reach::Reach;
use nest_pattern::{Cuts, Member, Product, Tagged};
use size::Size;
use std::collections::{BTreeMap, BTreeSet};

/// Larger automata become tables, because C compilers are slow for a function with so many labels.
const DIRECT: usize = 400;

/// How a machine's rules are matched.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The different conditions of the rules.
    pub conditions: Vec<Cond>,
    /// The condition of each rule.
    pub condition_of: Vec<usize>,
    /// Whether all combinations of true conditions are known. Other combinations then have no
    /// automaton.
    pub foreseen: bool,
    /// The product automata. Two of them never run together.
    pub automata: Vec<Automaton>,
    /// The rules that are matched separately, and why.
    pub standalone: BTreeMap<usize, Reason>,
    /// The rules of an automaton whose parts need a second pass, and why.
    pub untagged: BTreeMap<usize, Reason>,
    /// Where the elements of each rule end, if that is known when the rule is selected.
    pub cuts: Vec<Option<Cuts>>,
}

/// Why a rule is matched separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Automata cannot express it.
    Backtracking,
    /// `%option matching apart`.
    Requested,
    /// Its own automaton has too many states.
    Rule,
    /// With the other rules there are more states than `matchingStates`.
    States,
    /// It decides as soon as it accepts, and another rule of its group is matched separately.
    Early,
    /// With the other rules the C code exceeds `matchingCode`; it has this many bytes.
    Code(usize),
}

/// Rules that may be active together, and their product.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The rules in ascending order, which are the members of the product.
    pub rules: Vec<usize>,
    /// The conditions of these rules. The automaton runs while one of them is true.
    pub conditions: BTreeSet<usize>,
    /// The conditions that are true whenever it runs. `None`: they vary and are tested at run time.
    pub active: Option<Active>,
    /// The condition that is always true, if there is one.
    always: Option<usize>,
    /// The product.
    pub product: Product,
    /// Whether it becomes code rather than a table.
    pub direct: bool,
}

/// The conditions of a group while an automaton runs.
#[derive(Clone, Debug)]
pub struct Active {
    /// The conditions that are true.
    pub hold: BTreeSet<usize>,
    /// The other conditions of the group, which are false.
    pub others: BTreeSet<usize>,
    /// Whether no other combination of the group ever occurs.
    pub alone: bool,
}

impl Automaton {
    /// Whether the rules of a condition are active whenever it runs.
    #[must_use]
    pub fn is_certain(&self, condition: usize) -> bool {
        self.active.is_some()
            || self.always == Some(condition)
            || (self.conditions.len() == 1 && self.conditions.contains(&condition))
    }

    /// The estimated number of bytes of C.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.direct {
            self.sizes().code()
        } else {
            self.sizes().table()
        }
    }

    fn sizes(&self) -> Size<'_> {
        Size {
            product: &self.product,
            conditions: if self.active.is_some() {
                1
            } else {
                self.conditions.len()
            },
            always: self.always.and_then(|bit| u32::try_from(bit).ok()),
        }
    }
}

impl Matching {
    /// Decides for `m`. The result depends only on `m`.
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
        // If all actions are understood, it is known which conditions can be true together.
        let reach = (m.settings.strategy != Strategy::Standalone).then(|| Reach::of(m));
        let together = reach.filter(|reach| reach.exact).and_then(|reach| {
            let sets = reach.together(&conditions)?.into_iter();
            Some(sets.map(BTreeSet::from_iter).collect::<Vec<BTreeSet<_>>>())
        });
        let mut matching = Matching {
            foreseen: together.is_some(),
            automata: Vec::new(),
            standalone: BTreeMap::new(),
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
            let active = sets.into_iter().map(|set| Active {
                hold: set.clone(),
                others: group.difference(set).copied().collect(),
                alone,
            });
            matching.group(m, rules, &active.collect::<Vec<_>>());
        }
        // Fixed distances need no automaton.
        for rule in matching.standalone.keys() {
            let it = &m.rules[*rule];
            let cuts = Cuts::of(&it.nfa, &it.requested);
            let fixed = cuts.tags.is_empty().then_some(cuts);
            matching.cuts[*rule] = it.backtracking.as_ref().map(|b| b.cuts.clone()).or(fixed);
        }
        matching
    }

    /// Adds a group: as many rules as possible in one automaton, the others separately. `active`:
    /// the combinations that occur, if they are known.
    fn add(&mut self, m: &Machine, rules: &[usize], active: &[Active]) {
        let (only, rules): (Vec<usize>, Vec<usize>) = rules
            .iter()
            .partition(|rule| m.rules[**rule].backtracking.is_some());
        self.standalone
            .extend(only.into_iter().map(|rule| (rule, Reason::Backtracking)));
        if m.settings.strategy == Strategy::Standalone {
            let reasons = rules.into_iter().map(|rule| (rule, Reason::Requested));
            self.standalone.extend(reasons);
            return;
        }
        let mut candidates = Vec::new();
        for rule in rules {
            match Candidate::of(&m.rules[rule], rule, m.settings.matching_states) {
                Some(candidate) => candidates.push(candidate),
                None => {
                    self.standalone.insert(rule, Reason::Rule);
                }
            }
        }
        if candidates.is_empty() {
            return;
        }
        if let Some(automata) = self.specialised(m, &candidates, active) {
            for candidate in candidates {
                if candidate.tagged.is_some() || candidate.cuts.tags.is_empty() {
                    self.cuts[candidate.rule] = Some(candidate.cuts);
                } else {
                    self.untagged.insert(candidate.rule, Reason::Rule);
                }
            }
            self.automata.extend(automata);
            return;
        }
        let merge = |within: &Chosen, tagged: &Chosen| {
            let all = candidates.iter().enumerate();
            let members = all.filter(|(at, _)| within.contains(at));
            let members = members.map(|(at, c)| (c.rule, c.automaton(tagged.contains(&at))));
            let members: Vec<_> = members.collect();
            Matching::merge(m, &self.condition_of, &members, None)
        };
        let all: Chosen = (0..candidates.len()).collect();
        let with_tags = all.iter().copied();
        let with_tags: Chosen = with_tags
            .filter(|at| candidates[*at].tagged.is_some())
            .collect();
        let (automaton, within, tagged) = match merge(&all, &with_tags) {
            Ok(automaton) => (automaton, all, with_tags),
            // First as many rules as fit, then as many with tags.
            Err(reason) => {
                let capacity = m.settings.matching_code;
                let size = |at: &usize| candidates[*at].plain.accepts.len();
                let known = with_tags.is_empty().then_some(reason);
                let (plain, within, why) =
                    most(&all, size, (0, capacity), known, |some| merge(some, &NONE));
                let left = all.difference(&within).map(|at| candidates[*at].rule);
                self.standalone
                    .extend(left.zip(std::iter::repeat(why.unwrap_or(reason))));
                let Some(plain) = plain else { return };
                let size = |at: &usize| candidates[*at].automaton(true).accepts.len();
                let known = (within == all).then_some(reason);
                let tags = with_tags.intersection(&within).copied().collect();
                let (kept, tagged, why) =
                    most(&tags, size, (plain.size(), capacity), known, |some| {
                        merge(&within, some)
                    });
                let left = tags.difference(&tagged).map(|at| candidates[*at].rule);
                self.untagged
                    .extend(left.zip(std::iter::repeat(why.unwrap_or(reason))));
                (kept.unwrap_or(plain), within, tagged)
            }
        };
        for (at, candidate) in candidates.into_iter().enumerate() {
            if !within.contains(&at) {
                continue;
            }
            if tagged.contains(&at) || candidate.cuts.tags.is_empty() {
                self.cuts[candidate.rule] = Some(candidate.cuts);
            } else {
                self.untagged.entry(candidate.rule).or_insert(Reason::Rule);
            }
        }
        self.automata.push(automaton);
    }

    /// One automaton for each combination of conditions, if the automata are few and small.
    fn specialised(
        &self,
        m: &Machine,
        candidates: &[Candidate],
        active: &[Active],
    ) -> Option<Vec<Automaton>> {
        if active.is_empty() || active.len() > SPECIALISED {
            return None;
        }
        let mut automata: Vec<Automaton> = Vec::new();
        for active in active {
            let those = candidates
                .iter()
                .filter(|candidate| active.hold.contains(&self.condition_of[candidate.rule]));
            let those: Vec<_> = those.map(|c| (c.rule, c.automaton(true))).collect();
            if !those.is_empty() {
                let automaton = Matching::merge(m, &self.condition_of, &those, Some(active));
                automata.push(automaton.ok()?);
            }
        }
        let sum = |of: &dyn Fn(&Automaton) -> usize| automata.iter().map(of).sum::<usize>();
        let small = automata.len() == 1
            || (sum(&|a| a.product.blocks().count()) <= DIRECT
                && sum(&Automaton::size) <= m.settings.matching_code);
        small.then_some(automata)
    }

    /// The automaton of some rules, if it is within the limits.
    fn merge(
        m: &Machine,
        condition_of: &[usize],
        members: &[(usize, &Tagged)],
        active: Option<&Active>,
    ) -> Result<Automaton, Reason> {
        let settings = &m.settings;
        let conditions: BTreeSet<usize> = members
            .iter()
            .map(|(rule, _)| condition_of[*rule])
            .collect();
        let sides: Vec<Member<'_>> = members
            .iter()
            .map(|(rule, automaton)| Member {
                automaton,
                bit: u32::try_from(condition_of[*rule]).unwrap_or(u32::MAX),
                early: m.rules[*rule].early,
            })
            .collect();
        let certain = conditions.len() == 1 || active.is_some();
        let product = Product::build(&sides, certain, settings.matching_states);
        let product = product.ok_or(Reason::States)?;
        let mut automaton = Automaton {
            direct: false,
            rules: members.iter().map(|(rule, _)| *rule).collect(),
            conditions,
            active: active.cloned(),
            always: members
                .iter()
                .find(|(rule, _)| m.rules[*rule].cond == Cond::True)
                .map(|(rule, _)| condition_of[*rule]),
            product,
        };
        automaton.direct = match settings.strategy {
            Strategy::Auto => {
                automaton.product.blocks().count() <= DIRECT
                    && automaton.sizes().code() <= settings.matching_code
            }
            strategy => strategy == Strategy::Code,
        };
        let size = automaton.size();
        if size > settings.matching_code {
            return Err(Reason::Code(size));
        }
        Ok(automaton)
    }

    /// The largest number of tags of a rule.
    #[must_use]
    pub fn tags(&self) -> usize {
        let tags = self.cuts.iter().flatten().map(|c| c.tags.len());
        tags.max().unwrap_or(0)
    }

    /// The largest number of registers of an automaton.
    #[must_use]
    pub fn registers(&self) -> usize {
        let registers = self.automata.iter().map(|a| a.product.registers);
        registers.max().unwrap_or(0)
    }
}

/// The maximum number of automata for the combinations of one group.
const SPECIALISED: usize = 8;

/// Indices of some of the candidates.
type Chosen = BTreeSet<usize>;
const NONE: Chosen = BTreeSet::new();

/// Chooses as many of `all` as fit, or almost as many, the smallest first. Returns their automaton,
/// their indices, and why there are no more. `known`: the reason why all together do not fit. The search goes from
/// small to large, because an automaton that does not fit costs most; if its size is known, the next
/// step is in proportion to it. `used` bytes of `capacity` are already used.
fn most(
    all: &Chosen,
    size: impl Fn(&usize) -> usize,
    (mut used, capacity): (usize, usize),
    known: Option<Reason>,
    attempt: impl Fn(&Chosen) -> Result<Automaton, Reason>,
) -> (Option<Automaton>, Chosen, Option<Reason>) {
    let mut order: Vec<usize> = all.iter().copied().collect();
    order.sort_by_key(&size);
    let mut before = vec![0];
    before.extend(order.iter().scan(0, |sum, at| {
        *sum += size(at);
        Some(*sum)
    }));
    let (mut best, mut fits, mut fails) = (None, 0, order.len() + 1);
    let mut why = known;
    let full = |used| used > capacity - 2 * capacity / WITHIN;
    if full(used) {
        return (None, Chosen::new(), why);
    }
    if known.is_some() {
        fails -= 1;
    } else if fails > 1 {
        match attempt(all) {
            Ok(automaton) => return (Some(automaton), all.clone(), None),
            Err(reason) => (why, fails) = (Some(reason), fails - 1),
        }
    }
    let mut step = 1;
    // Each attempt costs as much as all that follows; the last few rules are not worth one.
    while fits + 1 + fails / WITHIN < fails {
        let count = match why {
            Some(Reason::Code(size)) if fails < before.len() && size > used => {
                let wanted = (capacity - capacity / WITHIN).saturating_sub(used);
                let more = (before[fails] - before[fits]) * wanted / (size - used);
                let count = before.partition_point(|sum| *sum <= before[fits] + more) - 1;
                count.clamp(fits + 1, fails - 1)
            }
            _ => (fits + step).min(fits.midpoint(fails)),
        };
        match attempt(&order[..count].iter().copied().collect()) {
            Ok(automaton) => {
                used = automaton.size();
                (best, fits) = (Some(automaton), count);
                step *= 2;
                if full(used) {
                    break;
                }
            }
            Err(reason) => (why, fails) = (Some(reason), count),
        }
    }
    (best, order[..fits].iter().copied().collect(), why)
}

/// The search ends when it is this close to the limit: one part in so many.
const WITHIN: usize = 24;

/// A rule that may become part of an automaton.
struct Candidate {
    rule: usize,
    cuts: Cuts,
    /// Its automaton without tags.
    plain: Tagged,
    /// Its automaton with tags, if there are any and it is small enough.
    tagged: Option<Tagged>,
}

impl Candidate {
    /// `None` if it is too large even without tags.
    fn of(rule: &Rule, number: usize, budget: usize) -> Option<Candidate> {
        let cuts = Cuts::of(&rule.nfa, &rule.requested);
        let plain = plain(rule, budget)?;
        let tagged = if cuts.tags.is_empty() {
            None
        } else {
            Tagged::build(&rule.nfa, &cuts.tags, budget)
        };
        Some(Candidate {
            rule: number,
            cuts,
            plain,
            tagged,
        })
    }

    fn automaton(&self, with_tags: bool) -> &Tagged {
        let tagged = self.tagged.as_ref().filter(|_| with_tags);
        tagged.unwrap_or(&self.plain)
    }
}

/// The automaton of a rule without tags.
fn plain(rule: &Rule, budget: usize) -> Option<Tagged> {
    let built = match &rule.dfa {
        Some(dfa) => Tagged::plain(dfa),
        None => Tagged::build(&rule.nfa, &[], budget)?,
    };
    (built.accepts.len() <= budget).then_some(built)
}

/// Groups conditions: two conditions that are true together in one of the sets are in the same
/// group, transitively.
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

/// Groups conditions: two conditions that may be true together are in the same group, transitively.
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

/// The maximum number of steps for all pairs. Beyond it the answer is yes, which costs only speed.
const STEPS: usize = 200_000;

/// Whether some set of states makes both true; yes if the search would take too long.
fn may_hold_together(a: &Cond, b: &Cond, steps: &mut usize) -> bool {
    let (mut states, mut lasts) = (BTreeSet::new(), BTreeSet::new());
    for cond in [a, b] {
        atoms(cond, &mut states, &mut lasts);
    }
    let states: Vec<u32> = states.into_iter().collect();
    // One state that no condition names represents all others.
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

/// The assumptions about states: which are known, and which of those are set.
#[derive(Clone, Copy)]
struct Known {
    states: u64,
    set: u64,
    last: Option<u32>,
}

impl Known {
    /// Whether all may be true; nothing is assumed yet of the states in `unknown`.
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

    /// Whether it is true, if that is known.
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

    /// One operand with the value `decides` decides; otherwise all must be known.
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
