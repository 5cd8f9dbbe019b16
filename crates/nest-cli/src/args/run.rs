//! The arguments of `nest run`.
//!
//! Must not know: how servers are built and run.

use std::path::PathBuf;

use clap::Args;

use super::values::{Cc, Spec};

/// What `--help` says at its end.
pub const HELP: &str = "Example:\n  nest run login.nest\n  \
nest run --watch --trace --model event login.nest\n  \
nest run --record talks login.nest      then: nest bench login.nest --replay talks\n  \
nest run login.nest -- --port 9000\n\n\
Arguments after -- go to the server; to list its options: nest run login.nest -- --help";

/// `nest run`.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub spec: Spec,
    /// Additional C files of the server
    #[arg(value_name = "MORE.c")]
    pub more: Vec<PathBuf>,
    /// Print the input, the rule that matches it, the output, and the states
    #[arg(long)]
    pub trace: bool,
    /// Rebuild and restart when a file of the server is saved
    #[arg(long)]
    pub watch: bool,
    /// Write what each client sends, and when, into a file of its own in DIR, for nest bench --replay
    #[arg(long, value_name = "DIR", conflicts_with = "watch")]
    pub record: Option<PathBuf>,
    /// Encrypt connections
    #[arg(long, value_name = "HOW")]
    pub tls: Option<crate::tls::Tls>,
    #[command(flatten)]
    pub cc: Cc,
    /// Arguments for the server
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<std::ffi::OsString>,
}
