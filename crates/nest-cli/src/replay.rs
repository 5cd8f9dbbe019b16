//! `nest check --replay N`: plays the conversation of a finding against the built server.
//!
//! The server uses the model without sockets, so the result is always the same; its trace shows
//! what it does. If C code makes the server take another path than the finding describes, this is
//! reported. Must not know: how findings are made.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use nest_check::{Act, Consumed, Then, Witness, literal as shown_as};
use nest_machine::Machine;
use nest_machine::reach::Step;

use crate::args::{Cc, Spec};
use crate::build::Recipe;
use crate::children::{self, finish};
use crate::compile::selected;
use crate::signals::Hold;
use crate::source;
use crate::term::{self, FAINT, Failure};
use crate::trace::Printer;

/// Builds the server, plays the conversation and prints what happened.
pub fn replay(spec: &Spec, m: &Machine, witness: &Witness) -> Result<(), Failure> {
    let hold = Hold::new()?;
    let result = played(spec, m, witness);
    hold.release();
    result
}

fn played(spec: &Spec, m: &Machine, witness: &Witness) -> Result<(), Failure> {
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
        features: selected(true, false),
        cc: &Cc::default(),
    };
    let folder = tempfile::Builder::new()
        .prefix("nest-")
        .tempdir()
        .map_err(|e| Failure::io("cannot make a temporary directory", &e))?;
    let server = folder.path().join("server");
    recipe.make(&recipe.prepare(&mut BTreeSet::new())?, &server)?;
    let trace = folder.path().join("trace");
    let mut command = Command::new(&server);
    command
        .current_dir(folder.path())
        .env("NEST_TRACE", &trace)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let mut running =
        children::start(&mut command).map_err(|e| Failure::io("cannot run the server", &e))?;
    if let Some(mut stdin) = running.stdin.take() {
        let text = script(witness);
        // A server that stops reading reports the reason itself.
        std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    }
    let outputs = finish(vec![running])?;
    let status = outputs[0].status;
    let lines = std::fs::read(&trace).map_err(|e| Failure::io("there is no trace", &e))?;
    let lines = String::from_utf8_lossy(&lines);
    term::print(shown(witness, &lines));
    if !status.success() {
        // The finding may be just that: the server has already reported its crash.
        return Err(Failure::new(format!("the server ended with {status}")));
    }
    match went_another_way(m, witness, &lines) {
        Some(what) => Err(Failure::new(what)),
        None => Ok(()),
    }
}

/// The place where the server did not do what the finding describes.
fn went_another_way(m: &Machine, witness: &Witness, trace: &str) -> Option<String> {
    let (steps, still) = steps(trace);
    let mut before = "the action of START".to_owned();
    for (n, expected) in witness.consumed.iter().enumerate() {
        let (what, name) = match expected.by {
            Step::Rule(rule) => ("take ", &m.rules[rule].label),
            Step::Timer(timer) => ("timeout ", &m.timers[timer].label),
        };
        let Some(step) = steps.get(n) else {
            return Some(format!(
                "the server took another course: {name} does not match there; C code in {before} decides"
            ));
        };
        if step.what.strip_prefix(what).map(label) != Some(name) {
            let took = label(step.what.split_once(' ').map_or("", |(_, rest)| rest));
            let sent = match witness.acts.get(n) {
                Some(Act::Send(bytes)) => shown_as(bytes),
                _ => "it".to_owned(),
            };
            return Some(format!(
                "the server took another course: {took} matches {sent}, not {name}; C code in {before} \
                 decides"
            ));
        }
        // The action after which the states differ is the one that decided.
        if steps
            .iter()
            .zip(&witness.consumed)
            .take(n)
            .all(|(s, t)| s.fits(m, t))
        {
            before = format!("the action of {name}");
        }
    }
    let other = match witness.then {
        Then::Any => None,
        Then::Waits if still == witness.consumed.len() && !ended(trace) => None,
        Then::Waits => Some("does not wait"),
        Then::Ends if ended(trace) => None,
        Then::Ends => Some("does not end there"),
    };
    other.map(|other| {
        format!("the server took another course: it {other}; C code in {before} decides")
    })
}

/// A step of the first conversation, as in a trace.
struct Seen<'t> {
    /// The rule that matched it.
    what: &'t str,
    /// The states after it.
    states: Option<&'t str>,
}

impl Seen<'_> {
    /// Whether the states behind it are those that were expected.
    fn fits(&self, m: &Machine, expected: &Consumed) -> bool {
        let (Some(seen), Some(mask)) = (self.states, expected.marked) else {
            return true;
        };
        let marked = |n: &usize| mask >> n & 1 == 1;
        let names = (0..m.states.len()).filter(marked);
        names
            .map(|n| m.states[n].as_str())
            .eq(seen.split(' ').filter(|s| !s.is_empty()))
    }
}

/// All steps of the first conversation, and how many of them happen while the client waits.
fn steps(trace: &str) -> (Vec<Seen<'_>>, usize) {
    let (mut all, mut still) = (Vec::new(), None);
    for line in trace.lines() {
        let Some(what) = line.strip_prefix("1 ") else {
            still = still.or(Some(all.len()));
            continue;
        };
        if what.starts_with("take ") || what.starts_with("timeout ") {
            all.push(Seen { what, states: None });
        } else if let Some(states) = what.strip_prefix("states ")
            && let Some(step) = all.last_mut()
        {
            step.states = states.rsplit_once("last=").map(|(states, _)| states);
        }
    }
    let still = still.unwrap_or(all.len());
    (all, still)
}

/// The name of a rule, followed by the input it matched.
fn label(text: &str) -> &str {
    text.split_once(" \"").map_or(text, |(name, _)| name)
}

/// The conversation as commands for the server. A second conversation begins after it: what happens
/// before that is what a waiting client sees.
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

/// A string literal for the script, in which each escape has two digits.
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

/// Whether the first conversation ended before the second one began.
fn ended(trace: &str) -> bool {
    let mut lines = trace.lines().take_while(|line| !line.starts_with("2 "));
    lines.any(|line| line.starts_with("1 end"))
}
