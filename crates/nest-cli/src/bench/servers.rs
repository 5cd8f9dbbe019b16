//! The servers that are measured: started, observed, ended.
//!
//! Must not know: what clients do, how figures are compared.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nest_bench::{Processes, Tls};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
};
use tempfile::TempDir;

use crate::signals;
use crate::term::Failure;

/// How long a server may take until it listens, and until it ends.
const START: Duration = Duration::from_secs(10);
const STOP: Duration = Duration::from_secs(8);
/// How long what it has left behind may take to end.
const LEFT: Duration = Duration::from_secs(2);
/// The end of a server's output that is shown when it fails: lines, and bytes.
const SHOWN: usize = 5;
const MOST_SHOWN: u64 = 2000;
/// More of its output is not kept.
const MOST_SAID: u64 = 1 << 20;

/// How a server is started.
#[derive(Clone)]
pub struct Recipe {
    /// The model, or the name that the user gave.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Whether it was built by nest: it chooses its port itself, and says which.
    pub own: bool,
    /// What its clients trust; `None`: connections are not encrypted.
    pub tls: Option<Tls>,
}

/// A running server.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddrV4,
    /// What it uses.
    pub processes: Processes,
    child: Child,
    folder: TempDir,
}

impl Recipe {
    /// Starts it. `inside`: its working directory, or an empty one.
    pub fn start(&self, inside: Option<&Path>) -> Result<Server, Failure> {
        let failed = |e: &std::io::Error| Failure::io(format!("cannot start {}", self.name), e);
        let folder = tempfile::Builder::new().prefix("nest-").tempdir();
        let folder = folder.map_err(|e| failed(&e))?;
        let empty = folder.path().join("root");
        fs::create_dir(&empty).map_err(|e| failed(&e))?;
        let port = if self.own { 0 } else { free_port()? };
        let words: Vec<String> = self
            .command
            .iter()
            .map(|word| word.replace("{port}", &port.to_string()))
            .collect();
        let name = format!("nest-bench-{}-{}", std::process::id(), self.name);
        let group = Processes::group(&name);
        let mut command = match group.as_ref().and_then(Processes::joined_by) {
            // The server joins the group before it runs, so that all of its processes are in it.
            Some(place) => {
                let mut command = Command::new("/bin/sh");
                command
                    .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
                    .arg(place);
                command.args(&words);
                command
            }
            None => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
        };
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("NEST_") {
                command.env_remove(name);
            }
        }
        // Behind its end, so that it can be emptied meanwhile.
        let said = File::options()
            .create(true)
            .append(true)
            .open(folder.path().join("said"));
        let said = said.map_err(|e| failed(&e))?;
        let errors = said.try_clone().map_err(|e| failed(&e))?;
        let child = command
            .current_dir(inside.unwrap_or(&empty))
            .stdin(Stdio::null())
            .stdout(said)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|e| failed(&e))?;
        let mut server = Server {
            address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            processes: group.unwrap_or(Processes::Tree(child.id())),
            child,
            folder,
        };
        server.wait(&self.name, self.own)?;
        Ok(server)
    }
}

impl Server {
    /// Waits until it listens.
    fn wait(&mut self, name: &str, own: bool) -> Result<(), Failure> {
        let limit = Instant::now() + START;
        loop {
            if let Some(how) = self.ended() {
                let stay = if own {
                    ""
                } else {
                    "; it must stay in the foreground"
                };
                return Err(Failure::new(format!(
                    "{name} does not serve: {how}{stay}{}",
                    self.last_words()
                )));
            }
            if own {
                if let Some(port) = listens(&read(&self.said(), 0, MOST_SAID)) {
                    self.address.set_port(port);
                    return Ok(());
                }
            } else if TcpStream::connect_timeout(&self.address.into(), START).is_ok() {
                return Ok(());
            }
            self.shorten();
            if signals::caught() {
                return Err(Failure::Reported);
            }
            if Instant::now() > limit {
                let what = if own {
                    "it says no port"
                } else {
                    "its port is closed"
                };
                return Err(Failure::new(format!(
                    "{name} does not listen within {} seconds: {what}{}",
                    START.as_secs(),
                    self.last_words()
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn said(&self) -> PathBuf {
        self.folder.path().join("said")
    }

    /// Forgets what it has printed, if that is so much that it could fill a disk.
    pub fn shorten(&self) {
        if fs::metadata(self.said()).is_ok_and(|said| said.len() > MOST_SAID) {
            // If this fails, nothing else would help.
            let _ = File::options()
                .write(true)
                .open(self.said())
                .and_then(|said| said.set_len(0));
        }
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(match status.signal() {
            Some(signal) => format!("signal {signal} ended it"),
            None => format!("its exit status is {}", status.code().unwrap_or_default()),
        })
    }

    /// The end of what it printed, indented.
    pub fn last_words(&self) -> String {
        let length = fs::metadata(self.said()).map_or(0, |said| said.len());
        let said = read(&self.said(), length.saturating_sub(MOST_SHOWN), MOST_SHOWN);
        let lines: Vec<&str> = said.lines().collect();
        let first = lines.len().saturating_sub(SHOWN);
        // What it prints must not change the terminal.
        let plain = |line: &&str| line.replace(|c: char| c.is_control() && c != '\t', "?");
        let lines = lines[first..].iter().map(plain);
        lines.map(|line| format!("\n  {line}")).collect()
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
        let limit = Instant::now() + STOP;
        while self.child.try_wait().ok().flatten().is_none() {
            if Instant::now() > limit {
                self.signal(Signal::KILL);
                let _ = self.child.wait();
                break;
            }
            self.shorten();
            std::thread::sleep(Duration::from_millis(2));
        }
        // Those that it has left behind.
        self.signal(Signal::KILL);
        end_adopted();
    }
}

/// The processes that this program had before it started any.
static EARLIER: OnceLock<BTreeSet<u32>> = OnceLock::new();

/// From now on a process belongs to this program when those that have started it have ended.
pub fn adopt() {
    EARLIER.get_or_init(|| Processes::Tree(std::process::id()).all());
    // If the system refuses, only daemons stay.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Ends what a server has left behind outside of its process group, as a daemon does.
fn end_adopted() {
    let own = std::process::id();
    let limit = Instant::now() + LEFT;
    loop {
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let mut left = Processes::Tree(own).all();
        for pid in EARLIER
            .get()
            .into_iter()
            .flatten()
            .filter(|pid| **pid != own)
        {
            left.retain(|other| !Processes::Tree(*pid).all().contains(other));
        }
        left.remove(&own);
        if left.is_empty() || Instant::now() > limit {
            return;
        }
        for pid in left
            .iter()
            .filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?))
        {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Some bytes of a file; what cannot be read is empty.
fn read(path: &Path, from: u64, most: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path)
        && file.seek(SeekFrom::Start(from)).is_ok()
    {
        let _ = file.take(most).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The port in the line that a server prints when it listens.
fn listens(said: &str) -> Option<u16> {
    let line = said
        .lines()
        .find(|line| line.contains(" server, listening on "))?;
    let after = line.split(" server, listening on ").nth(1)?;
    let address = after.split([',', ' ']).next()?;
    address.rsplit_once(':')?.1.parse().ok()
}

/// A port that nobody uses at the moment.
fn free_port() -> Result<u16, Failure> {
    let failed = |e: std::io::Error| Failure::io("cannot find a free port", &e);
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    Ok(socket.local_addr().map_err(failed)?.port())
}

/// The arguments of a server that nest built: these settings, then what the user gives.
pub fn arguments(server: &Path, settings: &[String], more: &[String]) -> Vec<String> {
    let mut words = vec![server.display().to_string()];
    for setting in settings {
        words.extend(["--set".to_owned(), setting.clone()]);
    }
    words.extend_from_slice(more);
    words
}

/// An absolute path.
pub fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::listens;

    #[test]
    fn the_port_is_read() {
        let said = "echo: warning: x\necho: event server, listening on 127.0.0.1:40779, at most 9 clients\n";
        assert_eq!(listens(said), Some(40779));
        assert_eq!(listens("echo: warning: x\n"), None);
    }
}
