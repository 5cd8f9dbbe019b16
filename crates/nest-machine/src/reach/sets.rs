//! Searches for sets of states, and computes bounds if there are too many. Must not know: the C of
//! actions, automata.

use crate::model::{Cond, Machine};
use nest_c::effects::{Closes, Effect, Effects, Path, bits};
use std::collections::{BTreeSet, HashMap};

use super::win::{Winners, Wins};

/// The maximum number of sets. If there are more, only bounds are known.
pub const MOST_SETS: usize = 4096;

/// START, as a mask.
pub(super) const START: u64 = 1;
/// DEFAULT, as a mask.
const DEFAULT: u64 = 2;

/// A step of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A rule matches input.
    Rule(usize),
    /// A TIMEOUT rule fires.
    Timer(usize),
}

/// A set of states at a read point.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The states that are set, as a mask.
    pub states: u64,
    /// The state that was set last; `None` before the first, and if no condition tests it.
    pub last: Option<u32>,
    /// The previous set and the step from it; `None`: START's action led here.
    pub from: Option<(usize, Step)>,
    /// Whether it is certainly reached: no action on the path had several results.
    pub certain: bool,
    /// The rules that can match some input here, in ascending order.
    pub rules: Vec<usize>,
    /// Those of them for which the search would take too long.
    pub perhaps: Vec<usize>,
    /// The TIMEOUT rule that fires here.
    pub timer: Option<usize>,
    /// The number of active rules, including those that cannot match.
    active: usize,
    /// The number of steps that lead here.
    steps: usize,
}

/// Bounds of all sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// States that are set in all sets.
    pub held: u64,
    /// States that are set in some sets.
    pub marked: u64,
    /// States that were set last in some sets.
    pub last: u64,
}

/// The sets that can be reached.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The sets, in the order of the steps that they take; not all of them unless
    /// [`Reach::is_complete`].
    pub sets: Vec<Reached>,
    /// Bounds of all sets.
    pub bounds: Bounds,
    /// Whether the effects of all actions are exact.
    pub exact: bool,
    pub(super) complete: bool,
}

pub(super) type Node = (u64, Option<u32>);

impl Reach {
    /// Computes the sets of a machine. The result depends only on the machine.
    #[must_use]
    pub fn of(m: &Machine) -> Reach {
        Reach::by(m, &Effects::of(&m.source()), &mut Winners::new(m))
    }

    /// The same with known effects.
    #[must_use]
    pub fn by(m: &Machine, effects: &Effects, winners: &mut Winners<'_>) -> Reach {
        let mut search = Finder::new(m, effects, winners);
        let complete = search.run();
        let bounds = if complete {
            Bounds::of(&search.sets)
        } else {
            bounds(m, effects)
        };
        let actions = effects.rules.iter().chain(&effects.timers);
        Reach {
            exact: actions.chain(&effects.start).all(|e| e.exact),
            sets: search.sets,
            bounds,
            complete,
        }
    }

    /// Whether [`Reach::sets`] contains every set that can be reached.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether a condition may be true at some read point.
    #[must_use]
    pub fn may_hold(&self, cond: &Cond) -> bool {
        if self.complete {
            return self.sets.iter().any(|set| set.holds(cond));
        }
        self.bounds.holds(cond) != Some(false)
    }

    /// Which of the conditions hold together: each different choice of them that there is, as
    /// ascending numbers. Nothing if not all sets are known.
    #[must_use]
    pub fn together(&self, conditions: &[Cond]) -> Option<BTreeSet<Vec<usize>>> {
        let hold = |set: &Reached| {
            let all = 0..conditions.len();
            all.filter(|c| set.holds(&conditions[*c])).collect()
        };
        self.complete.then(|| self.sets.iter().map(hold).collect())
    }

    /// The steps from START's action to a set, each from the set before it: the fewest that lead
    /// there, if it is reached for certain the fewest that do so for certain.
    #[must_use]
    pub fn path_to(&self, set: usize) -> Vec<(usize, Step)> {
        let mut path = Vec::new();
        let mut at = set;
        while let Some((from, step)) = self.sets[at].from {
            path.push((from, step));
            at = from;
        }
        path.reverse();
        path
    }
}

impl Reached {
    /// Whether a condition is true in this set.
    #[must_use]
    pub fn holds(&self, cond: &Cond) -> bool {
        cond.holds(&|n| self.states >> n & 1 == 1, self.last)
    }

    /// Whether nothing is active: the conversation ends.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.active == 0 && self.timer.is_none()
    }
}

impl Bounds {
    fn of(sets: &[Reached]) -> Bounds {
        let none = Bounds {
            held: u64::MAX,
            marked: 0,
            last: 0,
        };
        sets.iter().fold(none, |all, set| Bounds {
            held: all.held & set.states,
            marked: all.marked | set.states,
            last: all.last | set.last.map_or(0, |n| 1 << n),
        })
    }

    /// Whether a condition is true; `None` if that varies or is not known.
    #[must_use]
    pub fn holds(&self, cond: &Cond) -> Option<bool> {
        let one = |decided: bool, mut all: std::slice::Iter<'_, Cond>| {
            all.try_fold(Some(!decided), |now, c| match self.holds(c) {
                Some(is) if is == decided => Err(()),
                Some(_) => Ok(now),
                None => Ok(None),
            })
            .unwrap_or(Some(decided))
        };
        match cond {
            Cond::True => Some(true),
            Cond::State(n) if self.held >> n & 1 == 1 => Some(true),
            Cond::State(n) => (self.marked >> n & 1 == 0).then_some(false),
            Cond::Last(n) => (self.last >> n & 1 == 0).then_some(false),
            Cond::Not(c) => self.holds(c).map(|is| !is),
            Cond::And(all) => one(false, all.iter()),
            Cond::Or(all) => one(true, all.iter()),
        }
    }
}

/// Whether a condition tests which state was set last.
pub(super) fn tests_last(cond: &Cond) -> bool {
    match cond {
        Cond::True | Cond::State(_) => false,
        Cond::Last(_) => true,
        Cond::Not(c) => tests_last(c),
        Cond::And(all) | Cond::Or(all) => all.iter().any(tests_last),
    }
}

/// A set at the first read point: DEFAULT is set if no other state is.
pub(super) fn begun((states, last): Node, lasts: bool) -> Node {
    if states == START {
        (START | DEFAULT, lasts.then_some(1))
    } else {
        (states, last)
    }
}

/// The sets to which a path through an action may lead; `None` if there are too many. `lasts`:
/// whether any condition tests which state was set last.
pub(super) fn outcomes(path: &Path, (states, last): Node, lasts: bool) -> Option<Vec<Node>> {
    let (to, varies) = path.outcome(states);
    if varies.count_ones() > MOST_SETS.ilog2() {
        return None;
    }
    let mut named: Vec<Option<u32>> = Vec::new();
    if path.last.same || !lasts {
        named.push(last);
    }
    if lasts {
        named.extend(bits(path.last.of).map(|s| Some(s.trailing_zeros())));
    }
    // Enumerates every combination of the states that vary, like a counter with these bits.
    let mut found = Vec::new();
    let mut some = 0u64;
    loop {
        found.extend(named.iter().map(|last| (to ^ some, *last)));
        some = some.wrapping_sub(varies) & varies;
        if some == 0 {
            return Some(found);
        }
    }
}

struct Finder<'a, 'm> {
    m: &'a Machine,
    effects: &'a Effects,
    winners: &'a mut Winners<'m>,
    /// Whether any condition tests which state was set last.
    lasts: bool,
    sets: Vec<Reached>,
    numbers: HashMap<Node, usize>,
}

impl<'a, 'm> Finder<'a, 'm> {
    fn new(m: &'a Machine, effects: &'a Effects, winners: &'a mut Winners<'m>) -> Finder<'a, 'm> {
        let rules = m.rules.iter().map(|r| &r.cond);
        let mut conditions = rules.chain(m.timers.iter().map(|t| &t.cond));
        Finder {
            m,
            effects,
            winners,
            lasts: conditions.any(tests_last),
            sets: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Finds all sets; false if they are too many.
    fn run(&mut self) -> bool {
        let first = self.first();
        // Certain steps first, so that certain sets are reached by certain steps.
        let mut known = true;
        for only_certain in [true, false] {
            for (node, certain) in first.clone().unwrap_or_default() {
                if certain || !only_certain {
                    known &= self.add(node, None, certain);
                }
            }
            known &= first.is_some() && self.follow(only_certain);
        }
        known
    }

    /// The sets at the first read point; nothing if they are too many.
    fn first(&self) -> Option<Vec<(Node, bool)>> {
        let Some(start) = &self.effects.start else {
            return Some(vec![(begun((START, None), self.lasts), true)]);
        };
        let (found, certain) = self.after(start, (START, None))?;
        let begun = |n| (begun(n, self.lasts), certain);
        Some(found.into_iter().map(begun).collect())
    }

    /// The sets to which an action may lead from a set, and whether that is certain; `None` if
    /// there are too many.
    fn after(&self, effect: &Effect, (states, last): Node) -> Option<(BTreeSet<Node>, bool)> {
        let fitting = |p: &&Path| p.fits(states);
        let paths: Vec<&Path> = effect.paths.iter().filter(fitting).collect();
        let certain = effect.exact && matches!(paths.as_slice(), [one] if one.is_definite());
        let mut found = BTreeSet::new();
        for path in paths.iter().filter(|p| p.closes != Closes::Yes) {
            found.extend(outcomes(path, (states, last), self.lasts)?);
        }
        Some((found, certain))
    }

    /// Records a set. Returns false if there are too many.
    fn add(&mut self, node: Node, from: Option<(usize, Step)>, certain: bool) -> bool {
        if self.numbers.contains_key(&node) {
            return true;
        }
        if self.sets.len() >= MOST_SETS {
            return false;
        }
        let mut set = Reached {
            states: node.0,
            last: node.1,
            from,
            certain,
            rules: Vec::new(),
            perhaps: Vec::new(),
            timer: None,
            active: 0,
            steps: from.map_or(0, |(before, _)| self.sets[before].steps + 1),
        };
        let active: Vec<bool> = self.m.rules.iter().map(|r| set.holds(&r.cond)).collect();
        for rule in (0..active.len()).filter(|rule| active[*rule]) {
            set.active += 1;
            match self.winners.wins(rule, &active) {
                Wins::Never => continue,
                Wins::Perhaps => set.perhaps.push(rule),
                Wins::With(_) => {}
            }
            set.rules.push(rule);
        }
        let timers = self.m.timers.iter().enumerate();
        set.timer = timers
            .filter(|(_, t)| set.holds(&t.cond))
            .min_by_key(|(n, t)| (t.after, *n))
            .map(|(n, _)| n);
        self.numbers.insert(node, self.sets.len());
        self.sets.push(set);
        true
    }

    /// Follows every step from every set; false if there are too many.
    fn follow(&mut self, only_certain: bool) -> bool {
        let all = self.sets.iter().enumerate();
        let mut todo: BTreeSet<(usize, usize)> = all.map(|(n, set)| (set.steps, n)).collect();
        while let Some((_, at)) = todo.pop_first() {
            let set = &self.sets[at];
            let (node, so_far) = ((set.states, set.last), set.certain);
            let rules = set.rules.iter().map(|r| Step::Rule(*r));
            let steps: Vec<Step> = rules.chain(set.timer.map(Step::Timer)).collect();
            let perhaps = set.perhaps.clone();
            for step in steps {
                let (effect, takes) = match step {
                    Step::Rule(rule) => (&self.effects.rules[rule], !perhaps.contains(&rule)),
                    Step::Timer(timer) => (&self.effects.timers[timer], true),
                };
                let Some((found, certain)) = self.after(effect, node) else {
                    return false;
                };
                let certain = certain && takes;
                if only_certain && !certain {
                    continue;
                }
                for node in found {
                    let count = self.sets.len();
                    if !self.add(node, Some((at, step)), certain && so_far) {
                        return false;
                    }
                    todo.extend((count..self.sets.len()).map(|n| (self.sets[n].steps, n)));
                }
            }
        }
        true
    }
}

/// Bounds without enumerating the sets: the smallest that no action leaves.
fn bounds(m: &Machine, effects: &Effects) -> Bounds {
    let mut now: Option<Bounds> = None;
    let begin = Bounds {
        held: START,
        marked: START,
        last: 0,
    };
    // DEFAULT is set if START's action has set no other state.
    let begun = |b: Bounds| {
        let none = b.held & !START == 0 && b.marked & START != 0;
        let default = if none { DEFAULT } else { 0 };
        Bounds {
            held: b.held | if b.marked == START { default } else { 0 },
            marked: b.marked | default,
            last: b.last | default,
        }
    };
    match &effects.start {
        Some(start) => now = join_all(now, start, begin).map(begun),
        None => now = Some(begun(begin)),
    }
    loop {
        let Some(before) = now else { return begin };
        let rules = m.rules.iter().map(|r| &r.cond).zip(&effects.rules);
        let timers = m.timers.iter().map(|t| &t.cond).zip(&effects.timers);
        for (cond, effect) in rules.chain(timers) {
            if before.holds(cond) != Some(false) {
                now = join_all(now, effect, before);
            }
        }
        if now == Some(before) {
            return before;
        }
    }
}

/// `all` together with the states that an action may reach from `from`.
fn join_all(all: Option<Bounds>, effect: &Effect, from: Bounds) -> Option<Bounds> {
    let fits = |p: &&Path| {
        p.closes != Closes::Yes && p.held & !from.marked == 0 && p.lacked & from.held == 0
    };
    effect.paths.iter().filter(fits).fold(all, |all, p| {
        let (held, marked) = (from.held | p.held, from.marked & !p.lacked);
        let to = Bounds {
            held: ((held & !p.clear) | p.set) & !p.may_clear,
            marked: (marked & !p.clear) | p.set | p.may_set,
            last: p.last.of | if p.last.same { from.last } else { 0 },
        };
        Some(all.map_or(to, |all| Bounds {
            held: all.held & to.held,
            marked: all.marked | to.marked,
            last: all.last | to.last,
        }))
    })
}

impl Cond {
    /// Whether it is true if the states for which `set` is true are set, and `last` was set last.
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
