//! Conversations for `nest bench`: random walks over the states of a specification, or recorded ones, and
//! the answers of the server without sockets.
//!
//! A walk grows message by message. Each time the server says in which states it is, and the next
//! message is one that a rule matches there. All conversations are then run several times, alone, in other
//! orders, beside each other, at other times of day and from other addresses, and behind all walks, as
//! often as this shows something new. A profile says which rules are chosen how often. Must not know:
//! what is learnt from this, how servers are measured.

use std::collections::BTreeMap;
use std::time::Duration;

use nest_bench::{Place, Random, Taken, Talk};
use nest_check::{Act, Coverage, Talks, words};
use nest_machine::Machine;
use nest_machine::reach::Reach;

use super::answers::{Seen, common, encrypts, end, replied};
use super::profile::Profile;
use super::words::Words;
use crate::recording::Recorded;
use crate::signals;
use crate::term::{self, Failure};
use crate::test::script::{Entry, Held, Ran, Script, Talk as Played, one_after_another};

/// The number of walks.
const WALKS: usize = 64;
/// How many walks are run beside each other.
const TOGETHER: usize = 8;
/// How often a message that ends a conversation too early is replaced by another one.
const TRIES: usize = 4;
/// Words of the specification's C code that are tried for a rule.
const MOST_WORDS: usize = 16;
/// Random messages of a rule in a set of states.
const MOST_RANDOM: usize = 12;
/// The same of a rule whose parts have values in the profile.
const MOST_CHOSEN: usize = 64;
/// 400 days and some hours: all parts of a date differ then.
const LATER: Duration = Duration::from_secs(34_580_601);
/// Runs behind all conversations end when so many of them, one after another, have shown nothing new.
const NOTHING_NEW: usize = 4;
/// And when there have been so many.
const MOST_BEHIND: usize = 40;
/// Time that passes in such a run, so that a count of seconds is seen to change.
const PASSES: Duration = Duration::from_millis(1100);
/// What a server does by itself within this time must not be part of a conversation.
const QUIET: u32 = 2000;

/// What conversations are made of.
pub struct Maker<'m> {
    pub m: &'m Machine,
    pub reach: &'m Reach,
    pub script: &'m Script,
    /// Messages that a client sends over a connection, at most.
    pub messages: usize,
    pub profile: &'m Profile,
    pub random: Random,
    /// The number of other times of day at which conversations were run.
    pub times: u32,
}

#[derive(Clone, Default)]
struct Walk {
    acts: Vec<Act>,
    /// The number of messages among them.
    sent: usize,
    /// The states it is in; `None`: it does not go on.
    at: Option<usize>,
    tries: usize,
    ended: bool,
}

impl Maker<'_> {
    /// The conversations; none if no message has an answer.
    pub fn make(&mut self) -> Result<Vec<Talk>, Failure> {
        let coverage = Coverage::new(self.m, self.reach);
        let walks = self.grow(&coverage)?;
        let mut acts: Vec<Vec<Act>> = walks.into_iter().map(|walk| walk.acts).collect();
        acts.sort();
        // With a profile, what is chosen more often is also played more often.
        if self.profile.is_empty() {
            acts.dedup();
        }
        let played = acts.into_iter().map(|acts| Played { acts, tail: None });
        self.learn(&coverage, &played.collect::<Vec<_>>())
    }

    /// Conversations that clients had, with the answers of this server.
    pub fn replay(&mut self, talks: Vec<Recorded>) -> Result<Vec<Talk>, Failure> {
        self.begin()?;
        let coverage = Coverage::new(self.m, self.reach);
        let places: Vec<Option<usize>> = talks.iter().map(|talk| talk.tls).collect();
        let played = talks.into_iter().map(|talk| Played {
            acts: talk.acts,
            tail: None,
        });
        let mut played: Vec<Played> = played.collect();
        let mut ran = places.into_iter().zip(self.run(&played)?);
        let mut elsewhere = 0;
        played.retain(|talk| {
            let Some((place, Some(ran))) = ran.next() else {
                return false;
            };
            // Where nothing says so, a handshake was not asked for, or nothing followed it.
            let is_there = place.is_none() || place == encrypts(talk, &ran);
            elsewhere += usize::from(!is_there);
            is_there
        });
        if elsewhere > 0 {
            term::note(format!(
                "{elsewhere} recorded conversations become encrypted where this server does not call \
                 $startTLS(): they are not played"
            ));
        }
        self.learn(&coverage, &played)
    }

    /// What the server does when a client has come. Fails if it does not start.
    fn begin(&self) -> Result<Held, Failure> {
        let begun = self.script.hold(&[Played::default()])?;
        begun.map_err(|why| {
            Failure::new(format!(
                "{why}\n  if it needs arguments, write them at the end, as with nest run: -- ARGUMENT"
            ))
        })
    }

    fn grow(&mut self, coverage: &Coverage) -> Result<Vec<Walk>, Failure> {
        let mut messages = Messages {
            m: self.m,
            reach: self.reach,
            talks: Talks::new(self.m, self.reach),
            known: BTreeMap::new(),
            profile: self.profile,
            random: Random(self.random.draw(usize::MAX) as u64),
        };
        let begun = self.begin()?;
        let at = begun.ran.first().and_then(|ran| set(coverage, ran, 1));
        let mut walks = vec![
            Walk {
                at,
                ..Walk::default()
            };
            WALKS
        ];
        for _ in 0..self.messages * 2 {
            let mut proposed = Vec::new();
            for (n, walk) in walks.iter_mut().enumerate() {
                if walk.sent >= self.messages {
                    continue;
                }
                let Some(at) = walk.at else { continue };
                match messages.draw(at) {
                    Some((think, message)) => {
                        let mut acts = walk.acts.clone();
                        if think > 0 && walk.sent > 0 {
                            acts.push(Act::Silence(think));
                        }
                        acts.push(Act::Send(message));
                        proposed.push((n, Played { acts, tail: None }));
                    }
                    None => walk.at = None,
                }
            }
            if proposed.is_empty() {
                break;
            }
            let talks: Vec<Played> = proposed.iter().map(|(_, talk)| talk.clone()).collect();
            for ((n, talk), ran) in proposed.into_iter().zip(self.run(&talks)?) {
                let walk = &mut walks[n];
                walk.tries += 1;
                let Some(ran) = ran else { continue };
                let parts = talk.acts.len() + 1;
                let ended = end(&ran).is_some_and(|part| part < parts);
                let last = walk.sent + 1 >= self.messages || walk.tries >= TRIES;
                if ended && !last {
                    continue;
                }
                walk.tries = 0;
                walk.sent += 1;
                walk.ended = ended;
                walk.acts = talk.acts;
                walk.at = (!ended).then(|| set(coverage, &ran, parts)).flatten();
            }
        }
        Ok(walks)
    }

    /// Runs conversations one after another; `None` for one that the server does not survive.
    fn run(&self, talks: &[Played]) -> Result<Vec<Option<Ran>>, Failure> {
        if signals::caught() {
            return Err(Failure::Reported);
        }
        match self.script.hold(talks)? {
            Ok(held) => Ok(held.ran.into_iter().map(Some).collect()),
            Err(_) if talks.len() == 1 => Ok(vec![None]),
            Err(_) => {
                let halves = talks.split_at(talks.len() / 2);
                let mut all = self.run(halves.0)?;
                all.extend(self.run(halves.1)?);
                Ok(all)
            }
        }
    }

    /// Learns the answers.
    fn learn(&mut self, coverage: &Coverage, talks: &[Played]) -> Result<Vec<Talk>, Failure> {
        let mut seen: Vec<Seen> = Vec::new();
        for some in talks.chunks(TOGETHER) {
            seen.extend(self.observe(some)?.into_iter().flatten());
        }
        let made = self.behind(&mut seen)?;
        let mut learnt = Vec::new();
        for (seen, made) in seen.iter().zip(made) {
            let (Some(mut made), Some(first)) = (made, seen.first()) else {
                continue;
            };
            if !made.ends {
                made.again = self.again(coverage, &seen.talk, &made, first)?;
            }
            if !made.requests.is_empty() {
                learnt.push(made);
            }
        }
        // Conversations in which the client asks for something are what is measured, if there are any.
        if learnt.iter().any(|talk| talk.asks() > 0) {
            learnt.retain(|talk| talk.asks() > 0);
        }
        Ok(learnt)
    }

    /// Runs a few conversations one after another, beside each other, and each with a new server.
    /// `None`: the server does not survive this, or says something by itself.
    fn observe(&mut self, some: &[Played]) -> Result<Option<Vec<Seen>>, Failure> {
        let mut seen: Vec<Seen> = some.iter().cloned().map(Seen::new).collect();
        let one_by_one = one_after_another(some);
        for later in [false, true, false, true] {
            let order = match seen[0].first() {
                Some(_) => self.mixed(some),
                None => one_by_one.clone(),
            };
            let when = self.time(later);
            let Some(runs) = self.in_order(when, some, &order)? else {
                return Ok(None);
            };
            for (seen, ran) in seen.iter_mut().zip(runs) {
                seen.add(when.as_secs(), ran);
            }
        }
        let silent: Vec<Played> = some.iter().map(silent).collect();
        let Some(quiet) = self.in_order(Duration::ZERO, &silent, &one_after_another(&silent))?
        else {
            return Ok(None);
        };
        let alone = self.time(true);
        for when in [Duration::ZERO, alone] {
            for seen in &mut seen {
                let talk = [seen.talk.clone()];
                let runs = self.in_order(when, &talk, &one_after_another(&talk))?;
                for ran in runs.into_iter().flatten() {
                    seen.add(when.as_secs(), ran);
                }
            }
        }
        let mut quiet = quiet.iter();
        seen.retain(|seen| {
            let last = seen.talk.acts.len() + 1;
            quiet
                .next()
                .and_then(|ran| ran.parts.get(last))
                .is_some_and(|part| replied(part).is_empty())
        });
        Ok(Some(seen))
    }

    /// Learns how answers change when a server has had all conversations before, as it has under
    /// load: what is counted has grown, what is stored is there, time has passed.
    fn behind(&mut self, seen: &mut [Seen]) -> Result<Vec<Option<Talk>>, Failure> {
        let mut made = common(seen);
        let mut same = 0;
        for n in 0..MOST_BEHIND {
            if same == NOTHING_NEW || seen.is_empty() {
                break;
            }
            let mut which = self.shuffled(seen.len());
            which.extend(self.shuffled(seen.len()));
            let talks: Vec<Played> = which.iter().map(|n| seen[*n].talk.clone()).collect();
            let order = self.staggered(&talks);
            let half = order.iter().position(|n| *n == seen.len());
            let pause = half.filter(|_| n == 0).map(|half| (half, PASSES));
            let when = self.time(n % 2 != 0);
            if signals::caught() {
                return Err(Failure::Reported);
            }
            // A server that does not survive this is found out when it is measured.
            let Ok(held) = self.script.hold_in(when, &talks, &order, pause)? else {
                break;
            };
            for (n, ran) in which.iter().zip(held.ran) {
                seen[*n].add(when.as_secs(), ran);
            }
            let now = common(seen);
            same = if now == made { same + 1 } else { 0 };
            made = now;
        }
        Ok(made)
    }

    /// A time of day: now, or one at which no conversation was before.
    fn time(&mut self, later: bool) -> Duration {
        if !later {
            return Duration::ZERO;
        }
        self.times += 1;
        LATER * self.times
    }

    /// From which request a conversation may be repeated, if a second time is answered as the first:
    /// where it was in the states in which it ends.
    fn again(
        &self,
        coverage: &Coverage,
        talk: &Played,
        made: &Talk,
        ran: &Ran,
    ) -> Result<Option<usize>, Failure> {
        let count = talk.acts.len();
        let last = set(coverage, ran, count + 1);
        let same = (0..count).filter(|act| last.is_some() && set(coverage, ran, act + 1) == last);
        let whole = sends(&talk.acts) == made.requests.iter().map(|r| r.send.len()).sum::<usize>();
        let starts: Vec<(usize, usize)> = same
            .filter(|_| whole)
            .filter_map(|act| Some((act, request(made, sends(&talk.acts[..act]))?)))
            // A connection becomes encrypted once.
            .filter(|(_, first)| !made.requests[*first..].iter().any(|r| r.encrypts))
            .collect();
        let longer = starts.iter().map(|(act, _)| {
            let acts = [&talk.acts[..], &talk.acts[*act..]].concat();
            Played { acts, tail: None }
        });
        let longer: Vec<Played> = longer.collect();
        if longer.is_empty() {
            return Ok(None);
        }
        let all = self.run(&longer)?;
        let mut found = starts.iter().zip(&all).filter(|((_, first), ran)| {
            let ran = ran.as_ref();
            ran.is_some_and(|ran| repeats(count, made, *first, ran))
        });
        Ok(found.next().map(|((_, first), _)| *first))
    }

    /// Runs conversations in an order of steps; `None`: the server does not survive it.
    fn in_order(
        &self,
        later: Duration,
        talks: &[Played],
        order: &[usize],
    ) -> Result<Option<Vec<Ran>>, Failure> {
        if signals::caught() {
            return Err(Failure::Reported);
        }
        let held = self.script.hold_in(later, talks, order, None)?;
        Ok(held.ok().map(|held| held.ran))
    }

    /// All steps of conversations, mixed at random. All begin first: the server without sockets has
    /// numbers for them in this order.
    fn mixed(&mut self, talks: &[Played]) -> Vec<usize> {
        let mut left: Vec<usize> = talks.iter().map(|talk| talk.acts.len() + 1).collect();
        let mut order: Vec<usize> = (0..talks.len()).collect();
        loop {
            let open: Vec<usize> = (0..left.len()).filter(|n| left[*n] > 0).collect();
            if open.is_empty() {
                return order;
            }
            let n = open[self.random.draw(open.len())];
            left[n] -= 1;
            order.push(n);
        }
    }

    /// The same, but a few conversations at a time: one begins, in order, where another may have ended.
    fn staggered(&mut self, talks: &[Played]) -> Vec<usize> {
        let (mut order, mut open, mut next) = (Vec::new(), Vec::new(), 0);
        while next < talks.len() || !open.is_empty() {
            let room = next < talks.len() && open.len() < TOGETHER;
            let at = self.random.draw(open.len() + usize::from(room));
            if at == open.len() {
                open.push((next, talks[next].acts.len() + 1));
                order.push(next);
                next += 1;
                continue;
            }
            let (n, left) = &mut open[at];
            order.push(*n);
            *left -= 1;
            if *left == 0 {
                open.swap_remove(at);
            }
        }
        order
    }

    /// The numbers below `count` in a random order.
    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..count).collect();
        for n in (1..count).rev() {
            all.swap(n, self.random.draw(n + 1));
        }
        all
    }
}

/// The messages that rules match in sets of states.
struct Messages<'m> {
    m: &'m Machine,
    reach: &'m Reach,
    talks: Talks<'m>,
    known: BTreeMap<(usize, usize), Vec<Vec<u8>>>,
    profile: &'m Profile,
    random: Random,
}

impl Messages<'_> {
    /// A message of a random rule, and how long the client thinks before it.
    fn draw(&mut self, set: usize) -> Option<(u32, Vec<u8>)> {
        let rules = self.reach.sets[set].rules.clone();
        let weights: Vec<usize> = rules
            .iter()
            .map(|rule| self.profile.weight(*rule) as usize)
            .collect();
        let sum: usize = weights.iter().sum();
        for _ in 0..if sum == 0 { 0 } else { TRIES * 4 } {
            let mut place = self.random.draw(sum);
            let drawn = rules.iter().zip(&weights).find(|(_, weight)| {
                let here = place < **weight;
                place = place.wrapping_sub(**weight);
                here
            });
            let (rule, _) = drawn?;
            let number = self.random.draw(usize::MAX);
            let known = self.of(set, *rule);
            if !known.is_empty() {
                let message = known[number % known.len()].clone();
                return Some((self.profile.think(*rule, &mut self.random), message));
            }
        }
        None
    }

    fn of(&mut self, set: usize, rule: usize) -> &[Vec<u8>] {
        if !self.known.contains_key(&(set, rule)) {
            let made = self.all(set, rule);
            self.known.insert((set, rule), made);
        }
        &self.known[&(set, rule)]
    }

    fn all(&mut self, set: usize, rule: usize) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        if self.profile.has_parts(rule) {
            for _ in 0..MOST_CHOSEN {
                let word = self.profile.message(self.m, rule, &mut self.random);
                all.extend(word.filter(|word| self.talks.takes(set, rule, word)));
            }
            // A value that is drawn more often stays more frequent.
            return all;
        }
        if let Some(dfa) = &self.m.rules[rule].dfa
            && let Some(source) = Words::of(dfa)
        {
            for _ in 0..MOST_RANDOM * 4 {
                let word = source.draw(&mut self.random);
                let word = word.filter(|word| self.talks.takes(set, rule, word));
                all.extend(word);
                if all.len() == MOST_RANDOM {
                    break;
                }
            }
        }
        let words = words(self.m).into_iter().take(MOST_WORDS);
        let spelt = words.filter_map(|word| self.talks.message_with(set, rule, &word));
        all.extend(spelt.collect::<Vec<_>>());
        if all.is_empty() {
            all.extend(self.talks.message(set, rule));
        }
        all.sort();
        all.dedup();
        all
    }
}

/// The conversation, and then a time in which nobody does anything.
fn silent(talk: &Played) -> Played {
    let mut acts = talk.acts.clone();
    acts.push(Act::Silence(QUIET));
    Played { acts, tail: None }
}

/// The number of bytes that a client sends in some acts.
fn sends(acts: &[Act]) -> usize {
    let bytes = |act: &Act| match act {
        Act::Send(bytes) => bytes.len(),
        Act::Silence(_) => 0,
    };
    acts.iter().map(bytes).sum()
}

/// The request that begins after so many bytes of the client.
fn request(talk: &Talk, bytes: usize) -> Option<usize> {
    let mut before = 0;
    talk.requests.iter().position(|request| {
        let here = before == bytes && !request.send.is_empty();
        before += request.send.len();
        here
    })
}

/// The states after the first `parts` parts.
fn set(coverage: &Coverage, ran: &Ran, parts: usize) -> Option<usize> {
    let entries = ran.parts.iter().take(parts).flatten();
    let mut last = entries.filter_map(|entry| match entry {
        Entry::States(names, last) => Some((names, last)),
        _ => None,
    });
    last.next_back()
        .and_then(|(names, last)| coverage.set(names, last))
}

/// Whether what was done after the first `count` acts has the answers of the requests from `first` on.
fn repeats(count: usize, made: &Talk, first: usize, ran: &Ran) -> bool {
    let parts = &ran.parts[count + 1..ran.parts.len() - 1];
    let early = end(ran).is_some_and(|part| part + 1 < ran.parts.len());
    let bytes: Vec<u8> = parts.iter().flat_map(|part| replied(part)).collect();
    let mut at = 0;
    for request in &made.requests[first..] {
        match request.expect.take(&mut Place::default(), &bytes[at..]) {
            Taken::Whole(used) => at += used,
            Taken::All | Taken::Wrong(_) => return false,
        }
    }
    !early && at == bytes.len() && first < made.requests.len()
}
