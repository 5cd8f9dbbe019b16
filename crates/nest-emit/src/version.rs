//! The tool's name in what it writes.

/// The tool's name and version, as `--version` of a server shows it.
pub const VERSION: &str = concat!("nest ", env!("CARGO_PKG_VERSION"));
