//! Rules that leave the end of a line behind, where nothing takes it.
//!
//! All others take whole lines. A client that ends its lines sends one byte more than such a rule
//! takes, and the conversation ends there. This is reported only
//! for actions that reply on every path: others may take the beginning of a line whose rest comes next.

use crate::checker::Checker;
use crate::waits::{Bytes, edges};
use crate::witness::{Then, literal};
use nest_c::effects::Closes;
use nest_diag::{Code, Diagnostic};
use nest_machine::Framing;
use nest_machine::reach::Reached;

/// The line feed alone.
pub(crate) const LINE_FEED: Bytes = [1 << b'\n', 0, 0, 0];

impl Checker<'_> {
    /// W0303.
    pub(crate) fn lines(&mut self) {
        let m = self.m;
        if m.settings.framing == Framing::Message || !self.reach.is_complete() {
            return;
        }
        let last: Vec<Bytes> = m.rules.iter().map(|rule| edges(rule).0).collect();
        let none = |bytes: &Bytes| bytes[0] & LINE_FEED[0] == 0;
        let answers = self.answers.clone();
        for n in (0..m.rules.len()).filter(|n| answers[*n] && none(&last[*n])) {
            let sets = &self.reach.sets;
            let mut consumed = (0..sets.len()).filter(|s| sets[*s].rules.contains(&n));
            let Some(first) = consumed.next() else {
                continue;
            };
            let left = |set: usize| self.leaves_a_line_end(n, &sets[set], &last);
            if !left(first) || !consumed.all(left) {
                continue;
            }
            let Some(message) = self.talks.message(first, n) else {
                continue;
            };
            let before = self.talks.to(first);
            let mut sent = message.clone();
            sent.push(b'\n');
            let what = "this rule leaves the line end unread, and no rule matches it";
            let help = format!(
                "after {} no rule matches the line feed of {}, and the conversation ends: let \
                 the pattern end in \"\\n\"",
                literal(&message),
                literal(&sent)
            );
            let witness = before.map(|w| w.and(sent).consumed_by(n).then(Then::Ends));
            let span = m.rules[n].span;
            self.push(Diagnostic::new(Code::W0303, span, what).help(help), witness);
        }
    }

    /// Whether, wherever the rule's action leads from a set, all other rules take whole lines and
    /// none takes an empty one.
    fn leaves_a_line_end(&self, rule: usize, set: &Reached, last: &[Bytes]) -> bool {
        let m = self.m;
        let effect = &self.effects.rules[rule];
        let mut goes_on = false;
        for path in &effect.paths {
            if !path.fits(set.states) || path.closes == Closes::Yes {
                continue;
            }
            let (states, varies) = path.outcome(set.states);
            let there = self.reach.sets.iter().filter(|s| s.states == states);
            for next in there {
                let mut others = 0;
                for (n, other) in m
                    .rules
                    .iter()
                    .enumerate()
                    .filter(|(_, r)| next.holds(&r.cond))
                {
                    let Some(dfa) = &other.dfa else { return false };
                    let empty = |line: &[u8]| {
                        let end = line.iter().fold(dfa.start, |state, b| dfa.step(state, *b));
                        dfa.accepts(end) || dfa.is_live(end)
                    };
                    if empty(b"\n") || empty(b"\r\n") || (n != rule && last[n] != LINE_FEED) {
                        return false;
                    }
                    others += usize::from(n != rule);
                }
                if varies != 0 || others == 0 {
                    return false;
                }
                goes_on = true;
            }
        }
        goes_on
    }
}
