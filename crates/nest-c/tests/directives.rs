//! The table of directives stands alone: no other file of the compiler names a directive, or the
//! function that it becomes, in a string.

use nest_c::directives::{DIRECTIVES, Form, function, word_does};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in which such a word means something else, each with the reason.
const OTHERWISE: &[(&str, &[&str], &str)] = &[
    (
        "nest-syntax/src/cond.rs",
        &["$LASTSEEN"],
        "the syntax of conditions has the word, too",
    ),
    (
        "nest-syntax/src/rules.rs",
        &["$LASTSEEN"],
        "the syntax of conditions has the word, too",
    ),
    (
        "nest-c/src/globals/bodies.rs",
        &["block", "lock"],
        "parts of the names of C functions",
    ),
    (
        "nest-c/src/leads.rs",
        &["free"],
        "a function of the C library",
    ),
    (
        "nest-c/src/globals/fills.rs",
        &["accept", "read"],
        "functions of the C library",
    ),
    ("nest-cli/src/record.rs", &["tls"], "a line of recordings"),
    (
        "nest-cli/src/recording.rs",
        &["tls"],
        "a line of recordings",
    ),
    (
        "nest-machine/src/options/words.rs",
        &["tls"],
        "the word of option listen",
    ),
    (
        "nest-top/src/exposition.rs",
        &["count", "le", "reason"],
        "names and labels of OpenMetrics",
    ),
    (
        "nest-trace/src/event.rs",
        &["close", "read", "reply", "timeout"],
        "kinds of events",
    ),
    (
        "nest-trace/src/event.rs",
        &["accept"],
        "an event of a trace",
    ),
    (
        "nest-trace/src/file.rs",
        &["reason"],
        "a word of the format of traces",
    ),
    (
        "nest-trace/src/perfetto.rs",
        &["id"],
        "a field of the Trace Event Format",
    ),
    (
        "nest-trace/src/text.rs",
        &["draining"],
        "a phase of the stop",
    ),
    (
        "nest-feature/src/lib.rs",
        &[
            "alive", "alloc", "dial", "keep", "log", "peer", "relay", "send", "startTLS",
            "timeout", "tls",
        ],
        "names of features",
    ),
    (
        "listen",
        &["listen"],
        "an option, and the names of files of systemd",
    ),
    (
        "nest-c/src/taint/table.rs",
        &["free", "send"],
        "functions of the C library",
    ),
    (
        "nest-machine/src/options/table.rs",
        &["close", "tls"],
        "a value of an option, and an option",
    ),
    (
        "nest-machine/src/options/exclusions.rs",
        &["tls"],
        "an option",
    ),
    (
        "nest-cli/src/tls.rs",
        &["self"],
        "a value of an option of a command",
    ),
    ("nest-cli/src/args.rs", &["log"], "an option of a command"),
    (
        "nest-cli/src/args/bench.rs",
        &["self"],
        "a value of an option of a command",
    ),
    ("nest-cli/src/bench/encryption.rs", &["tls"], "an option"),
    (
        "nest-cli/src/record.rs",
        &["read", "reply"],
        "lines of what a server records",
    ),
    (
        "nest-cli/src/recording.rs",
        &["send"],
        "a line of a recording",
    ),
    ("nest-machine/src/kernel.rs", &["tls"], "an option"),
    (
        "nest-top/src/kernel.rs",
        &["reason"],
        "a label of OpenMetrics",
    ),
    ("nest-syntax/src/csource.rs", &["return"], "C's statement"),
    ("return", &["return"], "C's statement"),
    (
        "nest-cli/src/trace.rs",
        &["reply", "timeout"],
        "lines of traces",
    ),
    (
        "nest-cli/src/test/report.rs",
        &["timeout"],
        "lines of traces",
    ),
    (
        "nest-cli/src/test/script.rs",
        &["reply", "timeout"],
        "lines of traces",
    ),
    (
        "nest-graph/src/records.rs",
        &["timeout"],
        "the kind of an edge in JSON",
    ),
    (
        "nest-emit/src/server.rs",
        &["peer", "timeout", "log", "keep", "reply"],
        "features and join points of the runtime",
    ),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The contents of the string literals of a Rust text, escapes as they are written.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find('"') {
            let inside = &rest[start + 1..];
            let Some(end) = inside.find('"') else { break };
            found.push(inside[..end].to_string());
            rest = &inside[end + 1..];
        }
    }
    found
}

#[test]
fn no_other_file_names_a_directive() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for one in fs::read_dir(&crates).expect("crates").flatten() {
        let folder = one.path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    files.sort();
    assert!(files.len() > 100, "{} files", files.len());
    let mut words: BTreeSet<String> = BTreeSet::new();
    for directive in DIRECTIVES {
        words.insert(directive.name.to_string());
        words.insert(format!("${}", directive.name));
        words.insert(directive.c.to_string());
    }
    let mut named = Vec::new();
    for path in files {
        let name = path.strip_prefix(&crates).expect("it is below");
        let name = name.to_string_lossy().replace('\\', "/");
        if name.contains("/src/directives") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it is text");
        let body = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
        for literal in literals(body) {
            let other = |(file, meant, _): &(&str, &[&str], &str)| {
                (*file == name || *file == literal) && meant.contains(&literal.as_str())
            };
            if words.contains(&literal) && !OTHERWISE.iter().any(other) {
                named.push(format!("{name}: \"{literal}\""));
            }
        }
    }
    assert_eq!(named, Vec::<String>::new());
}

#[test]
fn rows_agree_with_themselves() {
    for directive in DIRECTIVES {
        let word = format!("${}", directive.name);
        assert_eq!(directive.word(), word);
        assert_eq!(*word_does(&word), directive.does);
        if directive.c.starts_with("nest_") && directive.form != Form::Plain {
            assert!(function(directive.c).is_some(), "{word}");
        }
        for name in directive.known_as {
            assert!(DIRECTIVES.iter().all(|d| d.name != *name), "{name}");
        }
    }
}

/// What the message about `$block` lists is what the table says.
#[test]
fn a_block_may_hold_what_its_message_lists() {
    let checks = include_str!("../../nest-machine/src/blocks.rs");
    let code = checks.lines().filter(|l| !l.trim_start().starts_with("//"));
    let words: Vec<&str> = code.flat_map(|l| l.split([' ', ',', '"', '`'])).collect();
    for directive in DIRECTIVES {
        if directive.form != Form::Block {
            let listed = words.contains(&directive.word());
            assert_eq!(listed, directive.does.in_block, "{}", directive.word());
        }
    }
}

/// The how-to about waiting names every directive that may wait.
#[test]
fn the_page_about_waiting_has_all_that_wait() {
    let page = include_str!("../../../docs/howto/waiting.md");
    let (table, rest) = page
        .split_once("\nAll other directives return at once")
        .unwrap();
    let (rest, _) = rest.split_once("\n\n").unwrap();
    for directive in DIRECTIVES {
        let name = directive.name;
        let listed = |text: &str| {
            text.contains(&format!("`${name}`")) || text.contains(&format!("`${name} "))
        };
        let pair = name.ends_with("To") || name.ends_with("From");
        if directive.does.waits.is_some() {
            assert!(listed(table) || pair, "${name} may wait");
            assert!(!listed(rest), "${name} does not return at once");
        }
    }
}
