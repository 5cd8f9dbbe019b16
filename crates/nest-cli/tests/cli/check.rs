//! `nest check`: findings and their forms, and every place a specification can come from.

use crate::common::{GOOD, Place};

#[test]
fn success_is_0_and_errors_are_1() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    place
        .nest(&["check", "good.nest"])
        .with_status(0)
        .err_has("good.nest: no errors");
    place.write("bad.nest", "%%\n\"A\" { $9; }\n\"B\" { $nothing(); }\n");
    let ended = place.nest(&["check", "bad.nest"]).with_status(1);
    let ended = ended
        .out_has("bad.nest:2:7")
        .out_has("error[E0402]")
        .out_has("E0401");
    ended.err_has("bad.nest: 2 errors");
}

#[test]
fn json_is_an_object_a_line() {
    let place = Place::new();
    place.write("bad.nest", "%%\n\"A\" { $9; }\n\"B\" { $nothing(); }\n");
    let ended = place
        .nest(&["check", "--format", "json", "bad.nest"])
        .with_status(1);
    assert_eq!(ended.err, "");
    let found: Vec<serde_json::Value> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["code"], "E0402");
    assert_eq!(found[0]["severity"], "error");
    assert_eq!(found[0]["file"], "bad.nest");
    assert_eq!(found[0]["line"], 2);
    assert_eq!(found[0]["column"], 7);
    place.write("good.nest", GOOD);
    assert_eq!(
        place
            .nest(&["check", "--format=json", "good.nest"])
            .with_status(0)
            .out,
        ""
    );
}

#[test]
fn standard_input_has_a_name() {
    let place = Place::new();
    place
        .nest_with(&["check", "-"], GOOD)
        .with_status(0)
        .err_has("<stdin>: no errors");
    place
        .nest_with(&["check", "-"], "%%\nHI { ; }\n")
        .with_status(1)
        .out_has("<stdin>:2:1");
}

#[test]
fn what_cannot_be_read_is_a_finding() {
    let place = Place::new();
    place
        .nest(&["check", "absent.nest"])
        .with_status(1)
        .out_has("E0001")
        .out_has("cannot read absent.nest: no such file or directory\n --> absent.nest\n");
    place.write("present.nest", GOOD);
    for wrong in ["present", "presnet.nest"] {
        place
            .nest(&["check", wrong])
            .with_status(1)
            .out_has("did you mean present.nest?");
    }
    place.write("dir/x", "");
    place
        .nest(&["check", "dir"])
        .with_status(1)
        .out_has("is a directory");
    place
        .nest(&["check", "/dev/zero"])
        .with_status(1)
        .out_has("more than 16 MB");
    place.write("latin.nest", b"%%\n\"\xe9\" { ; }\n");
    let ended = place.nest(&["check", "latin.nest"]).with_status(1);
    ended
        .out_has("E0002")
        .out_has("latin.nest:2:2")
        .out_has("byte 0xe9 is not UTF-8");
    place.write("wide.nest", b"\xff\xfe%\0%\0");
    place
        .nest(&["check", "wide.nest"])
        .with_status(1)
        .out_has("the file is UTF-16");
    place.write("program", b"\x7fELF\0\xa0");
    place
        .nest(&["check", "program"])
        .with_status(1)
        .out_has("this is not a text file");
    place.write(
        "long.nest",
        [&[b'a'; 100_000][..], b"\n%%\n\"A\" { }\n"].concat(),
    );
    let long = place.nest(&["check", "long.nest"]).with_status(1).out;
    assert!(long.len() < 1000 && long.contains("E0105"), "{long}");
    place.write(
        "marked.nest",
        format!("\u{feff}{}", GOOD.replace('\n', "\r\n")),
    );
    place.nest(&["check", "marked.nest"]).with_status(0);
    let json = place
        .nest(&["check", "--format", "json", "absent.nest"])
        .with_status(1)
        .out;
    let finding: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(finding["code"], "E0001");
    place
        .nest(&["build", "absent.nest"])
        .with_status(1)
        .err_has("E0001");
}

#[test]
fn includes_are_found_beside_the_file_that_asks() {
    let place = Place::new();
    place.write("a/main.nest", format!("%include \"sub/more.nest\"\n{GOOD}"));
    place.write("a/sub/more.nest", "%include \"last.nest\"\n");
    place.write(
        "a/sub/last.nest",
        "%state DEEP\n%%\nDEEP: \"D\" { $clear(DEEP); }\n",
    );
    let ended = place.nest(&["check", "a/main.nest"]);
    assert!(!ended.out.contains("E0007"), "{}", ended.out);
    ended.with_status(0);
    place.write("a/main.nest", format!("%include \"gone.nest\"\n{GOOD}"));
    place
        .nest(&["check", "a/main.nest"])
        .with_status(1)
        .out_has("E0007")
        .out_has("a/gone.nest: no such file");
}

/// A witness is no claim: the server is built, and does what is said of it.
#[test]
fn witnesses_are_played() {
    let place = Place::new();
    let rules = "%state A B\n%%\nword = [a-z]+ \"\\n\" { $reply(\"word\\n\"); }\n\
                 never = \"no\\n\" { $reply(\"never\\n\"); }\n\
                 !A: on = \"1\\n\" { $seen(A); }\n\
                 A: number = \"2\" [0-9]* { $reply(\"number\\n\"); }\n\
                 A: out = \"3\\n\" { $next(B); }\n\
                 DEFAULT && B: none = \"x\\n\" { }\n";
    // No rule is active in B alone.
    let rules = rules
        .replace("\nword", "\n!B: word")
        .replace("\nnever", "\n!B: never");
    place.write("a.nest", rules.replace("!A: on", "!A && !B: on"));
    let found = place.nest(&["check", "a.nest"]).with_status(0);
    let found = found
        .out_has("W0203")
        .out_has("W0302")
        .out_has("W0204")
        .out_has("W0202");
    let codes: Vec<&str> = found.out.matches("warning[W").collect();
    assert_eq!(codes.len(), 4, "{}", found.out);
    let played = |n| place.nest(&["check", "--replay", n, "a.nest"]);
    // The rule that was written before takes it.
    let first = played("1")
        .with_status(0)
        .out_has("A client sends \"no\\n\", and waits:");
    assert!(
        first.out.contains("word") && !first.out.contains("never"),
        "{}",
        first.out
    );
    // The answer comes when the client closes, and not before.
    let second = played("2").with_status(0);
    let (waiting, closed) = second.out.split_once("Then it closes:").unwrap();
    assert!(
        !waiting.contains("number") && closed.contains("number"),
        "{}",
        second.out
    );
    let third = played("3").with_status(0);
    assert!(
        third.out.contains("stuck") && !third.out.contains("Then"),
        "{}",
        third.out
    );
    played("4").with_status(1).err_has("has no conversation");
    played("5").with_status(2).err_has("there is no finding 5");
    let lines = "%%\n\"hello\" { $reply(\"hello\\n\"); }\n\"bye\\n\" { $close(); }\n";
    place.write("b.nest", lines);
    let left = place
        .nest(&["check", "--replay", "1", "b.nest"])
        .with_status(0);
    assert!(
        left.out.contains("input") && !left.out.contains("Then"),
        "{}",
        left.out
    );
}

/// Each finding that can be seen says how, the list is counted alike in both forms, and bytes come
/// through JSON as they are.
#[test]
fn findings_have_numbers_and_witnesses() {
    let place = Place::new();
    let text = "%state IDLE\n%%\nhigh = \"\\xe4\\x00\" [0-9]* { $reply(\"high\\n\"); }\n\
                on = \"on\\n\" { $next(IDLE); }\n\
                !IDLE: TIMEOUT(1500ms) { $next(IDLE); }\n\
                IDLE: never = \"on\\n\" { }\n";
    place.write("it's.nest", text);
    let shown = place.nest(&["check", "it's.nest"]).with_status(0);
    let hint = |n: usize| format!("see it: nest check --replay {n} 'it'\\''s.nest'\n");
    assert!(
        shown.out.contains(&hint(1)) && shown.out.contains(&hint(2)),
        "{}",
        shown.out
    );
    shown.err_has("it's.nest: no errors, 2 warnings");
    let found = place.nest(&["check", "--format=json", "it's.nest"]);
    let found: Vec<serde_json::Value> = found
        .with_status(0)
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found.len(), 2);
    assert_eq!(
        (&found[0]["code"], &found[0]["number"]),
        (&"W0302".into(), &1.into())
    );
    assert_eq!(
        found[0]["witness"],
        serde_json::json!([{"send": "\u{e4}\0"}])
    );
    assert_eq!(
        (&found[1]["code"], &found[1]["number"]),
        (&"W0203".into(), &2.into())
    );
    let wait = serde_json::json!([{"silence_ms": 1500}, {"send": "on\n"}]);
    let send = serde_json::json!([{"send": "on\n"}, {"send": "on\n"}]);
    assert!(
        found[1]["witness"] == wait || found[1]["witness"] == send,
        "{found:?}"
    );
    // What is read once is not played, and what is about no conversation is not.
    let piped = place.nest_with(&["check", "-"], text).with_status(0);
    assert!(!piped.out.contains("see it"), "{}", piped.out);
    place.write("b.nest", "%state A\n%%\n\"a\\n\" { }\n");
    let none = place
        .nest(&["check", "b.nest"])
        .with_status(0)
        .out_has("W0201");
    assert!(!none.out.contains("see it"), "{}", none.out);
    let none = place
        .nest(&["check", "--format=json", "b.nest"])
        .with_status(0);
    none.out_has("\"number\":1,\"witness\":null");
}

/// What is allowed is not listed, and not numbered; it is counted.
#[test]
fn warnings_are_allowed() {
    let place = Place::new();
    let rules = "add = \"add\" [0-9]+ { $reply(\"added\\n\"); }\n\
                 sub = \"sub\" [0-9]+ { $reply(\"gone\\n\"); }\n";
    place.write(
        "a.nest",
        format!("%state A // nest: allow W0201 \"a\"\n%%\n// nest: allow W0302 \"b\"\n{rules}"),
    );
    let shown = place.nest(&["check", "a.nest"]).with_status(0);
    let shown = shown.out_has("a.nest:5:").out_has("--replay 1 a.nest");
    assert_eq!(shown.out.matches("warning[").count(), 1, "{}", shown.out);
    shown.err_has("a.nest: no errors, 1 warning, 2 warnings allowed");
    let found = place
        .nest(&["check", "--format", "json", "a.nest"])
        .with_status(0);
    assert_eq!(found.out.lines().count(), 1, "{}", found.out);
    place
        .nest(&["check", "--replay", "1", "a.nest"])
        .with_status(0)
        .out_has("\"sub0\"");
    place
        .nest(&["check", "--replay", "2", "a.nest"])
        .with_status(2);
    // What the checker finds is not looked for when a server is built.
    place.write(
        "b.nest",
        "%%\n// nest: allow W0302 \"b\"\n\"a\\n\" { $close(); }\n",
    );
    place
        .nest(&["check", "b.nest"])
        .with_status(0)
        .out_has("W0104")
        .out_has("no W0302 in line 3");
    let built = place.nest(&["gen", "b.nest", "-o", "out"]).with_status(0);
    assert!(!built.err.contains("W0104"), "{}", built.err);
}

/// What could not be told is said in both forms, and an allow of it is not said to be idle.
#[test]
fn what_may_be_missing_is_said() {
    let place = Place::new();
    place.write(
        "a.nest",
        "%{\nvoid f(nest_session *);\n%}\n%state A\n%%\na = \"a\\n\" { f($self); }\n\
         // nest: allow W0204 \"perhaps\"\nA: b = \"b\\n\" { }\n",
    );
    let shown = place.nest(&["check", "a.nest"]).with_status(0);
    assert_eq!(shown.out, "");
    let why = "the effect of the action of `a` on states is not known exactly";
    shown
        .err_has(&format!("a.nest: W0202 and W0204 may be missing: {why}\n"))
        .err_has("a.nest: no errors\n");
    let found = place
        .nest(&["check", "--format=json", "a.nest"])
        .with_status(0);
    let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(
        found,
        serde_json::json!({"incomplete": why, "codes": ["W0202", "W0204"]})
    );
}
