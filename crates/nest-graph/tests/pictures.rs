//! Whole pictures, byte for byte, and what each format makes of names that would break out of it.
//!
//! `NEST_WRITE=1` writes the pictures anew; look at them before they are committed.
#![allow(clippy::unwrap_used)]

mod support;

use nest_graph::{Graph, dot, mermaid, svg};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{HOSTILE, Spec, flags, ring, root};

/// A specification in which something of each kind is found, and one thing is only perhaps.
const FOUND: &str = r#"%{
void elsewhere(nest_session *self);
%}
%state NAME ODD
NL \r?\n
%%
START { $reply("your name?\n"); $seen(NAME); }
NAME: [a-z]+ { $reply("hello ", $1, "\n"); $clear(NAME); }
NAME: again = [a-z]{3} { $reply("x\n"); }
!NAME: "bye" NL { $reply("bye\n"); $close(); }
!NAME: odd = "odd" NL { $next(ODD); }
ODD && !ODD: never = "x" NL { $reply("x\n"); }
!NAME: ask = "ask" NL { elsewhere($self); }
!NAME: TIMEOUT(90s) { $reply("slow\n"); $seen(ODD); }
"#;

#[track_caller]
fn same(path: &Path, text: &str) {
    if std::env::var_os("NEST_WRITE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        known == text,
        "{} is another picture now; NEST_WRITE=1 cargo test -p nest-graph writes it anew",
        path.display()
    );
}

fn picture(name: &str) -> std::path::PathBuf {
    root().join("crates/nest-graph/tests/pictures").join(name)
}

#[test]
fn pictures_are_these() {
    let login = Spec::example("login");
    same(&picture("login.svg"), &svg(&login.graph()));
    same(&picture("user.svg"), &svg(&login.automaton("user").graph()));
    let mail = Spec::example("mail");
    same(&picture("mail.svg"), &svg(&mail.graph()));
    let found = Spec::new("found.nest", FOUND);
    same(&picture("found.svg"), &svg(&found.graph()));
    let ring = Spec::new("ring.nest", &ring(30));
    same(&picture("ring.svg"), &svg(&ring.graph()));
    let flags = Spec::new("flags.nest", &flags(8));
    same(&picture("flags.svg"), &svg(&flags.graph()));
    same(&picture("login.dot"), &dot(&login.graph()));
    same(&picture("login.mmd"), &mermaid(&login.graph()));
    same(&picture("login.json"), &login.conversation().json());
    same(&picture("user.json"), &login.automaton("user").json());
}

/// The pictures of the book are what the tool draws.
#[test]
fn the_book_shows_these() {
    let login = Spec::example("login");
    let book = root().join("docs/howto/pictures");
    same(&book.join("login.svg"), &svg(&login.graph()));
    same(
        &book.join("user.svg"),
        &svg(&login.automaton("user").graph()),
    );
}

#[test]
fn the_same_specification_gives_the_same_bytes() {
    for text in [FOUND.to_owned(), ring(12), flags(7), HOSTILE.to_owned()] {
        let draw = || svg(&Spec::new("t.nest", &text).graph());
        assert_eq!(draw(), draw());
        assert_eq!(
            draw(),
            svg(&Spec::new("/some/folder/t.nest", &text).graph())
        );
    }
}

/// What the pictures of a specification are in all formats.
fn all(graph: &Graph) -> [String; 3] {
    [svg(graph), dot(graph), mermaid(graph)]
}

#[test]
fn hostile_names_are_text() {
    let spec = Spec::new("<&\">\u{202e}\u{7}.nest", HOSTILE);
    let mut pictures = all(&spec.graph()).to_vec();
    for n in 0..spec.machine.rules.len() {
        let automaton = nest_graph::automaton(&spec.machine, n).unwrap();
        pictures.extend(all(&automaton.graph()));
        serde_json::from_str::<serde_json::Value>(&automaton.json()).unwrap();
    }
    for text in &pictures {
        // Graphviz itself makes text of what stands in quotes.
        let quoted = text.starts_with("digraph");
        assert!(
            quoted || !text.contains("<script") && !text.contains("<b>"),
            "{text}"
        );
        let odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(odd), "{text}");
        if text.starts_with("<svg") {
            xml(text);
        }
    }
    let json = spec.conversation().json();
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        read["rules"][1]["pattern"],
        r#""a \"quoted\" & <b> ]]> --> \\ \0" NL"#
    );
}

/// Reads XML as far as it is used: every tag is closed, every `&` and `<` begins what it may.
#[track_caller]
fn xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        rest = &rest[at..];
        if let Some(entity) = rest.strip_prefix('&') {
            let name = entity.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot"].contains(&name), "&{name}");
            rest = entity;
            continue;
        }
        let (tag, behind) = rest[1..].split_once('>').unwrap();
        rest = behind;
        assert!(!tag.contains('<'), "<{tag}>");
        assert!(tag.matches('"').count().is_multiple_of(2), "<{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(tag.split([' ', '\n']).next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_svg_is_xml() {
    let mut graphs = vec![
        Spec::new("t.nest", FOUND).graph(),
        Spec::new("t.nest", &ring(62)).graph(),
        Spec::new("t.nest", &flags(14)).graph(),
    ];
    graphs.push(Spec::example("login").automaton("user").graph());
    graphs.iter().for_each(|graph| xml(&svg(graph)));
}

/// Graphviz reads what is written for it, and finds as many nodes and edges.
#[test]
fn graphviz_accepts_dot() {
    let login = Spec::example("login");
    let hostile = Spec::new("\\N \"h\" <>.nest", HOSTILE);
    let mut graphs = vec![
        login.graph(),
        login.automaton("user").graph(),
        Spec::new("t.nest", FOUND).graph(),
        Spec::new("t.nest", &flags(8)).graph(),
        hostile.graph(),
    ];
    for n in 0..hostile.machine.rules.len() {
        graphs.push(nest_graph::automaton(&hostile.machine, n).unwrap().graph());
    }
    for graph in graphs {
        let mut child = Command::new("dot")
            .arg("-Tplain")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Graphviz is installed by scripts/setup check");
        let text = dot(&graph);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && said.is_empty(), "{said}\n{text}");
        let plain = String::from_utf8_lossy(&ended.stdout);
        let count = |word: &str| plain.lines().filter(|l| l.starts_with(word)).count();
        let loops = graph.nodes.iter().filter(|n| !n.loops.is_empty()).count();
        assert_eq!(count("node "), graph.nodes.len());
        assert_eq!(count("edge "), graph.edges.len() + loops);
    }
}

/// Statements of Mermaid hold nothing but what was meant: all else is written by numbers.
#[test]
fn mermaid_is_plain() {
    let hostile = Spec::new("t.nest", HOSTILE);
    let text = mermaid(&hostile.graph());
    assert!(text.starts_with("stateDiagram-v2\n"));
    for line in text.lines().skip(1) {
        let label = match (line.split_once(" : "), line.split_once("state \"")) {
            (Some((_, label)), _) => label,
            (_, Some((_, rest))) => rest.split_once('"').unwrap().0,
            _ => continue,
        };
        for part in label.split("<br/>") {
            let plain = |c: char| c.is_alphanumeric() || " _#;".contains(c);
            assert!(part.chars().all(plain), "{part}");
        }
    }
    let text = mermaid(&Spec::example("login").automaton("user").graph());
    assert!(
        text.starts_with("flowchart LR\n") && text.contains("((("),
        "{text}"
    );
}
