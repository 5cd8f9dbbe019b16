//! Findings as listed by `nest check`: their numbers, and how to reproduce those about
//! conversations.
//!
//! Must not know: how findings are made or replayed.

use std::path::Path;

use nest_check::{Act, Incomplete, Witness};
use nest_diag::{Diagnostic, SourceMap, render_json_with};
use serde::Serialize;

use crate::source;
use crate::term::Failure;

/// The fields of a finding in addition to the diagnostic. They are an interface: fields may be
/// added but not renamed.
#[derive(Serialize)]
struct Listed {
    /// The number in the list, from 1.
    number: usize,
    /// What a client does to reproduce it, in order.
    witness: Option<Vec<Did>>,
}

/// One act of a client.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Did {
    /// Sends bytes: each character is one byte, up to U+00FF.
    Send(String),
    /// Is silent.
    SilenceMs(u32),
}

impl Did {
    fn of(act: &Act) -> Did {
        match act {
            Act::Send(bytes) => Did::Send(bytes.iter().copied().map(char::from).collect()),
            Act::Silence(ms) => Did::SilenceMs(*ms),
        }
    }
}

/// For tools: one JSON object per line.
pub fn json(sources: &SourceMap, found: &[Diagnostic], witnesses: &[Option<Witness>]) -> String {
    let numbered = (1..).zip(found.iter().zip(witnesses));
    let listed = numbered.map(|(number, (diagnostic, witness))| {
        let witness = witness.as_ref();
        let witness = witness.map(|w| w.acts.iter().map(Did::of).collect());
        (diagnostic, Some(Listed { number, witness }))
    });
    render_json_with(sources, listed)
}

/// For humans: adds to each finding how to reproduce it.
pub fn number(file: &Path, found: &mut [Diagnostic], witnesses: &[Option<Witness>]) {
    // Standard input cannot be read twice.
    if source::is_stdin(file) {
        return;
    }
    for (number, (diagnostic, witness)) in (1..).zip(found.iter_mut().zip(witnesses)) {
        if witness.is_some() {
            let file = quoted(&file.to_string_lossy());
            diagnostic.see = Some(format!("nest check --replay {number} {file}"));
        }
    }
}

/// The error that the list has no finding with this number.
pub fn none(number: usize, count: usize) -> Failure {
    let what = match count {
        0 => "there are no findings".to_owned(),
        1 => format!("there is no finding {number}: there is one, number 1"),
        _ => format!("there is no finding {number}: they are numbered from 1 to {count}"),
    };
    Failure::Usage(what)
}

/// For people: what could not be told, in a line.
pub fn incomplete(incomplete: &Incomplete) -> String {
    let codes: Vec<&str> = incomplete.codes.iter().map(|c| c.name()).collect();
    let listed = match codes.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        codes => codes.join(", "),
    };
    format!("{listed} may be missing: {}", incomplete.why)
}

/// For tools: an object a line, behind the findings.
pub fn incomplete_json(all: &[Incomplete]) -> String {
    let object = |incomplete: &Incomplete| {
        let codes: Vec<&str> = incomplete.codes.iter().map(|c| c.name()).collect();
        let object = Missing {
            incomplete: &incomplete.why,
            codes,
        };
        serde_json::to_string(&object).expect("strings are JSON") + "\n"
    };
    all.iter().map(object).collect()
}

/// A JSON object about incomplete results.
#[derive(Serialize)]
struct Missing<'a> {
    /// Why.
    incomplete: &'a str,
    /// Of which codes findings may be missing.
    codes: Vec<&'a str>,
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
