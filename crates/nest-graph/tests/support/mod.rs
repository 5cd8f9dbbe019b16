//! Specifications for pictures, and random numbers for graphs.
#![allow(dead_code, clippy::unwrap_used)]

use nest_check::Finding;
use nest_diag::SourceMap;
use nest_graph::{Conversation, Graph, Kind, Label, Node};
use nest_machine::{Machine, Overrides, compile};
use nest_syntax::Loader;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Files that lie beside an example.
struct Beside(PathBuf);

impl Loader for Beside {
    fn load(&mut self, _: &str, path: &str) -> Result<(String, String), String> {
        let text = std::fs::read_to_string(self.0.join(path)).map_err(|e| e.to_string())?;
        Ok((path.to_owned(), text))
    }
}

/// A specification, compiled and checked.
pub struct Spec {
    pub machine: Machine,
    pub sources: SourceMap,
    pub findings: Vec<Finding>,
}

impl Spec {
    #[track_caller]
    pub fn new(file: &str, text: &str) -> Spec {
        Spec::beside(PathBuf::new(), file, text)
    }

    #[track_caller]
    fn beside(folder: PathBuf, file: &str, text: &str) -> Spec {
        let compiled = compile(file, text, &mut Beside(folder), &Overrides::default());
        let machine = compiled.machine;
        let machine = machine.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics));
        Spec {
            findings: nest_check::check(&machine),
            machine,
            sources: compiled.sources,
        }
    }

    pub fn example(name: &str) -> Spec {
        let folder = root().join("examples").join(name);
        let file = format!("{name}.nest");
        let text = std::fs::read_to_string(folder.join(&file)).unwrap();
        Spec::beside(folder, &file, &text)
    }

    pub fn conversation(&self) -> Conversation<'_> {
        Conversation::of(&self.machine, &self.sources, &self.findings)
    }

    pub fn graph(&self) -> Graph {
        self.conversation().graph()
    }

    pub fn automaton(&self, rule: &str) -> nest_graph::Automaton {
        let rules = &self.machine.rules;
        let number = rules.iter().position(|r| r.label == rule).unwrap();
        nest_graph::automaton(&self.machine, number).unwrap()
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A server of so many states, each leading to the next and some to others.
pub fn ring(states: usize) -> String {
    let mut text = String::from("%option eventServer 10\n%state");
    for n in 0..states {
        let _ = write!(text, " STATE{n}");
    }
    text.push_str("\nNL \\r?\\n\n%%\nSTART { $seen(STATE0); }\n");
    for n in 0..states {
        let next = (n + 1) % states;
        let _ = writeln!(
            text,
            "STATE{n}: go{n} = \"GO\" NL {{ $next(STATE{next}); }}"
        );
        if n % 3 == 0 {
            let to = (n * 7 + 3) % states;
            let _ = writeln!(
                text,
                "STATE{n}: jump{n} = \"JUMP\" NL {{ $next(STATE{to}); }}"
            );
        }
        if n % 5 == 0 {
            let _ = writeln!(
                text,
                "STATE{n}: stay{n} = \"STAY\" NL {{ $reply(\"ok\"); }}"
            );
        }
    }
    text.push_str("quit = \"QUIT\" NL { $close(); }\nother = [^\\n]* \"\\n\" { $reply(\"?\"); }\n");
    text
}

/// A server of so many flags, each marked and cleared by itself.
pub fn flags(count: usize) -> String {
    let mut text = String::from("%state");
    for n in 0..count {
        let _ = write!(text, " F{n}");
    }
    text.push_str("\nNL \\r?\\n\n%%\n");
    for n in 0..count {
        let _ = writeln!(text, "!F{n}: set{n} = \"SET{n}\" NL {{ $seen(F{n}); }}");
        let _ = writeln!(text, "F{n}: clear{n} = \"CLEAR{n}\" NL {{ $clear(F{n}); }}");
    }
    text.push_str("F0 && F1: both = \"BOTH\" NL { $close(); }\n");
    text
}

/// Names and patterns that would break out of any format.
pub const HOSTILE: &str = r#"%state ONE
NL \r?\n
%%
"</text><script>alert(1)</script>" NL { $seen(ONE); }
ONE: "a \"quoted\" & <b> ]]> --> \\ \0" NL { $clear(ONE); }
ONE: "größe 漢字 ; : # %% [*] {x}" NL { $reply("x"); }
ONE: a_very_long_name_indeed_that_nobody_would_ever_want_to_read_to_the_end_of_it = "x" NL { $close(); }
ONE: "very long text, which goes on and on and on, further than any picture is wide" NL { $close(); }
"#;

/// xorshift: the same numbers each time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A random graph, as wild as its seed.
pub fn random(seed: u64) -> Graph {
    let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut graph = Graph::default();
    let count = 1 + r.below(34);
    for n in 0..count {
        let kind = match r.below(8) {
            0 => Kind::Step {
                accepts: true,
                live: false,
            },
            1 => Kind::Entry,
            2 => Kind::Exit,
            _ => Kind::State,
        };
        let name = (0..=r.below(3)).map(|i| format!("NODE{n} {}", "x".repeat(i * 4)));
        let mut node = Node::new(kind, name.collect(), format!("node {n}"));
        if r.below(3) == 0 {
            node.loops = labels(&mut r);
        }
        graph.nodes.push(node);
    }
    for _ in 0..r.below(3 * count + 1) {
        let (from, to) = (r.below(count), r.below(count));
        let known = graph.edges.iter().any(|e| (e.from, e.to) == (from, to));
        if from != to && !known {
            graph.edges.push(nest_graph::Edge {
                from,
                to,
                labels: if r.below(6) == 0 {
                    Vec::new()
                } else {
                    labels(&mut r)
                },
                on_path: false,
            });
        }
    }
    graph
}

fn labels(r: &mut Random) -> Vec<Label> {
    let label = |r: &mut Random| Label {
        text: "l".repeat(1 + r.below(20)),
        tip: "a label".into(),
        certain: r.below(5) > 0,
        codes: Vec::new(),
        on_path: false,
    };
    (0..=r.below(8)).map(|_| label(r)).collect()
}
