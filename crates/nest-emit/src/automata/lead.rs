//! Scans one byte and a run of the same bytes together, as in `[a-z]+`, in one scan that starts at
//! the first byte.
//!
//! A state *leads* to another if it is the only one that does, with the bytes of the other's run
//! and the same effects. The scan starts at its own byte; if it advanced, the automaton is in the
//! run. The caller has already handled bytes that belong to the run but cannot be its first byte,
//! such as the blanks before a value. Must not know: tables.

use super::emitter::Emitter;
use super::state::{RUN, Transitions, literal, scan};
use crate::writer::Writer;
use nest_pattern::ByteSet;
use std::collections::BTreeSet;

impl Emitter<'_> {
    /// For each state, the state that it leads to; if there are several, the one with the most
    /// bytes.
    pub(super) fn find_leads(&self) -> Vec<Option<u32>> {
        let product = self.product;
        let mut from = vec![BTreeSet::new(); product.states()];
        let mut does = vec![BTreeSet::new(); product.states()];
        for (at, (to, effect)) in product.next.iter().enumerate() {
            let state = u32::try_from(at / product.class_count).unwrap_or(0);
            does[*to as usize].insert(*effect);
            if state != *to {
                from[*to as usize].insert(state);
            }
        }
        let mut leads: Vec<Option<(usize, u32)>> = vec![None; product.states()];
        for (to, from) in (0..).zip(&from).skip(1) {
            let (Some(state), 1, 1) = (from.first(), from.len(), does[to as usize].len()) else {
                continue;
            };
            let in_chain = |state: u32| product.chain_of(state).is_some();
            if to == product.start || in_chain(to) || in_chain(*state) {
                continue;
            }
            let Some((edge, run)) = self.passed_over(to, &self.transitions(to)) else {
                continue;
            };
            let first = self
                .transitions(*state)
                .remove(&edge)
                .unwrap_or(ByteSet::EMPTY);
            let size = first.iter().filter(|byte| run.contains(*byte)).count();
            let others = run.iter().filter(|byte| !first.contains(*byte)).count();
            if size >= RUN
                && others < RUN
                && self.nothing_live_behind(*state, to).is_none()
                && leads[*state as usize].is_none_or(|(most, _)| size > most)
            {
                leads[*state as usize] = Some((size, to));
            }
        }
        leads.into_iter().map(|lead| lead.map(|l| l.1)).collect()
    }

    /// Whether the run of the state is scanned where another state leads to it.
    pub(super) fn is_led(&self, state: u32) -> bool {
        self.leads.contains(&Some(state))
    }

    /// The run of such a state, for input that resumes within it.
    pub(super) fn led(&self, state: u32, transitions: &mut Transitions, w: &mut Writer) {
        if let Some((edge, _)) = self.passed_over(state, transitions) {
            transitions.remove(&edge);
        }
        w.line("    begun = NULL;");
        w.line(&format!("    goto r{state};"));
        w.line(&format!("b{state}:"));
    }

    /// Scans the run that the state leads to; `transitions` keeps those that remain afterwards.
    pub(super) fn lead(&self, state: u32, transitions: &mut Transitions, w: &mut Writer) {
        let Some(to) = self.leads[state as usize] else {
            return;
        };
        let Some((edge, run)) = self.passed_over(to, &self.transitions(to)) else {
            return;
        };
        let mut others = Transitions::new();
        for (transition, set) in std::mem::take(transitions) {
            for byte in set.iter() {
                if transition == edge && run.contains(byte) {
                    continue;
                }
                let which = if run.contains(byte) {
                    &mut others
                } else {
                    &mut *transitions
                };
                which
                    .entry(transition)
                    .or_insert(ByteSet::EMPTY)
                    .insert(byte);
            }
        }
        if !others.is_empty() {
            self.suspend(state, w);
            w.line("    switch (*p) {");
            for ((to, effect), set) in others {
                let labels = set.iter().map(|byte| format!(" case {}:", literal(byte)));
                w.line(&format!("   {}", labels.collect::<String>()));
                w.line("        p++;");
                self.go(state, to, effect, "        ", w);
            }
            w.line("    default:");
            w.line("        break;");
            w.line("    }");
        }
        let (named, scan) = scan(&run, "end");
        w.line("    begun = p;");
        w.line(&format!("r{to}:"));
        if let Some(named) = named {
            w.line("    {");
            w.line(&format!(
                "        static const struct nest__set set = {named};"
            ));
            w.line(&format!("        {scan}"));
            w.line("    }");
        } else {
            w.line(&format!("    {scan}"));
        }
        w.line("    if (p != begun) {");
        self.effect(edge.1, &[to], "        ", w);
        w.line(&format!("        goto b{to};"));
        w.line("    }");
    }
}
