//! What /proc tells of processes: which there are, their descriptors, when each began, its control group.
//!
//! Must not know: why they are asked for. A process that ends meanwhile has nothing.

use std::fs;

/// All processes that this one may see.
pub fn all() -> Vec<u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
        .collect()
}

/// Its open files: the number of each, and what it refers to, such as `socket:[1234]`.
pub fn descriptors(process: u32) -> Vec<(String, String)> {
    let files = fs::read_dir(format!("/proc/{process}/fd"));
    files
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|file| {
            let link = fs::read_link(file.path()).ok()?;
            let number = file.file_name().to_string_lossy().into_owned();
            Some((number, link.to_string_lossy().into_owned()))
        })
        .collect()
}

/// How its links name the socket with this inode.
pub fn socket(inode: u64) -> String {
    format!("socket:[{inode}]")
}

/// When it began, in ticks after the system did. With the number it names one process for good. Nothing for
/// one that has ended and whose parent did not ask yet how.
pub fn begin(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses and may contain any byte; the 22nd field is the 20th after it.
    let (_, fields) = stat.rsplit_once(')')?;
    let ended = fields.trim_start().starts_with(['Z', 'X']);
    fields
        .split_whitespace()
        .nth(19)
        .filter(|_| !ended)?
        .parse()
        .ok()
}

/// The name of its program.
pub fn name(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    name.trim().chars().flat_map(char::escape_default).collect()
}

/// The path of its group of cgroup2, from the root of the groups on, without a slash at the beginning.
pub fn group(process: &str) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_process_sees_itself() {
        let own = std::process::id();
        assert!(all().contains(&own));
        assert!(begin(own).is_some() && begin(0).is_none());
        assert!(!name(own).is_empty());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let number = listener.as_raw_fd().to_string();
        let links = descriptors(own);
        let link = links.iter().find(|(n, _)| *n == number);
        assert!(link.is_some_and(|(_, link)| link.starts_with("socket:[")));
    }
}
