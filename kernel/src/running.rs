//! Finds the server that already listens on a port.
//!
//! A connection belongs to the control group in which its listening socket was made. That is the group of
//! the process that made it, which is the oldest one that has it.
//!
//! Must not know: what is done in front of the server.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::{cgroup, process, sockets};

/// A server that runs.
#[derive(Debug)]
pub struct Running {
    process: u32,
    began: u64,
    name: String,
    /// The folder of its control group.
    pub group: PathBuf,
}

/// A process, in words.
fn described(name: &str, process: u32) -> String {
    format!("{name} (process {process})")
}

impl Running {
    /// The server that has all sockets that listen on the port. An error if there is none, or if there are
    /// several, whose connections could not be told apart.
    pub fn find(port: u16) -> Result<Self, Failure> {
        let sockets: BTreeSet<String> = sockets::listeners(port)
            .iter()
            .map(|listener| process::socket(listener.inode))
            .collect();
        if sockets.is_empty() {
            return Err(Failure::Failed(format!(
                "nobody listens on port {port}; start the server first, or give its command after --"
            )));
        }
        let mut holders = Vec::new();
        for id in process::all() {
            let links = process::descriptors(id).into_iter().map(|(_, link)| link);
            let held: BTreeSet<String> = links.filter(|link| sockets.contains(link)).collect();
            if let (Some(began), false) = (process::begin(id), held.is_empty()) {
                holders.push((began, id, held));
            }
        }
        holders.sort();
        let Some((began, id, _)) = holders.iter().find(|(_, _, held)| *held == sockets) else {
            return Err(Failure::Failed(several(port, &holders)));
        };
        let group = process::group(&id.to_string())
            .and_then(|path| Some(cgroup::mounted()?.join(path)))
            .ok_or_else(|| {
                Failure::Failed(format!("process {id} is in no control group of cgroup2"))
            })?;
        Ok(Running {
            process: *id,
            began: *began,
            name: process::name(*id),
            group,
        })
    }

    /// Whether it runs still.
    pub fn lasts(&self) -> bool {
        process::begin(self.process) == Some(self.began)
    }
}

/// Why none of these processes is the server.
fn several(port: u16, holders: &[(u64, u32, BTreeSet<String>)]) -> String {
    if holders.is_empty() {
        return format!(
            "no process that nest can see has the socket that listens on port {port}; run nest as root, \
            in the server's PID namespace"
        );
    }
    let named: Vec<String> = holders
        .iter()
        .take(4)
        .map(|(_, id, _)| described(&process::name(*id), *id))
        .collect();
    format!(
        "several servers listen on port {port}, each at another address: {}; nest can be put in front of one \
        only if no other has its port",
        named.join(", ")
    )
}

impl fmt::Display for Running {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&described(&self.name, self.process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if cgroup::mounted().is_some() {
            let running = Running::find(port).unwrap();
            assert!(running.process == std::process::id() && running.lasts());
        }
        drop(listener);
        let error = Running::find(port).unwrap_err().to_string();
        assert!(error.starts_with("nobody listens on port"), "{error}");
    }
}
