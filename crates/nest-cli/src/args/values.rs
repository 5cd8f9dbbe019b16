//! What the arguments of several commands have in common, and values in the notation of options.
//!
//! Must not know: the commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};

/// The C compiler, and where it finds headers and libraries.
#[derive(Clone, Debug, Default, Args)]
pub struct Link {
    /// Search DIR for #include files
    #[arg(short = 'I', value_name = "DIR", help_heading = "C options")]
    pub include: Vec<PathBuf>,
    /// Search DIR for libraries
    #[arg(short = 'L', value_name = "DIR", help_heading = "C options")]
    pub library_path: Vec<PathBuf>,
    /// Link the library LIB
    #[arg(short = 'l', value_name = "LIB", help_heading = "C options")]
    pub library: Vec<String>,
    /// The C compiler [default: $CC, or cc]
    #[arg(long, value_name = "CC", help_heading = "C options")]
    pub cc: Option<String>,
}

/// The arguments of every subcommand that compiles.
#[derive(Debug, Args)]
pub struct Spec {
    /// The specification; - is standard input
    pub file: PathBuf,
    /// The concurrency model, instead of the one in the specification
    #[arg(long, value_name = "MODEL", value_parser = models(false))]
    pub model: Option<String>,
}

/// Options for the C compiler of `build` and `run`.
#[derive(Debug, Default, Args)]
pub struct Cc {
    #[command(flatten)]
    pub link: Link,
    /// Compile for a debugger, without optimisation
    #[arg(long, help_heading = "C options")]
    pub debug: bool,
    /// Compile with sanitizers; address includes undefined
    #[arg(long, value_name = "KIND", help_heading = "C options")]
    pub sanitize: Option<Sanitize>,
}

/// `--sanitize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sanitize {
    /// Memory errors and undefined behaviour
    Address,
    /// Only undefined behaviour
    Undefined,
    /// Data races
    Thread,
}

/// Parses a duration in the notation of options.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let found = nest_machine::options::duration(text).filter(|ms| *ms > 0);
    let found = found.map(|ms| Duration::from_millis(ms.into()));
    found.ok_or_else(|| "write a time of at most 24h, as in 500ms, 10s, 2m".to_owned())
}

/// Parses a size in the notation of options.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let found = nest_machine::options::size(text).filter(|n| *n > 0);
    found.ok_or_else(|| "write bytes, as in 512, 8K, 1M".to_owned())
}

/// The names of the models. Models that no specification can select are accepted too; `shown` tells
/// whether the help lists them.
pub(super) fn models(shown: bool) -> PossibleValuesParser {
    PossibleValuesParser::new(nest_machine::MODELS.iter().map(move |model| {
        PossibleValue::new(model.name)
            .help(model.doc)
            .hide(!shown && model.option.is_empty())
    }))
}
