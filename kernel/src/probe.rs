//! Finds out, before anything is loaded, what this system lacks.
//!
//! Must not know: how the programs are loaded.

use std::fs;
use std::path::Path;

use crate::cgroup;

/// The oldest kernel: older ones can put an answer before one that was promised earlier.
const LEAST: (u32, u32) = (6, 12);

const NET_ADMIN: u32 = 12;
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// What is missing, each as a phrase; nothing if all is there.
pub fn missing() -> Vec<String> {
    let mut found = Vec::new();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match version(&release) {
        Some(version) if version >= LEAST => {}
        _ => found.push(format!(
            "Linux {} is older than {}.{}",
            release.trim(),
            LEAST.0,
            LEAST.1
        )),
    }
    if fs::File::open("/sys/kernel/btf/vmlinux").is_err() {
        found.push("the kernel has no BTF (/sys/kernel/btf/vmlinux)".to_owned());
    }
    if cgroup::mounted().is_none() {
        found.push("cgroup2 is not mounted".to_owned());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lacking = lacking(&status);
    if !lacking.is_empty() {
        found.push(format!("nest lacks {}", lacking.join(", ")));
    }
    if locked(Path::new("/sys/kernel/security/lockdown")) {
        found.push("the kernel is locked down (confidentiality)".to_owned());
    }
    found
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The capabilities that are needed and not there.
fn lacking(status: &str) -> Vec<&'static str> {
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let set = line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok());
    let set = set.unwrap_or(0);
    let has = |bit: u32| set >> bit & 1 == 1;
    let needed = [
        ("CAP_BPF", has(BPF) || has(SYS_ADMIN)),
        ("CAP_NET_ADMIN", has(NET_ADMIN)),
        ("CAP_PERFMON", has(PERFMON) || has(SYS_ADMIN)),
    ];
    needed
        .iter()
        .filter(|(_, there)| !there)
        .map(|(name, _)| *name)
        .collect()
}

fn locked(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("[confidentiality]"))
}

#[cfg(test)]
mod tests {
    use super::{lacking, version};

    #[test]
    fn a_release_is_compared_as_numbers() {
        assert_eq!(version("6.18.44-fc"), Some((6, 18)));
        assert_eq!(version("6.9"), Some((6, 9)));
        assert!(version("6.9.1") < Some((6, 12)));
        assert_eq!(version("x"), None);
    }

    #[test]
    fn capabilities_are_named() {
        let none = "Name:\tx\nCapEff:\t0000000000000000\n";
        assert_eq!(lacking(none), ["CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"]);
        assert!(lacking("CapEff:\t000001ffffffffff\n").is_empty());
        assert_eq!(lacking("CapEff:\t0000008000001000\n"), ["CAP_PERFMON"]);
    }
}
