//! The control group that the server runs in: the programs see the sockets of its processes alone.
//!
//! Must not know: which programs are attached to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::process;

/// The server's control group. One that was made here is removed when dropped, if no process is in it.
pub struct Group {
    own: PathBuf,
    /// The group in which nest runs, if the server's was made.
    before: Option<PathBuf>,
}

/// Where cgroup2 is mounted.
pub fn mounted() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let folder = fields.next()?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(folder))
    })
}

/// How the names of groups begin that were made here; behind it: the port, `-`, and the process.
const PREFIX: &str = "nest-accelerate-";

/// Whether it is the name of a group whose maker has ended.
fn left(name: &str) -> bool {
    let id = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once('-'));
    id.and_then(|(_, id)| id.parse::<u32>().ok())
        .is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists())
}

impl Group {
    /// The group of a server that runs: its folder.
    pub fn of(own: PathBuf) -> Self {
        Group { own, before: None }
    }

    /// Makes the group below the one in which nest runs. Removes groups that ended runs left empty.
    pub fn create(port: u16) -> Result<Self, Failure> {
        let missing = || Failure::Missing(vec!["cgroup2 is not mounted".to_owned()]);
        let mount = mounted().ok_or_else(missing)?;
        let before = mount.join(process::group("self").ok_or_else(missing)?);
        for old in fs::read_dir(&before).into_iter().flatten().flatten() {
            if left(&old.file_name().to_string_lossy()) {
                // Fails while a process is in it, and then it stays.
                let _ = fs::remove_dir(old.path());
            }
        }
        let own = before.join(format!("{PREFIX}{port}-{}", std::process::id()));
        match fs::create_dir(&own) {
            Ok(()) => Ok(Group {
                own,
                before: Some(before),
            }),
            Err(error) => Err(Failure::Missing(vec![format!(
                "no control group can be made in {}: {}",
                before.display(),
                crate::failure::reason(&error)
            )])),
        }
    }

    /// The folder, open, to attach programs to.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.own)
    }

    /// Runs `work` as a process of the group, so that what it starts is in the group.
    pub fn inside<T>(&self, work: impl FnOnce() -> T) -> Result<T, Failure> {
        let id = std::process::id().to_string();
        let enter = |group: &Path| {
            fs::write(group.join("cgroup.procs"), &id)
                .map_err(|e| Failure::io(format!("cannot enter {}", group.display()), &e))
        };
        let Some(before) = &self.before else {
            return Ok(work());
        };
        enter(&self.own)?;
        let result = work();
        enter(before)?;
        Ok(result)
    }

    /// The processes that may have the server's connections: those of a group that was made, or all, because
    /// a server may have moved its processes elsewhere.
    pub fn processes(&self) -> Vec<u32> {
        if self.before.is_none() {
            return process::all();
        }
        let text = fs::read_to_string(self.own.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.before.is_some() {
            let _ = fs::remove_dir(&self.own);
        }
    }
}
