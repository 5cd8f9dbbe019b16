//! Rows one below the other, and the course of the lines.
//!
//! Within a row a line is vertical, at the place that it has there; between two rows, where nothing
//! else is, it is a curve that begins and ends vertically. So no line touches what it does not lead
//! to. Where several lines meet a node they share its width.

use super::geometry::{Layout, Node, Piece, Point, Route};
use super::rows::Rows;

/// Around nodes, so that arrows are straight.
const PADDING: i32 = 10;
/// Around labels.
const LABEL_PADDING: i32 = 2;
/// Between rows: at least, and at most where lines go far to the side.
const GAP: (i32, i32) = (16, 72);
/// Between the ends of lines at a node.
const ENDS: i32 = 16;

/// Where a row is: its middle, and how far it reaches.
struct Band {
    from: i32,
    middle: i32,
    to: i32,
}

pub fn lay(nodes: &[Node], rows: &Rows, across: &[i32], upwards: &[bool]) -> Layout {
    let ends = Ends::of(nodes, rows, across);
    let bands = bands(rows, across, &ends);
    let place = |v: usize| Point {
        x: across[v],
        y: bands[rows.vertices[v].rank].middle,
    };
    let chains = rows.chains.iter().enumerate();
    let links = chains.map(|(n, chain)| {
        let (first, last) = (chain[0], chain[chain.len() - 1]);
        let (begin, end) = (ends.lower[n], ends.upper[n]);
        let from = Point {
            x: begin,
            y: place(first).y + reach(&nodes[first], begin - across[first]),
        };
        let mut pieces = Vec::new();
        let (mut x, mut y) = (begin, bands[rows.vertices[first].rank].to);
        straight(&mut pieces, from, Point { x, y });
        for v in &chain[1..] {
            let band = &bands[rows.vertices[*v].rank];
            let to = if *v == last { end } else { across[*v] };
            curve(
                &mut pieces,
                Point { x, y },
                Point {
                    x: to,
                    y: band.from,
                },
            );
            (x, y) = (to, band.to);
            let until = if *v == last {
                place(last).y - reach(&nodes[last], end - across[last])
            } else {
                band.to
            };
            straight(
                &mut pieces,
                Point { x, y: band.from },
                Point { x, y: until },
            );
        }
        let route = Route {
            from,
            pieces,
            label: rows.labels[n].map(|at| place(chain[at])),
        };
        if upwards[n] { route.back() } else { route }
    });
    let right = rows.vertices.iter().zip(across);
    let width = right.map(|(v, x)| x + v.extent.right).max().unwrap_or(0);
    Layout {
        links: links.collect(),
        nodes: (0..nodes.len()).map(place).collect(),
        size: Point {
            x: width,
            y: bands.last().map_or(0, |band| band.to),
        },
    }
}

fn straight(pieces: &mut Vec<Piece>, from: Point, to: Point) {
    // Straight on is one piece.
    if let Some(Piece::Line(end)) = pieces.last_mut()
        && end.x == to.x
    {
        *end = to;
    } else if from != to {
        pieces.push(Piece::Line(to));
    }
}

fn curve(pieces: &mut Vec<Piece>, from: Point, to: Point) {
    if from.x == to.x {
        straight(pieces, from, to);
        return;
    }
    let middle = (from.y + to.y) / 2;
    let (a, b) = (
        Point {
            x: from.x,
            y: middle,
        },
        Point { x: to.x, y: middle },
    );
    pieces.push(Piece::Curve(a, b, to));
}

/// How far the body of a node reaches up or down, so far beside its middle.
fn reach(node: &Node, beside: i32) -> i32 {
    if !node.round {
        return node.half_height;
    }
    let (w, h) = (i64::from(node.half_width), i64::from(node.half_height));
    let x = i64::from(beside).min(w);
    let square = (h * h * (w * w - x * x)).checked_div(w * w).unwrap_or(0);
    i32::try_from(square.isqrt()).unwrap_or(node.half_height)
}

fn bands(rows: &Rows, across: &[i32], ends: &Ends) -> Vec<Band> {
    let mut sideways = vec![0; rows.rows.len()];
    for (n, chain) in rows.chains.iter().enumerate() {
        for (i, pair) in chain.windows(2).enumerate() {
            let from = if i == 0 {
                ends.lower[n]
            } else {
                across[pair[0]]
            };
            let last = i + 2 == chain.len();
            let to = if last { ends.upper[n] } else { across[pair[1]] };
            let far = &mut sideways[rows.vertices[pair[0]].rank];
            *far = (*far).max((to - from).abs());
        }
    }
    let mut found = Vec::new();
    let mut y = 0;
    for (row, far) in rows.rows.iter().zip(sideways) {
        let extents = row.iter().map(|v| rows.vertices[*v].extent);
        let up = extents.clone().map(|e| e.up).max().unwrap_or(0);
        let down = extents.map(|e| e.down).max().unwrap_or(0);
        let padding = if row.iter().any(|v| !rows.vertices[*v].passes) {
            PADDING
        } else if up + down > 0 {
            LABEL_PADDING
        } else {
            0
        };
        let middle = y + padding + up;
        let to = middle + down + padding;
        found.push(Band {
            from: y,
            middle,
            to,
        });
        y = to
            + if far == 0 {
                GAP.0 / 4
            } else {
                (far / 4).clamp(GAP.0, GAP.1)
            };
    }
    found
}

/// Where each link leaves its upper node and reaches its lower one.
struct Ends {
    lower: Vec<i32>,
    upper: Vec<i32>,
}

impl Ends {
    fn of(nodes: &[Node], rows: &Rows, across: &[i32]) -> Ends {
        let at = rows.positions();
        let mut below: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes.len()];
        let mut above: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes.len()];
        for (n, chain) in rows.chains.iter().enumerate() {
            let last = chain.len() - 1;
            below[chain[0]].push((at[chain[1]], n));
            above[chain[last]].push((at[chain[last - 1]], n));
        }
        let mut ends = Ends {
            lower: vec![0; rows.chains.len()],
            upper: vec![0; rows.chains.len()],
        };
        for (all, to) in [(below, &mut ends.lower), (above, &mut ends.upper)] {
            for (node, mut links) in all.into_iter().enumerate() {
                links.sort_unstable();
                let count = i32::try_from(links.len()).unwrap_or(i32::MAX);
                let body = &nodes[node];
                let available = if body.round {
                    body.half_width * 5 / 4
                } else {
                    (body.half_width - 8) * 2
                };
                let width = ((count - 1) * ENDS).min(available.max(0));
                for (i, (_, link)) in (0..).zip(links) {
                    let beside = if count > 1 {
                        i * width / (count - 1) - width / 2
                    } else {
                        0
                    };
                    to[link] = across[node] + beside;
                }
            }
        }
        ends
    }
}
