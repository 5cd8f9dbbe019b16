//! `nest graph`: formats, files, rules, ways, and what cannot be.

use crate::common::Place;

const KNOWN: &str = r#"%state KNOWN
NL \r?\n
%%
greet = "I am " [a-z]+ NL { $seen(KNOWN); $reply("Hello, ", $2, "\n"); }
KNOWN: "who" NL { $reply("you\n"); }
KNOWN: "a" NL { $reply("a\n"); } "b" NL { $reply("b\n"); }
TIMEOUT(1m) { $close(); }
quit = "QUIT" NL { $close(); }
wait = [0-9]+ { $reply("number\n"); }
"#;

fn known() -> Place {
    let place = Place::new();
    place.write("known.nest", KNOWN);
    place
}

#[test]
fn the_ending_says_the_format() {
    let place = known();
    let svg = place.nest(&["graph", "known.nest"]).with_status(0);
    assert_eq!(svg.err, "");
    assert!(svg.out.starts_with("<svg ") && svg.out.ends_with("</svg>\n"));
    for (name, format, begins) in [
        ("k.svg", "svg", "<svg "),
        ("k.dot", "dot", "digraph {"),
        ("k.gv", "dot", "digraph {"),
        ("k.mmd", "mermaid", "stateDiagram-v2\n"),
        ("k.mermaid", "mermaid", "stateDiagram-v2\n"),
        ("k.json", "json", "{\n"),
        ("k", "svg", "<svg "),
    ] {
        place
            .nest(&["graph", "known.nest", "-o", name])
            .with_status(0);
        let text = place.read(name);
        assert!(text.starts_with(begins), "{name}: {text}");
        let format = ["graph", "known.nest", "--format", format];
        assert_eq!(place.nest(&format).with_status(0).out, text);
    }
    // What is asked for outweighs the ending.
    let args = ["graph", "known.nest", "-o", "x.png", "--format", "dot"];
    place.nest(&args).with_status(0);
    assert!(place.read("x.png").starts_with("digraph"));
    place
        .nest(&["graph", "known.nest", "-o", "y.png"])
        .with_status(2)
        .err_has("y.png: unknown file name extension; use .svg, .dot, .mmd or .json");
    assert!(!crate::common::there(&place.path("y.png")));
}

#[test]
fn standard_input_and_standard_output() {
    let place = known();
    let of_file = place.nest(&["graph", "known.nest", "--format", "mermaid"]);
    for args in [
        &["graph", "-", "--format", "mermaid"][..],
        &["graph", "-", "-o", "-", "--format", "mermaid"],
    ] {
        assert_eq!(place.nest_with(args, KNOWN).with_status(0).out, of_file.out);
    }
}

#[test]
fn what_cannot_be_written_is_said() {
    let place = known();
    place
        .nest(&["graph", "known.nest", "-o", "nowhere/k.svg"])
        .with_status(1)
        .err_has("cannot write nowhere/k.svg: no such file or directory");
    place
        .nest(&["graph", "known.nest", "--format", "svg", "-o", "/dev/full"])
        .with_status(1)
        .err_has("cannot write /dev/full: no space left on device");
    std::fs::create_dir(place.path("folder.svg")).unwrap();
    place
        .nest(&["graph", "known.nest", "-o", "folder.svg"])
        .with_status(1)
        .err_has("cannot write folder.svg");
    // Nothing is left behind but what was there.
    let left = std::fs::read_dir(place.path(".")).unwrap();
    let names: Vec<_> = left.map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn errors_are_said_and_nothing_is_written() {
    let place = Place::new();
    place.write("bad.nest", "%%\n\"a\" { $nothing(); }\n");
    let ended = place
        .nest(&["graph", "bad.nest", "-o", "bad.svg"])
        .with_status(1);
    assert_eq!(ended.out, "");
    ended.err_has("E0401").err_has("bad.nest: 1 error");
    assert!(!crate::common::there(&place.path("bad.svg")));
    place
        .nest(&["graph", "none.nest"])
        .with_status(1)
        .err_has("E0001");
}

#[test]
fn rules_by_name_and_by_line() {
    let place = known();
    let of = |rule: &str| place.nest(&["graph", "known.nest", "--rule", rule]);
    let named = of("quit").with_status(0).out;
    assert!(named.contains("<title>known.nest: quit</title>"), "{named}");
    assert_eq!(of("8").with_status(0).out, named);
    assert_eq!(of("line 8").with_status(0).out, named);
    of("5")
        .with_status(0)
        .out_has("&quot;who&quot; NL: 6 states");
    of("quti")
        .with_status(2)
        .err_has("there is no rule quti; did you mean quit?");
    of("6").with_status(2).err_has("2 rules begin in line 6");
    of("7")
        .with_status(2)
        .err_has("is a TIMEOUT, which has no pattern");
    of("99").with_status(2).err_has("there is no rule 99");
}

#[test]
fn what_is_too_large_for_a_picture() {
    let place = Place::new();
    // 2^10 combinations, which no folding makes few.
    let text = "%%\nodd = [ab]* \"a\" [ab]{9} \"\\n\" { $reply($1); }\n";
    place.write("odd.nest", text);
    for format in ["svg", "mermaid"] {
        place
            .nest(&["graph", "odd.nest", "--rule", "odd", "--format", format])
            .with_status(1)
            .err_has("the automaton of odd has 1,025 states")
            .err_has("--format dot");
    }
    let dot = ["graph", "odd.nest", "--rule", "odd", "--format", "dot"];
    let dot = place.nest(&dot).with_status(0).out;
    assert!(dot.matches("shape=circle").count() > 1000);
    place.write(
        "huge.nest",
        "%%\nhuge = [ab]* \"a\" [ab]{16} \"\\n\" { $reply($1); }\n",
    );
    place
        .nest(&["graph", "huge.nest", "--rule", "huge"])
        .with_status(1)
        .err_has("huge has no automaton of its own")
        .err_has("--explain-matching");
}

/// The numbers are those of the list.
#[test]
fn the_way_to_a_finding() {
    let place = known();
    let list = place.nest(&["check", "known.nest"]).with_status(0).out;
    let codes: Vec<&str> = list.lines().filter(|l| l.starts_with("warning[")).collect();
    assert_eq!(codes.len(), 1, "{list}");
    let way = ["graph", "known.nest", "--replay", "1", "--format", "json"];
    let json = place.nest(&way).with_status(0).out;
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["findings"][0]["code"], "W0302");
    let edges: Vec<&serde_json::Value> = read["way"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| &read["edges"][usize::try_from(n.as_u64().unwrap()).unwrap()])
        .collect();
    assert_eq!(edges.len(), 2);
    assert_eq!(edges[0]["from"], 0);
    assert_eq!(edges[0]["to"], edges[1]["from"]);
    place
        .nest(&["graph", "known.nest", "--replay", "1"])
        .with_status(0)
        .out_has("class=\"line found way\"");
    for n in ["0", "2"] {
        place
            .nest(&["graph", "known.nest", "--replay", n])
            .with_status(2)
            .err_has(&format!("there is no finding {n}: there is one, number 1"));
    }
    place
        .nest(&["graph", "known.nest", "--replay", "1", "--rule", "quit"])
        .with_status(2)
        .err_has("cannot be used with");
    place.write(
        "never.nest",
        "%state A B\n%%\n\"a\" { $seen(A); }\nA: \"c\" { $seen(B); }\nA && !A && B: \"b\" { }\n",
    );
    place
        .nest(&["graph", "never.nest", "--replay", "1"])
        .with_status(1)
        .err_has("finding 1 has no conversation");
    // 2^13 sets are too many to be followed one by one.
    let mut text = String::from("%state");
    (0..13).for_each(|n| text += &format!(" F{n}"));
    text += "\n%%\nwait = [0-9]+ { $reply(\"number\\n\"); }\n";
    for n in 0..13 {
        text += &format!("!F{n}: \"set {n}\\n\" {{ $seen(F{n}); }}\n");
        text += &format!("F{n}: \"clear {n}\\n\" {{ $clear(F{n}); }}\n");
    }
    place.write("flags.nest", &text);
    place
        .nest(&["graph", "flags.nest", "--replay", "1"])
        .with_status(1)
        .err_has("too many sets of states; nest check --replay 1 plays it");
    place
        .nest(&["graph", "flags.nest"])
        .with_status(0)
        .out_has("more than 4,096 sets of states, 14 states, 27 rules");
}

#[test]
fn the_specification_is_not_overwritten() {
    let place = known();
    place
        .nest(&[
            "graph",
            "known.nest",
            "--format",
            "dot",
            "-o",
            "./known.nest",
        ])
        .with_status(1)
        .err_has("would overwrite known.nest");
    assert_eq!(place.read("known.nest"), KNOWN);
}
