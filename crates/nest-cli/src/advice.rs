//! Suggestions for arguments that `nest` does not know.
//!
//! Must not know: how the commands work.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, ValueEnum};
use nest_diag::nearest;

use crate::args::With;

/// Options of a server with an example of each. `nest` has no options with these names.
const OF_SERVERS: [(&str, &str); 4] = [
    ("--port", "--port 9000"),
    ("--set", "--set maxClients=100"),
    ("--config", "--config FILE"),
    ("--check-config", "--check-config"),
];

/// Replaces clap's tip by a suggestion.
pub fn advise(error: &mut Error, arguments: &[OsString]) {
    let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    let command = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let command = command.map_or("", |word| word.as_ref());
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return,
    };
    let Some(ContextValue::String(wrong)) = error.get(kind) else {
        return;
    };
    let tip = match (error.kind(), command) {
        (ErrorKind::InvalidSubcommand, _) => file(wrong),
        (_, "run") => of_server(wrong),
        (_, "gen") => several(wrong, &words),
        (_, "check") if wrong == "--json" => Some("write --format json".to_owned()),
        _ => None,
    };
    if let Some(tip) = tip {
        let tips = vec![StyledStr::from(tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// A specification where a command is expected.
fn file(wrong: &str) -> Option<String> {
    wrong.ends_with(".nest").then(|| {
        format!("a command stands in front of the file: nest run {wrong}, nest check {wrong}")
    })
}

/// An option of the server among those of `nest run`.
fn of_server(wrong: &str) -> Option<String> {
    let name = wrong.split('=').next().unwrap_or(wrong);
    let near = nearest(name, OF_SERVERS.iter().map(|(name, _)| *name))?;
    let (_, example) = OF_SERVERS.iter().find(|(name, _)| *name == near)?;
    let lead = if near == name {
        format!("'{near}' is an option of the server: write it after --")
    } else {
        format!("did you mean the server's option '{near}'? Write it after --")
    };
    Some(format!("{lead}, as in nest run FILE -- {example}"))
}

/// A second value of `--with` after a blank.
fn several(wrong: &str, words: &[std::borrow::Cow<str>]) -> Option<String> {
    With::from_str(wrong, false).ok()?;
    let all: Vec<&str> = words
        .iter()
        .map(|word| word.trim_end_matches(','))
        .filter(|word| With::from_str(word, false).is_ok())
        .collect();
    Some(format!("a comma joins several: --with {}", all.join(",")))
}
