//! Places across: straight lines, and nothing closer than it may be.
//!
//! U. Brandes and B. Köpf, "Fast and simple horizontal coordinate assignment" (2001): vertices are
//! aligned with the median of what they are linked to, from above and from below, leftmost and
//! rightmost; each of the four is made as narrow as it can be, and a vertex takes the mean of the two
//! middle ones. All four keep the distances, so their medians do.

use super::rows::Rows;
use std::collections::BTreeSet;

/// Between neighbours of a row.
const APART: i32 = 18;

/// The place of each vertex.
pub fn across(rows: &Rows) -> Vec<i32> {
    let crossed = crossed(rows);
    let mut found: Vec<Vec<i32>> = Vec::new();
    for upwards in [false, true] {
        for mirrored in [false, true] {
            found.push(one(rows, &crossed, upwards, mirrored));
        }
    }
    let bounds: Vec<(i32, i32)> = found.iter().map(|x| bounds(rows, x)).collect();
    let narrowest = bounds.iter().min_by_key(|(from, to)| to - from);
    let (left, right) = narrowest.copied().unwrap_or_default();
    for (n, (x, (from, to))) in found.iter_mut().zip(&bounds).enumerate() {
        let shift = if n % 2 == 0 { left - from } else { right - to };
        x.iter_mut().for_each(|x| *x += shift);
    }
    let middle = |v: usize| {
        let mut all: Vec<i32> = found.iter().map(|x| x[v]).collect();
        all.sort_unstable();
        (all[1] + all[2]).div_euclid(2)
    };
    let all: Vec<i32> = (0..rows.vertices.len()).map(middle).collect();
    let (from, _) = self::bounds(rows, &all);
    all.into_iter().map(|x| x - from).collect()
}

/// How far all reaches.
fn bounds(rows: &Rows, x: &[i32]) -> (i32, i32) {
    let all = rows.vertices.iter().zip(x);
    let from = all.clone().map(|(v, x)| x - v.extent.left).min();
    let to = all.map(|(v, x)| x + v.extent.right).max();
    (from.unwrap_or(0), to.unwrap_or(0))
}

/// Edges that cross one within a link: long links stay straight, these yield.
fn crossed(rows: &Rows) -> BTreeSet<(usize, usize)> {
    let at = rows.positions();
    let passes = |v: usize| rows.vertices[v].passes;
    let mut found = BTreeSet::new();
    for pair in rows.rows.windows(2) {
        let (mut left, mut begin) = (0, 0);
        for (n, v) in pair[1].iter().enumerate() {
            let inner = rows.above[*v].iter().find(|u| passes(*v) && passes(**u));
            if inner.is_none() && n + 1 < pair[1].len() {
                continue;
            }
            let right = inner.map_or(pair[0].len(), |u| at[*u]);
            for w in &pair[1][begin..=n] {
                for u in &rows.above[*w] {
                    let beyond = at[*u] < left || at[*u] > right;
                    if beyond && !(passes(*u) && passes(*w)) {
                        found.insert((*u, *w));
                    }
                }
            }
            (left, begin) = (right, n + 1);
        }
    }
    found
}

/// One of the four.
fn one(rows: &Rows, crossed: &BTreeSet<(usize, usize)>, upwards: bool, mirrored: bool) -> Vec<i32> {
    let mut all: Vec<Vec<usize>> = rows.rows.clone();
    if upwards {
        all.reverse();
    }
    if mirrored {
        all.iter_mut().for_each(|row| row.reverse());
    }
    let mut at = vec![0usize; rows.vertices.len()];
    for row in &all {
        for (n, v) in row.iter().enumerate() {
            at[*v] = n;
        }
    }
    let beside = if upwards { &rows.below } else { &rows.above };
    let root = aligned(&all, &at, beside, crossed);
    let mut x = compact(rows, &all, &root, mirrored);
    if mirrored {
        x.iter_mut().for_each(|x| *x = -*x);
    }
    x
}

/// The first vertex of the block that each vertex is in.
fn aligned(
    rows: &[Vec<usize>],
    at: &[usize],
    beside: &[Vec<usize>],
    crossed: &BTreeSet<(usize, usize)>,
) -> Vec<usize> {
    let mut root: Vec<usize> = (0..at.len()).collect();
    for row in rows {
        let mut free = 0; // places left of it are passed
        for v in row {
            let mut all = beside[*v].clone();
            all.sort_by_key(|w| at[*w]);
            if all.is_empty() {
                continue;
            }
            for w in &all[(all.len() - 1) / 2..=all.len() / 2] {
                let yields = crossed.contains(&(*w, *v)) || crossed.contains(&(*v, *w));
                if root[*v] == *v && at[*w] >= free && !yields {
                    root[*v] = root[*w];
                    free = at[*w] + 1;
                }
            }
        }
    }
    root
}

/// Blocks as far to the left as they can be, and then back towards what is right of them.
fn compact(rows: &Rows, all: &[Vec<usize>], root: &[usize], mirrored: bool) -> Vec<i32> {
    let count = root.len();
    let mut right: Vec<Vec<(usize, i32)>> = vec![Vec::new(); count];
    let mut left: Vec<Vec<(usize, i32)>> = vec![Vec::new(); count];
    for pair in all.iter().flat_map(|row| row.windows(2)) {
        let (v, w) = (
            &rows.vertices[pair[0]].extent,
            &rows.vertices[pair[1]].extent,
        );
        let distance = if mirrored {
            v.left + w.right
        } else {
            v.right + w.left
        } + APART;
        right[root[pair[0]]].push((root[pair[1]], distance));
        left[root[pair[1]]].push((root[pair[0]], distance));
    }
    let mut wanted: Vec<usize> = left.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..count)
        .filter(|v| root[*v] == *v && wanted[*v] == 0)
        .collect();
    let mut next = 0;
    while let Some(v) = order.get(next).copied() {
        next += 1;
        for (w, _) in &right[v] {
            wanted[*w] -= 1;
            if wanted[*w] == 0 {
                order.push(*w);
            }
        }
    }
    let mut x = vec![0i32; count];
    for v in &order {
        let from = left[*v].iter().map(|(w, distance)| x[*w] + distance);
        x[*v] = from.max().unwrap_or(0);
    }
    for v in order.iter().rev() {
        if let Some(to) = right[*v].iter().map(|(w, distance)| x[*w] - distance).min() {
            x[*v] = x[*v].max(to);
        }
    }
    (0..count).map(|v| x[root[v]]).collect()
}
