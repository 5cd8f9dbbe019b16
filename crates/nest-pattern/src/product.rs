//! The product automaton of all rules that may be active together.
//!
//! A state stands for one state of every live rule. Rules that are not active at run time are
//! masked by the bits of their conditions. Acceptance and element boundaries belong to transitions.
//! Must not know: what a condition is, how the automaton is run.

mod automaton;
mod chains;
mod registers;

use crate::dfa::classes::{self, BYTES};
use crate::dfa::minimise;
use crate::hash::Table;
use crate::tagged::Tagged;
pub use automaton::{Accept, Chain, Effect, Member, Product};
use automaton::{Key, Part, Raw};

impl Product {
    /// The product of the members, in the order of preference; `certain`: all are active whenever
    /// it runs. `None` if that takes more than `state_budget` states.
    #[must_use]
    pub fn build(members: &[Member<'_>], certain: bool, state_budget: usize) -> Option<Product> {
        let raw = product(members, certain, state_budget)?;
        let places = registers::allocate(&raw);
        let mut effects = vec![Effect::default()];
        let mut numbers = Table::from_iter([(Effect::default(), 0)]);
        let mut next = Vec::with_capacity(raw.next.len());
        for (from, row) in raw.next.chunks(raw.weights.len()).enumerate() {
            let mut known: Table<(u32, u32), u32> = Table::default();
            for (to, parts) in row {
                let number = match known.get(&(*to, *parts)) {
                    _ if *parts == 0 => 0,
                    Some(number) => *number,
                    None => {
                        let does = &raw.parts[*parts as usize];
                        let effect = places.effect(&raw, from, *to as usize, does);
                        let fresh = u32::try_from(effects.len()).ok()?;
                        let number = *numbers.entry(effect).or_insert_with_key(|effect| {
                            effects.push(effect.clone());
                            fresh
                        });
                        known.insert((*to, *parts), number);
                        number
                    }
                };
                next.push((*to, number));
            }
        }
        let live = raw.keys.iter().map(|key| {
            let mut bits: Vec<u32> = key.iter().map(|(m, _)| members[*m as usize].bit).collect();
            bits.sort_unstable();
            bits.dedup();
            bits
        });
        let whole = Product {
            classes: raw.classes,
            class_count: raw.weights.len(),
            next,
            effects,
            start: 1,
            live: live.collect(),
            registers: places.count,
            zeroed: places.of_start(&raw),
            chains: Vec::new(),
        };
        Some(whole.minimised().chained())
    }

    fn minimised(self) -> Product {
        let mut numbers: Table<(&[u32], Vec<u32>), usize> = Table::default();
        let kinds: Vec<usize> = (0..self.states())
            .map(|state| {
                let fresh = numbers.len();
                let effects = self.row(state).iter().map(|(_, effect)| *effect).collect();
                *numbers.entry((&self.live[state], effects)).or_insert(fresh)
            })
            .collect();
        let targets: Vec<u32> = self.next.iter().map(|(to, _)| *to).collect();
        let block_of = minimise::refine(&targets, self.class_count, &kinds);
        let mut number = vec![None; self.states()];
        number[block_of[0]] = Some(0u32);
        let mut order = vec![0];
        if self.start != 0 {
            number[block_of[1]].get_or_insert(1);
            order.push(1);
        }
        let (mut next, mut done) = (Vec::with_capacity(self.next.len()), 0);
        while done < order.len() {
            for (to, effect) in self.row(order[done]) {
                let fresh = u32::try_from(order.len()).unwrap_or(u32::MAX);
                let at = *number[block_of[*to as usize]].get_or_insert_with(|| {
                    order.push(*to as usize);
                    fresh
                });
                next.push((at, *effect));
            }
            done += 1;
        }
        let (classes, class_count, next) = classes::join(&self.classes, self.class_count, next);
        Product {
            classes,
            class_count,
            next,
            live: order.iter().map(|s| self.live[*s].clone()).collect(),
            ..self
        }
    }
}

/// Bytes that no member distinguishes are one class. Returns the class of each byte, and one byte
/// of each class.
fn joint_classes(members: &[Member<'_>]) -> ([u8; 256], Vec<u8>) {
    let mut kinds = [0; 256];
    divide_all(&mut kinds, &BYTES, members.iter());
    let mut samples = Vec::new();
    for (kind, byte) in kinds.iter().zip(BYTES) {
        if usize::from(*kind) == samples.len() {
            samples.push(byte);
        }
    }
    (kinds, samples)
}

fn divide_all<'m>(kinds: &mut [u8], bytes: &[u8], members: impl Iterator<Item = &'m Member<'m>>) {
    for a in members.map(|member| member.automaton) {
        classes::divide(kinds, bytes, &a.classes, a.class_count);
    }
}

fn product<'a>(members: &'a [Member<'a>], certain: bool, budget: usize) -> Option<Raw<'a>> {
    let (classes, samples) = joint_classes(members);
    let mut weights = vec![0; samples.len()];
    for class in classes {
        weights[usize::from(class)] += 1;
    }
    let start: Key = (0u32..)
        .zip(members)
        .filter(|(_, m)| Tagged::is_live(m.automaton.start))
        .map(|(i, m)| (i, m.automaton.start))
        .collect();
    let mut keys: Vec<Key> = vec![Vec::new(), start];
    let mut numbers: Table<Key, u32> = (0..).zip(&keys).map(|(n, k)| (k.clone(), n)).collect();
    let mut parts: Vec<Vec<Part>> = vec![Vec::new()];
    let mut part_numbers: Table<Vec<Part>, u32> = Table::from_iter([(Vec::new(), 0)]);
    let (mut next, mut done) = (Vec::new(), 0);
    let mut edges = vec![Edge::default(); samples.len()];
    let mut alike = Alike::default();
    while done < keys.len() {
        let from = keys[done].clone();
        let (row, alike) = (next.len(), alike.of(members, &from, &samples));
        steps(members, &from, &samples, alike, certain, &mut edges);
        for (edge, same) in edges.iter().zip(alike) {
            if let Some(known) = next.get(row + usize::from(*same)) {
                next.push(*known);
                continue;
            }
            let Edge { to, does, .. } = edge;
            let what = match part_numbers.get(does) {
                Some(&known) => known,
                None => {
                    let fresh = u32::try_from(parts.len()).ok()?;
                    parts.push(does.clone());
                    part_numbers.insert(does.clone(), fresh);
                    fresh
                }
            };
            let state = if let Some(&known) = numbers.get(to) {
                known
            } else {
                if keys.len() > budget {
                    return None;
                }
                let fresh = u32::try_from(keys.len()).ok()?;
                keys.push(to.clone());
                numbers.insert(to.clone(), fresh);
                fresh
            };
            next.push((state, what));
        }
        done += 1;
    }
    Some(Raw {
        members,
        classes,
        weights,
        keys,
        next,
        parts,
    })
}

/// Caches which bytes are equivalent for each set of live members: most states have few live
/// members, and often the same.
#[derive(Default)]
struct Alike {
    of: Table<Vec<u32>, Vec<u8>>,
    live: Vec<u32>,
}

impl Alike {
    /// For each of `samples`, the first of them that is equivalent for the members in `from`.
    fn of(&mut self, members: &[Member<'_>], from: &Key, samples: &[u8]) -> &[u8] {
        self.live.clear();
        self.live.extend(from.iter().map(|(member, _)| *member));
        if !self.of.contains_key(&self.live) {
            let mut kinds = vec![0; samples.len()];
            let live = self.live.iter().map(|member| &members[*member as usize]);
            divide_all(&mut kinds, samples, live);
            let mut firsts = Vec::new();
            for (at, kind) in (0..=u8::MAX).zip(&mut kinds) {
                if usize::from(*kind) == firsts.len() {
                    firsts.push(at);
                }
                *kind = firsts[usize::from(*kind)];
            }
            self.of.insert(self.live.clone(), kinds);
        }
        &self.of[&self.live]
    }
}

/// Steps all members by one byte.
#[derive(Clone, Default)]
struct Edge {
    to: Key,
    does: Vec<Part>,
    /// If all are active, the first that accepts is preferred to all after it.
    decided: bool,
    /// The bits of the conditions of early members that accept.
    ends: Vec<u32>,
}

/// Computes the transitions for one sample of each kind, member by member, because each member has
/// a table of its own, far away from the others.
fn steps(
    members: &[Member<'_>],
    from: &Key,
    samples: &[u8],
    alike: &[u8],
    certain: bool,
    edges: &mut [Edge],
) {
    let mut firsts: Vec<(u8, &mut Edge)> = Vec::with_capacity(samples.len());
    for (at, edge) in edges.iter_mut().enumerate() {
        if usize::from(alike[at]) == at {
            edge.to.clear();
            edge.does.clear();
            edge.decided = false;
            edge.ends.clear();
            firsts.push((samples[at], edge));
        }
    }
    for (member, state) in from {
        let a = members[*member as usize].automaton;
        let row = &a.next[*state as usize * a.class_count..][..a.class_count];
        for (byte, edge) in &mut firsts {
            let (next, moves) = row[usize::from(a.classes[usize::from(*byte)])];
            if next == 0 {
                continue;
            }
            let live = Tagged::is_live(next);
            if live {
                edge.to.push((*member, next));
            }
            let ends = a.accepts[next as usize] && members[*member as usize].early;
            if ends {
                edge.ends.push(members[*member as usize].bit);
            }
            let accepts = a.accepts[next as usize] && !(certain && edge.decided);
            edge.decided |= accepts;
            if accepts || (live && moves != 0) {
                edge.does.push(Part {
                    member: *member,
                    moves,
                    accepts,
                    live,
                    decides: ends && !certain,
                });
            }
        }
    }
    for (_, edge) in firsts {
        edge.end(members, certain);
    }
}

impl Edge {
    /// Drops what comes after the decision of an early member: either the run has ended, or all
    /// members with its condition are inactive.
    fn end(&mut self, members: &[Member<'_>], certain: bool) {
        if self.ends.is_empty() {
            return;
        }
        let ended = |member: u32| certain || self.ends.contains(&members[member as usize].bit);
        self.to.retain(|(member, _)| !ended(*member));
        for part in &mut self.does {
            part.live &= !ended(part.member);
        }
        self.does.retain(|part| part.accepts || part.live);
    }
}
