//! The path of a conversation: what a client does, followed from set to set.
//!
//! Rules decide as the language says (`docs/language.md`, Matching). Where an action has several
//! outcomes, the one is taken with which all that the client does can happen; of several the one by
//! which the sets are reached first. Must not know: why the client does it.

use nest_check::Act;
use nest_machine::Machine;
use nest_machine::reach::{Move, Reach, Step};
use nest_pattern::sim::{Runner, Threads};

/// More tries are not made.
const MOST_TRIES: usize = 20_000;

/// The steps of that conversation; nothing if it cannot be followed.
pub fn follow(m: &Machine, reach: &Reach, moves: &[Move], acts: &[Act]) -> Option<Vec<Move>> {
    let mut follower = Follower {
        m,
        reach,
        moves,
        acts,
        tries: MOST_TRIES,
        path: Vec::new(),
    };
    follower.on(None, None, 0, &[]).then_some(follower.path)
}

struct Follower<'a> {
    m: &'a Machine,
    reach: &'a Reach,
    moves: &'a [Move],
    acts: &'a [Act],
    tries: usize,
    path: Vec<Move>,
}

impl Follower<'_> {
    /// Takes a step, and goes on behind it.
    fn on(&mut self, from: Option<usize>, by: Option<Step>, done: usize, unread: &[u8]) -> bool {
        let first = |to: usize| self.reach.sets[to].from == from.zip(by);
        let fits = |s: &&Move| s.from == from && s.by == by;
        let mut steps: Vec<Move> = self.moves.iter().filter(fits).copied().collect();
        steps.sort_by_key(|s| (s.to.is_none_or(|to| !first(to)), !s.certain, s.to.is_none()));
        for step in steps {
            let Some(left) = self.tries.checked_sub(1) else {
                return false;
            };
            self.tries = left;
            self.path.push(step);
            let whole = match step.to {
                Some(set) => self.at(set, done, unread),
                None => done == self.acts.len(),
            };
            if whole {
                return true;
            }
            self.path.pop();
        }
        false
    }

    /// At a read point.
    fn at(&mut self, set: usize, done: usize, unread: &[u8]) -> bool {
        if !unread.is_empty()
            && let Some((rule, length)) = self.decided(set, unread, false)
        {
            return self.on(Some(set), Some(Step::Rule(rule)), done, &unread[length..]);
        }
        match self.acts.get(done) {
            Some(Act::Send(bytes)) => self.at(set, done + 1, &[unread, bytes].concat()),
            Some(Act::Silence(ms)) => match self.reach.sets[set].timer {
                Some(timer) if self.m.timers[timer].after <= *ms => {
                    self.on(Some(set), Some(Step::Timer(timer)), done + 1, unread)
                }
                _ => self.at(set, done + 1, unread),
            },
            // What it waits for comes with the end of the input at the latest.
            None => match self.decided(set, unread, true) {
                Some((rule, length)) => {
                    self.on(Some(set), Some(Step::Rule(rule)), done, &unread[length..])
                }
                None => true,
            },
        }
    }

    /// The rule that takes something, and how much; None too if only libpcre2 can tell. `last`: nothing
    /// more comes.
    fn decided(&self, set: usize, unread: &[u8], last: bool) -> Option<(usize, usize)> {
        let set = &self.reach.sets[set];
        let mut active = self.m.rules.iter().filter(|rule| set.holds(&rule.cond));
        if active.any(|rule| rule.backtracking.is_some()) {
            return None;
        }
        let rules = self.m.rules.iter().enumerate();
        let mut active: Vec<(usize, Runner<'_>)> = rules
            .filter(|(_, rule)| set.holds(&rule.cond))
            .map(|(n, rule)| match &rule.dfa {
                Some(dfa) => (n, Runner::Dfa(dfa, dfa.start)),
                None => (n, Runner::Threads(Threads::new(&rule.nfa))),
            })
            .collect();
        let (mut best, mut early) = (None, false);
        for (at, byte) in (1..).zip(unread) {
            active.retain(|(_, runner)| runner.is_live());
            active.iter_mut().for_each(|(_, runner)| runner.step(*byte));
            let accepts = active.iter().find(|(_, runner)| runner.accepts());
            best = accepts.map(|(rule, _)| (*rule, at)).or(best);
            let ends = |(rule, runner): &(usize, Runner<'_>)| {
                self.m.rules[*rule].early && runner.accepts()
            };
            early = active.iter().any(ends);
            if early {
                break;
            }
        }
        let live = !early && active.iter().any(|(_, runner)| runner.is_live());
        best.filter(|_| last || !live)
    }
}
