//! `nest new`: creates a specification to start from.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use crate::args::New;
use crate::term::{self, Failure};

const TEMPLATE: &str = include_str!("../templates/new.nest");

/// A limit for the length of names, and therefore of file names.
const LONGEST: usize = 64;

/// Writes NAME.nest; never overwrites a file.
pub fn new(args: &New) -> Result<ExitCode, Failure> {
    let name = args.name.strip_suffix(".nest").unwrap_or(&args.name);
    if let Some(why) = unfit(name) {
        return Err(Failure::Usage(format!(
            "'{}' cannot be a server's name: {why}; write letters, digits and _, a letter first",
            args.name
        )));
    }
    let file = format!("{name}.nest");
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file);
    let mut opened = opened.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!(
            "{file} exists already; choose another name, or remove it"
        )),
        _ => Failure::io(format!("cannot write {file}"), &error),
    })?;
    if let Err(error) = opened.write_all(TEMPLATE.replace("@NAME@", name).as_bytes()) {
        let _ = std::fs::remove_file(&file);
        return Err(Failure::io(format!("cannot write {file}"), &error));
    }
    term::note(format!("{file} is written; next: nest run {file}"));
    Ok(ExitCode::SUCCESS)
}

/// Why the name is not allowed.
fn unfit(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > LONGEST {
        return Some("it has more than 64 characters");
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some("it does not begin with a letter");
    }
    if name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        return Some("it has a character that is neither letter, digit nor _");
    }
    None
}
