//! Which file a request's path names, and whether it is still the same.
//!
//! Must not know: what the server answers.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Changes of a file within this time have the same date, so a file is taken only when its last change is
/// older.
const YOUNG: Duration = Duration::from_millis(100);

/// The same for file systems whose dates are whole seconds, or every second one.
const COARSE: Duration = Duration::from_millis(2100);

/// Clocks of other machines may be so far ahead. A time later than that is from before this machine's clock was put
/// back.
const AHEAD: Duration = Duration::from_secs(60);

/// Answers for files that were modified within this time may change by themselves.
const RECENT: Duration = Duration::from_secs(3);

/// To open a path without what it names: O_PATH, the same on all machines of Linux that nest knows.
const O_PATH: i32 = 0o10_000_000;

/// What a directory's own path stands for.
const INDEX: &str = "index.html";

/// What tells that a file changed or was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(data: &Metadata) -> Self {
        Identity {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// The identity of the file that the path names now.
    pub fn now(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|data| Identity::of(&data))
    }

    /// Whether the last change is so recent that another one could have the same date.
    fn young(&self) -> bool {
        let limit = if self.changed.1 == 0 { COARSE } else { YOUNG };
        match age(self.changed) {
            Ok(age) => age <= limit,
            Err(ahead) => ahead <= AHEAD,
        }
    }

    /// When the file was modified, in seconds since 1970.
    pub fn modified(&self) -> u64 {
        u64::try_from(self.modified.0).unwrap_or(0)
    }

    /// Whether the file was modified so recently that a server may say so in its answer, as Apache does
    /// with a weak `ETag`; or will be.
    pub fn recent(&self) -> bool {
        age(self.modified).map_or(true, |age| age <= RECENT)
    }
}

/// How long ago a time is. An error says how long it is ahead.
fn age((seconds, part): (i64, i64)) -> Result<Duration, Duration> {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, u32::try_from(part).unwrap_or(0));
    SystemTime::now()
        .duration_since(time)
        .map_err(|ahead| ahead.duration())
}

/// Why no file is taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The path has no plain file in the folder.
    NoFile,
    /// It leads out of the folder.
    Outside,
    /// It is too large for an answer.
    Large,
    /// It changed a moment ago.
    Young,
}

/// A file and its bytes.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    /// The folder, and the file in it, without links.
    pub folder: PathBuf,
    pub real: PathBuf,
    pub identity: Identity,
    pub bytes: Vec<u8>,
}

/// Whether the path of a request names a file in the plain way, without anything that servers interpret.
fn plain(path: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/._-~+,@=".contains(&b);
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let parts: Vec<&str> = rest.split('/').collect();
    let last = parts.len() - 1;
    path.bytes().all(allowed)
        && parts
            .iter()
            .enumerate()
            .all(|(i, part)| !part.starts_with('.') && (!part.is_empty() || i == last))
}

/// The file that a request's path names in a folder, with at most `limit` bytes.
pub fn find(folder: &Path, path: &str, limit: u64) -> Result<Found, Unfit> {
    if !plain(path) {
        return Err(Unfit::NoFile);
    }
    let mut file = folder.join(path.trim_start_matches('/'));
    if path.ends_with('/') {
        file = file.join(INDEX);
    }
    // Opening a FIFO waits, and opening a device can have effects. So what the path names is opened when it is known.
    let named = OpenOptions::new()
        .read(true)
        .custom_flags(O_PATH)
        .open(&file)
        .map_err(|_| Unfit::NoFile)?;
    let data = named.metadata().map_err(|_| Unfit::NoFile)?;
    if !data.is_file() {
        return Err(Unfit::NoFile);
    }
    let link = PathBuf::from(format!("/proc/self/fd/{}", named.as_raw_fd()));
    let folder = fs::canonicalize(folder).map_err(|_| Unfit::NoFile)?;
    let real = fs::read_link(&link).map_err(|_| Unfit::NoFile)?;
    if !real.starts_with(&folder) {
        return Err(Unfit::Outside);
    }
    let identity = Identity::of(&data);
    if identity.size > limit {
        return Err(Unfit::Large);
    }
    if identity.young() {
        return Err(Unfit::Young);
    }
    let mut bytes = Vec::new();
    let opened = File::open(&link).map_err(|_| Unfit::NoFile)?;
    let read = opened.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|_| Unfit::NoFile)?;
    if bytes.len() as u64 != identity.size || Identity::now(&file).as_ref() != Some(&identity) {
        return Err(Unfit::Young);
    }
    Ok(Found {
        path: file,
        folder,
        real,
        identity,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::{Identity, Unfit, find, plain};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant, SystemTime};

    #[test]
    fn only_plain_paths_name_files() {
        for good in ["/", "/a", "/a/b.txt", "/a/"] {
            assert!(plain(good), "{good}");
        }
        for bad in [
            "", "a", "//", "/a//b", "/../a", "/.git/x", "/a/..", "/a%20", "/a?b", "/a b",
        ] {
            assert!(!plain(bad), "{bad}");
        }
    }

    #[test]
    fn a_change_is_young_while_another_one_may_have_its_date() {
        let young = |ago: i64, part| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let seconds = i64::try_from(now.unwrap().as_secs()).unwrap() - ago;
            let identity = Identity {
                device: 1,
                inode: 2,
                size: 3,
                modified: (seconds, part),
                changed: (seconds, part),
            };
            identity.young()
        };
        // On a machine that stood still meanwhile it is not young any more.
        assert!((0..10).any(|_| young(1, 0)));
        assert!(!young(1, 1) && !young(60, 0));
        assert!(young(-30, 1) && !young(-3600, 1));
    }

    #[test]
    fn links_that_lead_out_large_and_changing_files_are_left_to_the_server() {
        let top = std::env::temp_dir().join(format!("nest-kernel-files-{}", std::process::id()));
        let root = top.join("root");
        fs::create_dir_all(&root).unwrap();
        fs::write(top.join("secret"), "s").unwrap();
        fs::write(root.join("index.html"), "index").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("in", root.join("link")).unwrap();
        // On a machine that stood still meanwhile it is not young any more.
        let young = (0..10).any(|_| {
            fs::write(root.join("in"), "inside").unwrap();
            find(&root, "/in", 100).is_err_and(|why| why == Unfit::Young)
        });
        assert!(young);
        let limit = Instant::now() + Duration::from_secs(10);
        let found = loop {
            match find(&root, "/in", 100) {
                Err(Unfit::Young) => assert!(Instant::now() < limit),
                other => break other.unwrap(),
            }
        };
        assert_eq!(found.bytes, b"inside");
        assert_eq!(find(&root, "/link", 100).unwrap().bytes, b"inside");
        assert_eq!(find(&root, "/", 100).unwrap().bytes, b"index");
        assert_eq!(find(&root, "/out", 100).unwrap_err(), Unfit::Outside);
        assert_eq!(find(&root, "/in", 5).unwrap_err(), Unfit::Large);
        assert_eq!(find(&root, "/none", 5).unwrap_err(), Unfit::NoFile);
        assert_eq!(find(&top, "/root", 5).unwrap_err(), Unfit::NoFile);
        fs::remove_dir_all(top).unwrap();
    }
}
