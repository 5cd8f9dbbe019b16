//! Coverage: which rules, states, sets of states, steps from set to set, and branches of actions have
//! occurred in conversations, of all that can occur.
//!
//! The traces of servers say what has occurred, and the servers mark branches. The checker has found
//! what can occur.
//! Must not know: how the conversations were run.

use nest_c::Owner;
use nest_c::branches::{Branch, Branches};
use nest_machine::reach::{Reach, Step};
use nest_machine::{Cond, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// A line of a trace that matters for coverage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The states at a read point, and the one that was set last.
    States(Vec<String>, String),
    /// The rule of this name matched.
    Take(String),
    /// The TIMEOUT rule of that name fired.
    Timeout(String),
}

/// A number of elements out of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The elements that occurred.
    pub met: usize,
    /// All elements.
    pub all: usize,
}

impl Share {
    /// In percent, rounded down, so that 100 means all. An empty total is 100 percent.
    #[must_use]
    pub fn percent(self) -> usize {
        (self.met * 100).checked_div(self.all).unwrap_or(100)
    }

    fn of<T: Ord>(all: &BTreeSet<T>, met: &BTreeSet<T>) -> Share {
        Share {
            met: all.intersection(met).count(),
            all: all.len(),
        }
    }
}

/// What has occurred, and what can occur.
pub struct Coverage<'m> {
    m: &'m Machine,
    reach: &'m Reach,
    /// Sets, by their states and the state set last.
    numbers: BTreeMap<(u64, Option<u32>), usize>,
    /// States that were set at a read point.
    marked: u64,
    /// Sets that occurred.
    sets: BTreeSet<usize>,
    /// Rules and TIMEOUT rules that ran.
    steps: BTreeSet<Step>,
    /// The same with the set in which they ran.
    transitions: BTreeSet<(usize, Step)>,
    /// Sets that the checker does not know.
    strange: BTreeSet<(u64, Option<u32>)>,
    /// The branches of all actions.
    branches: Branches,
    /// The numbers of those that ran.
    marked_branches: BTreeSet<usize>,
}

impl<'m> Coverage<'m> {
    /// For a machine, without any traces.
    #[must_use]
    pub fn new(m: &'m Machine, reach: &'m Reach) -> Coverage<'m> {
        let sets = reach.sets.iter().enumerate();
        Coverage {
            m,
            reach,
            numbers: sets.map(|(n, set)| ((set.states, set.last), n)).collect(),
            marked: 0,
            sets: BTreeSet::new(),
            steps: BTreeSet::new(),
            transitions: BTreeSet::new(),
            strange: BTreeSet::new(),
            branches: Branches::of(&m.source()),
            marked_branches: BTreeSet::new(),
        }
    }

    /// Counts a conversation.
    pub fn hear(&mut self, trace: &[Heard]) {
        let (mut at, mut node) = (None, None);
        for line in trace {
            if let Heard::States(names, last) = line {
                let here = self.node(names, last);
                self.marked |= here.0;
                at = self.numbers.get(&here).copied();
                self.sets.extend(at);
                node = Some(here);
            } else if at.is_none() {
                // After START's action there are states even if it has closed the connection.
                self.strange.extend(node);
            }
            for step in self.ran(at, line) {
                self.steps.insert(step);
                self.transitions.extend(at.map(|set| (set, step)));
            }
        }
    }

    /// The number of branches of all actions.
    #[must_use]
    pub fn branch_count(&self) -> usize {
        self.branches.all.len()
    }

    /// Counts branches that ran. `marks`: for each branch by its number, not 0 if it ran.
    pub fn mark(&mut self, marks: &[u8]) {
        let ran = (0..).zip(marks).filter(|(_, mark)| **mark != 0);
        self.marked_branches.extend(ran.map(|(number, _)| number));
    }

    /// What ran in a set by a line: of several rules on lines of the same number, in files of their
    /// own, those that are active.
    #[must_use]
    pub fn ran(&self, at: Option<usize>, line: &Heard) -> Vec<Step> {
        let active = |cond: &Cond| at.is_none_or(|set| self.reach.sets[set].holds(cond));
        match line {
            Heard::States(..) => Vec::new(),
            Heard::Take(label) => {
                let rules = self.m.rules.iter().enumerate();
                let named = rules.filter(|(_, r)| r.label == *label && active(&r.cond));
                named.map(|(n, _)| Step::Rule(n)).collect()
            }
            Heard::Timeout(label) => {
                let timers = self.m.timers.iter().enumerate();
                let named = timers.filter(|(_, t)| t.label == *label && active(&t.cond));
                named.map(|(n, _)| Step::Timer(n)).collect()
            }
        }
    }

    fn node(&self, names: &[String], last: &str) -> (u64, Option<u32>) {
        let number = |name: &str| self.m.states.iter().position(|s| s == name);
        let states = names.iter().filter_map(|name| number(name));
        let states = states.fold(0, |mask, n| mask | 1 << n);
        let tested = self.reach.sets.iter().any(|set| set.last.is_some());
        let last = number(last).and_then(|n| u32::try_from(n).ok());
        (states, last.filter(|_| tested))
    }

    /// The set of these names, if the checker knows it.
    #[must_use]
    pub fn set(&self, names: &[String], last: &str) -> Option<usize> {
        self.numbers.get(&self.node(names, last)).copied()
    }

    /// All rules that can run.
    #[must_use]
    pub fn all_steps(&self) -> BTreeSet<Step> {
        if self.reach.is_complete() {
            return self.all_transitions().into_iter().map(|t| t.1).collect();
        }
        let may = |cond| self.reach.may_hold(cond);
        let rules = self.m.rules.iter().enumerate();
        let rules = rules.filter(|(_, r)| may(&r.cond));
        let timers = self.m.timers.iter().enumerate();
        let timers = timers.filter(|(_, t)| may(&t.cond));
        let rules = rules.map(|(n, _)| Step::Rule(n));
        rules.chain(timers.map(|(n, _)| Step::Timer(n))).collect()
    }

    /// All rules that can run, with their sets; `None` if not all sets are known.
    #[must_use]
    pub fn all_transitions(&self) -> BTreeSet<(usize, Step)> {
        if !self.reach.is_complete() {
            return BTreeSet::new();
        }
        let of = |(n, set): (usize, &nest_machine::reach::Reached)| {
            let rules: Vec<Step> = set.rules.iter().map(|r| Step::Rule(*r)).collect();
            let all = rules.into_iter().chain(set.timer.map(Step::Timer));
            all.map(|step| (n, step)).collect::<Vec<_>>()
        };
        self.reach.sets.iter().enumerate().flat_map(of).collect()
    }

    /// The rules that ran, with their sets.
    #[must_use]
    pub fn met(&self) -> &BTreeSet<(usize, Step)> {
        &self.transitions
    }

    /// Whether every set is known, so that transitions can be counted.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.reach.is_complete()
    }

    /// Rules and TIMEOUT rules that ran, out of those that can run.
    #[must_use]
    pub fn rules(&self) -> Share {
        Share::of(&self.all_steps(), &self.steps)
    }

    /// States that were set, out of those that can be set, without START.
    #[must_use]
    pub fn states(&self) -> Share {
        let all = self.reach.bounds.marked & !1;
        let count = |mask: u64| mask.count_ones() as usize;
        Share {
            met: count(all & self.marked),
            all: count(all),
        }
    }

    /// Sets of states that occurred, out of those that can occur; `None` if these are not known.
    #[must_use]
    pub fn sets(&self) -> Option<Share> {
        self.is_complete().then_some(Share {
            met: self.sets.len(),
            all: self.reach.sets.len(),
        })
    }

    /// Rules that ran in a set, out of those that can; `None` if these are not known.
    #[must_use]
    pub fn transitions(&self) -> Option<Share> {
        let share = || Share::of(&self.all_transitions(), &self.transitions);
        self.is_complete().then(share)
    }

    /// The coverage that counts: of the transitions, or of the rules if the transitions are not
    /// known.
    #[must_use]
    pub fn whole(&self) -> Share {
        self.transitions().unwrap_or_else(|| self.rules())
    }

    /// In how many of its sets a rule ran; if sets are not known, whether it ran.
    #[must_use]
    pub fn of_step(&self, step: Step) -> Share {
        if !self.is_complete() {
            return Share {
                met: usize::from(self.steps.contains(&step)),
                all: 1,
            };
        }
        let its = |all: &BTreeSet<(usize, Step)>| all.iter().filter(|t| t.1 == step).count();
        Share {
            met: its(&self.transitions),
            all: its(&self.all_transitions()),
        }
    }

    /// Branches that ran, out of those of actions that can run.
    #[must_use]
    pub fn branches(&self) -> Share {
        let steps = self.all_steps();
        self.share(|branch| can_run(&steps, branch.owner))
    }

    /// The same of one action; `None` if its branches are not counted.
    #[must_use]
    pub fn branches_of(&self, owner: Owner) -> Option<Share> {
        let measured = self.branches.is_measured(owner);
        measured.then(|| self.share(|branch| branch.owner == owner))
    }

    fn share(&self, counts: impl Fn(&Branch) -> bool) -> Share {
        let all = self.branches.all.iter().enumerate();
        let all: Vec<usize> = all.filter(|(_, b)| counts(b)).map(|(n, _)| n).collect();
        let met = all.iter().filter(|n| self.marked_branches.contains(n));
        Share {
            met: met.count(),
            all: all.len(),
        }
    }

    /// Branches that did not run, of actions that can run, in the order of their lines.
    #[must_use]
    pub fn missing_branches(&self) -> Vec<&Branch> {
        let steps = self.all_steps();
        let all = self.branches.all.iter().enumerate();
        let missing = all.filter(|(n, _)| !self.marked_branches.contains(n));
        let missing = missing.map(|(_, branch)| branch);
        let mut missing: Vec<&Branch> = missing.filter(|b| can_run(&steps, b.owner)).collect();
        missing.sort_by_key(|b| (b.file != self.m.file, &b.file, b.line));
        missing
    }

    /// Actions that can run and whose branches are not counted, with the reason.
    #[must_use]
    pub fn unmeasured(&self) -> Vec<(Owner, &'static str)> {
        let steps = self.all_steps();
        let all = self.branches.unmeasured.iter().copied();
        all.filter(|(owner, _)| can_run(&steps, *owner)).collect()
    }

    /// Whether an action ran.
    #[must_use]
    pub fn has_run(&self, owner: Owner) -> bool {
        step(owner).is_none_or(|step| self.steps.contains(&step))
    }

    /// The names of the states that can be set at a read point and were not.
    #[must_use]
    pub fn missing_states(&self) -> Vec<&'m str> {
        let left = self.reach.bounds.marked & !self.marked & !1;
        let names = self.m.states.iter().enumerate();
        names
            .filter(|(n, _)| left >> n & 1 == 1)
            .map(|(_, name)| name.as_str())
            .collect()
    }

    /// The transitions that did not occur, in order.
    #[must_use]
    pub fn missing(&self) -> Vec<(usize, Step)> {
        let all = self.all_transitions();
        all.difference(&self.transitions).copied().collect()
    }

    /// The number of sets that occurred and that the checker does not know.
    #[must_use]
    pub fn strange(&self) -> usize {
        if self.is_complete() {
            self.strange.len()
        } else {
            0
        }
    }

    /// A set's name: its states without START, and the one set last if a condition tests it.
    #[must_use]
    pub fn name(&self, set: usize) -> String {
        let set = &self.reach.sets[set];
        let names = self.m.states.iter().enumerate().skip(1);
        let marked = names.filter(|(n, _)| set.states >> n & 1 == 1);
        let mut text: Vec<String> = marked.map(|(_, name)| name.clone()).collect();
        if text.is_empty() {
            text.push("START alone".to_owned());
        }
        if let Some(last) = set.last {
            text.push(format!("(last {})", self.m.states[last as usize]));
        }
        text.join(" ")
    }

    /// The name of the rule that an action belongs to, `START`, `END` or `OVERLOAD`.
    #[must_use]
    pub fn owner(&self, owner: Owner) -> String {
        match owner {
            Owner::Start => "START".to_owned(),
            Owner::End => "END".to_owned(),
            Owner::Overload => "OVERLOAD".to_owned(),
            Owner::Rule(n) => self.label(Step::Rule(n)).0,
            Owner::Timer(n) => self.label(Step::Timer(n)).0,
        }
    }

    /// A rule's name and its line.
    #[must_use]
    pub fn label(&self, step: Step) -> (String, usize) {
        match step {
            Step::Rule(n) => (self.m.rules[n].label.clone(), self.m.rules[n].line),
            Step::Timer(n) => ("TIMEOUT".to_owned(), self.m.timers[n].line),
        }
    }
}

/// The step that runs an action; `None` for START and END, which every conversation runs, and for
/// OVERLOAD, which stands for one.
fn step(owner: Owner) -> Option<Step> {
    match owner {
        Owner::Rule(n) => Some(Step::Rule(n)),
        Owner::Timer(n) => Some(Step::Timer(n)),
        Owner::Start | Owner::End | Owner::Overload => None,
    }
}

fn can_run(steps: &BTreeSet<Step>, owner: Owner) -> bool {
    step(owner).is_none_or(|step| steps.contains(&step))
}
