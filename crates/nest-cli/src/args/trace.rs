//! The arguments of `nest trace`.
//!
//! Must not know: what a trace contains.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

/// `nest trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// Files that servers wrote: the option traceFile
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only the connection with this number; may be repeated
    #[arg(long, value_name = "ID")]
    pub connection: Vec<u64>,
    /// Only the worker with this number, or its thread T; may be repeated
    #[arg(long, value_name = "N[.T]", value_parser = worker)]
    pub worker: Vec<(u32, Option<u32>)>,
    /// Only events of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    pub event: Vec<String>,
    /// Only from this time after the server's start on
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<Duration>,
    /// Only until this time after the server's start
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Option<Duration>,
    /// Only this long before the last event
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub last: Option<Duration>,
    /// How to print the events
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TraceFormat,
    /// The output file [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Print no events, but what cannot have happened, such as an end without a begin
    #[arg(long, conflicts_with_all = ["connection", "worker", "event", "from", "to", "last", "format", "output"])]
    pub check: bool,
}

/// `--format` of `nest trace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// A line for each event
    Text,
    /// JSON in the Trace Event Format, for Perfetto and Chrome
    Perfetto,
}

/// A worker, as lines name it: `0`, or `0.1`, a thread of it.
fn worker(text: &str) -> Result<(u32, Option<u32>), String> {
    let number = |word: &str| {
        let digits = word.bytes().all(|b| b.is_ascii_digit());
        word.parse().ok().filter(|_| digits)
    };
    let found = match text.split_once('.') {
        None => number(text).map(|worker| (worker, None)),
        Some((worker, thread)) => number(worker)
            .zip(number(thread))
            .map(|(worker, thread)| (worker, Some(thread))),
    };
    found.ok_or_else(|| {
        "write the number of a worker, as in 0, or of its thread, as in 0.1".to_owned()
    })
}

/// A time of a trace: of any length, as servers run for days.
fn moment(text: &str) -> Result<Duration, String> {
    let found = nest_machine::options::milliseconds(text).map(Duration::from_millis);
    found.ok_or_else(|| "write a time, as in 500ms, 10s, 2m, 30h".to_owned())
}

/// The kinds of events of `nest trace`.
fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(nest_trace::KINDS.iter().map(|(_, name)| *name))
}
