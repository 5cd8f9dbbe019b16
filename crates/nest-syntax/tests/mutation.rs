//! Damaged specifications: whatever is deleted, doubled, swapped or inserted, the parser returns,
//! soon, with spans that lie in their files. And deep or long input costs neither stack nor time.

#[path = "../../../tests/support/spent.rs"]
mod spent;
mod support;

use std::time::Duration;

use spent::processor;

use nest_diag::{Diagnostic, SourceMap};
use rustix::time::ClockId;

/// A small generator (xorshift64*): the same mutants in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).expect("it is below a usize")
    }
}

const SPECS: [&str; 4] = [
    include_str!("specs/mail.nest"),
    include_str!("specs/patterns.nest"),
    include_str!("specs/odd.nest"),
    include_str!("specs/nested.nest"),
];

/// Pieces that matter to the parser.
const PIECES: [&str; 45] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "/*",
    "*/",
    "//",
    "%%",
    "%{",
    "%}",
    "%option",
    "%state",
    "%include \"a\"",
    "%timer",
    ":",
    "||",
    "&&",
    "!",
    "$LASTSEEN(A)",
    "=",
    ";",
    "\n",
    "\r\n",
    "\u{e9}",
    "\0",
    "(?",
    "(?i)",
    "(?<n>",
    "(*X)",
    "\\Q",
    "\\E",
    "[:alpha:]",
    "[^",
    "{2,3}",
    "{,3}",
    "START",
    "END {",
    "TIMEOUT(",
    "TIMEOUT(5s)",
    "#if\n",
];

fn mutate(text: &mut String, random: &mut Random) {
    let place = |text: &str, random: &mut Random| {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (a, b) = (place(text, random), place(text, random));
    let short = |a: usize, text: &str, random: &mut Random| {
        let mut end = (a + 1 + random.below(12)).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        end
    };
    let end = short(a, text, random);
    match random.below(5) {
        0 => text.replace_range(a..end, ""),
        1 => {
            let copy = text[a..end].to_owned();
            text.insert_str(b, &copy);
        }
        2 => {
            let moved = text[a..end].to_owned();
            text.replace_range(a..end, "");
            let mut to = b.min(text.len());
            while !text.is_char_boundary(to) {
                to -= 1;
            }
            text.insert_str(to, &moved);
        }
        3 => text.insert_str(a, PIECES[random.below(PIECES.len())]),
        _ => text.truncate(a),
    }
}

fn in_place(sources: &SourceMap, diags: &[Diagnostic]) {
    for d in diags {
        for span in d.labels.iter().map(|l| l.span).chain([d.span]) {
            let text = &sources.file(span.file).text;
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.get(start..end).is_some(), "{d:?}\nin {text:?}");
        }
        assert!(!d.message.ends_with('.') && !d.message.is_empty(), "{d:?}");
        assert!(
            d.message
                .starts_with(|c: char| !c.is_uppercase() || c == 'C' || c == 'T'),
            "{d:?}"
        );
    }
    assert!(diags.is_sorted_by_key(|d| (d.span.file, d.span.start)));
}

#[test]
fn mutants_are_parsed() {
    let mut random = Random(0x6e65_7374);
    for round in 0..6000 {
        let mut text = SPECS[round % SPECS.len()].to_owned();
        for _ in 0..=random.below(4) {
            mutate(&mut text, &mut random);
        }
        let start = processor(ClockId::ThreadCPUTime);
        let (sources, _, diags) = support::read(&text);
        assert!(
            processor(ClockId::ThreadCPUTime) - start < Duration::from_secs(2),
            "{text}"
        );
        in_place(&sources, &diags);
    }
}

#[test]
fn every_prefix_is_parsed() {
    for spec in SPECS {
        for end in (0..spec.len()).filter(|n| spec.is_char_boundary(*n)) {
            let (sources, _, diags) = support::read(&spec[..end]);
            in_place(&sources, &diags);
        }
    }
}

/// Runs `text` on a small stack, within a time that no quadratic algorithm keeps.
fn bounded(what: &str, text: String) -> Vec<String> {
    let limit = Duration::from_secs(4);
    let (findings, elapsed) = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            let start = processor(ClockId::ThreadCPUTime);
            let (sources, spec, diags) = support::read(&text);
            let elapsed = processor(ClockId::ThreadCPUTime) - start;
            drop(spec);
            let first = &diags[..diags.len().min(3)];
            (support::findings(&sources, first), elapsed)
        })
        .expect("a thread starts")
        .join()
        .expect("it does not crash");
    assert!(elapsed < limit, "{what} took {elapsed:?}");
    findings
}

#[test]
fn deep_input_needs_no_stack() {
    const N: usize = 100_000;
    let deep = |text: String, code: &str| {
        let what: String = text.chars().take(60).collect();
        let findings = bounded(&what, text);
        assert!(findings[0].starts_with(code), "{findings:?}");
    };
    deep(format!("%%\n{}\"a\"", "(".repeat(N)), "E0008");
    deep(
        format!("%%\n{}\"a\"{} {{ }}", "(".repeat(N), ")".repeat(N)),
        "E0008",
    );
    deep(format!("X {}\n%%\n", "(a".repeat(N)), "E0008");
    deep(
        format!("%state A\n%%\n{}A: \"a\" {{ }}", "!".repeat(N)),
        "E0008",
    );
    deep(
        format!("%state A\n%%\n{}A: \"a\" {{ }}", "(".repeat(N)),
        "E0008",
    );
    deep(
        format!(
            "%state A\n%%\n{}\"a\" {{ }}{}",
            "A {".repeat(N),
            "}".repeat(N)
        ),
        "E0008",
    );
    deep(format!("%%\n\"a\" {{{}", "{".repeat(N)), "E0003");
    deep(
        format!("%%\n\"a\" {{{}{} }}", "{".repeat(N), "}".repeat(N - 1)),
        "E0003",
    );
}

#[test]
fn long_input_takes_linear_time() {
    let lines = |line: &dyn Fn(usize) -> String, n: usize| (0..n).map(line).collect::<String>();
    let chain = |i: usize| format!("M{i} {{M{}}}\n", i + 1);
    let back = |i: usize| format!("C{i} !C{}\n", i + 1);
    for (what, text) in [
        (
            "rules",
            format!(
                "%%\n{}",
                lines(&|i| format!("\"a{i}\" \\r?\\n {{ f({i}); }}\n"), 20_000)
            ),
        ),
        (
            "macro chain",
            format!("{}M20000 x\n%%\n", lines(&chain, 20_000)),
        ),
        (
            "condition chain",
            format!("%state C20000\n{}%%\n", lines(&back, 20_000)),
        ),
        (
            "condition cycle",
            format!("C20000 !C0\n{}%%\n", lines(&back, 20_000)),
        ),
        (
            "unknown names",
            format!(
                "%%\n{}",
                lines(&|i| format!("s{i}: \"a\" x{i} {{ }}\n"), 20_000)
            ),
        ),
        (
            "unknown and known",
            format!(
                "{}%%\n{}",
                lines(&|i| format!("NAME{i} \"x\"\n"), 5_000),
                lines(&|i| format!("NOME{i} {{ }}\n"), 5_000)
            ),
        ),
        (
            "long names",
            format!("%state {0}a\n%%\n{0}b: \"x\" {{ }}\n", "n".repeat(100_000)),
        ),
        (
            "a long condition over many rules",
            format!(
                "%state A\n%%\n{}A {{\n{}}}\n",
                "A || ".repeat(10_000),
                lines(&|_| "\"a\" { }\n".to_owned(), 10_000)
            ),
        ),
        (
            "open parentheses by line",
            format!("%%\n{}", "(\n".repeat(50_000)),
        ),
        ("open quotes", format!("%%\n{}", "\"\n".repeat(50_000))),
        (
            "open quotes in one line",
            format!("%%\n{}", "\" ".repeat(50_000) + "\""),
        ),
        ("open classes", format!("%%\n{}", "[\n".repeat(50_000))),
        (
            "open classes in one line",
            format!("%%\n{}", "[[:[:".repeat(30_000)),
        ),
        (
            "open classes with marks",
            format!("%%\n{}", "[[:[.".repeat(30_000)),
        ),
        ("open comments", format!("%%\n{}", "/* ".repeat(50_000))),
        ("open quotations", format!("%%\n{}", "\\Q".repeat(50_000))),
        (
            "open quotations by line",
            format!("%%\n{}", "\\Q\n".repeat(50_000)),
        ),
        ("open blocks", format!("%%\n{}", "%{\n".repeat(50_000))),
        (
            "open actions",
            format!("%%\n{}", "\"a\" {\n".repeat(50_000)),
        ),
        ("open macro uses", format!("%%\n{}", "{a".repeat(50_000))),
        ("open counts", format!("%%\n{}", "a{1".repeat(50_000))),
        ("words", format!("%%\n{}", "int a\n".repeat(30_000))),
        ("equal signs", format!("%%\n{}", "a = ".repeat(50_000))),
        ("colons", format!("%%\n{}", "a: ".repeat(50_000))),
        (
            "long lines of declarations",
            format!("{}\n%%\n", "int a ".repeat(50_000)),
        ),
        (
            "declarations without an end",
            format!("{}\n%%\n", "int a\n".repeat(20_000)),
        ),
        (
            "typed names without an end",
            format!("{}\n%%\n", "foo a\n".repeat(20_000)),
        ),
        (
            "blank lines",
            format!("{}%%{}", "\n".repeat(100_000), " \n".repeat(100_000)),
        ),
        ("verbs", format!("%%\n{}", "(*A".repeat(50_000))),
        ("flag groups", format!("%%\n{}", "(?#".repeat(50_000))),
        ("lex states", format!("%%\n{}", "<A,".repeat(50_000))),
        (
            "lex states by line",
            format!("%%\n{}", "<A>\n".repeat(30_000)),
        ),
        (
            "multistates of C",
            format!("%state A\n%%\n{}", "A: { x\n".repeat(30_000)),
        ),
        ("stray braces", format!("%%\n{}", "}".repeat(100_000))),
        ("backslashes", format!("%%\n{}", "\\".repeat(100_001))),
        (
            "declarations on one line",
            format!("{}\n%%\n", "int a;".repeat(20_000)),
        ),
        (
            "locals on one line",
            format!("%%\n{}", "int a;".repeat(20_000)),
        ),
        (
            "rules on one line",
            format!("%%\n{}", "\"a\"{}".repeat(20_000)),
        ),
        (
            "conditions in error on one line",
            format!("%state A\n%%\n{}", "A && {".repeat(20_000)),
        ),
        ("Unicode escapes", format!("%%\n{}", "\\p{".repeat(30_000))),
        ("references", format!("%%\n{}", "\\k<".repeat(30_000))),
        ("directives", "%x ".repeat(50_000)),
        ("unknown directives", "%foo {\n".repeat(30_000)),
    ] {
        bounded(what, text);
    }
}
