//! Pictures for Graphviz.

use crate::graph::{Graph, Kind, Label, Node, is_perhaps, written};
use std::fmt::Write;

/// The text of a `digraph`.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph {\n");
    let mut title = format!(
        "{}\\l{}\\l",
        escaped(&graph.title),
        escaped(&graph.subtitle)
    );
    for note in &graph.notes {
        let _ = write!(title, "{}\\l", escaped(&note.text));
    }
    let _ = writeln!(out, "  label=\"{title}\"; labelloc=b; labeljust=l;");
    out.push_str(
        "  node [fontname=\"monospace\", fontsize=11, shape=box, style=rounded];\n  \
         edge [fontname=\"monospace\", fontsize=10];\n  fontname=\"sans-serif\"; fontsize=11;\n",
    );
    for (n, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(out, "  n{n} [{}];", self::node(node));
        if !node.loops.is_empty() {
            let _ = writeln!(out, "  n{n} -> n{n} [{}];", line(&node.loops, false));
        }
    }
    for edge in &graph.edges {
        let path = line(&edge.labels, edge.on_path);
        let _ = writeln!(out, "  n{} -> n{} [{path}];", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn node(node: &Node) -> String {
    let mut text: Vec<String> = node.name.iter().map(|l| escaped(l)).collect();
    text.extend(node.small.iter().map(|l| escaped(l)));
    text.extend(node.codes.iter().map(|l| escaped(l)));
    let mut out = format!("label=\"{}\"", text.join("\\n"));
    out.push_str(match node.kind {
        Kind::Entry => ", shape=point, width=0.15",
        Kind::State => "",
        Kind::Several => ", style=\"rounded,dashed\"",
        Kind::Exit => ", peripheries=2",
        Kind::Step { accepts: false, .. } => ", shape=circle",
        Kind::Step {
            accepts: true,
            live: true,
        } => ", shape=doublecircle",
        Kind::Step {
            accepts: true,
            live: false,
        } => ", shape=doublecircle, style=filled",
    });
    if !node.codes.is_empty() {
        out.push_str(", color=\"#9a6700\"");
    }
    if node.on_path {
        out.push_str(", color=\"#0969da\", penwidth=2");
    }
    let _ = write!(out, ", tooltip=\"{}\"", escaped(&node.tip));
    out
}

fn line(labels: &[Label], on_path: bool) -> String {
    let (shown, left) = written(labels);
    let mut text: String = shown.iter().map(|l| escaped(&l.shown()) + "\\l").collect();
    if left > 0 {
        let _ = write!(text, "and {left} more\\l");
    }
    let tips: Vec<String> = labels.iter().map(|l| escaped(&l.tip)).collect();
    let mut out = format!("label=\"{text}\", tooltip=\"{}\"", tips.join("\\n"));
    if is_perhaps(labels) {
        out.push_str(", style=dashed");
    }
    if labels.iter().any(|l| !l.codes.is_empty()) {
        out.push_str(", color=\"#9a6700\", fontcolor=\"#9a6700\"");
    }
    if on_path || labels.iter().any(|l| l.on_path) {
        out.push_str(", color=\"#0969da\", penwidth=2");
    }
    out
}

/// For a quoted string that also obeys backslashes, and in which Graphviz replaces `&…;`.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}
