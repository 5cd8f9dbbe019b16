//! Chains of states that count. `x{0,998}` makes 998 states that differ only in how many more bytes
//! may follow.
//!
//! The states of a chain have consecutive numbers, so that the generated code can advance many states
//! at once. Must not know: how states are run.

use super::automaton::{Chain, Product};

/// A shorter one is not worth its count.
const SHORTEST: usize = 8;

/// A step to a state that differs from this one in nothing but where the step leads.
fn step(product: &Product, state: usize) -> Option<(u32, u32)> {
    let row = product.row(state);
    row.iter().copied().find(|edge| {
        let to = edge.0 as usize;
        let effect = &product.effects[edge.1 as usize];
        if to == 0 || to == state || product.live[to] != product.live[state] || !effect.at_once() {
            return false;
        }
        row.iter()
            .zip(product.row(to))
            .all(|(here, there)| here == edge || here == there)
    })
}

/// Whether the states take their steps on the same bytes.
fn alike(product: &Product, a: (usize, (u32, u32)), b: (usize, (u32, u32))) -> bool {
    let steps = product.row(a.0).iter().zip(product.row(b.0));
    a.1.1 == b.1.1 && { steps }.all(|(x, y)| (*x == a.1) == (*y == b.1))
}

/// The chains of an automaton, and its states in an order in which each is in one piece.
pub(super) fn find(product: &Product) -> (Vec<Vec<usize>>, Vec<usize>) {
    let steps: Vec<Option<(u32, u32)>> = (0..product.states())
        .map(|state| (state > 0).then(|| step(product, state)).flatten())
        .collect();
    let mut follows = vec![false; product.states()];
    let mut next: Vec<Option<usize>> = vec![None; product.states()];
    for (state, edge) in steps.iter().enumerate() {
        let Some(edge) = edge else { continue };
        let to = edge.0 as usize;
        let Some(then) = steps[to] else { continue };
        if !follows[to] && alike(product, (state, *edge), (to, then)) {
            follows[to] = true;
            next[state] = Some(to);
        }
    }
    let mut chains = Vec::new();
    let mut order = Vec::with_capacity(product.states());
    let mut placed = vec![false; product.states()];
    for state in 0..product.states() {
        if placed[state] || follows[state] {
            continue; // in the middle of a chain: placed with its first
        }
        let chain: Vec<usize> = std::iter::successors(Some(state), |s| next[*s]).collect();
        for member in &chain {
            placed[*member] = true;
            order.push(*member);
        }
        if chain.len() >= SHORTEST {
            chains.push(chain);
        }
    }
    // Rings have no first.
    order.extend((0..product.states()).filter(|state| !placed[*state]));
    (chains, order)
}

impl Product {
    /// The same automaton, numbered so that chains are in one piece each; state 0 stays.
    pub(super) fn chained(self) -> Product {
        let (chains, order) = find(&self);
        if order.iter().copied().eq(0..order.len()) && chains.is_empty() {
            return self;
        }
        let mut number = vec![0u32; order.len()];
        for (new, old) in (0..).zip(&order) {
            number[*old] = new;
        }
        let chains = chains.iter().filter_map(|chain| {
            let (first, last) = (*chain.first()?, *chain.last()?);
            let (to, effect) = step(&self, last)?;
            Some(Chain {
                first: number[first],
                length: u32::try_from(chain.len()).ok()?,
                exit: number[to as usize],
                effect,
            })
        });
        let chains = chains.collect();
        let next = order.iter().flat_map(|old| self.row(*old));
        Product {
            next: next
                .map(|(to, effect)| (number[*to as usize], *effect))
                .collect(),
            live: order.iter().map(|old| self.live[*old].clone()).collect(),
            start: number[self.start as usize],
            chains,
            ..self
        }
    }

    /// The states, of each chain its first alone.
    pub fn blocks(&self) -> impl Iterator<Item = usize> {
        let inside = |state: u32| {
            let mut chains = self.chains.iter();
            chains.any(|chain| chain.first != state && chain.left(state).is_some())
        };
        (0..self.states()).filter(move |state| !inside(u32::try_from(*state).unwrap_or(0)))
    }

    /// The chain that the state is in.
    #[must_use]
    pub fn chain_of(&self, state: u32) -> Option<(usize, &Chain)> {
        let chains = self.chains.iter().enumerate();
        { chains }.find(|(_, chain)| chain.left(state).is_some())
    }
}
