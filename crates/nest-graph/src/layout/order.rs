//! The order in each row: few crossings.
//!
//! Rows are sorted by the weighted median of what a vertex is linked to in the row before, downwards
//! and upwards in turn; then neighbours are exchanged as long as that helps (Gansner et al., 3).

use super::rows::Rows;

/// Sweeps; the best order that was met is taken.
const SWEEPS: usize = 24;

pub fn order(rows: &mut Rows) {
    rows.rows = first(rows);
    let mut best = (crossings(rows), rows.rows.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        by_medians(rows, sweep % 2 == 0);
        exchange(rows);
        let count = crossings(rows);
        if count < best.0 {
            best = (count, rows.rows.clone());
        }
    }
    rows.rows = best.1;
}

/// By a walk from above, so that what belongs together stands together.
fn first(rows: &Rows) -> Vec<Vec<usize>> {
    let count = rows.vertices.iter().map(|v| v.rank + 1).max().unwrap_or(0);
    let mut found = vec![Vec::new(); count];
    let mut met = vec![false; rows.vertices.len()];
    let mut roots: Vec<usize> = (0..rows.vertices.len()).collect();
    roots.sort_by_key(|v| (rows.vertices[*v].rank, *v));
    let mut todo: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(v) = todo.pop() {
        if std::mem::replace(&mut met[v], true) {
            continue;
        }
        found[rows.vertices[v].rank].push(v);
        todo.extend(rows.below[v].iter().rev().filter(|w| !met[**w]));
    }
    found
}

fn by_medians(rows: &mut Rows, downwards: bool) {
    let count = rows.rows.len();
    let mut at = rows.positions();
    for n in 1..count {
        let n = if downwards { n } else { count - 1 - n };
        let beside = if downwards { &rows.above } else { &rows.below };
        let row = &rows.rows[n];
        let keys: Vec<Option<u64>> = row.iter().map(|v| median(&beside[*v], &at)).collect();
        // What is linked to nothing there keeps its place; the others are sorted around it.
        let mut sorted: Vec<(u64, usize)> = keys
            .iter()
            .zip(row)
            .filter_map(|(key, v)| Some(((*key)?, *v)))
            .collect();
        sorted.sort_by_key(|(key, _)| *key);
        let mut sorted = sorted.into_iter().map(|(_, v)| v);
        let row: Vec<usize> = keys
            .iter()
            .zip(row)
            .map(|(key, v)| match key {
                Some(_) => sorted.next().unwrap_or(*v),
                None => *v,
            })
            .collect();
        for (place, v) in row.iter().enumerate() {
            at[*v] = place;
        }
        rows.rows[n] = row;
    }
}

/// The weighted median of places, times a constant.
fn median(beside: &[usize], at: &[usize]) -> Option<u64> {
    const SCALE: u64 = 1 << 20;
    let mut places: Vec<u64> = beside.iter().map(|v| at[*v] as u64).collect();
    places.sort_unstable();
    let middle = places.len() / 2;
    match places.len() {
        0 => None,
        2 => Some((places[0] + places[1]) * SCALE / 2),
        n if n % 2 == 1 => Some(places[middle] * SCALE),
        n => {
            let left = places[middle - 1] - places[0];
            let right = places[n - 1] - places[middle];
            let (low, high) = (places[middle - 1], places[middle]);
            let between = (low * right + high * left) * SCALE;
            let equal = (low + high) * SCALE / 2;
            Some(between.checked_div(left + right).unwrap_or(equal))
        }
    }
}

/// Exchanges neighbours as long as lines cross less often then.
fn exchange(rows: &mut Rows) {
    let mut at = rows.positions();
    for _ in 0..8 {
        let mut better = false;
        for n in 0..rows.rows.len() {
            for i in 1..rows.rows[n].len() {
                let (v, w) = (rows.rows[n][i - 1], rows.rows[n][i]);
                let now = pair(rows, &at, v, w);
                if now > 0 && pair(rows, &at, w, v) < now {
                    rows.rows[n].swap(i - 1, i);
                    (at[v], at[w]) = (i, i - 1);
                    better = true;
                }
            }
        }
        if !better {
            return;
        }
    }
}

/// Crossings of the lines of two neighbours, `v` on the left.
fn pair(rows: &Rows, at: &[usize], v: usize, w: usize) -> usize {
    let count = |beside: &[Vec<usize>]| {
        let left = beside[v].iter();
        left.map(|a| beside[w].iter().filter(|b| at[**b] < at[*a]).count())
            .sum::<usize>()
    };
    count(&rows.above) + count(&rows.below)
}

/// Crossings of all lines.
fn crossings(rows: &Rows) -> usize {
    let at = rows.positions();
    let mut count = 0;
    for row in &rows.rows {
        // Ends in the row below of the lines so far, by how many there are at or right of a place.
        let ends = row.iter().flat_map(|v| &rows.below[*v]).map(|w| at[*w]);
        let width = ends.max().map_or(0, |last| last + 1);
        let mut met = vec![0usize; width];
        for v in row {
            for w in &rows.below[*v] {
                count += met[at[*w] + 1..].iter().sum::<usize>();
            }
            for w in &rows.below[*v] {
                met[at[*w]] += 1;
            }
        }
    }
    count
}
