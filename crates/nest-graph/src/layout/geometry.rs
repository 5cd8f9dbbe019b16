//! Places, extents and lines. Must not know: how a graph is laid out.

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

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Straight to there.
    Line(Point),
    /// A Bézier curve to the last, by the other two.
    Curve(Point, Point, Point),
}

/// The course of a link, from where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it begins.
    pub from: Point,
    /// What comes then.
    pub pieces: Vec<Piece>,
    /// The place of its label.
    pub label: Option<Point>,
}

impl Piece {
    /// Where it ends.
    #[must_use]
    pub fn end(&self) -> Point {
        match self {
            Piece::Line(to) | Piece::Curve(_, _, to) => *to,
        }
    }

    fn turned(self) -> Piece {
        match self {
            Piece::Line(to) => Piece::Line(to.turned()),
            Piece::Curve(a, b, to) => Piece::Curve(a.turned(), b.turned(), to.turned()),
        }
    }
}

impl Route {
    /// With both directions exchanged.
    pub(super) fn turned(self) -> Route {
        Route {
            from: self.from.turned(),
            pieces: self.pieces.into_iter().map(Piece::turned).collect(),
            label: self.label.map(Point::turned),
        }
    }

    /// The other way round.
    pub(super) fn back(self) -> Route {
        let mut points = vec![self.from];
        points.extend(self.pieces.iter().map(Piece::end));
        let pieces = self.pieces.iter().zip(&points).rev();
        let pieces = pieces.map(|(piece, from)| match piece {
            Piece::Line(_) => Piece::Line(*from),
            Piece::Curve(a, b, _) => Piece::Curve(*b, *a, *from),
        });
        Route {
            from: points[points.len() - 1],
            pieces: pieces.collect(),
            label: self.label,
        }
    }
}

impl Point {
    pub(super) fn turned(self) -> Point {
        Point {
            x: self.y,
            y: self.x,
        }
    }
}

impl Extent {
    pub(super) fn turned(self) -> Extent {
        Extent {
            left: self.up,
            right: self.down,
            up: self.left,
            down: self.right,
        }
    }
}
