//! Ranks: which row each node is in, so that most links lead downwards and are short.
//!
//! Links that close a cycle are turned round first. Ranks then begin as the longest ways from above,
//! and each node moves, within what its links allow, to where these are shortest together.

use super::geometry::Link;

/// Rounds of moving; it settles after a few.
const ROUNDS: usize = 40;

/// The rank of each node, all even, and which links lead upwards.
pub fn ranks(count: usize, links: &[Link]) -> (Vec<usize>, Vec<bool>) {
    let upwards = closing(count, links);
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (link, up) in links.iter().zip(&upwards) {
        let (top, end) = if *up {
            (link.to, link.from)
        } else {
            (link.from, link.to)
        };
        above[end].push(top);
        below[top].push(end);
    }
    let mut ranks = longest(&above, &below);
    for round in 0..ROUNDS {
        let mut moved = false;
        for n in 0..count {
            let n = if round % 2 == 0 { n } else { count - 1 - n };
            let to = best(n, &above, &below, &ranks);
            moved |= std::mem::replace(&mut ranks[n], to) != to;
        }
        if !moved {
            break;
        }
    }
    let first = ranks.iter().min().copied().unwrap_or(0);
    // Rows between them are for labels.
    let even = ranks.iter().map(|r| (r - first) * 2).collect();
    (even, upwards)
}

/// Links that lead back to where a walk in depth, in the nodes' order, came from.
fn closing(count: usize, links: &[Link]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (n, link) in links.iter().enumerate() {
        from[link.from].push(n);
    }
    for all in &mut from {
        all.sort_by_key(|n| links[*n].to);
    }
    let mut marks = vec![Mark::New; count];
    let mut closing = vec![false; links.len()];
    for root in 0..count {
        let mut open: Vec<(usize, usize)> = Vec::new();
        if marks[root] == Mark::New {
            marks[root] = Mark::Open;
            open.push((root, 0));
        }
        while let Some((node, next)) = open.last_mut() {
            let Some(link) = from[*node].get(*next) else {
                marks[*node] = Mark::Done;
                open.pop();
                continue;
            };
            *next += 1;
            let to = links[*link].to;
            match marks[to] {
                Mark::New => {
                    marks[to] = Mark::Open;
                    open.push((to, 0));
                }
                Mark::Open => closing[*link] = true,
                Mark::Done => {}
            }
        }
    }
    closing
}

fn longest(above: &[Vec<usize>], below: &[Vec<usize>]) -> Vec<usize> {
    let mut left: Vec<usize> = above.iter().map(Vec::len).collect();
    // Room above, for nodes that move up beyond those without links from above.
    let mut ranks = vec![above.len(); above.len()];
    let mut ready: Vec<usize> = (0..left.len()).filter(|n| left[*n] == 0).collect();
    while let Some(n) = ready.pop() {
        for to in &below[n] {
            ranks[*to] = ranks[*to].max(ranks[n] + 1);
            left[*to] -= 1;
            if left[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    ranks
}

/// Where the links of a node are shortest: between the middle ones of what they lead to.
fn best(n: usize, above: &[Vec<usize>], below: &[Vec<usize>], ranks: &[usize]) -> usize {
    let least = above[n].iter().map(|v| ranks[*v] + 1).max();
    let most = below[n].iter().map(|v| ranks[*v] - 1).min();
    match above[n].len().cmp(&below[n].len()) {
        std::cmp::Ordering::Greater => least.unwrap_or(ranks[n]),
        std::cmp::Ordering::Less => most.unwrap_or(ranks[n]),
        std::cmp::Ordering::Equal => ranks[n],
    }
}
