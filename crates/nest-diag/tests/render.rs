//! What people and tools see, character for character.

use nest_diag::{Code, Diagnostic, FileId, SourceMap, Span, nearest, render_json, render_text};
use std::time::{Duration, Instant};

fn map(text: &str) -> (SourceMap, FileId) {
    let mut sources = SourceMap::default();
    let file = sources.add("a.nest", text);
    (sources, file)
}

/// The span of `part` in the file.
fn find(sources: &SourceMap, file: FileId, part: &str) -> Span {
    let at = sources
        .file(file)
        .text
        .find(part)
        .expect("the part is in the text");
    Span::new(file, at, at + part.len())
}

#[track_caller]
fn check(sources: &SourceMap, diagnostic: Diagnostic, expected: &str) {
    let got = render_text(sources, &[diagnostic], false);
    assert_eq!(got, expected, "\n--- got\n{got}--- expected\n{expected}");
}

#[test]
fn one_place_with_help() {
    let (sources, file) = map("%%\nQUIT NL { }\n");
    let d = Diagnostic::new(
        Code::E0301,
        find(&sources, file, "QUIT"),
        "QUIT is not a macro",
    )
    .help("write \"QUIT\" if text is meant");
    check(
        &sources,
        d,
        "\
error[E0301]: QUIT is not a macro
 --> a.nest:2:1
  |
2 | QUIT NL { }
  | ^^^^
  |
  = help: write \"QUIT\" if text is meant
",
    );
}

#[test]
fn warning_without_help() {
    let (sources, file) = map("abc");
    let d = Diagnostic::new(Code::W0301, find(&sources, file, "bc"), "letters");
    check(
        &sources,
        d,
        "\
warning[W0301]: letters
 --> a.nest:1:2
  |
1 | abc
  |  ^^
  |
",
    );
}

#[test]
fn labels_in_the_same_file_with_a_gap_and_wide_numbers() {
    let text = "%state A\n\n\n\n\n\n\n\n\n%state B A\n%state C\n";
    let (sources, file) = map(text);
    let second = text.rfind('A').expect("it is there");
    let d = Diagnostic::new(
        Code::E0103,
        Span::new(file, second, second + 1),
        "A is declared twice",
    )
    .label(Span::new(file, 7, 8), "first declared here");
    check(
        &sources,
        d,
        "\
error[E0103]: A is declared twice
  --> a.nest:10:10
   |
 1 | %state A
   |        - first declared here
...
10 | %state B A
   |          ^
   |
",
    );
}

#[test]
fn label_on_the_same_line_and_in_another_file() {
    let (mut sources, file) = map("START { } START { }\n");
    let other = sources.add("b.nest", "x\nSTART { }\n");
    let d = Diagnostic::new(Code::E0206, Span::new(file, 10, 15), "START twice")
        .label(Span::new(file, 0, 5), "the first")
        .label(Span::new(other, 2, 7), "another");
    check(
        &sources,
        d,
        "\
error[E0206]: START twice
 --> a.nest:1:11
  |
1 | START { } START { }
  |           ^^^^^
  | ----- the first
  |
 ::: b.nest:2:1
  |
2 | START { }
  | ----- another
  |
",
    );
}

#[test]
fn tabs_wide_characters_and_control_characters() {
    let (sources, file) = map("\tA\t日本 \u{1b}[31mB\u{202e}C\r\n");
    let d = Diagnostic::new(Code::E0312, find(&sources, file, "本"), "wide");
    check(
        &sources,
        d,
        "\
error[E0312]: wide
 --> a.nest:1:5
  |
1 |     A   日本 ␛[31mB\u{fffd}C
  |           ^^
  |
",
    );
    let d = Diagnostic::new(Code::E0002, find(&sources, file, "\t日"), "a\u{1b}[0m");
    check(
        &sources,
        d,
        "\
error[E0002]: a␛[0m
 --> a.nest:1:3
  |
1 |     A   日本 ␛[31mB\u{fffd}C
  |      ^^^^^
  |
",
    );
}

#[test]
fn several_lines() {
    let text = "a {\n  x\n  y }\nz\n";
    let (sources, file) = map(text);
    let d = Diagnostic::new(Code::E0003, find(&sources, file, "{\n  x\n  y }"), "long")
        .help("first\nsecond");
    check(
        &sources,
        d,
        "\
error[E0003]: long
 --> a.nest:1:3
  |
1 | a {
  |   ^
...
3 |   y }
  |   ^^^
  |
  = help: first
          second
",
    );
    // The line end belongs to the line that it ends.
    let d = Diagnostic::new(Code::E0003, Span::new(file, 10, 14), "ends with a line");
    check(
        &sources,
        d,
        "\
error[E0003]: ends with a line
 --> a.nest:3:3
  |
3 |   y }
  |   ^^^
  |
",
    );
}

#[test]
fn at_and_beyond_the_end_of_file() {
    let (sources, file) = map("%%\r\n");
    for (start, end) in [(4, 4), (4, 900), (9_000, 9_001), (usize::MAX, usize::MAX)] {
        let d = Diagnostic::new(Code::E0209, Span::new(file, start, end), "no rule");
        check(
            &sources,
            d,
            "\
error[E0209]: no rule
 --> a.nest:2:1
  |
2 |
  | ^
  |
",
        );
    }
    let d = Diagnostic::new(Code::E0209, Span::new(file, 2, 4), "the line end itself");
    check(
        &sources,
        d,
        "\
error[E0209]: the line end itself
 --> a.nest:1:3
  |
1 | %%
  |   ^
  |
",
    );
}

#[test]
fn places_that_cannot_be_are_moved() {
    let (sources, file) = map("é=1\n");
    let d = Diagnostic::new(Code::E0312, Span::new(file, 1, 1), "inside a character");
    assert!(render_text(&sources, std::slice::from_ref(&d), false).contains("a.nest:1:1\n"));
    assert!(render_json(&sources, &[d]).contains("\"column\":1"));
    let backwards = Diagnostic::new(Code::E0312, Span::new(file, 3, 1), "ends before it starts");
    assert!(render_text(&sources, &[backwards], false).contains("a.nest:1:3\n"));
    let nowhere = Diagnostic::new(Code::E0001, Span::new(FileId(7), 0, 0), "no such file");
    let text = render_text(&sources, std::slice::from_ref(&nowhere), false);
    assert_eq!(text, "error[E0001]: no such file\n");
    assert!(render_json(&sources, &[nowhere]).contains("\"file\":\"\""));
    let (empty, file) = map("");
    let d = Diagnostic::new(Code::E0004, Span::new(file, 0, 0), "empty");
    assert!(render_text(&empty, &[d], false).ends_with("--> a.nest\n"));
}

#[test]
fn long_lines_are_cut_around_the_mark() {
    let text = format!("{}MARK{}", "a".repeat(5_000), "b".repeat(5_000));
    let (sources, file) = map(&text);
    let d = Diagnostic::new(Code::W0301, find(&sources, file, "MARK"), "far right");
    let got = render_text(&sources, &[d], false);
    assert!(got.contains("a.nest:1:5001\n"));
    let lines: Vec<&str> = got.lines().collect();
    let column = lines[3]
        .find("MARK")
        .map(|at| lines[3][..at].chars().count());
    assert_eq!(
        column,
        lines[4]
            .find("^^^^")
            .map(|at| lines[4][..at].chars().count())
    );
    assert!(
        column.is_some_and(|c| c > 10),
        "something is shown before the mark"
    );
    assert!(lines[3].chars().count() < 160 && lines[3].ends_with('…'));
    let whole = Diagnostic::new(Code::W0301, Span::new(file, 0, text.len()), "all of it");
    assert!(
        render_text(&sources, &[whole], false)
            .lines()
            .all(|l| l.chars().count() < 160)
    );
}

#[test]
fn several_are_parted_by_an_empty_line_and_colours_are_optional() {
    let (sources, file) = map("ab");
    let d = |at| Diagnostic::new(Code::E0101, Span::new(file, at, at + 1), "no").help("yes");
    let plain = render_text(&sources, &[d(0), d(1)], false);
    assert_eq!(plain.matches("\n\n").count(), 1);
    assert!(!plain.contains('\u{1b}'));
    let coloured = render_text(&sources, &[d(0), d(1)], true);
    assert!(
        coloured.starts_with("\u{1b}[1m\u{1b}[31merror[E0101]\u{1b}[0m\u{1b}[1m: no\u{1b}[0m\n")
    );
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        stripped.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').expect("every escape ends")..][1..];
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
    assert_eq!(render_text(&sources, &[], true), "");
}

#[test]
fn json_is_one_object_a_line() {
    let (sources, file) = map("é \"b\"\nc\n");
    let bare = Diagnostic::new(Code::W0102, Span::new(file, 0, 2), "one");
    let full = Diagnostic::new(Code::E0103, find(&sources, file, "\"b\""), "say \"b\"\u{1}")
        .label(find(&sources, file, "c"), "here")
        .help("rename it");
    let expected = concat!(
        r#"{"code":"W0102","severity":"warning","file":"a.nest","line":1,"column":1,"#,
        r#""end_line":1,"end_column":2,"message":"one","help":null,"labels":[]}"#,
        "\n",
        r#"{"code":"E0103","severity":"error","file":"a.nest","line":1,"column":3,"#,
        r#""end_line":1,"end_column":6,"message":"say \"b\"\u0001","help":"rename it","#,
        r#""labels":[{"file":"a.nest","line":2,"column":1,"end_line":2,"end_column":2,"#,
        r#""text":"here"}]}"#,
        "\n"
    );
    assert_eq!(render_json(&sources, &[bare, full]), expected);
}

#[test]
fn ten_thousand_findings_render_quickly() {
    let lines: String = (0..10_000)
        .map(|i| format!("line {i} of the specification\n"))
        .collect();
    for text in [lines, "x".repeat(300_000)] {
        let (sources, file) = map(&text);
        let step = text.len() / 10_000;
        let all: Vec<Diagnostic> = (0..10_000)
            .map(|i| {
                Diagnostic::new(Code::E0301, Span::new(file, i * step, i * step + 3), "bare")
                    .label(Span::new(file, 0, 1), "first")
            })
            .collect();
        let begun = Instant::now();
        let text = render_text(&sources, &all, true);
        let json = render_json(&sources, &all);
        let took = begun.elapsed();
        assert_eq!(text.matches("error[E0301]").count(), 10_000);
        assert_eq!(json.lines().count(), 10_000);
        assert!(took < Duration::from_secs(100), "took {took:?}");
    }
}

#[test]
fn near_names() {
    assert_eq!(
        nearest("processSever", ["processServer", "serverPort"]),
        Some("processServer")
    );
    assert_eq!(nearest("$repyl", ["$reply", "$replyBytes"]), Some("$reply"));
    assert_eq!(nearest("Quit", ["QUIT"]), Some("QUIT"));
    assert_eq!(nearest("zebra", ["QUIT", "NL"]), None);
    let long = "x".repeat(100_000);
    assert_eq!(nearest(&long, [long.as_str()]), None);
}
