//! What pictures show is what conversations do: steps, ends, findings, ways, automata.
#![allow(clippy::unwrap_used)]

mod support;

use nest_graph::{Graph, Kind};
use support::{Spec, flags, ring};

/// `A -x y-> B`, sorted; loops too. A name's lines are joined, `*` is the entry.
fn described(graph: &Graph) -> Vec<String> {
    let name = |n: usize| match graph.nodes[n].kind {
        Kind::Entry => "*".to_owned(),
        _ => graph.nodes[n].name.join(" "),
    };
    let labels = |labels: &[nest_graph::Label]| {
        let all: Vec<String> = labels.iter().map(nest_graph::Label::shown).collect();
        all.join(", ")
    };
    let edges = graph.edges.iter();
    let mut all: Vec<String> = edges
        .map(|e| format!("{} -[{}]-> {}", name(e.from), labels(&e.labels), name(e.to)))
        .collect();
    for (n, node) in graph.nodes.iter().enumerate() {
        if !node.loops.is_empty() {
            all.push(format!("{} -[{}]-> itself", name(n), labels(&node.loops)));
        }
    }
    all.sort();
    all
}

#[track_caller]
fn shows(text: &str, expected: &[&str]) {
    let mut expected: Vec<&str> = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(described(&Spec::new("t.nest", text).graph()), expected);
}

#[test]
fn steps_and_ends() {
    shows(
        "%state KNOWN\nNL \\r?\\n\n%%\nSTART { $reply(\"who?\\n\"); }\n\
         !KNOWN: name = [a-z]+ NL { $next(KNOWN); }\n\
         KNOWN: \"who\" NL { $reply(\"you\\n\"); }\nKNOWN: quit = \"quit\" NL { $close(); }\n\
         !KNOWN: TIMEOUT(90s) { $close(); }\n",
        &[
            "* -[START]-> DEFAULT",
            "DEFAULT -[name]-> KNOWN",
            "DEFAULT -[TIMEOUT(90s)]-> END",
            "KNOWN -[\"who\" NL]-> itself",
            "KNOWN -[quit]-> END",
        ],
    );
}

/// Two ways of an action are two arrows.
#[test]
fn choices() {
    shows(
        "%state A\n%%\nDEFAULT: a = \"a\" { if ($len(0) > 1) { $next(A); } else { $close(); } }\n\
         A: b = \"b\" { if ($isset(A)) { $next(DEFAULT); } else { $close(); } }\n",
        &[
            "* -[]-> DEFAULT",
            "DEFAULT -[a]-> A",
            "DEFAULT -[a]-> END",
            "A -[b]-> DEFAULT",
        ],
    );
}

/// What only a function elsewhere does is not certain. It may even clear START.
#[test]
fn perhaps() {
    let spec = "%{\nvoid f(nest_session *s);\n%}\n%state A\n%%\n\
                DEFAULT: a = \"a\" { $next(A); }\nA: b = \"b\" { f($self); }\n";
    let graph = Spec::new("t.nest", spec).graph();
    let described = described(&graph);
    let expected = [
        "START DEFAULT -[a]-> START A",
        "where A -[b ?]-> END",
        "where A -[b ?]-> anywhere",
    ];
    for line in expected {
        assert!(
            described.iter().any(|t| t == line),
            "{line}: {described:#?}"
        );
    }
    assert_eq!(
        described.iter().filter(|t| t.contains("b ?")).count(),
        2,
        "{described:#?}"
    );
    let notes: Vec<&str> = graph.notes.iter().map(|n| n.text.as_str()).collect();
    assert!(notes[0].starts_with("Dashed"), "{notes:?}");
}

/// START that closes, a conversation that is stuck, no START at all.
#[test]
fn beginnings() {
    shows(
        "%%\nSTART { $close(); }\n\"a\" { }\n",
        &["* -[START]-> END"],
    );
    shows(
        "%state A\n%%\nDEFAULT: a = \"a\" { $next(A); }\n",
        &[
            "* -[]-> DEFAULT",
            "A -[stuck]-> END",
            "DEFAULT -[a W0204]-> A",
        ],
    );
}

/// Of very many findings the first are told.
#[test]
fn findings_are_told_up_to_a_number() {
    let count = |rules: usize| {
        let rule = |n| format!("r{n} = \"a{n}\" [0-9]* {{ $reply(\"a\"); }}\n");
        let rules: String = (100..100 + rules).map(rule).collect();
        let graph = Spec::new("t.nest", &format!("%%\n{rules}")).graph();
        let notes = graph.notes.iter().filter(|n| n.finding);
        notes.map(|n| n.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(count(20).len(), 20);
    let many = count(257);
    assert_eq!(
        (many.len(), many[19].as_str()),
        (20, "and 238 more: nest check lists them")
    );
}

/// What is alike in many sets is drawn once, with the condition that says where.
#[test]
fn several_are_one() {
    let rules = "NL \\n\n%%\nSTART { $seen(A); }\nA: a = \"a\" NL { $next(B); }\n\
                 B: b = \"b\" NL { $next(C); }\nC: c = \"c\" NL { $next(D); }\n";
    shows(
        &format!("%state A B C D\n{rules}!D: x = \"x\" NL {{ $close(); }}\ny = \"y\" NL {{ }}\n"),
        &[
            "* -[START]-> A",
            "A -[a]-> B",
            "B -[b]-> C",
            "C -[c]-> D",
            "all but D -[x]-> END",
            "everywhere -[y]-> itself",
        ],
    );
}

#[test]
fn many_sets_are_told_otherwise() {
    // 16 sets fit; 32 have too many arrows, 64 are too many; of 16384 bounds alone are known.
    let graph = Spec::new("t.nest", &flags(4)).graph();
    let states = |g: &Graph| g.nodes.iter().filter(|n| n.kind == Kind::State).count();
    assert_eq!(states(&graph), 16);
    for count in [5, 6, 14] {
        let graph = Spec::new("t.nest", &flags(count)).graph();
        assert_eq!(states(&graph), count + 1);
        assert!(
            graph.notes[0].text.starts_with("There are "),
            "{:?}",
            graph.notes
        );
        assert!(described(&graph).contains(&"anywhere -[set0]-> F0".to_owned()));
        assert!(described(&graph).contains(&"F1 -[both]-> END".to_owned()));
    }
    // 64 states.
    assert_eq!(states(&Spec::new("t.nest", &ring(62)).graph()), 62);
    // 33 sets, each of which leads to many others.
    let mut text = String::from("%state A B C D E F\n%%\nrule = \"a\" {\n");
    for (n, state) in ["A", "B", "C", "D", "E"].iter().enumerate() {
        text += &format!("if ($len(0) > {n}) {{ $seen({state}); }}\n");
    }
    let graph = Spec::new("t.nest", &(text + "}\n")).graph();
    assert_eq!(states(&graph), 6);
    assert!(
        graph.notes[0].text.starts_with("There are 32"),
        "{:?}",
        graph.notes
    );
    // Flags that no rule asks for make sets in which the same is taken: those are one.
    let mut text = String::from("%state A B C D E F X\n%%\n");
    for state in ["A", "B", "C", "D", "E", "F"] {
        text += &format!("s{state} = \"{state}\" {{ $seen({state}); }}\n");
    }
    text += "X: x = \"x\" { $clear(X); }\n!X: y = \"y\" { $seen(X); }\n";
    let graph = Spec::new("t.nest", &text).graph();
    assert_eq!(states(&graph), 2);
    assert!(
        graph.subtitle.contains("joined into 2"),
        "{}",
        graph.subtitle
    );
}

const WAITS: &str = "%state NAME\nNL \\r?\\n\n%%\nSTART { $reply(\"name?\"); }\n\
                     go = \"go\" NL { $next(NAME); }\n\
                     NAME: hello = [a-z]+ { $reply(\"hello\"); $clear(NAME); }\n";

/// The way to a finding: the same numbers as in the list, the same steps as in its conversation.
#[test]
fn the_way_to_a_finding() {
    let spec = Spec::new("t.nest", WAITS);
    let number = spec
        .findings
        .iter()
        .position(|f| f.diagnostic.code.name() == "W0302");
    let witness = spec.findings[number.unwrap()].witness.clone().unwrap();
    let mut talk = spec.conversation();
    assert!(talk.show(&witness));
    let graph = talk.graph();
    let shown: Vec<String> = graph
        .edges
        .iter()
        .flat_map(|e| &e.labels)
        .filter(|l| l.on_path)
        .map(|l| l.text.clone())
        .collect();
    assert_eq!(shown, ["START", "go", "hello"]);
    let json: serde_json::Value = serde_json::from_str(&talk.json()).unwrap();
    let path = json["way"].as_array().unwrap();
    assert_eq!(path.len(), 3);
    let rule =
        json["edges"][usize::try_from(path[2].as_u64().unwrap()).unwrap()]["steps"][0]["rule"]
            .clone();
    assert_eq!(
        json["rules"][usize::try_from(rule.as_u64().unwrap()).unwrap()]["name"],
        "hello"
    );
}

/// Where the states are drawn, the rules on the way are shown.
#[test]
fn a_way_among_states() {
    let text = flags(6).replace("\n%%\n", "\n%%\nlate = \"x\"+ { $reply(\"x\"); }\n");
    let text = text.replace("late", "F5 && F0: late");
    let spec = Spec::new("t.nest", &text);
    let found = spec
        .findings
        .iter()
        .find(|f| f.diagnostic.code.name() == "W0302");
    let mut talk = spec.conversation();
    assert!(talk.show(found.unwrap().witness.as_ref().unwrap()));
    let graph = talk.graph();
    let shown = graph.edges.iter().filter(|e| e.on_path);
    let mut names: Vec<String> = shown.map(|e| graph.nodes[e.to].name.join(" ")).collect();
    names.sort();
    assert_eq!(names, ["DEFAULT", "F0", "F5"]);
}

/// Every conversation that is found can be followed, in all examples and in what is found here.
#[test]
fn every_witness_is_followed() {
    let mut followed = 0;
    for text in [WAITS.to_owned(), ring(30), flags(5)] {
        let spec = Spec::new("t.nest", &text);
        for witness in spec.findings.iter().filter_map(|f| f.witness.as_ref()) {
            assert!(spec.conversation().show(witness), "{witness}");
            followed += 1;
        }
    }
    assert!(followed > 0);
}

#[test]
fn automata() {
    let spec = Spec::new(
        "t.nest",
        "%%\nq = \"ab\" [0-9a-f]* \"\\r\"? \"\\n\" { }\nany = [^\\r\\n]+ { }\n\
         text = \"a text of words\" \"\\n\" { }\ncount = \"#\" [a-z]{1,20} \"\\n\" { }\n",
    );
    let described = |rule: &str| described(&spec.automaton(rule).graph());
    assert_eq!(
        described("q"),
        [
            "* -[]-> 0",
            "0 -[a]-> 1",
            "1 -[b]-> 2",
            "2 -[[0-9a-f]]-> itself",
            "2 -[\\n]-> 3",
            "2 -[\\r]-> 4",
            "4 -[\\n]-> 3",
        ]
    );
    assert_eq!(
        described("any"),
        ["* -[]-> 0", "0 -[[^\\n\\r]]-> 1", "1 -[[^\\n\\r]]-> itself"]
    );
    let any = spec.automaton("any");
    assert!(any.states[1].accepts && any.states[1].live && any.states[1].elements == [1]);
    assert_eq!(spec.automaton("q").states[2].elements, [2, 3, 4]);
    // Texts and counts are folded, and it is said how many states that leaves out.
    assert_eq!(
        described("text"),
        ["* -[]-> 0", "0 -[\"a text of words\\n\"]-> 16"]
    );
    let count = spec.automaton("count").graph();
    assert_eq!(
        self::described(&count),
        [
            "* -[]-> 0",
            "0 -[#]-> 1",
            "1 -[a-z]-> 2+",
            "2+ -[[a-z]{0,18}]-> itself",
            "2+ -[\\n]-> 3",
            "2+ -[a-z]-> 22",
            "22 -[\\n]-> 3",
        ]
    );
    assert!(
        count
            .notes
            .iter()
            .any(|n| n.text.contains("18 states are not drawn"))
    );
}
