//! Runs a product in Rust, for tests. Must not know: how the product was made.

use super::Rule;
use crate::cuts::Cuts;
use crate::merged::{Member, Merged};
use crate::tagged::{Source, Tagged};
use std::collections::BTreeSet;
use std::ops::Range;

/// The product of some rules, each with a condition of its own, and with all its boundaries.
#[derive(Clone, Debug)]
pub struct Together {
    merged: Merged,
    cuts: Vec<Cuts>,
}

impl Together {
    /// `None` if a rule, or the product, takes more than `state_budget` states.
    #[must_use]
    pub fn build(rules: &[Rule], state_budget: usize) -> Option<Together> {
        let all = |r: &Rule| Cuts::of(&r.nfa, &(0..r.nfa.parts).collect::<BTreeSet<u32>>());
        let cuts: Vec<Cuts> = rules.iter().map(all).collect();
        let automata = rules.iter().zip(&cuts).map(|(rule, cuts)| {
            if cuts.tags.is_empty() {
                rule.dfa.as_ref().map(Tagged::plain)
            } else {
                Tagged::build(&rule.nfa, &cuts.tags, state_budget)
            }
        });
        let automata: Vec<Tagged> = automata.collect::<Option<_>>()?;
        let members: Vec<Member<'_>> = (0..)
            .zip(&automata)
            .map(|(bit, automaton)| Member { automaton, bit })
            .collect();
        let merged = Merged::build(&members, false, state_budget)?;
        Some(Together { merged, cuts })
    }

    /// Number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.merged.states()
    }

    /// A run of the active rules, before any byte.
    #[must_use]
    pub fn run(&self, active: &[usize]) -> MergedRun<'_> {
        let bits = (0..self.cuts.len()).map(|rule| active.contains(&rule));
        MergedRun::new(&self.merged, bits.collect())
    }

    /// The parts of a message of `n` bytes, from the tags of the rule that took it.
    #[must_use]
    pub fn parts(&self, rule: usize, tags: &[usize], n: usize) -> Option<Vec<Range<usize>>> {
        let cuts = &self.cuts[rule];
        let ends = (0..cuts.cuts.len()).map(|end| cuts.place(end, tags, n));
        let mut ends: Vec<usize> = ends.collect::<Option<_>>()?;
        ends.push(n);
        let mut start = 0;
        let ranges = ends
            .iter()
            .map(|end| std::mem::replace(&mut start, *end)..*end);
        Some(ranges.collect())
    }
}

/// A product on its way through a message.
#[derive(Clone, Debug)]
pub struct MergedRun<'m> {
    merged: &'m Merged,
    /// By bit of a condition.
    active: Vec<bool>,
    state: u32,
    registers: Vec<usize>,
    at: usize,
    best: Option<(usize, usize, Vec<usize>)>,
}

impl<'m> MergedRun<'m> {
    /// Before any byte; `active` says which conditions hold, by their bits.
    #[must_use]
    pub fn new(merged: &'m Merged, active: Vec<bool>) -> Self {
        let mut run = MergedRun {
            merged,
            active,
            state: merged.start,
            // What is not set is never read: a value that stands out.
            registers: vec![usize::MAX / 2; merged.registers],
            at: 0,
            best: None,
        };
        for register in &merged.zeroed {
            run.registers[usize::from(*register)] = 0;
        }
        run
    }

    /// Whether more bytes can change anything.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let bits = &self.merged.live[self.state as usize];
        bits.iter().any(|bit| self.active[*bit as usize])
    }

    /// The latest acceptance: its length, the member, its tags.
    #[must_use]
    pub fn best(&self) -> Option<&(usize, usize, Vec<usize>)> {
        self.best.as_ref()
    }

    /// Takes one byte. The bit of a member's condition is its own number.
    pub fn step(&mut self, byte: u8) {
        let m = self.merged;
        self.at += 1;
        let class = usize::from(m.classes[usize::from(byte)]);
        let (to, effect) = m.next[self.state as usize * m.class_count + class];
        let effect = &m.effects[effect as usize];
        let here = self.at;
        let value = |registers: &[usize], source: &Source| match source {
            Source::Here => here,
            Source::Register(r) => registers[usize::from(*r)],
        };
        if let Some(accept) = effect.accepts.iter().find(|a| self.active[a.member]) {
            let tags = accept
                .tags
                .iter()
                .map(|t| value(&self.registers, t))
                .collect();
            self.best = Some((self.at, accept.member, tags));
        }
        for (register, source) in &effect.moves {
            self.registers[usize::from(*register)] = value(&self.registers, source);
        }
        self.state = to;
    }
}
