//! A picture where the sets of states are too many: the states one by one.
//!
//! An arrow leads from a state that a rule requires to a state that it may mark.

use crate::by::By;
use crate::conversation::Conversation;
use crate::fold::{count, lines};
use crate::graph::{Edge, Graph, Kind, Label, Node, Note};
use crate::text::{plain, title};
use nest_c::effects::{Closes, Effect};
use nest_machine::Cond;
use nest_machine::matching::words::number;
use std::collections::BTreeMap;

impl Conversation<'_> {
    /// The states, and what marks and clears them.
    pub(crate) fn by_states(&self) -> Graph {
        let m = self.m;
        let marked = self.reach.bounds.marked;
        let mut nodes = vec![self.entry()];
        let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
        for (n, state) in (0..).zip(&m.states).skip(1) {
            if marked >> n & 1 == 0 {
                continue;
            }
            numbers.insert(n, nodes.len());
            let mut node = Node::new(
                Kind::State,
                lines(std::slice::from_ref(state)),
                plain(state),
            );
            node.codes = self.marks.of_states(1 << n);
            node.small = self.clears(n);
            nodes.push(node);
        }
        let anywhere = nodes.len();
        nodes.push(Node::new(
            Kind::Several,
            vec!["anywhere".into()],
            "rules that ask for no state".into(),
        ));
        let exit = nodes.len();
        nodes.push(self.exit());
        let mut labels: BTreeMap<(usize, usize), Vec<Label>> = BTreeMap::new();
        let rules = m.rules.iter().zip(&self.effects.rules).enumerate();
        let timers = m.timers.iter().zip(&self.effects.timers).enumerate();
        let rules = rules.map(|(n, (r, e))| (By::Rule(n), Some(&r.cond), e));
        let timers = timers.map(|(n, (t, e))| (By::Timer(n), Some(&t.cond), e));
        let start = self.effects.start.iter().map(|e| (By::Start, None, e));
        for (by, cond, effect) in start.chain(rules).chain(timers) {
            let mut from = Vec::new();
            if let Some(cond) = cond {
                if !self.reach.may_hold(cond) {
                    continue;
                }
                required(cond, &mut from);
                from.retain(|n| numbers.contains_key(n));
            }
            let mut from: Vec<usize> = from.iter().map(|n| numbers[n]).collect();
            if from.is_empty() {
                from.push(if cond.is_none() { 0 } else { anywhere });
            }
            for (to, certain) in targets(effect, &numbers, exit) {
                for from in from.iter().filter(|from| **from != to) {
                    let label = Label {
                        on_path: self.path.iter().any(|step| By::from(step.by) == by),
                        ..self.label(by, certain)
                    };
                    labels.entry((*from, to)).or_default().push(label);
                }
            }
        }
        let mut first = self.reach.sets.iter().filter(|set| set.from.is_none());
        if let Some(default) = numbers.get(&1)
            && first.any(|set| set.states >> 1 & 1 == 1)
        {
            labels.entry((0, *default)).or_default();
        }
        // A node that nothing leads from is no help; those behind it move up.
        let idle = !labels.keys().any(|(from, _)| *from == anywhere);
        if idle {
            nodes.remove(anywhere);
        }
        let place = |n: usize| if idle && n > anywhere { n - 1 } else { n };
        let edges = labels.into_iter().map(|((from, to), labels)| Edge {
            from: place(from),
            to: place(to),
            on_path: labels.iter().any(|label| label.on_path)
                || (labels.is_empty() && !self.path.is_empty()),
            labels,
        });
        let sets = self.reach.sets.len();
        let many = if self.reach.is_complete() {
            format!("{sets} sets of states")
        } else {
            format!(
                "more than {} sets of states",
                number(nest_machine::reach::MOST_SETS)
            )
        };
        let note = format!(
            "There are {many}: these are the states, one by one. An arrow leads from a state that a \
             rule asks for to one that it marks."
        );
        let mut notes = vec![Note {
            text: note,
            finding: false,
        }];
        notes.extend(self.findings());
        Graph {
            title: title(m),
            subtitle: format!(
                "{many}, {}, {}",
                count(numbers.len(), "state"),
                count(m.rules.len(), "rule")
            ),
            nodes,
            edges: edges.collect(),
            notes,
        }
    }

    /// What clears a state, in short.
    fn clears(&self, state: u32) -> Vec<String> {
        let rules = (0..).map(By::Rule).zip(&self.effects.rules);
        let timers = (0..).map(By::Timer).zip(&self.effects.timers);
        let clears = |e: &Effect| {
            let mut paths = e.paths.iter();
            paths.any(|p| (p.clear | p.may_clear) >> state & 1 == 1 && p.closes != Closes::Yes)
        };
        // A rule that names the states that hold clears all others, marked or not.
        let runs = |by: By| {
            let mut sets = self
                .reach
                .sets
                .iter()
                .filter(|s| s.states >> state & 1 == 1);
            !self.reach.is_complete()
                || sets.any(|set| match by {
                    By::Rule(n) => set.rules.contains(&n),
                    By::Timer(n) => set.timer == Some(n),
                    By::Start | By::Stuck => false,
                })
        };
        let by: Vec<String> = rules
            .chain(timers)
            .filter(|(by, effect)| clears(effect) && runs(*by))
            .map(|(by, _)| self.short(by))
            .collect();
        match by.as_slice() {
            [] => Vec::new(),
            [one] => vec![format!("cleared by {one}")],
            all => vec![format!("cleared by {} rules", all.len())],
        }
    }
}

/// The states that a condition requires to be marked.
fn required(cond: &Cond, found: &mut Vec<u32>) {
    match cond {
        Cond::State(n) | Cond::Last(n) => {
            if !found.contains(n) {
                found.push(*n);
            }
        }
        Cond::And(all) | Cond::Or(all) => all.iter().for_each(|c| required(c, found)),
        Cond::True | Cond::Not(_) => {}
    }
}

/// What an action may mark, and whether that is certain.
fn targets(effect: &Effect, numbers: &BTreeMap<u32, usize>, exit: usize) -> BTreeMap<usize, bool> {
    let mut found: BTreeMap<usize, bool> = BTreeMap::new();
    let mut add = |to: usize, certain: bool| *found.entry(to).or_default() |= certain;
    for path in &effect.paths {
        if path.closes != Closes::No {
            add(exit, effect.exact && path.closes == Closes::Yes);
        }
        if path.closes == Closes::Yes {
            continue;
        }
        for (state, node) in numbers {
            if path.set >> state & 1 == 1 {
                add(*node, effect.exact);
            } else if path.may_set >> state & 1 == 1 {
                add(*node, false);
            }
        }
    }
    found
}
