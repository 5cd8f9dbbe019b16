//! Register allocation for a product automaton: few registers, and few copies.
//!
//! A variable is a register of one member in one state of the product. Variables whose value is
//! never used are dropped. Variables that a transition only copies share a register if no state
//! needs both. The rest are coloured. Must not know: how the product was built.

use super::automaton::{Accept, Effect, Part, Raw};
use crate::hash::Table;
use crate::tagged::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The register of each variable.
pub(super) struct Places {
    /// The number of registers, including one for exchanges.
    pub(super) count: usize,
    variables: Variables,
    /// By variable; undefined for dropped variables.
    place: Vec<u16>,
    live: Vec<bool>,
}

/// The variables of all states, numbered consecutively.
struct Variables {
    /// By state: each live member, and its first variable.
    first: Vec<BTreeMap<u32, usize>>,
    /// By state: the number of its first variable, and an end.
    from: Vec<usize>,
}

impl Variables {
    fn of(raw: &Raw<'_>) -> Variables {
        let sizes: Vec<Vec<usize>> = raw.members.iter().map(|m| sizes(m.automaton)).collect();
        let (mut first, mut from, mut count) = (Vec::new(), Vec::new(), 0);
        for key in &raw.keys {
            from.push(count);
            let mut map = BTreeMap::new();
            for (member, state) in key {
                map.insert(*member, count);
                count += sizes[*member as usize][*state as usize];
            }
            first.push(map);
        }
        from.push(count);
        Variables { first, from }
    }

    fn count(&self) -> usize {
        self.from.last().copied().unwrap_or(0)
    }

    fn of_member(&self, state: usize, member: u32) -> usize {
        self.first[state][&member]
    }
}

/// The number of registers of a rule in each of its states: those that the transitions to it set.
fn sizes(a: &crate::tagged::Tagged) -> Vec<usize> {
    let mut sizes = vec![0; a.accepts.len()];
    sizes[a.start as usize] = a.start_registers;
    for (to, moves) in &a.next {
        let size = &mut sizes[*to as usize];
        *size = (*size).max(a.moves[*moves as usize].registers.len());
    }
    sizes
}

/// One of the different transitions of a state.
struct Edge<'r> {
    from: usize,
    to: usize,
    parts: &'r [Part],
    weight: usize,
}

fn edges<'r>(raw: &'r Raw<'_>) -> Vec<Edge<'r>> {
    let classes = raw.weights.len();
    let mut edges = Vec::new();
    for from in 0..raw.keys.len() {
        let mut weights: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (edge, weight) in raw.next[from * classes..].iter().zip(&raw.weights) {
            // The first part list is empty.
            if edge.1 != 0 {
                *weights.entry(*edge).or_default() += weight;
            }
        }
        for ((to, parts), weight) in weights {
            edges.push(Edge {
                from,
                to: to as usize,
                parts: &raw.parts[parts as usize],
                weight,
            });
        }
    }
    edges
}

pub(super) fn allocate(raw: &Raw<'_>) -> Places {
    let variables = Variables::of(raw);
    let edges = edges(raw);
    let live = liveness(raw, &variables, &edges);
    let mut joined = Joined::new(&variables);
    let mut wishes: Vec<(usize, usize, usize)> = Vec::new();
    for edge in &edges {
        for_each_move(raw, &variables, edge, |to, source| {
            if let Some(from) = source.filter(|_| live[to]) {
                wishes.push((edge.weight, from, to));
            }
        });
    }
    // The effects of many bytes come first.
    wishes.sort_unstable_by_key(|(weight, from, to)| (usize::MAX - weight, *from, *to));
    for (_, from, to) in wishes {
        joined.join(from, to);
    }
    let (place, mut count) = colour(&variables, &live, &mut joined);
    count += usize::from(count > 1); // for exchanges
    Places {
        count,
        variables,
        place,
        live,
    }
}

/// Each register that a transition sets: its variable, and the variable that is copied to it, if
/// any.
fn for_each_move(
    raw: &Raw<'_>,
    variables: &Variables,
    edge: &Edge<'_>,
    mut each: impl FnMut(usize, Option<usize>),
) {
    for part in edge.parts.iter().filter(|p| p.live) {
        let moves = &raw.members[part.member as usize].automaton.moves[part.moves as usize];
        let to = variables.of_member(edge.to, part.member);
        let from = variables.of_member(edge.from, part.member);
        for (at, source) in moves.registers.iter().enumerate() {
            each(
                to + at,
                match source {
                    Source::Here => None,
                    Source::Register(r) => Some(from + usize::from(*r)),
                },
            );
        }
    }
}

/// The variables whose values some acceptance uses.
fn liveness(raw: &Raw<'_>, variables: &Variables, edges: &[Edge<'_>]) -> Vec<bool> {
    let mut live = vec![false; variables.count()];
    for edge in edges {
        for part in edge.parts.iter().filter(|p| p.accepts) {
            let moves = &raw.members[part.member as usize].automaton.moves[part.moves as usize];
            let from = variables.of_member(edge.from, part.member);
            for tag in &moves.tags {
                if let Source::Register(r) = tag {
                    live[from + usize::from(*r)] = true;
                }
            }
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for edge in edges.iter().rev() {
            for_each_move(raw, variables, edge, |to, source| {
                if let Some(from) = source.filter(|from| live[to] && !live[*from]) {
                    live[from] = true;
                    changed = true;
                }
            });
        }
    }
    live
}

/// Merges variables that share a register.
struct Joined {
    of: Vec<usize>,
    /// By root: the states in which the register is in use.
    states: Table<usize, BTreeSet<usize>>,
}

impl Joined {
    fn new(variables: &Variables) -> Joined {
        let mut states = Table::default();
        for state in 0..variables.first.len() {
            for v in variables.from[state]..variables.from[state + 1] {
                states.insert(v, BTreeSet::from([state]));
            }
        }
        Joined {
            of: (0..variables.count()).collect(),
            states,
        }
    }

    fn root(&mut self, mut v: usize) -> usize {
        while self.of[v] != v {
            self.of[v] = self.of[self.of[v]];
            v = self.of[v];
        }
        v
    }

    /// Unless some state needs both.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (small, large) = if self.states[&a].len() < self.states[&b].len() {
            (a, b)
        } else {
            (b, a)
        };
        if self.states[&small]
            .iter()
            .any(|s| self.states[&large].contains(s))
        {
            return;
        }
        let moved = self.states.remove(&small).unwrap_or_default();
        self.states.entry(large).or_default().extend(moved);
        self.of[small] = large;
    }
}

/// Assigns registers so that no state has two variables in one. Returns their number.
fn colour(variables: &Variables, live: &[bool], joined: &mut Joined) -> (Vec<u16>, usize) {
    let mut of_root: Table<usize, u16> = Table::default();
    let mut used: Vec<BTreeSet<u16>> = vec![BTreeSet::new(); variables.first.len()];
    let mut place = vec![0; variables.count()];
    let mut count = 0;
    for v in (0..variables.count()).filter(|v| live[*v]) {
        let root = joined.root(v);
        place[v] = *of_root.entry(root).or_insert_with(|| {
            let states = &joined.states[&root];
            let free = (0u16..).find(|c| states.iter().all(|s| !used[*s].contains(c)));
            let free = free.unwrap_or(u16::MAX);
            for state in states {
                used[*state].insert(free);
            }
            count = count.max(usize::from(free) + 1);
            free
        });
    }
    (place, count)
}

impl Places {
    /// The registers that are 0 before any byte.
    pub(super) fn of_start(&self, raw: &Raw<'_>) -> Vec<u16> {
        let mut zeroed = BTreeSet::new();
        for (member, first) in &self.variables.first[1] {
            let size = raw.members[*member as usize].automaton.start_registers;
            let used = (*first..first + size).filter(|v| self.live[*v]);
            zeroed.extend(used.map(|v| self.place[v]));
        }
        zeroed.into_iter().collect()
    }

    /// The effect of a transition in terms of registers.
    pub(super) fn effect(&self, raw: &Raw<'_>, from: usize, to: usize, parts: &[Part]) -> Effect {
        let accepts = parts.iter().filter(|p| p.accepts).map(|part| {
            let moves = &raw.members[part.member as usize].automaton.moves[part.moves as usize];
            let first = self.variables.of_member(from, part.member);
            let tags = moves.tags.iter().map(|tag| match tag {
                Source::Here => Source::Here,
                Source::Register(r) => Source::Register(self.place[first + usize::from(*r)]),
            });
            Accept {
                member: part.member as usize,
                tags: tags.collect(),
            }
        });
        let accepts = accepts.collect();
        let deciding = parts.iter().filter(|p| p.decides);
        let mut decides: Vec<u32> = deciding
            .map(|p| raw.members[p.member as usize].bit)
            .collect();
        decides.sort_unstable();
        decides.dedup();
        let edge = Edge {
            from,
            to,
            parts,
            weight: 0,
        };
        let mut moves: Vec<(u16, Source)> = Vec::new();
        for_each_move(raw, &self.variables, &edge, |to, source| {
            if self.live[to] {
                moves.push((
                    self.place[to],
                    match source {
                        None => Source::Here,
                        Some(from) => Source::Register(self.place[from]),
                    },
                ));
            }
        });
        let spare = u16::try_from(self.count.saturating_sub(1)).unwrap_or(u16::MAX);
        Effect {
            accepts,
            decides,
            moves: one_after_the_other(moves, spare),
        }
    }
}

/// Orders simultaneous moves so that no value is lost before it is used.
fn one_after_the_other(mut moves: Vec<(u16, Source)>, spare: u16) -> Vec<(u16, Source)> {
    moves.retain(|(to, from)| *from != Source::Register(*to));
    moves.sort_unstable();
    let mut ordered = Vec::with_capacity(moves.len());
    while !moves.is_empty() {
        let free = moves.iter().position(|(to, _)| {
            let needed = Source::Register(*to);
            moves.iter().all(|(_, from)| *from != needed)
        });
        if let Some(free) = free {
            ordered.push(moves.remove(free));
            continue;
        }
        // An exchange: one value is kept in the spare register.
        let (to, _) = moves[0];
        ordered.push((spare, Source::Register(to)));
        for (_, from) in &mut moves {
            if *from == Source::Register(to) {
                *from = Source::Register(spare);
            }
        }
    }
    ordered
}
