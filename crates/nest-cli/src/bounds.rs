//! `nest check --bounds`: the most that a connection can use, and whether that is allowed.
//!
//! Message sizes and times come from the specification. Memory sizes are known only to the C
//! compiler: nest builds the server in each model and runs it with `--check-config`, so that both
//! report numbers from one source. Must not know: how the numbers are determined.

mod table;
mod values;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use nest_check::{Bounds, For, Silence};
use nest_machine::{Features, MODELS, Machine, Model};
use serde::Serialize;

use crate::args::{Cc, Check, Format};
use crate::build::{Prepared, Recipe};
use crate::cc::Compiler;
use crate::children::{self, finish};
use crate::signals::Hold;
use crate::term::{self, Failure, Progress};
use values::{Item, Memory, limits, size};

/// Prints what was requested; a failure if a limit is exceeded.
pub fn say(machine: &Machine, args: &Check) -> Result<ExitCode, Failure> {
    let requested = &args.bounds;
    let (most, deadlines) = (requested.max_connection_memory, requested.require_deadlines);
    if !requested.bounds && most.is_none() && !deadlines {
        return Ok(ExitCode::SUCCESS);
    }
    let bounds = nest_check::bounds(machine);
    let chosen = machine.settings.model;
    // All models are shown; the limit applies to the selected one.
    let wanted = |m: &&Model| {
        let one = m.kind == chosen;
        one || (requested.bounds && args.spec.model.is_none() && !m.option.is_empty())
    };
    let mut memory = Vec::new();
    if requested.bounds || most.is_some() {
        let progress = Progress::start("building the server to determine its sizes");
        let hold = Hold::new()?;
        let chosen = MODELS.iter().filter(wanted);
        let asked: Result<Vec<Memory>, Failure> =
            chosen.map(|model| ask(machine, args, model)).collect();
        drop(progress);
        hold.release();
        memory = asked?;
    }
    if requested.bounds {
        term::print(match args.format {
            Format::Text => table::text(machine, &bounds, &memory),
            Format::Json => json(machine, &bounds, &memory),
        });
    }
    let mut wrong = Vec::new();
    if let Some(most) = most {
        let name = chosen.row().name;
        let own = memory.iter().find(|m| m.model == name);
        wrong.extend(own.and_then(|m| too_much(m, most)));
    }
    if deadlines {
        wrong.extend(without_deadline(machine, &bounds));
    }
    let Some(last) = wrong.pop() else {
        return Ok(ExitCode::SUCCESS);
    };
    for text in wrong {
        Failure::new(text).report();
    }
    Err(Failure::new(last))
}

/// Builds the server of a model and runs it with `--check-config`.
fn ask(machine: &Machine, args: &Check, model: &Model) -> Result<Memory, Failure> {
    let mut machine = machine.clone();
    machine.settings.model = model.kind;
    machine.settings.max_clients = machine.settings.max_clients.min(model.most_clients);
    // The sizes do not depend on the optimisation.
    let cc = Cc {
        debug: true,
        ..Cc::default()
    };
    let recipe = Recipe {
        spec: &args.spec,
        more: &[],
        features: Features::default(),
        cc: &cc,
    };
    let (files, places) = nest_emit::emit_with_places(&machine);
    let prepared = Prepared {
        units: nest_emit::inside::units(&machine),
        name: machine.name.clone(),
        files,
        places,
        libraries: nest_emit::libraries(&machine),
        compiler: Compiler::new(&cc)?.without_others(),
    };
    let folder = tempfile::Builder::new()
        .prefix("nest-")
        .tempdir()
        .map_err(|e| Failure::io("cannot make a temporary directory", &e))?;
    let server: PathBuf = folder.path().join("server");
    recipe.make(&prepared, &server)?;
    let mut command = Command::new(&server);
    command.arg("--check-config").current_dir(folder.path());
    // Uses the values built into the server.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NEST_") {
            command.env_remove(name);
        }
    }
    // Only root can become another user, and no client will be served.
    command.env("NEST_USER", "").env("NEST_CHROOT", "");
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child =
        children::start(&mut command).map_err(|e| Failure::io("cannot run the server", &e))?;
    let outputs = finish(vec![child])?;
    let output = &outputs[0];
    let said = String::from_utf8_lossy(&output.stdout);
    let (each, together) = said.split_once(TOGETHER).unwrap_or((&said, ""));
    let items: Vec<Item> = each.lines().filter_map(item).collect();
    let common = together.lines().filter_map(item).collect();
    if !output.status.success() || items.is_empty() {
        return Err(Failure::new(format!(
            "the {} server does not report its sizes: {}",
            model.name, output.status
        )));
    }
    Ok(Memory {
        model: model.name,
        bytes: items.iter().map(|i| i.bytes).sum(),
        clients: machine.settings.max_clients.into(),
        items,
        common,
    })
}

/// The line of a server that begins the list of what it has once.
const TOGETHER: &str = "# in bytes, for all clients together:\n";

/// Parses a line `#   N WHAT (OPTION)`.
fn item(line: &str) -> Option<Item> {
    let (bytes, rest) = line.strip_prefix("#   ")?.split_once(' ')?;
    let (what, option) = match rest.strip_suffix(')').and_then(|r| r.rsplit_once(" (")) {
        Some((what, option)) => (what, Some(option.to_owned())),
        None => (rest, None),
    };
    Some(Item {
        what: what.to_owned(),
        option,
        bytes: bytes.parse().ok()?,
    })
}

fn too_much(memory: &Memory, most: u64) -> Option<String> {
    if memory.bytes <= most {
        return None;
    }
    let mut items = memory.items.clone();
    items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
    let largest = items.iter().take(3).map(|i| match &i.option {
        Some(option) => format!("{} {} (lower {option})", i.what, size(i.bytes)),
        None => format!("{} {}", i.what, size(i.bytes)),
    });
    Some(format!(
        "a connection of the {} server can use {}, but --max-connection-memory allows {}; the \
         largest items: {}",
        memory.model,
        size(memory.bytes),
        size(most),
        largest.collect::<Vec<_>>().join("; ")
    ))
}

/// The reasons why a client can stay for ever, one per line.
fn without_deadline(m: &Machine, bounds: &Bounds) -> Vec<String> {
    let mut wrong = Vec::new();
    for reading in &bounds.reading {
        if let Silence::Stays(timers) = &reading.silence {
            let why = if timers.is_empty() && !bounds.unlimited.is_empty() {
                format!(
                    "there is no TIMEOUT rule, and $timeout disables idleTimeout ({})",
                    bounds.unlimited.join(", ")
                )
            } else if timers.is_empty() {
                "there is no idleTimeout and no TIMEOUT rule".to_owned()
            } else {
                format!(
                    "idleTimeout does not apply while TIMEOUT rules are active, and no action of {} closes",
                    table::timers(m, timers)
                )
            };
            wrong.push(format!(
                "a client that sends nothing stays for ever where the states are {}: {why}",
                table::sets(&reading.sets)
            ));
        }
    }
    if bounds.limits.read.is_none() && !m.rules.is_empty() {
        wrong.push(
            "a client that does not finish its message stays for ever: readTimeout is none".into(),
        );
    }
    for wait in &bounds.waits {
        let option = match wait.what {
            For::Message | For::Bytes if bounds.limits.idle.is_none() => "idleTimeout",
            For::Output if bounds.limits.write.is_none() => "writeTimeout",
            _ => continue,
        };
        let why = if option == "idleTimeout" && !bounds.unlimited.is_empty() {
            format!(
                "$timeout disables idleTimeout ({})",
                bounds.unlimited.join(", ")
            )
        } else {
            format!("{option} is none")
        };
        wrong.push(format!(
            "{} waits for ever for its client ({}): {why}",
            wait.by.join(", "),
            wait.places.join(", ")
        ));
    }
    wrong
}

/// The JSON object of `--format json`.
#[derive(Serialize)]
struct All<'a> {
    bounds: Figures<'a>,
}

/// Times are in milliseconds. `null` means no limit; for `longest` and `held` it means no limit
/// except inputBuffer.
#[derive(Serialize)]
struct Figures<'a> {
    input_buffer: u64,
    idle_timeout: Option<u64>,
    read_timeout: Option<u64>,
    write_timeout: Option<u64>,
    /// Whether all sets of states are known.
    complete: bool,
    messages: Vec<Message<'a>>,
    reading: Vec<Read<'a>>,
    waits: Vec<Waits<'a>>,
    allocates: Vec<Named<'a>>,
    memory: &'a [Memory],
}

#[derive(Serialize)]
struct Message<'a> {
    rule: &'a str,
    file: &'a str,
    line: usize,
    longest: Option<u64>,
}

#[derive(Serialize)]
struct Read<'a> {
    states: &'a [Vec<String>],
    held: Option<u64>,
    /// `ends`, `may end` or `stays`.
    silence: &'a str,
    silence_ms: Option<u64>,
    timers: Vec<&'a str>,
}

#[derive(Serialize)]
struct Waits<'a> {
    by: &'a [String],
    places: &'a [String],
    limits: Vec<&'a str>,
}

#[derive(Serialize)]
struct Named<'a> {
    function: &'a str,
    places: &'a [String],
}

fn json(m: &Machine, bounds: &Bounds, memory: &[Memory]) -> String {
    let label = |n: &usize| m.timers[*n].label.as_str();
    let read = |r: &'_ nest_check::Reading| {
        let (silence, silence_ms, timers) = match &r.silence {
            Silence::Ends { ms, timer } => ("ends", Some(*ms), timer.iter().map(label).collect()),
            Silence::May(timers) => ("may end", None, timers.iter().map(label).collect()),
            Silence::Stays(timers) => ("stays", None, timers.iter().map(label).collect()),
        };
        (silence, silence_ms, timers)
    };
    let all = All {
        bounds: Figures {
            input_buffer: bounds.limits.input,
            idle_timeout: bounds.limits.idle,
            read_timeout: bounds.limits.read,
            write_timeout: bounds.limits.write,
            complete: bounds.complete,
            messages: (m.rules.iter().zip(&bounds.messages))
                .map(|(rule, longest)| Message {
                    rule: &rule.label,
                    file: &rule.file,
                    line: rule.line,
                    longest: *longest,
                })
                .collect(),
            reading: bounds
                .reading
                .iter()
                .map(|r| {
                    let (silence, silence_ms, timers) = read(r);
                    Read {
                        states: &r.sets,
                        held: r.held,
                        silence,
                        silence_ms,
                        timers,
                    }
                })
                .collect(),
            waits: bounds
                .waits
                .iter()
                .map(|w| Waits {
                    by: &w.by,
                    places: &w.places,
                    limits: limits(w.what),
                })
                .collect(),
            allocates: bounds
                .allocates
                .iter()
                .map(|(function, places)| Named { function, places })
                .collect(),
            memory,
        },
    };
    serde_json::to_string(&all).expect("strings and numbers are JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_server_are_read() {
        let found =
            item("#   65536 unread input (inputBuffer)").map(|i| (i.bytes, i.what, i.option));
        let expected = (65536, "unread input".into(), Some("inputBuffer".into()));
        assert_eq!(found, Some(expected));
        let found = item("#   64 session record").map(|i| (i.bytes, i.what, i.option));
        assert_eq!(found, Some((64, "session record".into(), None)));
        assert!(item("# fileRoot is not set: built in").is_none());
        assert!(item("# 500 clients need at most 1M of memory").is_none());
    }
}
