//! Where nodes, labels and lines of a directed graph go: a layered layout.
//!
//! After E. R. Gansner, E. Koutsofios, S. C. North and K.-P. Vo, "A technique for drawing directed
//! graphs" (1993): ranks ([`rank`]), an order in each row with few crossings ([`order`]), places
//! across ([`place`], after Brandes and Köpf), lines ([`route`]). Labels are vertices of rows of
//! their own, so they overlap nothing, and a line crosses a row only where it has a place in it.
//! All is in whole pixels: the same graph, the same picture. Must not know: what is drawn.

mod geometry;
mod order;
mod place;
mod rank;
mod route;
mod rows;

pub use geometry::{Extent, Flow, Layout, Link, Node, Piece, Point, Route};
use rows::Rows;

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
