//! One byte and then a run of the same, as in `[a-z]+`: one scan from that byte on.
//!
//! A state *leads* to another if it alone does, by the bytes of the other's run and with what they
//! do. The scan is begun at its own byte: if it moved, one is in the run. What is not of the lead
//! but of the run, such as the blanks before a value, is told before. Must not know: tables.

use super::emitter::Emitter;
use super::state::{RUN, Ways, literal, scan};
use crate::writer::Writer;
use nest_pattern::ByteSet;
use std::collections::BTreeSet;

impl Emitter<'_> {
    /// Of each state the one that it leads to; of several that with the most bytes.
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
            let Some((edge, run)) = self.passed_over(to, &self.ways(to)) else {
                continue;
            };
            let first = self.ways(*state).remove(&edge).unwrap_or(ByteSet::EMPTY);
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

    /// Whether the state's run is passed over where another leads to it.
    pub(super) fn is_led(&self, state: u32) -> bool {
        self.leads.contains(&Some(state))
    }

    /// The run of such a state, for those who come in its midst.
    pub(super) fn led(&self, state: u32, ways: &mut Ways, w: &mut Writer) {
        if let Some((edge, _)) = self.passed_over(state, ways) {
            ways.remove(&edge);
        }
        w.line("    begun = NULL;");
        w.line(&format!("    goto r{state};"));
        w.line(&format!("b{state}:"));
    }

    /// Passes over the run that the state leads to; `ways` are those that are left then.
    pub(super) fn lead(&self, state: u32, ways: &mut Ways, w: &mut Writer) {
        let Some(to) = self.leads[state as usize] else {
            return;
        };
        let Some((edge, run)) = self.passed_over(to, &self.ways(to)) else {
            return;
        };
        let mut others = Ways::new();
        for (way, set) in std::mem::take(ways) {
            for byte in set.iter() {
                if way == edge && run.contains(byte) {
                    continue;
                }
                let which = if run.contains(byte) {
                    &mut others
                } else {
                    &mut *ways
                };
                which.entry(way).or_insert(ByteSet::EMPTY).insert(byte);
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
