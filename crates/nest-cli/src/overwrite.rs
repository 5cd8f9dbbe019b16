//! Output files that are inputs: writing them would destroy what was read.
//!
//! Must not know: what is written.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::term::Failure;

/// Fails if the output is one of the inputs, under whatever name. `what`: what is written.
pub fn refuse<'a>(
    what: &str,
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let file = |path: &Path| {
        let found = std::fs::metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file);
        found.map(|found| (found.dev(), found.ino()))
    };
    let Some(place) = file(output) else {
        return Ok(());
    };
    match inputs.into_iter().find(|input| file(input) == Some(place)) {
        None => Ok(()),
        Some(input) => Err(Failure::new(format!(
            "{what} would overwrite {}; choose another name",
            input.display()
        ))),
    }
}
