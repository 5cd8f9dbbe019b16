//! Follows folders: says in which of them something changed, and whether rules of access did.
//!
//! Must not know: which files matter.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// How the names of files begin in which a server finds rules for a folder, as Apache does in `.htaccess`.
const RULES: &[u8] = b".ht";

/// What changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The folders in which something changed; an empty path stands for all of them.
    pub folders: BTreeSet<PathBuf>,
    /// Whether the server may refuse what it gave before, although the file is the same: the rights of a folder or
    /// a file of rules changed.
    pub rules: bool,
}

/// Followed folders.
pub struct Follow {
    events: Arc<OwnedFd>,
    /// By the number of a watch: the folder's paths, of which links make several.
    folders: BTreeMap<i32, BTreeSet<PathBuf>>,
}

impl Follow {
    /// Follows nothing yet.
    pub fn new() -> Result<Self, Errno> {
        Ok(Follow {
            events: Arc::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?),
            folders: BTreeMap::new(),
        })
    }

    /// Readable when something changed.
    pub fn events(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.events)
    }

    /// Follows all folders from `top` down to the one that holds `file`. A path that was followed before may lead to
    /// another folder now, and a folder that is followed keeps its watch. `named`: if `file` is the path without links
    /// of a file below that folder, a change counts as one there.
    pub fn add(&mut self, top: &Path, file: &Path, named: Option<&Path>) -> Result<(), Errno> {
        let changes = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|f| f.starts_with(top)) {
            let watch = inotify::add_watch(&self.events, folder, changes)?;
            let paths = self.folders.entry(watch).or_default();
            paths.insert(named.unwrap_or(folder).to_owned());
        }
        Ok(())
    }

    /// What changed since the last call.
    pub fn changed(&mut self) -> Changes {
        let mut found = Changes::default();
        let mut buffer = [MaybeUninit::uninit(); 16_384];
        let mut reader = Reader::new(&self.events, &mut buffer);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                found.folders.insert(PathBuf::new());
                found.rules = true;
                continue;
            }
            // An event without a name is one of the folder itself.
            found.rules |= match event.file_name() {
                Some(name) => name.to_bytes().starts_with(RULES),
                None => event.events().contains(ReadFlags::ATTRIB),
            };
            if let Some(paths) = self.folders.get(&event.wd()) {
                found.folders.extend(paths.iter().cloned());
            }
            if event.events().contains(ReadFlags::IGNORED) {
                self.folders.remove(&event.wd());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Follow;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn rules_of_access_are_told_from_files() {
        let top = std::env::temp_dir().join(format!("nest-follow-{}", std::process::id()));
        let sub = top.join("sub");
        fs::create_dir_all(&sub).unwrap();
        let mut follow = Follow::new().unwrap();
        follow.add(&top, &sub.join("a"), None).unwrap();
        let mut told = |folder: &Path| {
            let changes = follow.changed();
            (changes.folders.contains(folder), changes.rules)
        };
        fs::write(sub.join("a"), "a").unwrap();
        fs::set_permissions(sub.join("a"), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(told(&sub), (true, false));
        fs::write(sub.join(".htaccess"), "Require all denied").unwrap();
        assert_eq!(told(&sub), (true, true));
        fs::remove_file(sub.join(".htaccess")).unwrap();
        assert_eq!(told(&sub), (true, true));
        for folder in [&sub, &top] {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
            assert_eq!(told(folder), (true, true));
        }
        assert_eq!(told(&sub), (false, false));
        fs::remove_dir_all(top).unwrap();
    }
}
