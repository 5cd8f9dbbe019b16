//! Where nodes, labels and lines of a directed graph go: a layered layout.
//!
//! After E. R. Gansner, E. Koutsofios, S. C. North and K.-P. Vo, "A technique for drawing directed
//! graphs" (1993): ranks ([`rank`]), an order in each row with few crossings ([`order`]), places
//! across ([`place`], after Brandes and Köpf), lines ([`route`]). Labels are vertices of rows of
//! their own, so they overlap nothing, and a line crosses a row only where it has a place in it.
//! All is in whole pixels: the same graph, the same picture. Must not know: what is drawn.

mod order;
mod place;
mod rank;
mod route;

pub use route::{Piece, Route};

/// A place; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// From the left.
    pub x: i32,
    /// From the top.
    pub y: i32,
}

/// How far something reaches around its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// To the left.
    pub left: i32,
    /// To the right.
    pub right: i32,
    /// Upwards.
    pub up: i32,
    /// Downwards.
    pub down: i32,
}

/// What lines begin and end at.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// All that belongs to it.
    pub extent: Extent,
    /// Half the width of its body, around its place.
    pub half_width: i32,
    /// Half the height of its body.
    pub half_height: i32,
    /// Whether the body is an ellipse.
    pub round: bool,
}

/// A line from one node to another one.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Where it begins.
    pub from: usize,
    /// Where it ends; not where it begins.
    pub to: usize,
    /// Room for what is written at it, around a place on it.
    pub label: Option<Extent>,
}

/// Which way most lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Downwards.
    Down,
    /// To the right.
    Right,
}

/// Where all is.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The place of each node.
    pub nodes: Vec<Point>,
    /// The course of each link.
    pub links: Vec<Route>,
    /// All fits in between 0 and this.
    pub size: Point,
}

impl Point {
    fn turned(self) -> Point {
        Point {
            x: self.y,
            y: self.x,
        }
    }
}

impl Extent {
    fn turned(self) -> Extent {
        Extent {
            left: self.up,
            right: self.down,
            up: self.left,
            down: self.right,
        }
    }
}

/// Lays a graph out.
#[must_use]
pub fn layout(nodes: &[Node], links: &[Link], flow: Flow) -> Layout {
    if flow == Flow::Down {
        return downwards(nodes, links);
    }
    let turn = |n: &Node| Node {
        extent: n.extent.turned(),
        half_width: n.half_height,
        half_height: n.half_width,
        round: n.round,
    };
    let nodes: Vec<Node> = nodes.iter().map(turn).collect();
    let turn = |l: &Link| Link {
        label: l.label.map(Extent::turned),
        ..*l
    };
    let links: Vec<Link> = links.iter().map(turn).collect();
    let found = downwards(&nodes, &links);
    Layout {
        nodes: found.nodes.into_iter().map(Point::turned).collect(),
        links: found.links.into_iter().map(Route::turned).collect(),
        size: found.size.turned(),
    }
}

/// A vertex of the rows: a node, the label of a link, or a place where a link passes.
struct Vertex {
    extent: Extent,
    rank: usize,
    /// Of no node: a link's.
    passes: bool,
}

/// The graph in rows: every edge leads from one row to the next.
struct Rows {
    vertices: Vec<Vertex>,
    /// The vertices of each rank, from left to right.
    rows: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// The vertices of each link, from the upper node to the lower one.
    chains: Vec<Vec<usize>>,
    /// Which vertex of its chain is the label.
    labels: Vec<Option<usize>>,
}

impl Rows {
    fn of(nodes: &[Node], links: &[Link], ranks: &[usize], upwards: &[bool]) -> Rows {
        let vertex = |(node, rank): (&Node, &usize)| Vertex {
            extent: node.extent,
            rank: *rank,
            passes: false,
        };
        let mut rows = Rows {
            vertices: nodes.iter().zip(ranks).map(vertex).collect(),
            rows: Vec::new(),
            above: vec![Vec::new(); nodes.len()],
            below: vec![Vec::new(); nodes.len()],
            chains: Vec::new(),
            labels: Vec::new(),
        };
        let count = ranks.iter().max().map_or(0, |last| last + 1);
        // How wide the labels of each row are together: the next goes where there is most room.
        let mut used = vec![0i32; count];
        for (link, up) in links.iter().zip(upwards) {
            let (top, end) = if *up {
                (link.to, link.from)
            } else {
                (link.from, link.to)
            };
            let (first, last) = (ranks[top] + 1, ranks[end]);
            let middle = (first + last) / 2;
            // Nodes have the even ranks, so labels have rows without nodes.
            let at = (first..last).filter(|r| r % 2 == 1);
            let at = at.min_by_key(|r| (used[*r], r.abs_diff(middle)));
            let at = at.filter(|_| link.label.is_some());
            let mut chain = vec![top];
            for (rank, used) in used.iter_mut().enumerate().take(last).skip(first) {
                let label = link.label.filter(|_| at == Some(rank));
                let extent = label.unwrap_or(Extent {
                    left: 2,
                    right: 2,
                    ..Extent::default()
                });
                if label.is_some() {
                    *used += extent.left + extent.right;
                }
                chain.push(rows.vertices.len());
                rows.vertices.push(Vertex {
                    extent,
                    rank,
                    passes: true,
                });
                rows.above.push(Vec::new());
                rows.below.push(Vec::new());
            }
            chain.push(end);
            for pair in chain.windows(2) {
                rows.below[pair[0]].push(pair[1]);
                rows.above[pair[1]].push(pair[0]);
            }
            rows.labels.push(at.map(|rank| rank + 1 - first));
            rows.chains.push(chain);
        }
        rows
    }

    /// The place of each vertex in its row.
    fn positions(&self) -> Vec<usize> {
        let mut at = vec![0; self.vertices.len()];
        for row in &self.rows {
            for (n, v) in row.iter().enumerate() {
                at[*v] = n;
            }
        }
        at
    }
}

fn downwards(nodes: &[Node], links: &[Link]) -> Layout {
    if nodes.is_empty() {
        return Layout {
            nodes: Vec::new(),
            links: Vec::new(),
            size: Point { x: 0, y: 0 },
        };
    }
    let (ranks, upwards) = rank::ranks(nodes.len(), links);
    let mut rows = Rows::of(nodes, links, &ranks, &upwards);
    order::order(&mut rows);
    let across = place::across(&rows);
    route::lay(nodes, &rows, &across, &upwards)
}
