//! Pictures for Mermaid, which is drawn where Markdown is read.
//!
//! Conversations are a `stateDiagram-v2`, automata a `flowchart`, which knows circles. Whatever is not
//! a letter, a digit or a blank is written by its number: so nothing is taken for syntax.

use crate::graph::{Graph, Kind, Label, Node, written};
use std::fmt::Write;

/// The text of a diagram.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let automaton = |n: &Node| matches!(n.kind, Kind::Step { .. });
    if graph.nodes.iter().any(automaton) {
        flowchart(graph)
    } else {
        diagram(graph)
    }
}

fn diagram(graph: &Graph) -> String {
    let mut out = String::from("stateDiagram-v2\n");
    let name = |n: usize| match graph.nodes[n].kind {
        Kind::Entry | Kind::Exit => "[*]".to_owned(),
        _ => format!("s{n}"),
    };
    for (n, node) in graph.nodes.iter().enumerate() {
        if matches!(node.kind, Kind::Entry | Kind::Exit) {
            continue;
        }
        let _ = writeln!(out, "  state \"{}\" as s{n}", text(node));
        if !node.loops.is_empty() {
            let _ = writeln!(out, "  s{n} --> s{n} : {}", labels(&node.loops));
        }
    }
    for edge in &graph.edges {
        let _ = write!(out, "  {} --> {}", name(edge.from), name(edge.to));
        if !edge.labels.is_empty() {
            let _ = write!(out, " : {}", labels(&edge.labels));
        }
        out.push('\n');
    }
    let marked = |is: fn(&Node) -> bool| {
        let found = graph.nodes.iter().enumerate();
        let found = found.filter(|(_, node)| is(node));
        let found = found.filter(|(_, node)| !matches!(node.kind, Kind::Entry | Kind::Exit));
        let names: Vec<String> = found.map(|(n, _)| format!("s{n}")).collect();
        names.join(",")
    };
    for (class, style, names) in [
        (
            "several",
            "stroke-dasharray:5 4",
            marked(|n| n.kind == Kind::Several),
        ),
        (
            "found",
            "stroke:#9a6700,stroke-width:2px",
            marked(|n| !n.codes.is_empty()),
        ),
        (
            "way",
            "stroke:#0969da,stroke-width:3px",
            marked(|n| n.on_path),
        ),
    ] {
        if !names.is_empty() {
            let _ = writeln!(out, "  classDef {class} {style}\n  class {names} {class}");
        }
    }
    out
}

fn flowchart(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    for (n, node) in graph.nodes.iter().enumerate() {
        let text = text(node);
        let _ = match node.kind {
            Kind::Step { accepts: true, .. } => writeln!(out, "  s{n}(((\"{text}\")))"),
            Kind::Step { .. } => writeln!(out, "  s{n}((\"{text}\"))"),
            _ => writeln!(out, "  s{n}([\"start\"])"),
        };
        if !node.loops.is_empty() {
            let _ = writeln!(out, "  s{n} -->|\"{}\"| s{n}", labels(&node.loops));
        }
    }
    for edge in &graph.edges {
        let text = labels(&edge.labels);
        let text = if text.is_empty() {
            text
        } else {
            format!("|\"{text}\"|")
        };
        let _ = writeln!(out, "  s{} -->{text} s{}", edge.from, edge.to);
    }
    out
}

fn text(node: &Node) -> String {
    let all = node.name.iter().chain(&node.small).chain(&node.codes);
    let all: Vec<String> = all.map(|l| escaped(l)).collect();
    all.join("<br/>")
}

fn labels(labels: &[Label]) -> String {
    let (shown, left) = written(labels);
    let mut all: Vec<String> = shown.iter().map(|l| escaped(&l.shown())).collect();
    if left > 0 {
        all.push(format!("and {left} more"));
    }
    all.join("<br/>")
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == ' ' || c == '_' {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out
}
