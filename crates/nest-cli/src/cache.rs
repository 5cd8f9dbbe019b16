//! A cache of servers that `nest run` has built.
//!
//! The name of an entry is a hash of all its inputs, so an entry never becomes stale: KEY/manifest
//! lists the files outside the generated project (headers, C files), and KEY/HASH/ contains the
//! server that was built when their contents had this hash. Must not know: how a server is built.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::term::Failure;

/// The number of servers kept.
const KEPT: usize = 24;

/// The cache of one user.
pub struct Cache {
    root: PathBuf,
}

/// The key of one recipe, without the files it reads.
pub struct Key(String);

impl Key {
    /// Hashes all parts in order.
    pub fn new<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Hash::default();
        for part in parts {
            hash.add(part);
        }
        Key(hash.text())
    }
}

impl Cache {
    /// `$XDG_CACHE_HOME/nest`, `~/.cache/nest`, or a directory of this user in the temporary
    /// directory.
    pub fn open() -> Result<Self, Failure> {
        let absolute = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|p| p.is_absolute())
        };
        let root = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|dir| dir.join("nest"));
        let user = rustix::process::getuid().as_raw();
        if let Some(root) = root
            && make_private(&root).is_ok()
        {
            return Ok(Cache { root });
        }
        // Absolute, because tests run servers in other directories.
        let root = std::env::temp_dir().join(format!("nest-{user}"));
        let root = std::path::absolute(&root).unwrap_or(root);
        let failed = |e: &io::Error| Failure::io(format!("cannot use {}", root.display()), e);
        make_private(&root).map_err(|e| failed(&e))?;
        let found = fs::symlink_metadata(&root).map_err(|e| failed(&e))?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
            return Err(Failure::new(format!(
                "{} is not a private directory of yours; remove it, or set XDG_CACHE_HOME",
                root.display()
            )));
        }
        Ok(Cache { root })
    }

    /// A file of another kind, which the cache does not look after.
    pub fn other(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns the server with this key and name if its inputs are unchanged. From now on it is the
    /// newest: the servers that one command uses do not remove each other.
    pub fn find(&self, key: &Key, name: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
        let dir = self.root.join(&key.0);
        let manifest = fs::read_to_string(dir.join("manifest")).ok()?;
        let used: Vec<PathBuf> = manifest.lines().map(PathBuf::from).collect();
        let server = self.place(key, &used).join(name);
        if !server.is_file() {
            return None;
        }
        let _ = fs::File::open(dir).and_then(|dir| dir.set_modified(SystemTime::now()));
        Some((server, used))
    }

    /// A place for a server whose inputs are not known yet.
    pub fn draft(&self, key: &Key) -> Result<PathBuf, Failure> {
        let dir = self.root.join(&key.0);
        make_private(&dir)
            .map_err(|e| Failure::io(format!("cannot make {}", dir.display()), &e))?;
        Ok(dir.join(format!("draft-{}", std::process::id())))
    }

    /// Keeps the draft as the server built from the files `used`. Returns its path.
    pub fn keep(
        &self,
        key: &Key,
        name: &str,
        draft: &Path,
        used: &[PathBuf],
    ) -> Result<PathBuf, Failure> {
        let place = self.place(key, used);
        let server = place.join(name);
        let list: String = used
            .iter()
            .map(|f| format!("{}\n", f.to_string_lossy()))
            .collect();
        let manifest = self.root.join(&key.0).join("manifest");
        let beside = crate::generate::beside(&manifest);
        make_private(&place)
            .and_then(|()| fs::rename(draft, &server))
            .and_then(|()| fs::write(&beside, list))
            .and_then(|()| fs::rename(&beside, &manifest))
            .map_err(|e| Failure::io(format!("cannot keep {}", server.display()), &e))?;
        self.prune(&key.0);
        Ok(server)
    }

    fn place(&self, key: &Key, used: &[PathBuf]) -> PathBuf {
        let mut hash = Hash::default();
        for file in used {
            hash.add(file.to_string_lossy().as_bytes());
            hash.add(&fs::read(file).unwrap_or_default());
        }
        self.root.join(&key.0).join(hash.text())
    }

    /// Removes the keys that were used longest ago. A running server is not affected by the removal of its file.
    fn prune(&self, newest: &str) {
        let Ok(entries) = fs::read_dir(&self.root) else {
            return;
        };
        let mut keys: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter(|e| e.file_name() != newest)
            .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
            .collect();
        keys.sort();
        let surplus = keys.len().saturating_sub(KEPT - 1);
        for (_, path) in keys.into_iter().take(surplus) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn make_private(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}

/// FNV-1a with 128 bits: the same in every version of nest, unlike the hash of the standard
/// library.
struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    /// Adds a part with its length, so that the boundaries between parts matter.
    fn add(&mut self, part: &[u8]) {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }

    fn text(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_holds_only_for_the_same_content() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache {
            root: dir.path().join("cache"),
        };
        let header = dir.path().join("a.h");
        fs::write(&header, "1").unwrap();
        let key = Key::new([&b"x"[..]]);
        assert!(cache.find(&key, "s").is_none());
        let draft = cache.draft(&key).unwrap();
        fs::write(&draft, "server").unwrap();
        let kept = cache
            .keep(&key, "s", &draft, std::slice::from_ref(&header))
            .unwrap();
        assert_eq!(cache.find(&key, "s"), Some((kept, vec![header.clone()])));
        fs::write(&header, "2").unwrap();
        assert!(cache.find(&key, "s").is_none());
        fs::write(&header, "1").unwrap();
        assert!(cache.find(&key, "s").is_some());
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(
            Key::new([&b"ab"[..], b"c"]).0,
            Key::new([&b"a"[..], b"bc"]).0
        );
    }

    #[test]
    fn old_entries_go() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache {
            root: dir.path().to_owned(),
        };
        for i in 0..KEPT + 5 {
            let key = Key::new([i.to_string().as_bytes()]);
            let draft = cache.draft(&key).unwrap();
            fs::write(&draft, "server").unwrap();
            cache.keep(&key, "s", &draft, &[]).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), KEPT);
    }

    #[test]
    fn a_server_that_was_found_stays() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache {
            root: dir.path().to_owned(),
        };
        let build = |i: usize| {
            let key = Key::new([i.to_string().as_bytes()]);
            let draft = cache.draft(&key).unwrap();
            fs::write(&draft, "server").unwrap();
            cache.keep(&key, "s", &draft, &[]).unwrap();
            key
        };
        let keys: Vec<Key> = (0..KEPT).map(build).collect();
        for (age, key) in (1..).zip(&keys) {
            let entry = fs::File::open(dir.path().join(&key.0)).unwrap();
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age);
            entry.set_modified(then).unwrap();
        }
        // Of a command that needs two servers, the first is found, and the second is built.
        let (server, _) = cache.find(&keys[0], "s").unwrap();
        build(KEPT);
        assert!(server.is_file());
        assert!(cache.find(&keys[1], "s").is_none());
    }
}
