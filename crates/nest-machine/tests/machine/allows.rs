//! Comments that allow warnings: what they silence, where they may stand, and which are wrong.

use nest_diag::Code;
use nest_machine::{Compiled, Overrides, compile};
use nest_syntax::Loader;

/// A file that is included, with an allow of its own.
const INCLUDED: &str = "// nest: allow W0301 \"in words\"\nHI he[l]+o\n%%\n";

struct One;

impl Loader for One {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        Ok((path.to_string(), INCLUDED.to_string()))
    }
}

fn compiled(text: &str) -> Compiled {
    compile("t.nest", text, &mut One, &Overrides::default())
}

/// `CODE LINE`, for each that is said; and how many were allowed.
#[track_caller]
fn says(text: &str, expected: &[&str], allowed: usize) {
    let found = compiled(text);
    let reported: Vec<String> = found
        .diagnostics
        .iter()
        .map(|d| {
            let (line, _) = found.sources.position(d.span.file, d.span.start);
            format!("{} {line}", d.code.name())
        })
        .collect();
    assert_eq!(
        (reported, found.allowed),
        (expected.iter().map(|s| (*s).to_string()).collect(), allowed),
        "{text}"
    );
}

#[test]
fn every_kind_of_place() {
    let rules = "%%\n\"a\" { }\n";
    says(&format!("%state A\n{rules}"), &["W0201 1"], 0);
    // At the end of the line, and before it, with blank lines and other comments between.
    for before in [
        "%state A // nest: allow W0201 \"later\"",
        "%state A /* nest: allow W0201 \"later\" */",
        "// nest: allow W0201 \"later\"\n%state A",
        "//nest:allow w0201 \"later\"\n\n/* one\n   more */\n// and this\n%state A",
        "/* nest: allow W0201\n   \"because\n   of this\" */ %state A",
        "/* nest: allow W0102, W0201, W0104 \"both\" */\n%state A",
    ] {
        says(&format!("{before}\n{rules}"), &[], 1);
    }
    says(
        &format!("// nest: allow W0102 \"m\"\n// nest: allow W0201 \"s\"\n%state A\n{rules}"),
        &["W0104 1"],
        1,
    );
    // Of macros, between rules, behind an element, in what is included.
    says(
        &format!("M \"m\"  // nest: allow W0102 \"for later\"\n{rules}"),
        &[],
        1,
    );
    says(
        "%%\n\"a\" { }\n  // nest: allow W0301 \"x\"\nab[0-9] { }\n",
        &[],
        1,
    );
    says(
        "%%\n\"a\" { }\n\"b\"  // nest: allow W0301 \"x\"\n  ab[0-9] { }\n",
        &["W0104 3", "W0301 4"],
        0,
    );
    says(
        "%%\n\"a\" { }\n\"b\" ab[0-9]  // nest: allow W0301 \"x\"\n  { }\n",
        &[],
        1,
    );
    let included = "%include \"i.nest\"\n%%\nHI { }\n";
    says(included, &[], 1);
}

#[test]
fn comments_of_c() {
    let unused = |c: &str| format!("%{{\n{c}\n%}}\n%%\n{c}\n\"a\" {{ {c}\n}}\n%%\n{c}\nint x;\n");
    let text = unused("int i; /* nest: allow W0102 \"c\" */");
    says(&text, &["W0104 2", "W0104 5", "W0104 6", "W0104 9"], 0);
    // Not what looks like one in a string.
    let text = unused("const char *s = \" // nest: allow W0102 \\\"c\\\"\";");
    says(&text, &[], 0);
    says(
        "%%\n\"a // nest: allow W0102\" { }\n[ // nest: allow W0102] { }\n",
        &[],
        0,
    );
}

#[test]
fn comments_of_the_server_s_code() {
    let code = |c: &str| {
        format!(
            "%shared 4K {{\n{c}\n int n; }} {{\n{c}\n }}\n%timer 1s {{\n{c}\n }}\n\
             %signal USR2 {{\n{c}\n }}\n%worker {{\n{c}\n }}\n%%\n\"a\" {{ }}\n"
        )
    };
    let unused = ["W0104 2", "W0104 4", "W0104 7", "W0104 10", "W0104 13"];
    says(&code("// nest: allow W0102 \"c\""), &unused, 0);
    let sent =
        "%timer 1s {\n    $broadcast(\"hall\", \"tick\"); // nest: allow W0502 \"later\"\n}\n";
    says(&format!("{sent}%%\n\"a\" {{ }}\n"), &[], 1);
}

#[test]
fn what_silences_nothing() {
    let rules = "%%\n\"a\" { }\n";
    says(
        &format!("// nest: allow W0201 \"x\"\n{rules}"),
        &["W0104 1"],
        0,
    );
    says(
        &format!("%state A // nest: allow W0102 \"x\"\n{rules}"),
        &["W0201 1", "W0104 1"],
        0,
    );
    // One line further.
    says(
        &format!("// nest: allow W0201 \"x\"\nNL \"n\"\n%state A\n{rules}\nNL {{ }}\n"),
        &["W0104 1", "W0201 3"],
        0,
    );
    says(
        "%%\n\"a\" { }\n// nest: allow W0102 \"x\"\n",
        &["W0104 3"],
        0,
    );
    says("%%\n\"a\" { }\n// nest: allow W0102, W0104 \"x\"\n", &[], 0);
    // What others look for is theirs to say.
    let found = compiled("%%\n// nest: allow W0302, W0203 \"x\"\n\"a\" { }\n");
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let unused = found.allows.unused(|code| code == Code::W0203);
    assert_eq!(unused.len(), 1);
    assert_eq!(unused[0].message, "there is no W0203 in line 3");
    // An error may hide what is allowed.
    says(
        &format!("%state A // nest: allow W0201 \"x\"\n{rules}B: \"b\" {{ }}\n"),
        &["E0202 4"],
        0,
    );
}

#[test]
fn what_is_none() {
    for (comment, message) in [
        ("nest: allow", "a code is missing"),
        ("nest: allow \"x\"", "a code is missing"),
        ("nest: allow W0302,, W0203 \"x\"", "a code is missing"),
        ("nest: allow W0302", "the reason is missing"),
        ("nest: allow W0302 \"\"", "the reason is empty"),
        ("nest: allow W0302 \" \"", "the reason is empty"),
        (
            "nest: allow W0302 \"x",
            "the reason is to end the comment, in quotes",
        ),
        (
            "nest: allow W0302 \"x\" y",
            "the reason is to end the comment, in quotes",
        ),
        ("nest: allow W0399 \"x\"", "there is no warning `W0399`"),
        (
            "nest: allow W0302 W0203 \"x\"",
            "there is no warning `W0302 W0203`",
        ),
        (
            "nest: allow W0302, E0301 \"x\"",
            "E0301 is an error, and no error is allowed",
        ),
    ] {
        for text in [
            format!("// {comment}\n%%\n\"a\" {{ }}\n"),
            format!("%%\n\"a\" {{ /* {comment} */ }}\n"),
        ] {
            let found = compiled(&text);
            let reported: Vec<(&str, &str)> = found
                .diagnostics
                .iter()
                .map(|d| (d.code.name(), d.message.as_str()))
                .collect();
            assert_eq!(reported, [("E0109", message)], "{text}");
            assert!(found.machine.is_none());
        }
    }
    // Words that are not ours.
    for comment in [
        "nest: allowed W1",
        "nest: here is one",
        "the nest: allow it",
    ] {
        says(&format!("// {comment}\n%%\n\"a\" {{ }}\n"), &[], 0);
    }
}
