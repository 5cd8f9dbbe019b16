//! Follows folders: says in which of them something changed.
//!
//! Must not know: which files matter.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Followed folders.
pub struct Follow {
    events: Arc<OwnedFd>,
    folders: BTreeMap<i32, PathBuf>,
    followed: BTreeSet<PathBuf>,
}

impl Follow {
    /// Follows nothing yet.
    pub fn new() -> Result<Self, Errno> {
        Ok(Follow {
            events: Arc::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?),
            folders: BTreeMap::new(),
            followed: BTreeSet::new(),
        })
    }

    /// Readable when something changed.
    pub fn events(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.events)
    }

    /// Follows all folders from `top` down to the one that holds `file`.
    pub fn add(&mut self, top: &Path, file: &Path) -> Result<(), Errno> {
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
            if !self.followed.contains(folder) {
                let watch = inotify::add_watch(&self.events, folder, changes)?;
                self.folders.insert(watch, folder.to_owned());
                self.followed.insert(folder.to_owned());
            }
        }
        Ok(())
    }

    /// The folders in which something changed; an empty path stands for all of them.
    pub fn changed(&mut self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); 16_384];
        let mut reader = Reader::new(&self.events, &mut buffer);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                found.insert(PathBuf::new());
                continue;
            }
            let Some(folder) = self.folders.get(&event.wd()) else {
                continue;
            };
            found.insert(folder.clone());
            let ends = ReadFlags::IGNORED | ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF;
            if event.events().intersects(ends) {
                // The path may name another folder from now on, which is followed when it is used.
                self.followed.remove(folder);
            }
        }
        found
    }
}
