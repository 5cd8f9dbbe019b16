//! Actions behind which a conversation can only end, though they do not close it.

use crate::checker::Checker;
use crate::witness::Then;
use nest_c::effects::{Closes, Effect, Path};
use nest_diag::{Code, Diagnostic, Span};
use nest_machine::Action;
use nest_machine::reach::{Reached, Step};

impl Checker<'_> {
    /// W0204. An action is named if it leads nowhere else, wherever it runs; so a branch of it
    /// that is never taken raises no alarm.
    pub(crate) fn ends(&mut self) {
        if !self.reach.is_complete() {
            return;
        }
        let m = self.m;
        let sets = &self.reach.sets;
        let rules = (0..m.rules.len()).map(Step::Rule);
        for step in rules.chain((0..m.timers.len()).map(Step::Timer)) {
            let (span, effect) = match step {
                Step::Rule(n) => (m.rules[n].span, &self.effects.rules[n]),
                Step::Timer(n) => (m.timers[n].span, &self.effects.timers[n]),
            };
            let runs = |set: &&Reached| match step {
                Step::Rule(n) => set.rules.contains(&n),
                Step::Timer(n) => set.timer == Some(n),
            };
            let mut before = sets.iter().filter(runs).peekable();
            if before.peek().is_none() || !before.all(|set| self.dead_end(effect, set)) {
                continue;
            }
            let end = (0..sets.len())
                .find(|s| sets[*s].from.is_some_and(|(_, by)| by == step) && sets[*s].is_stuck());
            self.only_ends(span, end);
        }
        if self.effects.start.is_some() && !sets.is_empty() {
            let first: Vec<usize> = (0..sets.len())
                .filter(|s| sets[*s].from.is_none())
                .collect();
            if first.iter().all(|s| sets[*s].is_stuck()) {
                // Its brace: the whole of it is too much to mark.
                let brace = |a: &Action| Span {
                    start: a.span.start.saturating_sub(1),
                    end: a.span.start,
                    ..a.span
                };
                if let Some(span) = m.start.as_ref().map(brace) {
                    self.only_ends(span, first.first().copied());
                }
            }
        }
    }

    fn only_ends(&mut self, span: Span, end: Option<usize>) {
        let what = "after this action no rule is active, so the conversation ends";
        let witness = end.and_then(|end| self.talks.to(end));
        let witness = witness.map(|w| w.then(Then::Ends));
        let shown = match &witness {
            Some(w) if !w.acts.is_empty() => format!("{w} leads there: "),
            _ => String::new(),
        };
        let help = format!(
            "{shown}write $close() to end the conversation, or set a state in which a rule is \
             active"
        );
        self.push(Diagnostic::new(Code::W0204, span, what).help(help), witness);
    }

    /// Whether an action that runs in a set always leaves nothing active, and does not always say
    /// that it closes.
    fn dead_end(&self, effect: &Effect, set: &Reached) -> bool {
        let fits = |p: &&Path| p.fits(set.states) && p.closes != Closes::Yes;
        let mut open = effect.paths.iter().filter(fits).peekable();
        effect.exact
            && open.peek().is_some()
            && open.all(|path| {
                let (states, varies) = path.outcome(set.states);
                let mut there = self.reach.sets.iter().filter(|s| s.states == states);
                varies == 0 && there.all(Reached::is_stuck)
            })
    }
}
