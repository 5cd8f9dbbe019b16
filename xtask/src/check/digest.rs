//! Digests of contents and of files.
//!
//! Must not know: what they are for.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

use crate::tool;

/// A digest of some content.
pub type Digest = u64;

/// Adds content with its length, so that two contents side by side are not another one.
pub fn add(hash: &mut DefaultHasher, content: &[u8]) {
    hash.write_usize(content.len());
    hash.write(content);
}

/// Adds a file, or all files of a folder with their names; an error if it is not there.
pub fn add_tree(hash: &mut DefaultHasher, root: &Path, path: &str) -> Result<(), String> {
    let place = root.join(path);
    if !place.is_dir() {
        add(hash, &read(&place)?);
        return Ok(());
    }
    for file in tool::files_below(root, path)? {
        add(hash, file.as_os_str().as_encoded_bytes());
        add(hash, &read(&root.join(&file))?);
    }
    Ok(())
}

/// The content of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}
