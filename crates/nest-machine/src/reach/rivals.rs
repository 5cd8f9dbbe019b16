//! Which rules take the shortest input of another from it: earlier ones that match it, and early ones
//! that match a beginning of it.
//!
//! The shortest inputs of all rules form a tree, and each rule is run over the part of the tree where
//! it is live. So many rules that begin differently cost little. Must not know: which rules are
//! active, and who wins.

use crate::model::Rule;
use nest_pattern::sim::{Runner, Threads};

/// Steps of all rules together, and pairs of rules that are recorded.
const MOST_STEPS: usize = 4_000_000;

/// Pairs of a rule and another that takes its shortest input from it.
#[derive(Default)]
pub struct Rivals {
    of: Vec<Vec<usize>>,
    /// From this rule on, a rule may match the shortest input of every later rule: it would take too
    /// long to tell.
    unknown: usize,
    /// Early rules from there on.
    unknown_early: Vec<usize>,
}

impl Rivals {
    /// For the shortest inputs of these rules; none where it is not known.
    pub fn of(rules: &[Rule], inputs: &[Option<&[u8]>]) -> Rivals {
        let tree = Tree::of(inputs);
        let mut rivals = Rivals {
            of: vec![Vec::new(); rules.len()],
            unknown: rules.len(),
            unknown_early: Vec::new(),
        };
        let mut left = MOST_STEPS;
        for (number, rule) in rules.iter().enumerate() {
            let Some(found) = tree.matched(rule, &mut left) else {
                rivals.unknown = number;
                let early = (number..rules.len()).filter(|n| rules[*n].early);
                rivals.unknown_early = early.collect();
                break;
            };
            for (other, whole) in found {
                if other > number || (!whole && other != number) {
                    rivals.of[other].push(number);
                }
            }
        }
        rivals
    }

    /// Whether an active rule may take the shortest input of `rule` from it.
    pub fn any(&self, rule: usize, active: &[bool]) -> bool {
        self.of[rule].iter().any(|other| active[*other])
            || (self.unknown..rule).any(|other| active[other])
            || (self.unknown_early.iter()).any(|other| *other != rule && active[*other])
    }

    /// The rules that are known to do so, ascending.
    pub fn of_rule(&self, rule: usize) -> &[usize] {
        &self.of[rule]
    }
}

/// A tree of inputs. Node 0 is the empty input.
struct Tree {
    /// The children of each node, by their byte.
    children: Vec<Vec<(u8, usize)>>,
    /// The rules whose input ends at each node.
    ends: Vec<Vec<usize>>,
}

impl Tree {
    fn of(inputs: &[Option<&[u8]>]) -> Tree {
        let mut tree = Tree {
            children: vec![Vec::new()],
            ends: vec![Vec::new()],
        };
        for (rule, input) in inputs.iter().enumerate() {
            let Some(input) = input else { continue };
            let mut at = 0;
            for byte in *input {
                at = match tree.children[at].binary_search_by_key(byte, |(byte, _)| *byte) {
                    Ok(child) => tree.children[at][child].1,
                    Err(place) => {
                        let new = tree.children.len();
                        tree.children[at].insert(place, (*byte, new));
                        tree.children.push(Vec::new());
                        tree.ends.push(Vec::new());
                        new
                    }
                };
            }
            tree.ends[at].push(rule);
        }
        tree
    }

    /// The rules whose inputs `rule` matches as a whole (true), or ends early: it decides on a
    /// beginning (false). Nothing if that takes more than `left` steps.
    fn matched(&self, rule: &Rule, left: &mut usize) -> Option<Vec<(usize, bool)>> {
        let (start, cost) = match &rule.dfa {
            Some(dfa) => (Runner::Dfa(dfa, dfa.start), 1),
            None => (
                Runner::Threads(Threads::new(&rule.nfa)),
                rule.nfa.states.len(),
            ),
        };
        let mut found = Vec::new();
        let mut todo = vec![(0, start)];
        while let Some((node, runner)) = todo.pop() {
            if runner.accepts() {
                *left = left.checked_sub(self.ends[node].len())?;
                found.extend(self.ends[node].iter().map(|other| (*other, true)));
                if rule.early {
                    self.below(node, left, &mut found)?;
                    continue;
                }
            }
            *left = left.checked_sub(1 + cost * self.children[node].len())?;
            for (byte, child) in &self.children[node] {
                let mut next = runner.clone();
                next.step(*byte);
                if next.is_live() || next.accepts() {
                    todo.push((*child, next));
                }
            }
        }
        Some(found)
    }

    /// Adds the rules whose inputs go on behind a node.
    fn below(&self, node: usize, left: &mut usize, found: &mut Vec<(usize, bool)>) -> Option<()> {
        let mut todo = vec![node];
        while let Some(node) = todo.pop() {
            *left = left.checked_sub(1 + self.children[node].len())?;
            for (_, child) in &self.children[node] {
                *left = left.checked_sub(self.ends[*child].len())?;
                found.extend(self.ends[*child].iter().map(|other| (*other, false)));
                todo.push(*child);
            }
        }
        Some(())
    }
}
