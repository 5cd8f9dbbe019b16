//! The server as a process: started in its group or found, asked whether it reads without blocking.
//!
//! Must not know: what is answered for it.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cgroup::Group;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::process;
use crate::running::Running;
use crate::sockets;

/// So long the server may take to listen.
const START: Duration = Duration::from_secs(60);

/// The bit of a file's flags that says that reads do not block.
const NONBLOCK: u32 = 0o4000;

/// The server.
pub enum Server {
    /// It is a child of nest.
    Started(Child),
    /// It ran before nest, and goes on when nest ends.
    Found(Running),
}

impl Server {
    /// How it ended, if it did. Of one that was found nest does not see how.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        match self {
            Server::Started(child) => {
                let ended = child.try_wait();
                ended.map_err(|e| Failure::io("cannot wait", &e))
            }
            Server::Found(running) => Ok((!running.lasts()).then(ExitStatus::default)),
        }
    }

    /// Passes a signal on to a child, which may have ended meanwhile. One that was found gets
    /// its signals from others.
    pub fn signal(&self, signal: i32) {
        let Server::Started(child) = self else {
            return;
        };
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let (Some(process), Some(signal)) = (process, Signal::from_named_raw(signal)) {
            let _ = kill_process(process, signal);
        }
    }
}

/// Starts the server as a process of the group.
pub fn start(command: &[OsString], group: &Group) -> Result<Server, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::Failed("the server's command is empty".to_owned()));
    };
    let spawned = group.inside(|| Command::new(program).args(arguments).spawn())?;
    spawned
        .map(Server::Started)
        .map_err(|e| Failure::io(format!("cannot run {}", program.to_string_lossy()), &e))
}

/// Asks the server for anything of this host. Returns the connection, which is still open.
fn greet(mut origin: Origin, host: &str) -> Result<Origin, String> {
    let answer = origin.head("HEAD", host, "/", "")?;
    let first = answer.lines.first().map_or("", String::as_str);
    if !first.starts_with("HTTP/1.1 ") {
        return Err(format!("the server does not answer as HTTP/1.1: {first}"));
    }
    let mut said = answer.fields("connection");
    if said.any(|said| said.eq_ignore_ascii_case("close")) {
        return Err("the server ends each connection after one answer".to_owned());
    }
    Ok(origin)
}

/// Waits until the server answers, and finds out whether the kernel may answer in its place. It is asked for each
/// of `hosts` until one is answered: a server may end connections whose `Host` it does not know.
///
/// After a request that the kernel takes, a read that blocks returns EAGAIN, which a blocking server takes for an
/// error. io_uring reads so, too: each request that the kernel takes wakes its receive, which finds nothing,
/// and after 128 times it waits in a thread that blocks. Each such read also sets the socket's count of read
/// bytes to an older value, so that the end of the client's stream would be held back for ever. `polls`: the
/// server is known to poll before it reads. Returns the address at which it answers.
pub fn examine(
    port: u16,
    hosts: &[&str],
    group: &Group,
    polls: bool,
    ended: &dyn Fn() -> bool,
) -> Result<SocketAddr, String> {
    let until = Instant::now() + START;
    let origin = loop {
        match Origin::connect(port) {
            Ok(origin) => break origin,
            Err(error) if ended() || Instant::now() > until => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let (first, others) = hosts.split_first().ok_or("there is no host")?;
    let mut greeted = greet(origin, first);
    for host in others {
        greeted = greeted.or_else(|why| {
            let again = Origin::connect(port).and_then(|origin| greet(origin, host));
            again.map_err(|_| why)
        });
    }
    let origin = greeted?;
    let (client, server) = origin.ends().ok_or("the connection ended")?;
    let found = sockets::connection(server.port(), client.port());
    let found = found.and_then(|inode| holder(inode, group));
    match found {
        Some(Holder { rings: true, .. }) if !polls => Err(
            "the server reads by io_uring, whose receives block after 128 that found nothing"
                .to_owned(),
        ),
        Some(holder) if holder.flags & NONBLOCK != 0 => Ok(server),
        Some(_) => Err("the server reads from blocking sockets".to_owned()),
        None => Err(
            "no process of the server has the connection, so nest cannot see whether it \
            reads from blocking sockets"
                .to_owned(),
        ),
    }
}

/// How a process has a connection.
struct Holder {
    /// Of its open file.
    flags: u32,
    /// The process has a ring of io_uring.
    rings: bool,
}

/// How a process of the server has the socket open.
fn holder(inode: u64, group: &Group) -> Option<Holder> {
    let wanted = process::socket(inode);
    group.processes().iter().find_map(|id| {
        let links = process::descriptors(*id);
        let (number, _) = links.iter().find(|(_, link)| *link == wanted)?;
        let rings = links
            .iter()
            .any(|(_, link)| link == "anon_inode:[io_uring]");
        let info = fs::read_to_string(format!("/proc/{id}/fdinfo/{number}")).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        Some(Holder { flags, rings })
    })
}
