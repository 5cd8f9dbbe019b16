//! Paths as they are printed.

use std::path::Path;

/// A path as the user would write it: from the current directory, if it lies in it.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().and_then(std::fs::canonicalize);
    let short = here
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    short
        .unwrap_or_else(|| path.to_owned())
        .display()
        .to_string()
}
