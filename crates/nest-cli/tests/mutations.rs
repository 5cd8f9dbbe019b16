//! Broken specifications by the thousand: the compiler comes back from each, in time, with
//! findings that can be printed or with a machine that can be emitted.
//!
//! They are made of the project's own specifications and fuzz/corpus; `support/sample.rs` says how many
//! are tried. What fails is written to a file and named.

#![allow(clippy::unwrap_used)]

#[path = "../../../tests/support/sample.rs"]
mod sample;
#[path = "../../../tests/support/spent.rs"]
mod spent;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nest_machine::Overrides;
use nest_syntax::Loader;
use rustix::time::ClockId;
use sample::Volume;
use spent::processor;

/// Of the processor, for one input, unoptimised, beside the other tests. A real one takes a
/// thousandth of it.
const LIMIT: Duration = Duration::from_secs(20);

/// For one input that does not even use the processor.
const STUCK: Duration = Duration::from_secs(300);

/// Mutations to try.
const VOLUME: Volume = Volume {
    quick: 1_000,
    sample: 5_000,
    full: 100_000,
};

/// Inputs are not made longer than this.
const LONGEST: usize = 6000;

const WORDS: &[&str] = &[
    "%%\n",
    "%{\n",
    "%}\n",
    "%include \"self.nest\"\n",
    "%option ",
    "%state A\n",
    "START",
    "END",
    "DEFAULT",
    "TIMEOUT(5s)",
    "$LASTSEEN(A)",
    "$reply(",
    "$block {",
    "$sleep(5s)",
    "$readLine()",
    "$1",
    "$99999999999",
    "$seen(A)",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "[^]",
    "[[:alpha:]]",
    "\"",
    "\\",
    "\\x",
    "'",
    "/*",
    "*/",
    "//",
    "|",
    "||",
    "&&",
    "!",
    "*",
    "+?",
    "{2,65535}",
    "{1000}{1000}",
    "(?i)",
    "(?=",
    "$",
    "^",
    ".",
    "\0",
    "\r\n",
    "\t",
    "\u{e9}",
    "\u{1f600}",
    "((((((((((((((((",
    "int x[",
    "= {",
    ";",
    ":",
    ",",
    "#if 0\n",
    "A: ",
    "NL \\r?\\n\n",
    "(a|b|c|d)*a........",
    "static ",
    "typedef ",
    "%timer 5s {",
];

#[test]
fn every_specification_comes_back_in_time() {
    let seeds = seeds();
    assert!(seeds.len() > 50, "only {} seeds", seeds.len());
    run("specification", (0..).zip(seeds));
}

#[test]
fn every_mutation_comes_back_in_time() {
    let seeds = seeds();
    let mutated = VOLUME.seeds(1).map(|number| {
        let mut random = Random::new(number);
        let seed = &seeds[random.below(seeds.len())];
        (number, mutate(&seeds, seed, &mut random))
    });
    run("CHECK_TRIALS=1 CHECK_SEED", mutated);
}

#[test]
fn hostile_inputs_come_back_in_time() {
    let many = |n: usize, text: &str| text.repeat(n);
    let bomb = |from: &str, step: fn(usize) -> String| {
        let macros: String = (1..40).map(step).collect();
        format!("M0 {from}\n{macros}%%\n{{M39}} {{ ; }}\n")
    };
    let inputs = vec![
        format!("%%\n{}", many(100_000, "(")),
        format!("%%\n{}a{} {{ ; }}\n", many(50_000, "("), many(50_000, ")")),
        format!("%%\n{}\n", many(100_000, "{")),
        format!("%%\n\"a\" {}\n", many(100_000, "{")),
        format!(
            "%%\n\"a\" {{ {}1{}; }}\n",
            many(20_000, "("),
            many(20_000, ")")
        ),
        format!(
            "%%\n\"a\" {{ $reply({}$1{}); }}\n",
            many(5_000, "("),
            many(5_000, ")")
        ),
        format!(
            "%state A\n%%\n{}\"a\" {{ ; }}\n{}",
            many(20_000, "A {\n"),
            many(20_000, "}\n")
        ),
        format!("%state A\n%%\n{}A: \"a\" {{ ; }}\n", many(100_000, "!")),
        format!("%state A\n%%\nA{}: \"a\" {{ ; }}\n", many(50_000, " && A")),
        "%%\n((((a{1000}){1000}){1000}){1000}){1000} { ; }\n".to_owned(),
        "%%\n(a|b)*a(a|b){60} { ; }\n(.|\\n)*x.{200} { ; }\n".to_owned(),
        format!("%%\n[{}] {{ ; }}\n", many(100_000, "a-z\\x00")),
        format!("%%\n{} {{ ; }}\n", many(50_000, "a? ")),
        format!("%%\n(a{}) {{ ; }}\n", many(50_000, "|a")),
        bomb("a", |i| format!("M{i} {{M{0}}}{{M{0}}}\n", i - 1)),
        bomb("(a|)*", |i| format!("M{i} ({{M{0}}})*{{M{0}}}?\n", i - 1)),
        many(200_000, "%%\n"),
        many(30_000, "%state "),
        (0..5_000).map(|i| format!("%state S{i}\n")).collect(),
        many(20_000, "%include \"gone.nest\"\n"),
        many(20_000, "%option serverPort 1\n"),
        format!("%%\n{}", many(20_000, "X { $nothing(); }\n")),
        format!(
            "%%\n{}",
            (0..3_000)
                .map(|i| format!("\"a{i}\" {{ ; }}\n"))
                .collect::<String>()
        ),
        format!("%%\n\"{}\" {{ ; }}\n", many(1_000_000, "a")),
        format!("%%\n{}\n\"a\" {{ ; }}\n", many(10_000, "int a = 1;\n")),
        format!("%%\nint {}a;\n\"a\" {{ a; }}\n", many(20_000, "*")),
        format!("{}\n%%\n\"a\" {{ ; }}\n", many(500_000, "/")),
        format!("/*{}", many(500_000, "*")),
        format!("%%\n\"a\" {{ /*{}", many(200_000, "\n")),
        many(200_000, "\0"),
        many(300_000, "\u{e9}"),
    ];
    run("hostile input", (0..).zip(inputs));
}

/// Compiles each in a thread that can be given up; a panic or a long wait names the input.
fn run(what: &str, texts: impl Iterator<Item = (u64, String)>) {
    let (sender, done) = channel();
    let (inputs, work) = channel::<String>();
    std::thread::Builder::new()
        .stack_size(8 << 20) // as the main thread's, in which the compiler runs
        .spawn(move || {
            for text in work {
                compile(&text);
                if sender.send(()).is_err() {
                    return;
                }
            }
        })
        .unwrap();
    for (number, text) in texts {
        inputs.send(text.clone()).unwrap();
        let (started, before) = (Instant::now(), processor(ClockId::ProcessCPUTime));
        loop {
            let used = processor(ClockId::ProcessCPUTime) - before;
            match done.recv_timeout(Duration::from_millis(100)) {
                Ok(()) => {
                    if used > LIMIT / 4 {
                        println!("{what}={number} took {used:?}");
                    }
                    break;
                }
                Err(RecvTimeoutError::Timeout) => assert!(
                    used < LIMIT && started.elapsed() < STUCK,
                    "{what}={number} takes too long: {}",
                    keep(&text)
                ),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{what}={number} makes the compiler panic: {}", keep(&text))
                }
            }
        }
    }
}

fn compile(text: &str) {
    let compiled = nest_machine::compile("m.nest", text, &mut Itself, &Overrides::default());
    let shown = nest_diag::render_text(&compiled.sources, &compiled.diagnostics, false);
    let json = nest_diag::render_json(&compiled.sources, &compiled.diagnostics);
    assert_eq!(json.lines().count(), compiled.diagnostics.len());
    let failed = compiled
        .diagnostics
        .iter()
        .any(nest_diag::Diagnostic::is_error);
    assert_eq!(
        failed,
        compiled.machine.is_none(),
        "errors and a machine, or neither:\n{shown}"
    );
    if let Some(machine) = &compiled.machine {
        assert!(!nest_emit::emit(machine).is_empty());
        let _ = nest_check::check(machine);
    }
}

/// The only file that can be included includes itself.
struct Itself;

impl Loader for Itself {
    fn load(&mut self, _: &str, path: &str) -> Result<(String, String), String> {
        match path {
            "self.nest" => Ok((
                path.into(),
                "%include \"self.nest\"\nA a\n%%\nA { ; }\n".into(),
            )),
            _ => Err(format!("cannot read {path}: no such file or directory")),
        }
    }
}

/// Writes an input that failed; where.
fn keep(text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failed.nest");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Every specification in the project: files, examples in pages, cases, what fuzzing found.
fn seeds() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for place in [
        "examples",
        "conformance/cases",
        "crates/nest-diag/codes",
        "fuzz/corpus",
        "docs",
    ] {
        walk(&root.join(place), &mut files);
    }
    files.sort();
    let mut seeds = Vec::new();
    for file in files {
        let Ok(bytes) = std::fs::read(&file) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match file.extension().and_then(|e| e.to_str()) {
            Some("md") => seeds.extend(text.split("\n```nest").skip(1).filter_map(|rest| {
                let (_, body) = rest.split_once('\n')?;
                Some(body.split("\n```").next()?.to_owned() + "\n")
            })),
            Some("nest") | None => seeds.push(text),
            _ => {}
        }
    }
    seeds.retain(|text| !text.trim().is_empty() && text.len() <= 4 * LONGEST);
    seeds
}

fn walk(place: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(place) else {
        return;
    };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files)
        } else {
            files.push(path)
        }
    }
}

/// One to four changes: cut, doubled, moved, joined with another, a word or a byte put in.
fn mutate(seeds: &[String], seed: &str, random: &mut Random) -> String {
    let mut text = seed.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let from = random.below(text.len() + 1);
        let to = (from + random.below(40)).min(text.len());
        let at = random.below(text.len() + 1);
        match random.below(7) {
            0 => drop(text.drain(from..to)),
            1 => text.truncate(from),
            2 => {
                let copy = text[from..to].to_vec();
                text.splice(at..at, copy.repeat(1 + random.below(6)));
            }
            3 => {
                let other = seeds[random.below(seeds.len())].as_bytes();
                let start = random.below(other.len() + 1);
                text.splice(at..at, other[start..].iter().take(200).copied());
            }
            4 if from < text.len() => text[from] = u8::try_from(random.below(256)).unwrap(),
            5 => drop(text.drain(..from.min(30))),
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                text.splice(at..at, word.bytes());
            }
        }
    }
    text.truncate(LONGEST);
    String::from_utf8_lossy(&text).into_owned()
}

/// xorshift64*: the same numbers for a seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % limit
    }
}
