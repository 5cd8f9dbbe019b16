//! What a server must answer in conversations for `nest bench`, learnt from many runs of them.
//!
//! A message whose answers differ between runs depends on other clients, on time or on the address.
//! So may all messages that the same rules match, even if chance has not shown it in each of their
//! conversations: an answer that was given to the same message elsewhere, or to several messages, is
//! then right as well. Must not know: how conversations are made and run.

use std::collections::{BTreeMap, BTreeSet};

use nest_bench::{Answer, Expect, Request, Talk, form};
use nest_check::Act;

use crate::test::script::{CAPACITY, Entry, Ran, Talk as Played};

/// So many answers that do not depend on the message are right for each message.
const MOST_GENERAL: usize = 6;

/// A conversation, and what has been seen of it.
pub struct Seen {
    pub talk: Played,
    /// Each with a number for its time of day and address.
    runs: Vec<(u64, Ran)>,
}

impl Seen {
    pub fn new(talk: Played) -> Seen {
        Seen {
            talk,
            runs: Vec::new(),
        }
    }

    /// Adds a run.
    pub fn add(&mut self, when: u64, ran: Ran) {
        // A second one of the same says nothing, except that an answer comes at another time, too.
        let same = self.runs.iter().filter(|(_, known)| *known == ran);
        let times: BTreeSet<u64> = same.map(|(when, _)| *when).collect();
        if times.len() < 2 && !times.contains(&when) {
            self.runs.push((when, ran));
        }
    }

    /// The first run.
    pub fn first(&self) -> Option<&Ran> {
        self.runs.first().map(|(_, ran)| ran)
    }

    /// Whether others disturb it: after its end a client is sent only what they have caused.
    fn disturbed(&self) -> bool {
        let last = self.talk.acts.len() + 1;
        let sent = |(_, ran): &(u64, Ran)| !replied(&ran.parts[last]).is_empty();
        self.runs.is_empty() || self.runs.iter().any(sent)
    }

    fn message(&self, part: usize) -> &[u8] {
        match part.checked_sub(1).map(|n| &self.talk.acts[n]) {
            Some(Act::Send(bytes)) => bytes,
            Some(Act::Silence(_)) | None => &[],
        }
    }
}

/// Some rules, and what was answered to all messages that they have matched.
#[derive(Default)]
struct Rules {
    /// Whether an answer was not the same in all runs of a conversation.
    varies: bool,
    /// By message.
    answers: BTreeMap<Vec<u8>, BTreeSet<(Vec<u8>, u64)>>,
}

/// What is answered to messages.
struct Known(BTreeMap<Vec<String>, Rules>);

/// What always happens in each conversation; `None`: others disturb it.
pub fn common(all: &[Seen]) -> Vec<Option<Talk>> {
    let known = Known::of(all);
    all.iter()
        .map(|seen| (!seen.disturbed()).then(|| known.talk(seen)))
        .collect()
}

impl Known {
    fn of(all: &[Seen]) -> Known {
        let mut known: BTreeMap<Vec<String>, Rules> = BTreeMap::new();
        for seen in all.iter().filter(|seen| !seen.disturbed()) {
            for part in 0..=seen.talk.acts.len() {
                let rules = known.entry(taken(seen, part)).or_default();
                let answers = rules.answers.entry(seen.message(part).to_vec());
                let answers = answers.or_default();
                let first = in_clear(&seen.runs[0].1.parts[part]);
                for (when, ran) in &seen.runs {
                    let answer = in_clear(&ran.parts[part]);
                    rules.varies |= answer != first;
                    answers.insert((answer, *when));
                }
            }
        }
        Known(known)
    }

    /// What always happens in a conversation. It is cut off where its course is not always the same.
    fn talk(&self, seen: &Seen) -> Talk {
        let mut steps = Vec::new();
        let (mut total, mut think) = (0, 0);
        for part in 0..=seen.talk.acts.len() {
            let replies: Vec<(Vec<u8>, u64)> = seen
                .runs
                .iter()
                .map(|(when, ran)| (in_clear(&ran.parts[part]), *when))
                .collect();
            let greetings: Vec<(Vec<u8>, u64)> = seen
                .runs
                .iter()
                .filter_map(|(when, ran)| Some((behind_tls(&ran.parts[part])?, *when)))
                .collect();
            let over = |(_, ran): &(u64, Ran)| end(ran) == Some(part);
            let ends = seen.runs.iter().filter(|run| over(run)).count();
            let answers = replies.iter().filter(|(reply, _)| !reply.is_empty());
            let answers = answers.count();
            if let Some(Act::Silence(time)) = part.checked_sub(1).map(|n| &seen.talk.acts[n]) {
                // What the server does while a client thinks depends on time.
                if ends > 0 || answers > 0 {
                    break;
                }
                think = *time;
                continue;
            }
            total += replies
                .iter()
                .chain(&greetings)
                .map(|(reply, _)| reply.len())
                .max()
                .unwrap_or_default();
            let all = seen.runs.len();
            // More than a client without sockets takes: the answer may not be whole.
            let some = |count: usize| count > 0 && count < all;
            if some(ends) || some(answers) || some(greetings.len()) || total >= CAPACITY {
                break;
            }
            let Some(expect) = self.expect(seen, part, &replies) else {
                break;
            };
            steps.push(Request {
                send: seen.message(part).to_vec(),
                expect,
                think: std::mem::take(&mut think),
                encrypts: !greetings.is_empty(),
            });
            if greetings.iter().any(|(greeting, _)| !greeting.is_empty()) {
                let greetings: Vec<Answer> = greetings.iter().map(answer).collect();
                let Some(expect) = Expect::learn(&greetings) else {
                    break;
                };
                steps.push(Request {
                    expect,
                    ..Request::default()
                });
            }
            if ends > 0 {
                return Talk::of(steps, true);
            }
        }
        Talk::of(steps, false)
    }

    /// What must be answered to a message, if it has been answered so.
    fn expect(&self, seen: &Seen, part: usize, replies: &[(Vec<u8>, u64)]) -> Option<Expect> {
        let own = replies.iter().filter(|(reply, _)| !reply.is_empty());
        let own: Vec<Answer> = own.map(answer).collect();
        if own.is_empty() {
            return Some(Expect::default());
        }
        let rules = self.0.get(&taken(seen, part)).filter(|rules| rules.varies);
        let Some(rules) = rules else {
            return Expect::learn(&own);
        };
        let elsewhere = rules.answers.get(seen.message(part)).into_iter().flatten();
        let elsewhere = elsewhere.filter(|(reply, _)| !reply.is_empty());
        let same: Vec<Answer> = own.into_iter().chain(elsewhere.map(answer)).collect();
        let more: Vec<Answer> = same.iter().copied().chain(rules.general()).collect();
        Expect::learn(&more).or_else(|| Expect::learn(&same))
    }
}

impl Rules {
    /// Answers that do not depend on the message: they were given to several.
    fn general(&self) -> Vec<Answer<'_>> {
        // By form: the messages, and the answers.
        type Given<'a> = (BTreeSet<&'a [u8]>, Vec<Answer<'a>>);
        let mut forms: BTreeMap<Vec<u8>, Given> = BTreeMap::new();
        for (message, answers) in &self.answers {
            for given in answers.iter().filter(|(reply, _)| !reply.is_empty()) {
                let (messages, all) = forms.entry(form(&given.0)).or_default();
                messages.insert(message);
                all.push(answer(given));
            }
        }
        forms.retain(|_, (messages, _)| messages.len() > 1);
        if forms.len() > MOST_GENERAL {
            return Vec::new();
        }
        forms.into_values().flat_map(|(_, all)| all).collect()
    }
}

fn answer((bytes, when): &(Vec<u8>, u64)) -> Answer<'_> {
    Answer { bytes, when: *when }
}

/// The rules that have matched the message of a part, in its first run.
fn taken(seen: &Seen, part: usize) -> Vec<String> {
    let entries = seen.first().map(|ran| ran.parts[part].iter());
    let name = |entry: &Entry| match entry {
        Entry::Take(name, _) => Some(name.clone()),
        _ => None,
    };
    entries.into_iter().flatten().filter_map(name).collect()
}

/// What was sent to the client in a part.
pub fn replied(part: &[Entry]) -> Vec<u8> {
    let replies = part.iter().filter_map(|entry| match entry {
        Entry::Reply(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    replies.collect::<Vec<_>>().concat()
}

/// What was sent to the client in a part, up to where the connection becomes encrypted.
fn in_clear(part: &[Entry]) -> Vec<u8> {
    let end = part.iter().position(|entry| *entry == Entry::Tls);
    replied(&part[..end.unwrap_or(part.len())])
}

/// What was sent to the client in a part from there on; `None`: it does not become encrypted.
fn behind_tls(part: &[Entry]) -> Option<Vec<u8>> {
    let at = part.iter().position(|entry| *entry == Entry::Tls);
    at.map(|at| replied(&part[at..]))
}

/// The number of messages before the connection becomes encrypted.
pub fn encrypts(talk: &Played, ran: &Ran) -> Option<usize> {
    let part = ran.parts.iter().position(|part| part.contains(&Entry::Tls));
    let sends = |act: &&Act| matches!(act, Act::Send(_));
    part.map(|part| talk.acts.iter().take(part).filter(sends).count())
}

/// The part in which the connection ended.
pub fn end(ran: &Ran) -> Option<usize> {
    let is_end = |part: &Vec<Entry>| part.iter().any(|entry| matches!(entry, Entry::End(_)));
    ran.parts.iter().position(is_end)
}
