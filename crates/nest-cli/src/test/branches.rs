//! The file in which servers mark the branches of actions that run: a byte for each.
//!
//! Must not know: what the branches are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::term::Failure;

/// Makes the file in a folder, with nothing marked; none if there are no branches.
pub fn file(folder: &Path, count: usize) -> Result<Option<PathBuf>, Failure> {
    if count == 0 {
        return Ok(None);
    }
    let path = folder.join("branches");
    fs::write(&path, vec![0; count])
        .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))?;
    Ok(Some(path))
}

/// The marks.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| Failure::io(format!("cannot read {}", path.display()), &e))
}
