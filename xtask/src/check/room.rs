//! Says when the disk is full: linkers and servers then fail with messages that name anything but the disk.
//!
//! Must not know: steps.

use std::path::Path;

use rustix::fs::statvfs;

/// With less than this free, in MB, a failure may come from the disk: what did not fit has been
/// removed by then.
const LITTLE: u64 = 1_000;

/// What to say after a failure, if the disk of `folder` is full or nearly so. A disk that cannot be asked
/// is taken to have room.
pub fn trouble(folder: &Path) -> Option<String> {
    let disk = statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize) / 1_000_000;
    (free < LITTLE).then(|| {
        format!(
            "the disk of {} has {free} MB free, and a clean clone needs some 6,000: make room, and check again",
            folder.display()
        )
    })
}
