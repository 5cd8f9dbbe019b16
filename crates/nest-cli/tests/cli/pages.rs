//! `nest test`: which pages it takes, how they are read, and what is said of those that are wrong.

use crate::common::greet::{GREET, KNOWN, greet, quick};

#[test]
fn groups_belong_to_their_pattern() {
    let place = greet();
    let page = KNOWN
        .replace("I am al", "I am abab")
        .replace("\"Hello.\\n\"", "~ \"(Hello)\\\\.\\n\"")
        .replace("expect ~", "expect~")
        .replace("reply ~", "reply~")
        .replace(
            "expect \"You are al.\\n\"",
            "expect~ \"[[Y]ou are (ab)\\\\1\\\\.\\n\"",
        )
        .replace(
            "reply \"You are al.\\n\"",
            "reply~ \"(You) are \"\nreply~ \"(?P<two>ab)(?P=two)\\\\.\\n\"",
        );
    // A byte-order mark and lines that end as on Windows are no mistakes.
    place.write(
        "known.md",
        format!("\u{feff}{}", page.replace('\n', "\r\n")),
    );
    let ended = place
        .nest(&[
            "test",
            "--quick",
            "--model",
            "script",
            "--model",
            "event",
            "greet.nest",
        ])
        .with_status(0)
        .out_has("2 passed");
    assert!(ended.err.is_empty(), "{}", ended.err);
    place.write("known.md", page.replace("(ab)", "(a)"));
    place
        .nest(&quick(&["greet.nest"]))
        .with_status(1)
        .out_has("known.md:9: script");
}

#[test]
fn pages_are_named_or_name_the_specification() {
    let place = greet();
    let nameless = KNOWN.replace("spec: greet.nest\n", "");
    place.write("cases/nameless.md", &nameless);
    place.write("lost.md", KNOWN.replace("greet.nest", "greeet.nest"));
    place.write("tests/sub.md", KNOWN.replace("spec: ", "spec: ../"));
    let ended = place.nest(&quick(&["greet.nest"])).with_status(0);
    let ended = ended.err_has("cases/nameless.md names no specification");
    let ended = ended.err_has("lost.md:3: there is no specification ");
    ended
        .out_has("ok      known.md")
        .out_has("ok      tests/sub.md")
        .out_has("2 passed");
    let named = quick(&["greet.nest", "cases/nameless.md"]);
    place
        .nest(&named)
        .with_status(0)
        .out_has("ok      cases/nameless.md")
        .out_has("1 passed");
}

#[test]
fn what_is_no_test_is_said() {
    let place = greet();
    for (text, said) in [
        ("", "bad.md:1: page\n    no title in the first line"),
        (
            "# x\n\n```client\nsend oops\n```\n",
            "bad.md:4: page\n    not a string literal",
        ),
        (
            "# x\n\n```files-after a(\n\"x\"\n```\n",
            "bad.md:3: page\n    not a pattern",
        ),
        (
            "# x\n\n```files-after a\nx\n```\n",
            "bad.md:4: page\n    not a string literal",
        ),
        (
            "# x\n\n<!-- skip: udp, why -->\n",
            "bad.md:3: page\n    skip: knows only tcp",
        ),
        (
            "# x\n\n<!-- cuts: none -->\n",
            "bad.md:3: page\n    cuts: none gives no reason",
        ),
        (
            "# x\n\n<!-- cut: none, why -->\n",
            "bad.md:3: page\n    not a directive: <!-- cut: none, why -->; there are cuts, crowd, skip and missing",
        ),
        (
            "# x\n\n<!-- timeout: 3s -->\n",
            "bad.md:3: page\n    not a directive",
        ),
        (
            "# x\n\n<!-- cuts: none, why\n",
            "bad.md:3: page\n    a comment begins here",
        ),
        (
            "# x\n\nArgument: -x\n",
            "bad.md:3: page\n    not read: Argument: -x",
        ),
        (
            "# x\n\n```file-root a\n```\n```file-root a/b\n```\n",
            "bad.md:5: page\n    ```file-root a/b: something else is there",
        ),
        (
            "# x\n\n```client\nhalf-close\nsend \"a\"\n```\n```trace\n```\n",
            "bad.md:5: page\n    send cannot follow half-close",
        ),
        (
            "# x\n\n```client\nsend \"a\\\"\n```\n",
            "bad.md:4: page\n    not a string literal",
        ),
        (
            "# x\n\n```client\n```\n",
            "bad.md:3: page\n    client (no name) has no trace",
        ),
        (
            "# x\n<!--\n```client\n```\n-->\n",
            "bad.md:1: page\n    it says nothing",
        ),
        (
            "# x\n\n```client\nsend \"a\"\n",
            "bad.md:3: page\n    not a fence: ```client",
        ),
        ("# x\n\n```client\ndance\n```\n", "unknown step: dance"),
        ("# x\n\n```nest\n%%\n```\n", "a specification of its own"),
        ("# x\n\u{0}", "bad.md:2: page\n    a byte 0"),
        (
            "# x\n\n```klient\n```\n",
            "bad.md:3: page\n    not a fence: ```klient",
        ),
        (
            "# x\nspec: greet.nest\nspec: b\n",
            "it names 2 specifications: greet.nest, b",
        ),
        (
            "# x\n\n```client\nexpect~ \"(((\"\n```\n",
            "bad.md:4: page\n    not a pattern",
        ),
        (
            "# x\n\n```trace\nopen\ntaken\n```\n",
            "bad.md:5: page\n    not a trace line: taken",
        ),
    ] {
        place.write("bad.md", text);
        place
            .nest(&quick(&["greet.nest", "bad.md"]))
            .with_status(1)
            .out_has("FAILED  bad.md")
            .out_has(said);
    }
    place.write("bad.md", b"# x\n\xff\n");
    place
        .nest(&quick(&["greet.nest", "bad.md"]))
        .with_status(1)
        .out_has("bad.md:2: page\n    not UTF-8");
    place
        .nest(&quick(&["greet.nest", "none.md"]))
        .with_status(1)
        .err_has("cannot read none.md");
    place
        .nest(&quick(&["greet.nest", "none.txt"]))
        .with_status(2)
        .err_has("neither a page");
    place.write("two.nest", GREET);
    place
        .nest(&quick(&["two.nest"]))
        .with_status(1)
        .err_has("to begin: nest test --generate two.nest");
    place
        .nest(&quick(&["two.nest", "known.md"]))
        .with_status(2)
        .err_has("known.md:3: it is about ");
    place.write("wrong.nest", "%%\n\"a\" { $repl(\"x\"); }\n");
    place
        .nest(&quick(&["wrong.nest"]))
        .with_status(1)
        .err_has("E0401");
    place
        .nest(&["test", "-"])
        .with_status(2)
        .err_has("needs a file");
}

#[test]
fn paths_that_the_tests_cannot_have_are_told() {
    use std::os::unix::ffi::OsStrExt;
    let place = greet();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.md");
    std::fs::rename(place.path("known.md"), place.path(".").join(odd)).unwrap();
    place
        .nest(&quick(&["greet.nest"]))
        .with_status(1)
        .err_has("cannot run the tests: the path \"")
        .err_has("odd\\xFF.md\" is not UTF-8");
}

#[test]
fn results_that_nobody_reads_leave_nothing() {
    let place = greet();
    place.write("tmp/.keep", "");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(&quick(&["greet.nest"]));
    command.env("TMPDIR", place.path("tmp")).stdout(writer);
    let ended = command.output().unwrap();
    assert_eq!(ended.status.code(), Some(141));
    let left = std::fs::read_dir(place.path("tmp")).unwrap();
    let names: Vec<_> = left.map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, [".keep"]);
}

#[test]
fn servers_are_found_without_a_home() {
    let place = greet();
    place.write("tmp/.keep", "");
    let mut command = place.command(&quick(&["greet.nest"]));
    command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let ended = command.env("TMPDIR", "tmp").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
}
