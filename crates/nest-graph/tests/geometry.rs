//! Nodes, labels and lines of a picture do not overlap. Their rectangles are compared, for pictures
//! that grow downwards and to the right, of examples, large specifications and random graphs.

mod support;

use nest_graph::Graph;
use nest_graph::drawing::{Drawing, Rect};
use nest_graph::layout::{Flow, Piece, Route};
use support::{HOSTILE, Spec, flags, random, ring};

/// Describes each overlap, each thing outside the picture and each line that does not reach its node.
fn faults(graph: &Graph, drawing: &Drawing) -> Vec<String> {
    let mut found = Vec::new();
    let nodes = drawing.bodies.iter().enumerate();
    let mut all: Vec<(String, Rect)> = nodes.map(|(n, r)| (format!("node {n}"), *r)).collect();
    for (kind, strings) in [("label", &drawing.labels), ("loop", &drawing.loops)] {
        let strings = strings.iter().enumerate();
        all.extend(strings.filter_map(|(n, r)| Some((format!("{kind} {n}"), (*r)?))));
    }
    let size = drawing.layout.size;
    for (n, (name, rect)) in all.iter().enumerate() {
        let outside =
            rect.from.x < 0 || rect.from.y < 0 || rect.to.x > size.x || rect.to.y > size.y;
        if outside {
            found.push(format!("{name} is outside: {rect:?} of {size:?}"));
        }
        for (other, beside) in &all[n + 1..] {
            if rect.meets(beside) {
                found.push(format!("{name} and {other}: {rect:?} {beside:?}"));
            }
        }
    }
    for (n, (edge, route)) in graph.edges.iter().zip(&drawing.layout.links).enumerate() {
        let points = points(route);
        for (name, rect) in &all {
            let own =
                *name == format!("node {}", edge.from) || *name == format!("node {}", edge.to);
            if !own && points.iter().any(|(x, y)| rect.holds(*x, *y)) {
                found.push(format!("line {n} crosses {name}"));
            }
        }
        for (at, node) in [(points[0], edge.from), (points[points.len() - 1], edge.to)] {
            let body = &drawing.bodies[node];
            let near = Rect {
                from: nest_graph::layout::Point {
                    x: body.from.x - 1,
                    y: body.from.y - 1,
                },
                to: nest_graph::layout::Point {
                    x: body.to.x + 1,
                    y: body.to.y + 1,
                },
            };
            if !near.holds(at.0, at.1) {
                found.push(format!(
                    "line {n} does not end at node {node}: {at:?} {body:?}"
                ));
            }
        }
    }
    found
}

/// Samples points along a line: 24 for each piece.
fn points(route: &Route) -> Vec<(f64, f64)> {
    const STEPS: u32 = 24;
    let place = |p: nest_graph::layout::Point| (f64::from(p.x), f64::from(p.y));
    let mut found = vec![place(route.from)];
    for piece in &route.pieces {
        let from = found[found.len() - 1];
        for n in 1..=STEPS {
            let t = f64::from(n) / f64::from(STEPS);
            let (a, b, to) = match piece {
                Piece::Line(to) => (from, place(*to), place(*to)),
                Piece::Curve(a, b, to) => (place(*a), place(*b), place(*to)),
            };
            let at = |from: f64, a: f64, b: f64, to: f64| {
                let u = 1.0 - t;
                u * u * u * from + 3.0 * u * u * t * a + 3.0 * u * t * t * b + t * t * t * to
            };
            found.push((at(from.0, a.0, b.0, to.0), at(from.1, a.1, b.1, to.1)));
        }
    }
    found
}

#[track_caller]
fn nothing_overlaps(name: &str, graph: &Graph) {
    for flow in [Flow::Down, Flow::Right] {
        let found = faults(graph, &Drawing::along(graph, flow));
        assert!(found.is_empty(), "{name}, {flow:?}:\n{}", found.join("\n"));
    }
}

#[test]
fn of_examples() {
    let examples = [
        "calculator",
        "depot",
        "echo",
        "files",
        "finger",
        "login",
        "mail",
        "time",
        "web",
    ];
    for name in examples {
        let spec = Spec::example(name);
        nothing_overlaps(name, &spec.graph());
        for (n, rule) in spec.machine.rules.iter().enumerate() {
            let Some(automaton) = nest_graph::automaton(&spec.machine, n) else {
                continue;
            };
            if automaton.drawn() <= nest_graph::MOST_STATES {
                nothing_overlaps(&format!("{name}: {}", rule.label), &automaton.graph());
            }
        }
    }
}

#[test]
fn of_large_specifications() {
    for (name, text) in [
        ("ring of 30", ring(30)),
        ("ring of 62", ring(62)),
        ("5 flags", flags(5)),
        ("8 flags", flags(8)),
        ("14 flags", flags(14)),
        ("hostile", HOSTILE.to_owned()),
    ] {
        nothing_overlaps(name, &Spec::new("t.nest", &text).graph());
    }
}

#[test]
fn of_random_graphs() {
    for seed in 1..200 {
        nothing_overlaps(&format!("seed {seed}"), &random(seed));
    }
}

/// `faults` reports a node, a label, a line and a picture size that were changed on purpose.
#[test]
fn an_overlap_is_seen() {
    let graph = Spec::example("login").graph();
    let laid = || Drawing::along(&graph, Flow::Down);
    assert!(faults(&graph, &laid()).is_empty());
    let mut drawing = laid();
    drawing.bodies[1] = drawing.bodies[2];
    assert!(faults(&graph, &drawing)[0].starts_with("node 1 and node 2"));
    let mut drawing = laid();
    let label = drawing.labels.iter().position(Option::is_some);
    drawing.labels[label.expect("there are labels")] = Some(drawing.bodies[1]);
    assert!(faults(&graph, &drawing)[0].starts_with("node 1 and label"));
    let mut drawing = laid();
    let middle = drawing.layout.nodes[2];
    drawing.layout.links[0]
        .pieces
        .insert(0, Piece::Line(middle));
    assert_eq!(faults(&graph, &drawing), ["line 0 crosses node 2"]);
    let mut drawing = laid();
    drawing.layout.links[0].pieces.clear();
    assert!(faults(&graph, &drawing)[0].contains("does not end at node"));
    let mut drawing = laid();
    drawing.layout.size.x /= 2;
    assert!(faults(&graph, &drawing)[0].contains("is outside"));
}
