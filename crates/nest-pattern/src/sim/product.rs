//! Runs a product automaton in Rust, for tests. Must not know: how the product was built.

use super::runner::{Rule, parts};
use crate::cuts::{Cut, Cuts};
use crate::nfa::Nfa;
use crate::product::{Member, Product};
use crate::tagged::{Source, Tagged};
use std::collections::BTreeSet;
use std::ops::Range;

/// The product of some rules.
#[derive(Clone, Debug)]
pub struct Together {
    product: Product,
    /// By rule: the boundaries that it leaves, the bit of its condition.
    cuts: Vec<Cuts>,
    bits: Vec<u32>,
}

impl Together {
    /// Each rule has a condition of its own and all its boundaries. `None` if a rule, or the
    /// product, needs more than `state_budget` states.
    #[must_use]
    pub fn build(rules: &[Rule], state_budget: usize) -> Option<Together> {
        let all = |rule: &Rule| (0..rule.nfa.parts).collect();
        let requested: Vec<BTreeSet<u32>> = rules.iter().map(all).collect();
        let conditions: Vec<u32> = (0..).take(rules.len()).collect();
        Together::with(rules, &requested, &conditions, state_budget)
    }

    /// The same, with the boundaries of the parts in `asked`; rules with the same condition are
    /// active together. If there is only one condition, it is always true.
    #[must_use]
    pub fn with(
        rules: &[Rule],
        requested: &[BTreeSet<u32>],
        conditions: &[u32],
        state_budget: usize,
    ) -> Option<Together> {
        let each = rules.iter().zip(requested);
        let cuts: Vec<Cuts> = each.map(|(r, parts)| Cuts::of(&r.nfa, parts)).collect();
        let automata = rules.iter().zip(&cuts).map(|(rule, cuts)| {
            if cuts.tags.is_empty() {
                rule.dfa.as_ref().map(Tagged::plain)
            } else {
                Tagged::build(&rule.nfa, &cuts.tags, state_budget)
            }
        });
        let automata: Vec<Tagged> = automata.collect::<Option<_>>()?;
        let each = conditions.iter().zip(&automata).zip(rules);
        let members: Vec<Member<'_>> = each
            .map(|((bit, automaton), rule)| Member {
                automaton,
                bit: *bit,
                early: rule.early,
            })
            .collect();
        let certain = conditions.iter().all(|bit| *bit == conditions[0]);
        let product = Product::build(&members, certain, state_budget)?;
        Some(Together {
            product,
            cuts,
            bits: conditions.to_vec(),
        })
    }

    /// Number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.product.states()
    }

    /// A run of the active rules, before any byte.
    #[must_use]
    pub fn run(&self, active: &[usize]) -> ProductRun<'_> {
        let active = (0..self.bits.len()).map(|rule| active.contains(&rule));
        ProductRun::new(&self.product, &self.bits, active.collect())
    }

    /// The parts of a message, from the tags of the selected rule; parts without tags are found by
    /// a second pass.
    #[must_use]
    pub fn parts(
        &self,
        nfa: &Nfa,
        rule: usize,
        tags: &[usize],
        message: &[u8],
    ) -> Option<Vec<Range<usize>>> {
        let n = message.len();
        let passed = parts(nfa, message)?;
        let ends = passed.iter().enumerate().map(|(at, part)| {
            let cut = self.cuts[rule].cuts.get(at);
            match cut.filter(|cut| **cut != Cut::Unused) {
                Some(_) => self.cuts[rule].place(at, tags, n),
                None => Some(part.end),
            }
        });
        let ends: Vec<usize> = ends.collect::<Option<_>>()?;
        let mut start = 0;
        let ranges = ends
            .iter()
            .map(|end| std::mem::replace(&mut start, *end)..*end);
        Some(ranges.collect())
    }
}

/// The state of a product within a message.
#[derive(Clone, Debug)]
pub struct ProductRun<'m> {
    product: &'m Product,
    /// By member: the bit of its condition, whether that holds.
    bits: &'m [u32],
    active: Vec<bool>,
    state: u32,
    registers: Vec<usize>,
    at: usize,
    best: Option<(usize, usize, Vec<usize>)>,
    decided: bool,
}

impl<'m> ProductRun<'m> {
    fn new(product: &'m Product, bits: &'m [u32], active: Vec<bool>) -> Self {
        let mut run = ProductRun {
            product,
            bits,
            active,
            state: product.start,
            // What is not set is never read: a value that stands out.
            registers: vec![usize::MAX / 2; product.registers],
            at: 0,
            best: None,
            decided: false,
        };
        for register in &product.zeroed {
            run.registers[usize::from(*register)] = 0;
        }
        run
    }

    /// Whether more bytes can change anything.
    #[must_use]
    pub fn is_live(&self) -> bool {
        if self.decided {
            return false;
        }
        let live = &self.product.live[self.state as usize];
        let mut holds = self.bits.iter().zip(&self.active).filter(|(_, on)| **on);
        holds.any(|(bit, _)| live.contains(bit))
    }

    /// The latest acceptance: its length, the member, its tags.
    #[must_use]
    pub fn best(&self) -> Option<&(usize, usize, Vec<usize>)> {
        self.best.as_ref()
    }

    /// Steps by one byte.
    pub fn step(&mut self, byte: u8) {
        let m = self.product;
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
        let mut holds = self.bits.iter().zip(&self.active).filter(|(_, on)| **on);
        self.decided = holds.any(|(bit, _)| effect.decides.contains(bit));
        for (register, source) in &effect.moves {
            self.registers[usize::from(*register)] = value(&self.registers, source);
        }
        self.state = to;
    }
}
