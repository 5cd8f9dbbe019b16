//! The graph in rows: what the steps of the layout pass on. Must not know: places.

use super::geometry::{Extent, Link, Node};

/// A vertex of the rows: a node, the label of a link, or a place where a link passes.
pub(super) struct Vertex {
    pub(super) extent: Extent,
    pub(super) rank: usize,
    /// Of no node: a link's.
    pub(super) passes: bool,
}

/// The graph in rows: every edge leads from one row to the next.
pub(super) struct Rows {
    pub(super) vertices: Vec<Vertex>,
    /// The vertices of each rank, from left to right.
    pub(super) rows: Vec<Vec<usize>>,
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
    /// The vertices of each link, from the upper node to the lower one.
    pub(super) chains: Vec<Vec<usize>>,
    /// Which vertex of its chain is the label.
    pub(super) labels: Vec<Option<usize>>,
}

impl Rows {
    pub(super) fn of(nodes: &[Node], links: &[Link], ranks: &[usize], upwards: &[bool]) -> Rows {
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
    pub(super) fn positions(&self) -> Vec<usize> {
        let mut at = vec![0; self.vertices.len()];
        for row in &self.rows {
            for (n, v) in row.iter().enumerate() {
                at[*v] = n;
            }
        }
        at
    }
}
