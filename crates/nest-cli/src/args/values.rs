//! Values in the notation of options.
//!
//! Must not know: which arguments they are of.

use std::time::Duration;

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
