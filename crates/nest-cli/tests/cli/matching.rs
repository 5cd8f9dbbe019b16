//! `nest check --explain-matching`: what it says, that tools can read it, and that what is generated
//! agrees with it.

use crate::common::Place;

const KNOWN: &str = r#"%state KNOWN
NL \r?\n
WORD [a-z]+
%%
greet = "I am " WORD NL { $seen(KNOWN); $reply("Hello, ", $2, "\n"); }
KNOWN: set = "SET " WORD "=" [^\r\n]* NL { $reply($2, $4); }
"ID " [0-9]{4} " " WORD "\n" { $reply($2); }
quit = "QUIT" NL { $close(); }
"#;

/// Rules that do not fit: by itself, beside the other, and one that does.
const LARGE: &str = r#"%option matchingStates 100
%%
count = ("a"|"b")* "a" ("a"|"b"){9} "\n" { $reply($1); }
line = [^\n]{0,60} "\n" { $reply($1); }
both = [^\n]* "x" [^\n]* "y" "\n" { $reply($0); }
"#;

#[test]
fn the_whole_is_said() {
    let place = Place::new();
    place.write("known.nest", KNOWN);
    let ended = place
        .nest(&["check", "--explain-matching", "known.nest"])
        .with_status(0);
    assert_eq!(
        ended.out,
        concat!(
            "Automaton 1: code, for one combination of active rules\n",
            "  22 states, 13 byte classes, 1 register, 1 condition, about 6K of C\n",
            "  line 5    greet            $2 in the same pass, 1 end kept\n",
            "  line 7                     $2 at fixed distances\n",
            "  line 8    quit\n",
            "\n",
            "Automaton 2: code, for one combination of active rules\n",
            "  29 states, 16 byte classes, 3 registers, 2 conditions, about 8K of C\n",
            "  line 5    greet            $2 in the same pass, 1 end kept\n",
            "  line 6    set              $2 $4 in the same pass, 2 ends kept\n",
            "  line 7                     $2 at fixed distances\n",
            "  line 8    quit\n",
        )
    );
    ended.err_has("known.nest: no errors");
}

#[test]
fn what_does_not_fit_is_named_with_its_limit() {
    let place = Place::new();
    place.write("large.nest", LARGE);
    let ended = place
        .nest(&["check", "--explain-matching", "large.nest"])
        .with_status(0);
    assert_eq!(
        ended.out,
        concat!(
            "Automaton 1: code\n",
            "  4 states, 4 byte classes, 0 registers, 1 condition, about 1,020 bytes of C\n",
            "  line 5    both\n",
            "\n",
            "Matched separately: its own automaton would have more than 100 states\n",
            "  without its element 3, (\"a\"|\"b\"){9}, it would have 4 states\n",
            "  %option matchingStates raises the limit\n",
            "  by its own table, 1,026 states\n",
            "  line 3    count            $1 at fixed distances\n",
            "\n",
            "Matched separately: with it the automaton would have more than 100 states\n",
            "  alone it has 63 states, which multiply with those of other rules, because it may begin with 256\n",
            "  different bytes\n",
            "  %option matchingStates raises the limit\n",
            "  by its own table, 63 states\n",
            "  line 4    line             $1 at fixed distances\n",
        )
    );
}

#[test]
fn options_are_named_as_reasons() {
    let place = Place::new();
    let cases = [
        (
            "matching table",
            "Automaton 1: a table, as required by %option matching, for one combination ",
        ),
        (
            "matching code",
            "Automaton 1: code, as required by %option matching, for one combination ",
        ),
        (
            "matching apart",
            "Matched separately: required by %option matching apart\n",
        ),
        (
            "matchingCode 4200",
            "with the ends of parts the automaton would take ",
        ),
        (
            "matchingCode 500",
            "Matched separately: with it the automaton would take ",
        ),
        ("matchingCode 500", "%option matchingCode raises the limit"),
        (
            "matchingStates 20",
            "%option matchingStates raises the limit",
        ),
    ];
    for (option, said) in cases {
        place.write("known.nest", format!("%option {option}\n{KNOWN}"));
        let arguments = ["check", "--explain-matching", "known.nest"];
        let ended = place.nest(&arguments).with_status(0);
        // Where lines are broken does not matter here.
        let words: Vec<&str> = ended.out.split_whitespace().collect();
        let wanted: Vec<&str> = said.split_whitespace().collect();
        let found = words.windows(wanted.len()).any(|some| some == wanted);
        assert!(found, "{option}: no {said:?} in\n{}", ended.out);
    }
}

/// Of the objects those that explain; findings, and what could not be told, stand before them.
fn explained(said: &str) -> Vec<serde_json::Value> {
    let objects = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"));
    let explain = |object: &serde_json::Value| object["matching"].is_string();
    objects.filter(explain).collect()
}

#[test]
fn json_is_an_object_a_line() {
    let place = Place::new();
    place.write("large.nest", LARGE);
    let arguments = [
        "check",
        "--explain-matching",
        "--format",
        "json",
        "large.nest",
    ];
    let ended = place.nest(&arguments).with_status(0);
    let lines = explained(&ended.out);
    assert_eq!(lines.len(), 3, "{}", ended.out);
    assert_eq!(lines[0]["matching"], "automaton");
    assert_eq!(lines[0]["code"], true);
    assert_eq!(lines[0]["rules"][0]["rule"], "both");
    assert_eq!(lines[1]["matching"], "apart");
    assert_eq!(lines[1]["rule"], "count");
    assert_eq!(lines[1]["line"], 3);
    assert_eq!(lines[1]["option"], "matchingStates");
    assert_eq!(lines[1]["asked"][0], 1);
    assert_eq!(lines[1]["parts"], "fixed");
    // Of a specification with mistakes there is nothing to explain.
    place.write("bad.nest", "%%\n\"A\" { $9; }\n");
    let arguments = [
        "check",
        "--explain-matching",
        "--format",
        "json",
        "bad.nest",
    ];
    let ended = place.nest(&arguments).with_status(1);
    assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
}

#[test]
fn what_libpcre2_matches_is_named_with_its_construct() {
    let place = Place::new();
    let text = "%option backtracking yes\n%%\nsame = ([a-z]) \\1 \"\\n\" { $reply($2); }\n\
                group = ([0-9])+ \"\\n\" { }\n";
    place.write("same.nest", text);
    let ended = place
        .nest(&["check", "--explain-matching", "same.nest"])
        .with_status(0);
    assert!(
        ended.out.ends_with(concat!(
            "  line 4    group\n",
            "\n",
            "Matched separately: automata cannot express the pattern\n",
            "  by libpcre2, because of a back-reference; it begins anew with each piece of a message\n",
            "  line 3    same             $2 at fixed distances\n",
        )),
        "{}",
        ended.out
    );
    place
        .nest(&["graph", "--rule", "same", "same.nest"])
        .with_status(1)
        .err_has("no automaton: libpcre2 matches it, because of a back-reference");
}

#[test]
fn what_is_generated_says_the_same_and_agrees() {
    let place = Place::new();
    for (name, text) in [("known", KNOWN), ("large", LARGE)] {
        let file = format!("{name}.nest");
        place.write(&file, text);
        let json = ["check", "--explain-matching", "--format", "json", &file];
        let said = place.nest(&json).with_status(0).out;
        place.nest(&["gen", &file, "-o", name]).with_status(0);
        let server = place.read(&format!("{name}/server.c"));
        let (mut standalone, mut registers, mut largest) = (0, 0, 0);
        for object in explained(&said) {
            if object["matching"] == "apart" {
                standalone += 1;
                let why = object["why"].as_str().unwrap();
                assert!(
                    server.contains(&format!("matched separately: {why}; ")),
                    "no {why}"
                );
                continue;
            }
            registers = registers.max(object["registers"].as_u64().unwrap());
            let (number, states) = (&object["number"], object["states"].as_u64().unwrap());
            let form = object["form"].as_str().unwrap();
            let comment = format!(" * automaton {number}: {form}; {states} states, ");
            assert!(server.contains(&comment), "no {comment}");
            // State 0 has no label, and no other is without one.
            assert!(server.contains(&format!("\ns{}:\n", states - 1)));
            largest = largest.max(states);
        }
        assert!(!server.contains(&format!("\ns{largest}:\n")));
        let defined = |name: &str, n: u64| {
            let line = format!("#define {name} {n}\n");
            assert!(server.contains(&line), "no {line}");
        };
        defined("NEST__STANDALONE", standalone);
        defined("NEST__REGISTERS", registers.max(1));
    }
}
