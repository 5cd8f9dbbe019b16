//! Finds conversations for what is not covered, from the analysis of the checker and the behaviour
//! of the server.
//!
//! A conversation is extended by acts that cover something new or lead to sets of states where
//! something is not covered. Each extended conversation is run from its beginning, so that the
//! result is what really happened. Where the C code of an action decides, words from the
//! specification are tried. The result depends only on the specification. Must not know: how
//! conversations are written.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use nest_c::effects::{Closes, Effect, Effects};
use nest_check::{Act, Coverage, Talks, words};
use nest_machine::Machine;
use nest_machine::reach::{Reach, Step, Winners, Wins};

use super::script::{Entry, Ran, Script, Talk};
use crate::signals;
use crate::term::Failure;

/// A longer conversation would not help a reader.
const LONGEST: usize = 24;
/// The maximum number of conversations run, without those that try words.
const MOST_RUNS: usize = 4000;
/// The maximum number of conversations that try words, in total and per server.
const MOST_WORDS: usize = 6000;
const AT_ONCE: usize = 500;
/// Ways to one set that are kept, each with another last act, for what was said may matter; and those
/// with words.
const MOST_PATHS: usize = 4;
const MOST_SPELT: usize = 40;

/// How often a target is tried.
const TRIES: usize = 3;

const OTHERWISE: &str = "another rule matches the input there";
const READ: &str = "an action that has not ended reads the input there";

/// A rule in a set of states in which it may run.
pub type Target = (usize, Step);

/// The result of a conversation.
struct Seen {
    /// The set of states at the beginning of each part, from the first act on; `None` if unknown.
    sets: Vec<Option<usize>>,
    /// The rules that ran in each part.
    ran: Vec<Vec<Target>>,
}

/// Searches for conversations.
pub struct Explorer<'m> {
    m: &'m Machine,
    reach: &'m Reach,
    effects: Effects,
    talks: Talks<'m>,
    winners: Winners<'m>,
    script: &'m Script,
    /// What is covered so far.
    covered: BTreeSet<Target>,
    /// How a set was really reached.
    paths: BTreeMap<usize, Vec<Vec<Act>>>,
    /// Where an act has led from a set.
    edges: BTreeMap<usize, Vec<(Act, usize)>>,
    /// Targets that did not behave as expected, and why.
    given_up: BTreeMap<Target, String>,
    /// How often a target did not behave as expected.
    failures: BTreeMap<Target, usize>,
    /// Jumps that reached another set than expected.
    broken: BTreeSet<(usize, usize)>,
    /// Paths (by set and number) and rules for which words have been tried.
    spelt: BTreeSet<(usize, usize, usize)>,
    /// Input that a rule matched in conversations that were run before.
    known: BTreeMap<usize, BTreeSet<Vec<u8>>>,
    /// Input that a rule matches at once, for each set.
    messages: BTreeMap<(usize, usize), Option<Vec<u8>>>,
    begun: bool,
    /// Whether words are tried.
    spelling: bool,
    /// Whether each target gets a conversation of its own.
    apart: bool,
    runs: usize,
    worded: usize,
}

impl<'m> Explorer<'m> {
    /// Creates a search for what is missing in `coverage`.
    pub fn new(
        m: &'m Machine,
        reach: &'m Reach,
        coverage: &Coverage,
        script: &'m Script,
    ) -> Explorer<'m> {
        Explorer {
            m,
            reach,
            effects: Effects::of(&m.source()),
            talks: Talks::new(m, reach),
            winners: Winners::new(m),
            script,
            covered: coverage.met().clone(),
            paths: BTreeMap::new(),
            edges: BTreeMap::new(),
            given_up: BTreeMap::new(),
            failures: BTreeMap::new(),
            broken: BTreeSet::new(),
            spelt: BTreeSet::new(),
            known: BTreeMap::new(),
            messages: BTreeMap::new(),
            begun: false,
            spelling: false,
            apart: false,
            runs: 0,
            worded: 0,
        }
    }

    /// Learns from a conversation that was run before.
    pub fn learn(&mut self, coverage: &Coverage, acts: Vec<Act>) -> Result<(), Failure> {
        let talk = Talk { acts, tail: None };
        if let Ok(ran) = self.hold(&talk)? {
            self.follow(coverage, &talk, &ran);
            for entry in ran.parts.iter().flatten() {
                if let Entry::Take(name, bytes) = entry
                    && let Some(rule) = self.m.rules.iter().position(|r| r.label == *name)
                {
                    self.known.entry(rule).or_default().insert(bytes.clone());
                }
            }
        }
        Ok(())
    }

    /// Returns the next conversation that covers something new, or `None`.
    pub fn next(&mut self, coverage: &Coverage) -> Result<Option<(Talk, Vec<Target>)>, Failure> {
        if !self.begun {
            self.begun = true;
            self.go_everywhere(coverage)?;
        }
        loop {
            while let Some(begin) = self.beginning() {
                let found = self.conversation(coverage, begin)?;
                if let Some((_, targets)) = &found {
                    self.covered.extend(targets.iter().copied());
                    return Ok(found);
                }
                if self.runs >= MOST_RUNS {
                    return Ok(None);
                }
            }
            if !self.try_words(coverage)? {
                return Ok(None);
            }
        }
    }

    /// Tries to reach each set by the path that the checker predicts.
    fn go_everywhere(&mut self, coverage: &Coverage) -> Result<(), Failure> {
        let sets = 0..self.reach.sets.len();
        let paths = sets.filter_map(|set| Some(self.talks.to(set)?.acts));
        let mut talks: Vec<Talk> = paths.map(|acts| Talk { acts, tail: None }).collect();
        talks.sort_by_key(|talk| talk.acts.len());
        self.hold_many(coverage, &talks)
    }

    /// Runs conversations, many in one server, and records the sets they reached.
    fn hold_many(&mut self, coverage: &Coverage, talks: &[Talk]) -> Result<(), Failure> {
        for some in talks.chunks(AT_ONCE) {
            if signals::caught() {
                return Err(Failure::Reported);
            }
            if let Ok(held) = self.script.hold(some)? {
                for (talk, ran) in some.iter().zip(&held.ran) {
                    self.follow(coverage, talk, ran);
                }
            } else if some.len() > 1 {
                // If one of them fails, the others fail with it.
                for talk in some {
                    self.hold_many(coverage, std::slice::from_ref(talk))?;
                }
            }
        }
        Ok(())
    }

    /// Removes the coverage that was assumed for a conversation, except what it covers up to there.
    pub fn take_back(&mut self, lost: &[Target], why: &str) {
        for target in lost {
            self.covered.remove(target);
        }
        if let Some(first) = lost.first() {
            self.given_up.insert(*first, why.to_owned());
        }
    }

    /// Removes the whole coverage of a conversation.
    pub fn give_up(&mut self, lost: &[Target], why: &str) {
        for target in lost {
            self.covered.remove(target);
            self.given_up.insert(*target, why.to_owned());
        }
    }

    /// From now on each target, also these that were given up, gets a conversation of its own: one that
    /// cannot be tested takes no other with it.
    pub fn try_apart(&mut self, targets: &[Target]) {
        self.apart = true;
        for target in targets {
            self.given_up.remove(target);
        }
    }

    /// Records why a target is not covered.
    pub fn reason(&mut self, target: Target) -> String {
        if let Some(why) = self.given_up.get(&target) {
            return why.clone();
        }
        if !self.paths.contains_key(&target.0) {
            return "no conversation that was tried leads to these states".to_owned();
        }
        if self.next_act(target).is_none() {
            return "no input is known that it matches there".to_owned();
        }
        "the limit for one run is reached: keep the page, and run the command again".to_owned()
    }

    /// The first uncovered target in a set: among the rules that continue the conversation, or
    /// among those that end it.
    fn left(&mut self, set: usize, closing: bool) -> Option<Target> {
        self.all_left(set, closing).first().copied()
    }

    fn all_left(&mut self, set: usize, closing: bool) -> Vec<Target> {
        let reached = &self.reach.sets[set];
        let rules = reached.rules.iter().map(|r| Step::Rule(*r));
        let steps: Vec<Step> = rules.chain(reached.timer.map(Step::Timer)).collect();
        let mut all: Vec<Target> = steps.into_iter().map(|step| (set, step)).collect();
        all.retain(|target| {
            !self.covered.contains(target)
                && !self.given_up.contains_key(target)
                && self.next_act(*target).is_some()
                && self.closes(*target) == closing
        });
        all
    }

    /// Whether a target is the last event of a conversation.
    fn closes(&mut self, target: Target) -> bool {
        let states = self.reach.sets[target.0].states;
        let effect = self.effect(target.1);
        let mut fitting = effect.paths.iter().filter(|p| p.fits(states));
        fitting.all(|p| p.closes == Closes::Yes) || matches!(self.next_act(target), Some(None))
    }

    fn effect(&self, step: Step) -> &Effect {
        match step {
            Step::Rule(n) => &self.effects.rules[n],
            Step::Timer(n) => &self.effects.timers[n],
        }
    }

    /// The acts of a client that reach a target from its set; `Some(None)`: end of file must select
    /// the rule.
    fn next_act(&mut self, (set, step): Target) -> Option<Option<Act>> {
        match step {
            Step::Timer(n) => Some(Some(Act::Silence(self.m.timers[n].after))),
            Step::Rule(rule) => match self.message(set, rule) {
                Some(message) => Some(Some(Act::Send(message))),
                None => self.tail(set, rule).map(|_| None),
            },
        }
    }

    /// Input that a rule matches at once in a set.
    fn message(&mut self, set: usize, rule: usize) -> Option<Vec<u8>> {
        if !self.messages.contains_key(&(set, rule)) {
            let short = self
                .tail(set, rule)
                .filter(|m| self.talks.takes(set, rule, m));
            let message = short.or_else(|| self.talks.message(set, rule));
            self.messages.insert((set, rule), message);
        }
        self.messages[&(set, rule)].clone()
    }

    /// Input that a rule matches in a set when nothing follows.
    fn tail(&mut self, set: usize, rule: usize) -> Option<Vec<u8>> {
        let reached = &self.reach.sets[set];
        let rules = self.m.rules.iter();
        let active: Vec<bool> = rules.map(|r| reached.holds(&r.cond)).collect();
        match self.winners.wins(rule, &active) {
            Wins::With(input) => Some(input.clone()),
            Wins::Never | Wins::Perhaps => None,
        }
    }

    /// The shortest path to a set in which something is not covered; among equally short paths, the
    /// one to the set with the most.
    fn beginning(&mut self) -> Option<Vec<Act>> {
        let sets: Vec<usize> = self.paths.keys().copied().collect();
        let mut all = Vec::new();
        for set in sets {
            let left = self.all_left(set, false).len() + self.all_left(set, true).len();
            let paths = self.paths[&set].iter().filter(|path| path.len() < LONGEST);
            if let Some(path) = paths
                .min_by_key(|path| (path.len(), *path))
                .filter(|_| left > 0)
            {
                all.push((path.len(), std::cmp::Reverse(left), path.clone()));
            }
        }
        all.into_iter().min().map(|(_, _, path)| path)
    }

    /// A conversation from the beginning, as far as it covers something.
    fn conversation(
        &mut self,
        coverage: &Coverage,
        begin: Vec<Act>,
    ) -> Result<Option<(Talk, Vec<Target>)>, Failure> {
        let mut talk = Talk {
            acts: begin,
            tail: None,
        };
        let mut at = match self.hold(&talk)? {
            Ok(ran) => self
                .follow(coverage, &talk, &ran)
                .sets
                .last()
                .copied()
                .flatten(),
            Err(_) => None,
        };
        let mut found: Vec<Target> = Vec::new();
        let mut kept = None;
        while let Some(set) = at {
            let before: BTreeSet<Target> = self.covered.clone();
            self.covered.extend(found.iter().copied());
            let step = self.choose(set, LONGEST.saturating_sub(talk.acts.len()));
            self.covered = before;
            let Some((leap, target)) = step else { break };
            let mut longer = talk.clone();
            longer.acts.extend(leap.iter().cloned());
            match self.next_act(target) {
                Some(Some(act)) => longer.acts.push(act),
                Some(None) => {
                    longer.tail = match target.1 {
                        Step::Rule(rule) => self.tail(target.0, rule),
                        Step::Timer(_) => None,
                    }
                }
                None => break,
            }
            let ran = match self.hold(&longer)? {
                Ok(ran) => ran,
                Err(why) => {
                    self.given_up.insert(target, why);
                    continue;
                }
            };
            let seen = self.follow(coverage, &longer, &ran);
            let all: BTreeSet<Target> = seen.ran.iter().flatten().copied().collect();
            if !all.contains(&target) {
                if !leap.is_empty() {
                    self.broken.insert((set, target.0));
                    continue;
                }
                let part = ran.parts.get(longer.acts.len());
                if part.is_some_and(|part| is_matched(part, longer.acts.last())) {
                    self.given_up.insert(target, OTHERWISE.to_owned());
                    continue;
                }
                // An action that has not ended read this input. The next conversation tries the
                // target without that action.
                if kept.is_some() {
                    break;
                }
                let paths = self.paths.entry(set).or_default();
                if paths.len() > 1 {
                    paths.retain(|path| *path != talk.acts);
                }
                let times = self.failures.entry(target).or_default();
                *times += 1;
                if *times == TRIES {
                    self.given_up.insert(target, READ.to_owned());
                }
                break;
            }
            let fresh = all.into_iter().filter(|t| !self.covered.contains(t));
            found = fresh.collect();
            at = seen
                .sets
                .last()
                .copied()
                .flatten()
                .filter(|_| longer.tail.is_none());
            talk = longer;
            kept = Some(talk.clone());
            if self.apart || self.runs >= MOST_RUNS {
                break;
            }
        }
        Ok(kept.map(|talk| (talk, found)))
    }

    /// What to do next in a set: acts that lead to where something is left, and what that is.
    fn choose(&mut self, set: usize, capacity: usize) -> Option<(Vec<Act>, Target)> {
        if capacity == 0 {
            return None;
        }
        for closing in [false, true] {
            // The nearest first, according to what acts have done before.
            let mut met = BTreeSet::from([set]);
            let mut todo = VecDeque::from([(set, Vec::new())]);
            while let Some((here, path)) = todo.pop_front() {
                if !self.broken.contains(&(set, here))
                    && let Some(target) = self.left(here, closing)
                {
                    return Some((path, target));
                }
                if path.len() + 1 >= capacity {
                    continue;
                }
                for (act, to) in self.edges.get(&here).into_iter().flatten() {
                    if met.insert(*to) {
                        let mut longer: Vec<Act> = path.clone();
                        longer.push(act.clone());
                        todo.push_back((*to, longer));
                    }
                }
            }
        }
        None
    }

    /// Runs one conversation. `Err` contains the reason why the server did not complete it.
    fn hold(&mut self, talk: &Talk) -> Result<Result<Ran, String>, Failure> {
        self.runs += 1;
        if signals::caught() {
            return Err(Failure::Reported);
        }
        let held = self.script.hold(std::slice::from_ref(talk))?;
        Ok(held.map(|mut held| held.ran.pop().unwrap_or_default()))
    }

    /// Records the sets that a conversation reached.
    fn follow(&mut self, coverage: &Coverage, talk: &Talk, ran: &Ran) -> Seen {
        let seen = seen(coverage, ran);
        for (n, set) in seen.sets.iter().enumerate() {
            let Some(set) = *set else { continue };
            let path = talk.acts[..n].to_vec();
            let paths = self.paths.entry(set).or_default();
            let capacity = if self.spelling {
                MOST_SPELT
            } else {
                MOST_PATHS
            };
            if paths.len() < capacity && paths.iter().all(|known| known.last() != path.last()) {
                paths.push(path);
            }
            if let (Some(act), Some(Some(to))) = (talk.acts.get(n), seen.sets.get(n + 1)) {
                let edges = self.edges.entry(set).or_default();
                if !edges.iter().any(|(_, known)| known == to) {
                    edges.push((act.clone(), *to));
                }
            }
        }
        seen
    }

    /// Tries words from the specification until one leads to a new set. Returns whether one did.
    fn try_words(&mut self, coverage: &Coverage) -> Result<bool, Failure> {
        let words = words(self.m);
        // First where an action has a choice, then on the path to it.
        for choice in [true, false, true] {
            let mut talks = Vec::new();
            let sets: Vec<usize> = self.paths.keys().copied().collect();
            for set in sets {
                for rule in self.reach.sets[set].rules.clone() {
                    if self.has_choice(set, rule) != choice {
                        continue;
                    }
                    let paths = 0..self.paths[&set].len();
                    let fresh: Vec<usize> = paths
                        .filter(|path| self.spelt.insert((set, *path, rule)))
                        .collect();
                    if fresh.is_empty() {
                        continue;
                    }
                    for message in self.choices(set, rule, &words) {
                        for path in &fresh {
                            let mut acts = self.paths[&set][*path].clone();
                            acts.push(Act::Send(message.clone()));
                            talks.push(Talk { acts, tail: None });
                        }
                    }
                }
            }
            talks.retain(|talk| talk.acts.len() <= LONGEST);
            talks.sort();
            talks.dedup();
            let known = self.paths.len();
            talks.truncate(MOST_WORDS - self.worded);
            self.worded += talks.len();
            self.spelling = true;
            let held = self.hold_many(coverage, &talks);
            self.spelling = false;
            held?;
            if self.paths.len() > known {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Input that a rule matches in a set and that may matter to its action.
    fn choices(&mut self, set: usize, rule: usize, words: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let known = self.known.get(&rule).into_iter().flatten();
        let known = known.filter(|message| self.talks.takes(set, rule, message));
        let mut all: BTreeSet<Vec<u8>> = known.cloned().collect();
        all.extend(self.talks.variants(set, rule));
        all.extend(
            words
                .iter()
                .filter_map(|w| self.talks.message_with(set, rule, w)),
        );
        all.into_iter().collect()
    }

    /// Whether a rule's action may lead from one set to several sets.
    fn has_choice(&self, set: usize, rule: usize) -> bool {
        let states = self.reach.sets[set].states;
        let effect = &self.effects.rules[rule];
        let mut fitting = effect.paths.iter().filter(|p| p.fits(states));
        !effect.exact || fitting.any(|p| !p.is_definite()) || {
            let fitting = effect.paths.iter().filter(|p| p.fits(states));
            fitting.count() > 1
        }
    }
}

/// Whether rules matched an act of a client. If an action that had not ended read the input, the part
/// begins with what that action does next, or a rule matched only the rest of the input.
fn is_matched(part: &[Entry], act: Option<&Act>) -> bool {
    let first = part.iter().find(|entry| !matches!(entry, Entry::Reply(_)));
    match (first, act) {
        (Some(Entry::Take(_, bytes)), Some(Act::Send(sent))) => {
            matches!(part.first(), Some(Entry::Take(..))) && sent.starts_with(bytes)
        }
        (Some(Entry::End(why)), _) => why != "closed",
        (Some(Entry::States(..)) | None, _) => false,
        (Some(_), _) => true,
    }
}

/// The result of a conversation.
fn seen(coverage: &Coverage, ran: &Ran) -> Seen {
    let mut at = None;
    let mut seen = Seen {
        sets: Vec::new(),
        ran: Vec::new(),
    };
    for part in &ran.parts {
        let mut here = Vec::new();
        for entry in part {
            if let Entry::States(names, last) = entry {
                at = coverage.set(names, last);
            }
            if matches!(entry, Entry::End(_)) {
                at = None;
            }
            if let Some(heard) = entry.heard() {
                let steps = coverage.ran(at, &heard);
                here.extend(
                    at.iter()
                        .flat_map(|at| steps.iter().map(|step| (*at, *step))),
                );
            }
        }
        seen.sets.push(at);
        seen.ran.push(here);
    }
    // After the end of file there is no set.
    seen.sets.pop();
    seen
}

/// What a conversation covers, in order.
pub fn targets(coverage: &Coverage, ran: &Ran) -> Vec<Target> {
    seen(coverage, ran).ran.into_iter().flatten().collect()
}
