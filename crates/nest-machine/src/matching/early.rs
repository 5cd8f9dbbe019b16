//! Groups with early rules, which decide as soon as they accept.
//!
//! An automaton that contains the whole group ends its run there. If a rule of the group is matched
//! separately, the matcher feeds the early rules first, so they are matched separately as well. Must
//! not know: how an automaton is chosen.

use super::{Active, Matching, Reason};
use crate::model::{Machine, Strategy};

impl Matching {
    /// Adds a group of rules; `active` as for [`Matching::add`].
    pub(super) fn group(&mut self, m: &Machine, mut rules: Vec<usize>, active: &[Active]) {
        let early = |rule: &usize| m.rules[*rule].early;
        if rules.iter().any(early) && m.settings.strategy != Strategy::Standalone {
            let mut whole = self.clone();
            whole.add(m, &rules, active);
            if !rules.iter().any(|r| whole.standalone.contains_key(r)) {
                *self = whole;
                return;
            }
            for rule in rules.extract_if(.., |rule| early(rule)) {
                let known = whole.standalone.get(&rule).copied();
                self.standalone.insert(rule, known.unwrap_or(Reason::Early));
            }
        }
        self.add(m, &rules, active);
    }
}
