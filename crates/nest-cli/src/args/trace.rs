//! The arguments of `nest trace`.
//!
//! Must not know: what a trace contains.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::values::time;

/// `nest trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// Files that servers wrote: the option traceFile
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only the connection with this number; may be repeated
    #[arg(long, value_name = "ID")]
    pub connection: Vec<u64>,
    /// Only the worker with this number; may be repeated
    #[arg(long, value_name = "N")]
    pub worker: Vec<u32>,
    /// Only events of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    pub event: Vec<String>,
    /// Only from this time after the server's start on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Only until this time after the server's start
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<Duration>,
    /// Only this long before the last event
    #[arg(long, value_name = "TIME", value_parser = time)]
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

/// The kinds of events of `nest trace`.
fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(nest_trace::KINDS.iter().map(|(_, name)| *name))
}
