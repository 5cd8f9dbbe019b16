//! The arguments of `nest cache-sim`. Must not know: what they do.

use std::path::PathBuf;

use clap::Args;

/// Show how often files of an access log would be in memory
///
/// Each policy of the option fileCache is simulated with several sizes. A log has the common or
/// the combined format; GETs with the status 200 count. Each line of a trace is PATH BYTES.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nest cache-sim access.log --sizes 16M,64M --plot rates.svg")]
pub struct CacheSim {
    /// Access logs or traces, in the order of time
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,
    /// Sizes of the cache, such as 16M,64M; otherwise six, up to that of all files
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    pub sizes: Vec<String>,
    /// The largest file that LRU-Threshold keeps (256K)
    #[arg(long, value_name = "SIZE")]
    pub largest: Option<String>,
    /// Simulate also the policy `custom` of this specification's %cache
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// Also draw the rates into this SVG file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}
