//! What processes use: processor time and memory of a server with all its processes, and how busy
//! the driver is.
//!
//! Must not know: what the processes do.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::thread::ClockId;

/// How much of a time the driver ran, and how much it waited for a core, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Driver {
    /// On a core.
    pub busy: f64,
    /// Ready to run, but without a core.
    pub waited: f64,
    /// The whole time.
    pub whole: f64,
}

/// A reading of the driver's counters.
pub struct Reading {
    busy: f64,
    waited: f64,
    at: Instant,
}

impl Driver {
    /// Reads the counters of this thread.
    #[must_use]
    #[allow(clippy::new_ret_no_self)]
    pub fn now() -> Reading {
        let time = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
        let schedule = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let waited = schedule.split_whitespace().nth(1);
        let waited: f64 = waited.and_then(|w| w.parse().ok()).unwrap_or(0.0);
        Reading {
            busy: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
            waited: waited / 1e9,
            at: Instant::now(),
        }
    }

    /// Whether the driver had so little time to spare that it, and not the server, may be what was
    /// measured.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.whole > 0.0 && self.busy / self.whole > 0.9
    }
}

impl Reading {
    /// The time from this reading until now.
    #[must_use]
    pub fn until_now(&self) -> Driver {
        let now = Driver::now();
        Driver {
            busy: now.busy - self.busy,
            waited: now.waited - self.waited,
            whole: now.at.duration_since(self.at).as_secs_f64(),
        }
    }
}

/// Ticks of /proc/PID/stat a second: a constant of the kernel's interface on all systems that nest
/// supports.
const TICKS: f64 = 100.0;

/// A server's processes.
pub enum Processes {
    /// All in this control group, which is removed at the end.
    Group(PathBuf),
    /// This process and those below it.
    Tree(u32),
}

impl Processes {
    /// Makes a control group of this name, where the system lets us.
    #[must_use]
    pub fn group(name: &str) -> Option<Processes> {
        let folders = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpuacct"];
        folders.iter().find_map(|base| {
            let path = PathBuf::from(base).join(name);
            fs::create_dir(&path).ok()?;
            let group = Processes::Group(path);
            // A folder may be something else, or may not count.
            let usable = group.file("cgroup.procs").is_some_and(|f| f.exists());
            (usable && group.group_time().is_some()).then_some(group)
        })
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        match self {
            Processes::Group(path) => Some(path.join(name)),
            Processes::Tree(_) => None,
        }
    }

    /// Where a process writes its number to join, for a control group.
    #[must_use]
    pub fn joined_by(&self) -> Option<PathBuf> {
        self.file("cgroup.procs")
    }

    fn group_time(&self) -> Option<f64> {
        let read = |name: &str| fs::read_to_string(self.file(name)?).ok();
        if let Some(text) = read("cpu.stat") {
            let line = text.lines().find_map(|l| l.strip_prefix("usage_usec "));
            if let Some(time) = line.and_then(|l| l.trim().parse::<f64>().ok()) {
                return Some(time / 1e6);
            }
        }
        let nanoseconds: f64 = read("cpuacct.usage")?.trim().parse().ok()?;
        Some(nanoseconds / 1e9)
    }

    /// The processor time that they have used, in seconds.
    #[must_use]
    pub fn time(&self) -> f64 {
        match self {
            Processes::Group(_) => self.group_time().unwrap_or_default(),
            Processes::Tree(root) => {
                let all = tree(*root);
                all.iter().filter_map(|pid| stat_time(*pid)).sum()
            }
        }
    }

    /// Their numbers.
    #[must_use]
    pub fn all(&self) -> BTreeSet<u32> {
        match self {
            Processes::Tree(root) => tree(*root),
            Processes::Group(path) => fs::read_to_string(path.join("cgroup.procs"))
                .unwrap_or_default()
                .lines()
                .filter_map(|line| line.trim().parse().ok())
                .collect(),
        }
    }

    /// The memory of all of them in bytes: what several share counts once.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let all = self.all();
        all.iter().filter_map(|pid| proportional(*pid)).sum()
    }

    /// Whether the figures are those of a control group.
    #[must_use]
    pub fn is_group(&self) -> bool {
        matches!(self, Processes::Group(_))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if let Processes::Group(path) = self {
            // A process that has just ended may still be counted for a moment.
            let limit = Instant::now() + Duration::from_secs(1);
            while fs::remove_dir(&*path).is_err() && path.exists() && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// A process and all below it.
fn tree(root: u32) -> BTreeSet<u32> {
    let mut all = BTreeSet::from([root]);
    let mut todo = vec![root];
    while let Some(pid) = todo.pop() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten();
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|c| c.parse().ok()) {
                if all.insert(child) {
                    todo.push(child);
                }
            }
        }
    }
    all
}

/// Time of a process and of its children that have ended, in seconds.
fn stat_time(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = text.rsplit_once(')')?.1;
    let times = fields.split_whitespace().skip(11).take(4);
    let ticks: f64 = times.filter_map(|t| t.parse::<f64>().ok()).sum();
    Some(ticks / TICKS)
}

/// The memory of a process in bytes; it pays its part of what it shares.
fn proportional(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
