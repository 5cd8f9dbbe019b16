//! Pictures as SVG: text as text, no script, readable on a light and a dark page.
//!
//! The picture brings its own ground, so that it can be read wherever it is shown, whatever the page
//! around it thinks of darkness.

use crate::drawing::{Drawing, LINE, LOOP, Rect, SMALL_LINE, lines};
use crate::graph::{Graph, Kind, Label, Node, Note, is_perhaps};
use crate::layout::{Flow, Piece, Point, Route};
use crate::text::{cells, plain, xml};
use std::fmt::Write;

/// Around it all.
const MARGIN: i32 = 20;
/// For title and subtitle.
const HEAD: i32 = 62;
/// Narrower pictures would break their notes too often.
const LEAST: i32 = 460;
/// How long an arrow's tip is, and half as wide.
const TIP: (i32, i32) = (8, 4);
/// Between lines of notes.
const NOTE: i32 = 17;

const STYLE: &str = "
.nest-graph text{font-family:ui-monospace,monospace;font-size:12px;fill:#1f2328}
.nest-graph .sans{font-family:system-ui,sans-serif}
.nest-graph .title{font-size:16px;font-weight:600}
.nest-graph .name{font-weight:600}
.nest-graph .small{font-size:10.5px}
.nest-graph .faint{fill:#59636e}
.nest-graph .ground{fill:#ffffff}
.nest-graph .node{fill:#f3f5f8;stroke:#59636e;stroke-width:1.3}
.nest-graph .several{fill:none;stroke:#59636e;stroke-width:1.3;stroke-dasharray:2 3}
.nest-graph .done{fill:#d5dae1;stroke:#59636e;stroke-width:1.3}
.nest-graph .ring{fill:none;stroke:#59636e;stroke-width:1.3}
.nest-graph .line{fill:none;stroke:#7b858f;stroke-width:1.3}
.nest-graph .tip,.nest-graph .dot{fill:#7b858f}
.nest-graph .perhaps{stroke-dasharray:5 4}
.nest-graph .back{stroke:#ffffff;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.nest-graph .line.found,.nest-graph .node.found{stroke:#b35900;stroke-width:1.8}
.nest-graph .tip.found,.nest-graph text.found,.nest-graph tspan.found{fill:#b35900}
.nest-graph .line.way,.nest-graph .node.way,.nest-graph .ring.way{stroke:#0969da;stroke-width:2.4}
.nest-graph .tip.way,.nest-graph .dot.way,.nest-graph text.way{fill:#0969da}
.nest-graph text.way{font-weight:600}
@media (prefers-color-scheme:dark){
.nest-graph text{fill:#e6edf3}
.nest-graph .faint{fill:#9aa4af}
.nest-graph .ground{fill:#0d1117}
.nest-graph .node{fill:#1b222b;stroke:#9aa4af}
.nest-graph .several,.nest-graph .ring{stroke:#9aa4af}
.nest-graph .done{fill:#3a434f;stroke:#9aa4af}
.nest-graph .line{stroke:#7d8894}
.nest-graph .tip,.nest-graph .dot{fill:#7d8894}
.nest-graph .back{stroke:#0d1117}
.nest-graph .line.found,.nest-graph .node.found{stroke:#e3a04f}
.nest-graph .tip.found,.nest-graph text.found,.nest-graph tspan.found{fill:#e3a04f}
.nest-graph .line.way,.nest-graph .node.way,.nest-graph .ring.way{stroke:#58a6ff}
.nest-graph .tip.way,.nest-graph .dot.way,.nest-graph text.way{fill:#58a6ff}
}
";

/// The picture.
#[must_use]
pub fn svg(graph: &Graph) -> String {
    let drawing = Drawing::of(graph);
    let size = drawing.layout.size;
    let content = size.x.max(LEAST);
    let notes: Vec<(String, &Note)> = graph
        .notes
        .iter()
        .flat_map(|note| {
            wrapped(&note.text, content)
                .into_iter()
                .map(move |l| (l, note))
        })
        .collect();
    let lines = i32::try_from(notes.len()).unwrap_or(0);
    let foot = if notes.is_empty() {
        0
    } else {
        14 + lines * NOTE
    };
    let width = content + 2 * MARGIN;
    let height = HEAD + size.y + foot + MARGIN;
    let mut page = Page {
        out: String::new(),
        left: MARGIN + (content - size.x) / 2,
        top: HEAD,
    };
    let title = xml(&graph.title);
    let _ = writeln!(
        page.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"nest-graph\" role=\"img\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n\
         <text class=\"sans title\" x=\"{MARGIN}\" y=\"30\">{title}</text>\n\
         <text class=\"sans faint\" x=\"{MARGIN}\" y=\"48\">{}</text>",
        xml(&graph.subtitle)
    );
    page.graph(graph, &drawing);
    let first = HEAD + size.y + 14 + NOTE / 2;
    for (n, (text, note)) in (0..).zip(&notes) {
        let class = if note.finding {
            "sans found"
        } else {
            "sans faint"
        };
        let _ = writeln!(
            page.out,
            "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
            first + n * NOTE,
            xml(text)
        );
    }
    page.out.push_str("</svg>\n");
    page.out
}

/// Lines of a note; a width that proportional letters keep.
fn wrapped(text: &str, width: i32) -> Vec<String> {
    let most = usize::try_from(width / 7).unwrap_or(60).clamp(40, 140);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let mut word = word.to_owned();
        if cells(&word) > most {
            word = crate::text::short(&word, most);
        }
        match lines.last_mut() {
            Some(line) if cells(line) + 1 + cells(&word) <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

struct Page {
    out: String,
    left: i32,
    top: i32,
}

impl Page {
    fn graph(&mut self, graph: &Graph, drawing: &Drawing) {
        for (edge, route) in graph.edges.iter().zip(&drawing.layout.links) {
            let class = class(&edge.labels, edge.on_path);
            self.tipped(&tips(&edge.labels), |page| page.route(route, &class));
        }
        for (n, node) in graph.nodes.iter().enumerate() {
            let body = drawing.bodies[n];
            if !node.loops.is_empty() {
                let on_path = node.loops.iter().any(|l| l.on_path);
                let class = class(&node.loops, on_path);
                self.route(&round(body, drawing.flow), &class);
            }
            self.tipped(&[node.tip.as_str()], |page| page.node(node, body));
        }
        let loops = graph.nodes.iter().map(|n| &n.loops).zip(&drawing.loops);
        let edges = graph.edges.iter().map(|e| &e.labels).zip(&drawing.labels);
        for (labels, at) in edges.chain(loops) {
            if let Some(at) = at {
                self.labels(labels, *at);
            }
        }
    }

    /// What is drawn, with what is told of it.
    fn tipped(&mut self, tips: &[&str], draw: impl FnOnce(&mut Page)) {
        if tips.is_empty() {
            draw(self);
            return;
        }
        let _ = write!(self.out, "<g><title>{}</title>", xml(&tips.join("\n")));
        draw(self);
        self.out.push_str("</g>\n");
    }

    fn at(&self, p: Point) -> (i32, i32) {
        (p.x + self.left, p.y + self.top)
    }

    fn route(&mut self, route: &Route, class: &str) {
        let (x, y) = self.at(route.from);
        let mut path = format!("M{x} {y}");
        let mut pieces = route.pieces.clone();
        let before = |pieces: &[Piece]| {
            let n = pieces.len();
            if n > 1 {
                pieces[n - 2].end()
            } else {
                route.from
            }
        };
        let Some(last) = pieces.last().copied() else {
            return;
        };
        let tip = last.end();
        let towards = match last {
            Piece::Line(_) => before(&pieces),
            Piece::Curve(_, by, _) => by,
        };
        // Lines end straight along one axis.
        let along = ((tip.x - towards.x).signum(), (tip.y - towards.y).signum());
        let back = Point {
            x: tip.x - along.0 * (TIP.0 - 1),
            y: tip.y - along.1 * (TIP.0 - 1),
        };
        let n = pieces.len();
        pieces[n - 1] = match last {
            Piece::Line(_) => Piece::Line(back),
            Piece::Curve(a, b, _) => Piece::Curve(a, b, back),
        };
        for piece in &pieces {
            let _ = match piece {
                Piece::Line(to) => {
                    let (x, y) = self.at(*to);
                    write!(path, "L{x} {y}")
                }
                Piece::Curve(a, b, to) => {
                    let ((ax, ay), (bx, by), (x, y)) = (self.at(*a), self.at(*b), self.at(*to));
                    write!(path, "C{ax} {ay} {bx} {by} {x} {y}")
                }
            };
        }
        let (x, y) = self.at(tip);
        let (dx, dy) = (along.0 * TIP.0, along.1 * TIP.0);
        let (sx, sy) = (along.1 * TIP.1, along.0 * TIP.1);
        let solid = class.replace(" perhaps", "");
        let _ = writeln!(
            self.out,
            "<path class=\"line{class}\" d=\"{path}\"/><path class=\"tip{solid}\" \
             d=\"M{x} {y}L{} {}L{} {}Z\"/>",
            x - dx + sx,
            y - dy + sy,
            x - dx - sx,
            y - dy - sy
        );
    }

    fn node(&mut self, node: &Node, body: Rect) {
        let (x, y) = self.at(body.from);
        let (w, h) = (body.to.x - body.from.x, body.to.y - body.from.y);
        let (cx, cy) = (x + w / 2, y + h / 2);
        let mut class = String::new();
        if !node.codes.is_empty() {
            class.push_str(" found");
        }
        if node.on_path {
            class.push_str(" way");
        }
        let rect = |class: &str, by: i32| {
            format!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
                x + by,
                y + by,
                w - 2 * by,
                h - 2 * by,
                9 - by
            )
        };
        let circle = |class: &str, r: i32| {
            format!("<circle class=\"{class}\" cx=\"{cx}\" cy=\"{cy}\" r=\"{r}\"/>")
        };
        match node.kind {
            Kind::Entry => self.out.push_str(&circle(&format!("dot{class}"), w / 2)),
            Kind::State => self.out.push_str(&rect(&format!("node{class}"), 0)),
            Kind::Several => self.out.push_str(&rect(&format!("several{class}"), 0)),
            Kind::Exit => {
                self.out.push_str(&rect(&format!("node{class}"), 0));
                self.out.push_str(&rect(&format!("ring{class}"), 3));
            }
            Kind::Step { accepts, live } => {
                let own = if live { "node" } else { "done" };
                self.out.push_str(&circle(&format!("{own}{class}"), w / 2));
                if accepts {
                    self.out
                        .push_str(&circle(&format!("ring{class}"), w / 2 - 3));
                }
            }
        }
        let count = |n: usize| i32::try_from(n).unwrap_or(0);
        let small = node.small.len() + node.codes.len();
        let mut at = cy - (count(node.name.len()) * LINE + count(small) * SMALL_LINE) / 2;
        let mut line = |class: &str, text: &str, height: i32| {
            let base = at + height - 4;
            at += height;
            let _ = write!(
                self.out,
                "<text class=\"{class}\" x=\"{cx}\" y=\"{base}\" text-anchor=\"middle\">{}</text>",
                xml(text)
            );
        };
        let name = if node.kind == Kind::Several {
            "faint"
        } else {
            "name"
        };
        node.name.iter().for_each(|text| line(name, text, LINE));
        node.small
            .iter()
            .for_each(|text| line("small faint", text, SMALL_LINE));
        node.codes
            .iter()
            .for_each(|text| line("small found", text, SMALL_LINE));
    }

    fn labels(&mut self, labels: &[Label], at: Rect) {
        let (shown, more) = lines(labels);
        let (x, mut y) = self.at(at.from);
        let mut line = |tips: &[&str], text: &str, class: &str| {
            let tips: Vec<String> = tips.iter().map(|t| xml(t)).collect();
            let _ = writeln!(
                self.out,
                "<text class=\"back{class}\" x=\"{x}\" y=\"{}\"><title>{}</title>{text}</text>",
                y + LINE - 4,
                tips.join("\n")
            );
            y += LINE;
        };
        for label in &shown {
            let mut text = xml(&plain(&label.text));
            if !label.certain {
                text.push_str(" <tspan class=\"faint\">?</tspan>");
            }
            if !label.codes.is_empty() {
                let _ = write!(
                    text,
                    " <tspan class=\"found\">{}</tspan>",
                    label.codes.join(" ")
                );
            }
            line(
                &[&label.tip],
                &text,
                if label.on_path { " way" } else { "" },
            );
        }
        if let Some(more) = more {
            let left: Vec<&str> = labels
                .iter()
                .filter(|l| !shown.iter().any(|s| std::ptr::eq(*s, *l)))
                .map(|l| l.tip.as_str())
                .collect();
            line(&left, &xml(&more), " faint");
        }
    }
}

/// A loop beside a node, or beneath it.
fn round(body: Rect, flow: Flow) -> Route {
    let p = |x: i32, y: i32| Point { x, y };
    match flow {
        Flow::Down => {
            let (x, y) = (body.to.x, i32::midpoint(body.from.y, body.to.y));
            Route {
                from: p(x - 1, y - 7),
                pieces: vec![
                    Piece::Curve(p(x + LOOP, y - 16), p(x + LOOP, y + 7), p(x + TIP.0, y + 7)),
                    Piece::Line(p(x, y + 7)),
                ],
                label: None,
            }
        }
        Flow::Right => {
            let (x, y) = (i32::midpoint(body.from.x, body.to.x), body.to.y);
            Route {
                from: p(x - 7, y - 1),
                pieces: vec![
                    Piece::Curve(p(x - 16, y + LOOP), p(x + 7, y + LOOP), p(x + 7, y + TIP.0)),
                    Piece::Line(p(x + 7, y)),
                ],
                label: None,
            }
        }
    }
}

fn class(labels: &[Label], on_path: bool) -> String {
    let mut class = String::new();
    if is_perhaps(labels) {
        class.push_str(" perhaps");
    }
    if labels.iter().any(|l| !l.codes.is_empty()) {
        class.push_str(" found");
    }
    if on_path {
        class.push_str(" way");
    }
    class
}

fn tips(labels: &[Label]) -> Vec<&str> {
    labels.iter().map(|l| l.tip.as_str()).collect()
}
