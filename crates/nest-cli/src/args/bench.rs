//! The arguments of `nest bench`.
//!
//! Must not know: how servers are measured.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{Link, models, time};

/// What `--help` says at its end.
pub const HELP: &str = "Plays conversations that follow from the specification to a server of each model, \
compares every answer, and says which model needs the least processor time for a request.\n\n\
Example:\n  nest bench login.nest\n  \
nest bench login.nest --models event,uring --clients 256 --time 5m\n  \
nest bench login.nest --report login.html --json login.json\n  \
nest bench login.nest --compare login.json\n  \
nest bench login.nest --replay talks        after: nest run --record talks login.nest\n\n\
Exit status: 0 measured, 1 a server answered something else, failed or became dearer, 2 wrong usage";

/// `nest bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// The specification
    pub file: PathBuf,
    /// Additional C files of the server
    #[arg(value_name = "MORE.c")]
    pub more: Vec<PathBuf>,
    /// Measure only these concurrency models [default: all]
    #[arg(long, value_name = "MODEL,...", value_delimiter = ',', value_parser = models(false))]
    pub models: Vec<String>,
    /// How long to measure at most, without building
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub time: Duration,
    /// How many clients each server has at the same time
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// How many further clients connect, and send nothing
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub idle: u32,
    /// How many messages a client sends over a connection, at most
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=24))]
    pub messages: u32,
    /// Which rules clients use how often, the values of parts of their messages, think times, and how many
    /// slow and hostile clients there are beside them
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Play the conversations of this recording, or of all in this directory, which nest run --record
    /// has written
    #[arg(long, value_name = "PATH", conflicts_with = "messages")]
    pub replay: Option<PathBuf>,
    /// Multiply the pauses of recorded clients by this, as in 0.1; 0: no pauses [default: 1]
    #[arg(long, value_name = "FACTOR", requires = "replay", value_parser = factor)]
    pub think: Option<f64>,
    /// Repeat conversations over the same connection, where the specification permits it
    #[arg(long)]
    pub keep_alive: bool,
    /// How many messages a client sends before their answers arrive
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub pipeline: u32,
    /// Then also measure an open loop at these rates, in requests a second
    #[arg(long, value_name = "N,...", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rate: Vec<u32>,
    /// Also measure another server: a command in which {port} stands for its port. Messages that it
    /// answers otherwise are not measured, for any server. May be repeated
    #[arg(long, value_name = "NAME=COMMAND", value_parser = named)]
    pub vs: Vec<(String, Vec<String>)>,
    /// Encrypt connections with TLS: with the certificate of nest run --tls self, or that of a PEM file
    /// that contains its key as well; start: only from where an action calls $startTLS(); none: in clear
    /// [default: self or start if the specification encrypts so, start if recordings do]
    #[arg(long, value_name = "self|FILE.pem|start|none", value_parser = tls)]
    pub tls: Option<Tls>,
    /// Let clients resume TLS sessions; otherwise each connection makes a full handshake
    #[arg(long)]
    pub tls_resume: bool,
    /// As --vs, for a server that is loaded over TLS: {cert} in its command stands for the PEM file with
    /// the certificate and its key
    #[arg(long, value_name = "NAME=COMMAND", value_parser = named_tls)]
    pub vs_tls: Vec<(String, Vec<String>)>,
    /// Write a report with plots, an HTML page; without --rate, four rates are chosen
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write the figures as JSON
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Compare with the figures of an earlier run; fail if a server has become dearer, and that is not
    /// chance
    #[arg(long, value_name = "OLD.json")]
    pub compare: Option<PathBuf>,
    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run the servers in this directory [default: an empty one for each]
    #[arg(long = "in", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    #[command(flatten)]
    pub link: Link,
    /// Arguments for the servers that are built; what their own code reads stands behind another --
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

/// The largest factor of pauses.
const MOST_FACTOR: f64 = 100.0;

/// Parses a factor.
fn factor(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok();
    let found = found.filter(|factor| (0.0..=MOST_FACTOR).contains(factor));
    found.ok_or_else(|| format!("write a number from 0 to {MOST_FACTOR}, as in 0.1"))
}

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// With a certificate that nest makes.
    Own,
    /// With that of a file.
    File(PathBuf),
    /// With a certificate that nest makes, from where an action says so.
    Start,
    /// Not at all.
    Clear,
}

/// Parses the value of `--tls`.
fn tls(text: &str) -> Result<Tls, String> {
    match text {
        "self" => Ok(Tls::Own),
        "start" => Ok(Tls::Start),
        "none" => Ok(Tls::Clear),
        "" => {
            Err("write self, start, none, or a PEM file with a certificate and its key".to_owned())
        }
        file => Ok(Tls::File(file.into())),
    }
}

/// Parses `NAME=COMMAND` of a server in clear.
fn named(text: &str) -> Result<(String, Vec<String>), String> {
    if text.contains("{cert}") {
        return Err("write --vs-tls for a server that has the certificate".to_owned());
    }
    named_tls(text)
}

/// Parses `NAME=COMMAND`.
fn named_tls(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, command) = text.split_once('=').unwrap_or_default();
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) || words.is_empty() {
        return Err("write a name of letters, digits, - and _, then = and a command".to_owned());
    }
    if !command.contains("{port}") {
        return Err("write {port} where the command has its port".to_owned());
    }
    Ok((name.to_owned(), words))
}
