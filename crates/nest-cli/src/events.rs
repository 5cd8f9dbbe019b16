//! `nest trace`: the events that servers in debug mode recorded.
//!
//! Must not know: how a trace is read, nor how events look.

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use nest_trace::{Event, Filter, KINDS, Trace, check, head, line, perfetto};

use crate::args::{self, TraceFormat};
use crate::generate::write_file;
use crate::overwrite;
use crate::term::{self, Failure};

/// So many bytes show whether a file is worth reading.
const START: u64 = 64;

fn read(path: &Path) -> Result<Trace, Failure> {
    let failed = |reason: String| Failure::new(format!("{}: {reason}", path.display()));
    let io = |error: std::io::Error| failed(term::reason(&error));
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(failed("it is not a regular file".to_owned()));
    }
    let mut file = std::fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    file.by_ref()
        .take(START)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if Trace::begins(&bytes) {
        file.read_to_end(&mut bytes).map_err(io)?;
    }
    Trace::read(&bytes).map_err(failed)
}

/// Several traces have one order: that of their clocks.
fn text(traces: &[(&Trace, Vec<Event>)]) -> String {
    let mut out = String::new();
    let mut all = Vec::new();
    for (trace, wanted) in traces {
        let _ = writeln!(out, "{}", head(trace));
        all.extend(
            wanted
                .iter()
                .map(|event| (trace.date + event.time, trace, event)),
        );
    }
    all.sort_by_key(|(time, _, _)| *time);
    for (_, trace, event) in all {
        if traces.len() > 1 {
            let _ = write!(out, "{:<12} ", trace.server);
        }
        let _ = writeln!(out, "{}", line(trace, event));
    }
    out
}

fn oracle(traces: &[Trace]) -> ExitCode {
    let found: Vec<String> = traces.iter().flat_map(check).collect();
    for what in &found {
        term::print(format!("{what}\n"));
    }
    if found.is_empty() {
        let events: usize = traces.iter().map(|trace| trace.events.len()).sum();
        term::print(format!(
            "{events} events, nothing that cannot have happened\n"
        ));
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// Shows the events, or checks them.
pub fn trace(args: &args::Trace) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.output {
        let inputs = args.files.iter().map(PathBuf::as_path);
        overwrite::refuse("the output", path, inputs)?;
    }
    let traces: Result<Vec<Trace>, Failure> = args.files.iter().map(|path| read(path)).collect();
    let traces = traces?;
    if args.check {
        return Ok(oracle(&traces));
    }
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let kinds = KINDS
        .iter()
        .filter(|(_, name)| args.event.iter().any(|given| given == name));
    let filter = Filter {
        connections: args.connection.clone(),
        workers: args.worker.clone(),
        kinds: kinds.map(|(kind, _)| *kind).collect(),
        from: args.from.map(ns),
        to: args.to.map(ns),
        last: args.last.map(ns),
    };
    let wanted: Vec<(&Trace, Vec<Event>)> = traces
        .iter()
        .map(|trace| (trace, filter.of(trace).copied().collect()))
        .collect();
    let out = match args.format {
        TraceFormat::Text => text(&wanted),
        TraceFormat::Perfetto => perfetto(&wanted),
    };
    match &args.output {
        None => term::print(out),
        Some(path) => write_file(path, out.as_bytes())
            .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))?,
    }
    Ok(ExitCode::SUCCESS)
}
