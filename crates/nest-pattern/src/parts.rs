//! Properties of the text that an element of a pattern can match: length, bytes, forms.
//!
//! They come from the NFA's paths between two marks, without regard to Perl's preference. So they
//! include everything that a part can be, and possibly texts that always belong to another part.
//! Must not know: who uses them.

use crate::dfa::classes;
use crate::nfa::{Nfa, NfaState, STATE_LIMIT, TooLarge};
use nest_syntax::ast::ByteSet;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The limits of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The minimum length.
    pub least: u32,
    /// The maximum length; `None`: unlimited.
    pub most: Option<u32>,
    /// The bytes that it can contain.
    pub bytes: ByteSet,
}

/// A form of texts: an automaton that reads a text and tells whether it has the form.
#[derive(Clone, Debug)]
pub struct Form {
    next: Vec<[u16; 256]>,
    has: Vec<bool>,
}

impl Form {
    /// With `count` states, of which 0 is the first; `step` returns the next one.
    ///
    /// # Panics
    /// If `step` returns a number that is not a state, which is a mistake of the caller.
    #[must_use]
    pub fn new(count: u16, step: impl Fn(u16, u8) -> u16, has: impl Fn(u16) -> bool) -> Form {
        let row = |state| {
            let mut row = [0; 256];
            for byte in 0..=255 {
                row[usize::from(byte)] = step(state, byte);
            }
            assert!(
                row.iter().all(|to| *to < count),
                "every step leads to a state"
            );
            row
        };
        Form {
            next: (0..count).map(row).collect(),
            has: (0..count).map(has).collect(),
        }
    }

    /// Only `text`, of which at most 60,000 bytes count.
    #[must_use]
    pub fn exactly(text: &[u8]) -> Form {
        let text = &text[..text.len().min(60_000)];
        // After these: "is something else".
        let end = text.len() as u16;
        let step = |at: u16, byte: u8| match text.get(usize::from(at)) {
            Some(wanted) if *wanted == byte => at + 1,
            _ => end + 1,
        };
        Form::new(end + 2, step, |at| at == end)
    }

    /// Texts that contain one of `bytes`.
    #[must_use]
    pub fn holding(bytes: &ByteSet) -> Form {
        Form::new(
            2,
            |at, byte| u16::from(at == 1 || bytes.contains(byte)),
            |at| at == 1,
        )
    }

    /// Texts that contain `text`, no prefix of which may also be a suffix of it.
    #[must_use]
    pub fn containing(text: &[u8]) -> Form {
        let end = u16::try_from(text.len()).unwrap_or(u16::MAX - 1);
        let step = |at: u16, byte: u8| match at {
            _ if at == end || byte == text[usize::from(at)] => end.min(at + 1),
            _ => u16::from(text.first() == Some(&byte)),
        };
        Form::new(end + 1, step, |at| at == end)
    }

    /// Texts of more than `most` bytes.
    #[must_use]
    pub fn longer(most: u16) -> Form {
        let end = most.saturating_add(1).min(u16::MAX - 1);
        Form::new(end + 1, |at, _| end.min(at + 1), |at| at == end)
    }

    /// Texts that contain `byte`, where the text before the first one is something that part `n` of
    /// a match cannot be (and is not empty). `None` if this needs more than `budget` states.
    #[must_use]
    pub fn cut_short(nfa: &Nfa, n: u32, byte: u8, budget: u16) -> Option<Form> {
        let place = nfa.place(n);
        let (classes, samples) = classes::of(nfa);
        let first = nfa.follow(vec![place.entry], &place);
        let mut lists: Vec<Vec<u32>> = vec![first];
        let mut numbers: HashMap<Vec<u32>, u16> = HashMap::from([(lists[0].clone(), 0)]);
        let mut rows: Vec<Vec<u16>> = Vec::new();
        let mut left = usize::from(budget) * 64;
        while rows.len() < lists.len() {
            let from = lists[rows.len()].clone();
            let mut row = Vec::with_capacity(samples.len());
            for sample in &samples {
                let on = |id: &u32| match nfa.state(*id) {
                    NfaState::Byte { set, next } if *id != place.exit && set.contains(*sample) => {
                        Some(*next)
                    }
                    _ => None,
                };
                let list = nfa.follow(from.iter().filter_map(on).collect(), &place);
                left = left.checked_sub(list.len())?;
                let next = u16::try_from(lists.len()).ok().filter(|n| *n < budget)?;
                row.push(*numbers.entry(list.clone()).or_insert_with(|| {
                    lists.push(list);
                    next
                }));
            }
            rows.push(row);
        }
        // After these: the states "can no longer be found" and "found".
        let count = u16::try_from(lists.len()).ok()?;
        let step = |at: u16, read: u8| match lists.get(usize::from(at)) {
            None => at,
            Some(list) if read == byte => count + u16::from(at != 0 && !list.contains(&place.exit)),
            Some(_) => rows[usize::from(at)][usize::from(classes[usize::from(read)])],
        };
        Some(Form::new(count + 2, step, |at| at == count + 1))
    }

    /// Whether `text` has the form.
    #[must_use]
    pub fn fits(&self, text: &[u8]) -> bool {
        let end = text
            .iter()
            .fold(0, |at, byte| self.next[usize::from(at)][usize::from(*byte)]);
        self.has[usize::from(end)]
    }
}

/// Where an element begins and ends.
struct Place {
    entry: u32,
    exit: u32,
}

impl Nfa {
    /// What part `n` can be: 0 is the whole match, 1 the first element, ….
    #[must_use]
    pub fn shape(&self, n: u32) -> Shape {
        let place = self.place(n);
        let mut shape = Shape {
            least: 0,
            most: None,
            bytes: ByteSet::EMPTY,
        };
        // States whose paths are all known come first: from the exit back to the entry.
        let mut order = Vec::new();
        let mut state: HashMap<u32, bool> = HashMap::new();
        let mut endless = false;
        let mut todo = vec![(place.entry, false)];
        while let Some((id, behind)) = todo.pop() {
            if behind {
                state.insert(id, true);
                order.push(id);
                continue;
            }
            match state.get(&id) {
                Some(done) => {
                    endless |= !done;
                    continue;
                }
                None => drop(state.insert(id, false)),
            }
            todo.push((id, true));
            if id != place.exit {
                // If a state is found again while it waits in the queue, its later position counts.
                todo.extend(self.leads(id).iter().map(|to| (*to, false)));
            }
        }
        let mut long: HashMap<u32, u32> = HashMap::new();
        for id in &order {
            let own = match self.state(*id) {
                NfaState::Byte { set, .. } if *id != place.exit => {
                    shape.bytes = shape.bytes.union(set);
                    1
                }
                _ => 0,
            };
            let edges: &[u32] = if *id == place.exit {
                &[]
            } else {
                self.leads(*id)
            };
            let behind = edges.iter().filter_map(|to| long.get(to).copied()).max();
            long.insert(*id, behind.unwrap_or(0).saturating_add(own));
        }
        if !endless {
            shape.most = long.get(&place.entry).copied();
        }
        shape.least = self.shortest(&place);
        shape
    }

    /// Whether the pattern lists all texts that part `n` can be as words; their case may vary.
    #[must_use]
    pub fn lists(&self, n: u32) -> bool {
        let place = self.place(n);
        let (mut met, mut todo) = (BTreeSet::new(), vec![place.entry]);
        while let Some(id) = todo.pop() {
            if id == place.exit || !met.insert(id) {
                continue;
            }
            if let NfaState::Byte { set, .. } = self.state(id) {
                let mut bytes: Vec<u8> = set.iter().map(|b| b.to_ascii_lowercase()).collect();
                bytes.dedup();
                if bytes.windows(2).any(|two| two[0] != two[1]) {
                    return false;
                }
            }
            todo.extend(self.leads(id));
        }
        self.shape(n).most.is_some()
    }

    /// The same NFA without the paths on which part `n` does not have the form; `None` if no path
    /// is left.
    ///
    /// # Errors
    /// [`TooLarge`], detected before more than [`STATE_LIMIT`] states exist.
    pub fn with_form(&self, n: u32, form: &Form) -> Result<Option<Nfa>, TooLarge> {
        let place = self.place(n);
        let mut maker = Maker {
            nfa: self,
            form,
            begins: n.checked_sub(2),
            place: &place,
            states: Vec::new(),
            numbers: HashMap::new(),
            todo: Vec::new(),
        };
        let first = if n < 2 { At::In(0) } else { At::Before };
        let start = maker.number(self.start, first)?;
        while let Some((id, at, number)) = maker.todo.pop() {
            let state = maker.state(id, at)?;
            maker.states[number as usize] = state;
        }
        let nfa = Nfa::pruned(&maker.states, start, self.parts);
        let nothing = matches!(nfa.state(nfa.start), NfaState::Split(to) if to.is_empty());
        Ok((!nothing).then_some(nfa))
    }

    /// The Byte states that these lead to, and the exit, ascending.
    fn follow(&self, mut todo: Vec<u32>, place: &Place) -> Vec<u32> {
        let (mut met, mut list) = (BTreeSet::new(), Vec::new());
        while let Some(id) = todo.pop() {
            if !met.insert(id) {
                continue;
            }
            let byte = matches!(self.state(id), NfaState::Byte { .. });
            if byte || id == place.exit {
                list.push(id);
            } else {
                todo.extend(self.leads(id));
            }
        }
        list.sort_unstable();
        list
    }

    fn leads(&self, id: u32) -> &[u32] {
        match self.state(id) {
            NfaState::Byte { next, .. } | NfaState::Mark { next, .. } => std::slice::from_ref(next),
            NfaState::Split(targets) => targets,
            NfaState::Match => &[],
        }
    }

    fn place(&self, n: u32) -> Place {
        let mark = |wanted: u32| {
            let is =
                |state: &NfaState| matches!(state, NfaState::Mark { part, .. } if *part == wanted);
            (0..)
                .zip(&self.states)
                .find(|(_, s)| is(s))
                .map(|(id, _)| id)
        };
        let end = (0..)
            .zip(&self.states)
            .find(|(_, s)| **s == NfaState::Match);
        let end = end.map_or(self.start, |(id, _)| id);
        let entry = n.checked_sub(2).and_then(mark);
        Place {
            entry: entry.map_or(self.start, |id| self.leads(id)[0]),
            exit: n.checked_sub(1).and_then(mark).unwrap_or(end),
        }
    }

    /// The minimum number of bytes between two states.
    fn shortest(&self, place: &Place) -> u32 {
        let mut met = vec![false; self.states.len()];
        let (mut now, mut next) = (vec![place.entry], Vec::new());
        for length in 0.. {
            while let Some(id) = now.pop() {
                if id == place.exit {
                    return length;
                }
                if std::mem::replace(&mut met[id as usize], true) {
                    continue;
                }
                let byte = matches!(self.state(id), NfaState::Byte { .. });
                let to = if byte { &mut next } else { &mut now };
                to.extend(self.leads(id));
            }
            if next.is_empty() {
                break;
            }
            std::mem::swap(&mut now, &mut next);
        }
        0
    }
}

/// The position of a path: before the element, in it (with the state of the form's automaton), or
/// after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Before,
    In(u16),
    Behind,
}

struct Maker<'n> {
    nfa: &'n Nfa,
    form: &'n Form,
    /// The mark after which the element begins.
    begins: Option<u32>,
    place: &'n Place,
    states: Vec<NfaState>,
    numbers: HashMap<(u32, At), u32>,
    todo: Vec<(u32, At, u32)>,
}

impl Maker<'_> {
    fn push(&mut self, state: NfaState) -> Result<u32, TooLarge> {
        if self.states.len() >= STATE_LIMIT {
            return Err(TooLarge);
        }
        self.states.push(state);
        u32::try_from(self.states.len() - 1).map_err(|_| TooLarge)
    }

    fn number(&mut self, id: u32, at: At) -> Result<u32, TooLarge> {
        if let Some(number) = self.numbers.get(&(id, at)) {
            return Ok(*number);
        }
        let number = self.push(NfaState::Split(Vec::new()))?;
        self.numbers.insert((id, at), number);
        self.todo.push((id, at, number));
        Ok(number)
    }

    fn state(&mut self, id: u32, at: At) -> Result<NfaState, TooLarge> {
        let at = match at {
            At::In(now) if id == self.place.exit && self.form.has[usize::from(now)] => At::Behind,
            At::In(_) if id == self.place.exit => return Ok(NfaState::Split(Vec::new())),
            at => at,
        };
        Ok(match self.nfa.state(id) {
            NfaState::Match => NfaState::Match,
            NfaState::Mark { part, next } => {
                let at = if Some(*part) == self.begins {
                    At::In(0)
                } else {
                    at
                };
                NfaState::Mark {
                    part: *part,
                    next: self.number(*next, at)?,
                }
            }
            NfaState::Split(targets) => {
                let to = targets.iter().map(|t| self.number(*t, at));
                NfaState::Split(to.collect::<Result<_, _>>()?)
            }
            NfaState::Byte { set, next } => {
                let At::In(now) = at else {
                    let next = self.number(*next, at)?;
                    return Ok(NfaState::Byte { set: *set, next });
                };
                let mut edges: BTreeMap<u16, ByteSet> = BTreeMap::new();
                for byte in set.iter() {
                    let to = self.form.next[usize::from(now)][usize::from(byte)];
                    edges.entry(to).or_insert(ByteSet::EMPTY).insert(byte);
                }
                let mut to = Vec::new();
                for (state, set) in edges {
                    let next = self.number(*next, At::In(state))?;
                    to.push(self.push(NfaState::Byte { set, next })?);
                }
                NfaState::Split(to)
            }
        })
    }
}
