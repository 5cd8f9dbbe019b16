//! `nest check --replay N`: what a client does to see a finding, done to the built server.
//!
//! The server has the model without sockets, so it is the same each time; what it does is its own
//! trace. Must not know: how findings are made.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use nest_check::{Act, Witness};

use crate::args::{Cc, Spec};
use crate::build::Recipe;
use crate::source;
use crate::term::{self, FAINT, Failure};
use crate::trace::Printer;

/// Builds the server, plays the conversation and prints what happened.
pub fn replay(spec: &Spec, witness: &Witness) -> Result<(), Failure> {
    if source::is_stdin(&spec.file) {
        return Err(Failure::Usage(
            "--replay needs a file; standard input is read once".into(),
        ));
    }
    let spec = Spec {
        file: spec.file.clone(),
        model: Some("script".to_owned()),
    };
    let recipe = Recipe {
        spec: &spec,
        more: &[],
        trace: true,
        cc: &Cc::default(),
    };
    let folder = tempfile::Builder::new()
        .prefix("nest-")
        .tempdir()
        .map_err(|e| Failure::io("cannot make a temporary directory", &e))?;
    let server = folder.path().join("server");
    recipe.make(&recipe.prepare(&mut BTreeSet::new())?, &server)?;
    let trace = folder.path().join("trace");
    let mut running = Command::new(&server)
        .current_dir(folder.path())
        .env("NEST_TRACE", &trace)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| Failure::io("cannot run the server", &e))?;
    if let Some(mut stdin) = running.stdin.take() {
        // A server that does not read to the end says why itself.
        let _ = stdin.write_all(script(witness).as_bytes());
    }
    let status = running.wait();
    let status = status.map_err(|e| Failure::io("cannot wait for the server", &e))?;
    let lines = std::fs::read(&trace).map_err(|e| Failure::io("there is no trace", &e))?;
    term::print(shown(witness, &String::from_utf8_lossy(&lines)));
    if !status.success() {
        // What is shown may be just that: it has said itself how it crashed.
        return Err(Failure::new(format!("the server ended with {status}")));
    }
    Ok(())
}

/// The conversation as the server's commands. A second one begins behind it: what happens before is
/// what the client sees as long as it waits.
fn script(witness: &Witness) -> String {
    let mut text = String::from("open 1\n");
    for act in &witness.acts {
        let _ = match act {
            Act::Send(bytes) => writeln!(text, "in 1 {}", literal(bytes)),
            Act::Silence(ms) => writeln!(text, "pass {ms}"),
        };
    }
    text.push_str("open 2\n");
    text
}

/// A literal as the script reads it: each escape has two digits.
pub fn literal(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => _ = write!(text, "\\x{byte:02X}"),
        }
    }
    text.push('"');
    text
}

fn shown(witness: &Witness, trace: &str) -> String {
    let printer = Printer::for_terminal();
    let mut text = if witness.acts.is_empty() {
        "A client connects, and waits:\n".to_owned()
    } else {
        format!("A client sends {witness}, and waits:\n")
    };
    let mut waiting = true;
    for line in trace.lines() {
        if line.starts_with("1 ") {
            text.push_str(&printer.line(line));
        } else if std::mem::take(&mut waiting) && !ended(trace) {
            let _ = writeln!(text, "{FAINT}Then it closes:{FAINT:#}");
        }
    }
    text
}

/// Whether the first conversation has ended before the second began.
fn ended(trace: &str) -> bool {
    let mut lines = trace.lines().take_while(|line| !line.starts_with("2 "));
    lines.any(|line| line.starts_with("1 end"))
}
