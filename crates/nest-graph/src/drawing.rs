//! How large everything in a picture is, and where it goes.
//!
//! Widths are those of a typewriter's characters, a little more than any usual font takes; so text
//! stays in its place whatever font a viewer has. Must not know: how it is written.

use crate::graph::{Graph, Kind, Label, Node, written};
use crate::layout::{self, Extent, Flow, Layout, Link, Point};
use crate::text::cells;

/// A line of text.
pub const LINE: i32 = 15;
/// Of smaller text.
pub const SMALL_LINE: i32 = 13;
/// How wide ten characters are.
const WIDE: i32 = 74;
const SMALL_WIDE: i32 = 63;
/// Between a line and its label.
pub const BESIDE: i32 = 7;
/// How far a loop reaches beyond its node.
pub const LOOP: i32 = 26;
/// A page: pictures are laid out so that they fit it, if they can.
const PAGE: Point = Point { x: 1000, y: 1300 };
/// A circle's radius, and that of the dot where all begins.
const CIRCLE: i32 = 19;
const DOT: i32 = 7;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// Its left upper corner.
    pub from: Point,
    /// Its right lower corner.
    pub to: Point,
}

impl Rect {
    /// Whether they have more than an edge in common.
    #[must_use]
    pub fn meets(&self, other: &Rect) -> bool {
        self.from.x < other.to.x
            && other.from.x < self.to.x
            && self.from.y < other.to.y
            && other.from.y < self.to.y
    }

    /// Whether a point lies inside.
    #[must_use]
    pub fn holds(&self, x: f64, y: f64) -> bool {
        x > f64::from(self.from.x)
            && x < f64::from(self.to.x)
            && y > f64::from(self.from.y)
            && y < f64::from(self.to.y)
    }
}

/// A picture with all places settled.
pub struct Drawing {
    /// Which way it goes.
    pub flow: Flow,
    /// Places of nodes and lines.
    pub layout: Layout,
    /// The body of each node.
    pub bodies: Vec<Rect>,
    /// The text of each edge, where it has one.
    pub labels: Vec<Option<Rect>>,
    /// The text of each node's loop, where it has one.
    pub loops: Vec<Option<Rect>>,
}

impl Drawing {
    /// Of a graph: downwards or to the right, whichever fits a page better.
    #[must_use]
    pub fn of(graph: &Graph) -> Drawing {
        let down = Drawing::along(graph, Flow::Down);
        let right = Drawing::along(graph, Flow::Right);
        if right.excess() < down.excess() {
            right
        } else {
            down
        }
    }

    /// How much larger than a page, in thousandths.
    fn excess(&self) -> i64 {
        let by = |size: i32, page: i32| i64::from(size) * 1000 / i64::from(page);
        let size = self.layout.size;
        by(size.x, PAGE.x).max(by(size.y, PAGE.y)).max(1000)
    }

    /// Of a graph, in one direction.
    #[must_use]
    pub fn along(graph: &Graph, flow: Flow) -> Drawing {
        let nodes: Vec<layout::Node> = graph.nodes.iter().map(|n| node(n, flow)).collect();
        let links: Vec<Link> = graph
            .edges
            .iter()
            .map(|edge| Link {
                from: edge.from,
                to: edge.to,
                label: (!edge.labels.is_empty()).then(|| label(&edge.labels, flow)),
            })
            .collect();
        let layout = layout::layout(&nodes, &links, flow);
        let bodies = nodes.iter().zip(&layout.nodes).map(|(n, at)| Rect {
            from: moved(*at, -n.half_width, -n.half_height),
            to: moved(*at, n.half_width, n.half_height),
        });
        let bodies: Vec<Rect> = bodies.collect();
        let labels = graph.edges.iter().zip(&layout.links).map(|(edge, route)| {
            let (w, h) = extent(&edge.labels);
            let at = route.label?;
            Some(match flow {
                Flow::Down => rect(moved(at, BESIDE, -h / 2), w, h),
                Flow::Right => rect(moved(at, -w / 2, -h - 4), w, h),
            })
        });
        let loops = graph.nodes.iter().zip(&bodies).map(|(node, body)| {
            if node.loops.is_empty() {
                return None;
            }
            let (w, h) = extent(&node.loops);
            let (x, y) = (
                i32::midpoint(body.from.x, body.to.x),
                i32::midpoint(body.from.y, body.to.y),
            );
            Some(match flow {
                Flow::Down => rect(
                    Point {
                        x: body.to.x + LOOP + 2,
                        y: y - h / 2,
                    },
                    w,
                    h,
                ),
                Flow::Right => rect(
                    Point {
                        x: x - w / 2,
                        y: body.to.y + LOOP,
                    },
                    w,
                    h,
                ),
            })
        });
        Drawing {
            flow,
            labels: labels.collect(),
            loops: loops.collect(),
            bodies,
            layout,
        }
    }
}

fn moved(at: Point, x: i32, y: i32) -> Point {
    Point {
        x: at.x + x,
        y: at.y + y,
    }
}

fn rect(from: Point, w: i32, h: i32) -> Rect {
    Rect {
        from,
        to: moved(from, w, h),
    }
}

fn width(text: &str, ten: i32) -> i32 {
    let cells = i32::try_from(cells(text)).unwrap_or(i32::MAX / 100);
    (cells * ten + 9) / 10
}

/// What is written at an edge or a loop.
pub fn lines(labels: &[Label]) -> (Vec<&Label>, Option<String>) {
    let (shown, left) = written(labels);
    (shown, (left > 0).then(|| format!("and {left} more")))
}

/// Width and height of that.
fn extent(labels: &[Label]) -> (i32, i32) {
    let (shown, more) = lines(labels);
    let strings = shown.iter().map(|l| l.shown()).chain(more.clone());
    let widest = strings.map(|t| width(&t, WIDE)).max().unwrap_or(0);
    let count = shown.len() + usize::from(more.is_some());
    (widest, i32::try_from(count).unwrap_or(0) * LINE)
}

/// The room for a label, around a place on its line.
fn label(labels: &[Label], flow: Flow) -> Extent {
    let (w, h) = extent(labels);
    match flow {
        Flow::Down => Extent {
            left: 4,
            right: w + BESIDE + 2,
            up: h / 2,
            down: h - h / 2,
        },
        Flow::Right => Extent {
            left: w / 2 + 3,
            right: w - w / 2 + 3,
            up: h + 5,
            down: 4,
        },
    }
}

/// The size of a node, its loop included.
fn node(node: &Node, flow: Flow) -> layout::Node {
    let (half_width, half_height) = match node.kind {
        Kind::Entry => (DOT, DOT),
        Kind::Step { .. } => (CIRCLE, CIRCLE),
        _ => {
            let names = node.name.iter().map(|t| width(t, WIDE));
            let small = node.small.iter().chain(&node.codes);
            let small = small.map(|t| width(t, SMALL_WIDE));
            let w = names.chain(small).max().unwrap_or(0);
            let count = |n: usize| i32::try_from(n).unwrap_or(0);
            let h = count(node.name.len()) * LINE
                + count(node.small.len() + node.codes.len()) * SMALL_LINE;
            ((w + 25) / 2, (h + 17) / 2)
        }
    };
    let mut extent = Extent {
        left: half_width,
        right: half_width,
        up: half_height,
        down: half_height,
    };
    if !node.loops.is_empty() {
        let (w, h) = self::extent(&node.loops);
        match flow {
            Flow::Down => {
                extent.right += LOOP + w + 6;
                extent.up = extent.up.max(h / 2);
                extent.down = extent.down.max(h - h / 2);
            }
            Flow::Right => {
                extent.down += LOOP + h + 2;
                extent.left = extent.left.max(w / 2);
                extent.right = extent.right.max(w - w / 2);
            }
        }
    }
    layout::Node {
        extent,
        half_width,
        half_height,
        round: matches!(node.kind, Kind::Entry | Kind::Step { .. }),
    }
}
