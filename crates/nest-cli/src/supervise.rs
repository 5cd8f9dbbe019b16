//! Runs a server as a child process: its signals, its trace, its recording, its end.
//!
//! Must not know: how it was built, or why it is ended.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, getpid, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGTERM};

use crate::args::Run;
use crate::obtain::command;
use crate::record::Recorder;
use crate::signals::Caught;
use crate::term::{self, Failure};
use crate::trace::Printer;

/// A server stops within its drainTimeout, 5 seconds by default. After this time it is told to cut its
/// clients off.
const DRAIN_LIMIT: Duration = Duration::from_secs(8);

/// A server that was told to stop at once does so within this time; otherwise it hangs.
const AT_ONCE: Duration = Duration::from_secs(3);

/// How long a process that outlives its server delays nest.
const OUTLIVED: Duration = Duration::from_secs(1);

/// The maximum length of a trace line; a longer one is processed in pieces.
const LONGEST_LINE: u64 = 1 << 20;

/// A running server.
pub struct Server {
    child: Child,
    /// Close when all that it has written for nest was handled: its trace, its recording.
    heard: Vec<Receiver<()>>,
}

impl Server {
    /// Starts the server. With `--trace`, its trace is printed from now on; with `--record`, its
    /// conversations are recorded.
    pub fn start(path: &PathBuf, args: &Run) -> Result<Self, Failure> {
        let failed = |e: std::io::Error| Failure::io(format!("cannot run {}", path.display()), &e);
        let recorder = args.record.as_deref().map(Recorder::new).transpose()?;
        let mut command = command(path, args);
        let mut pipe = |name: &str| {
            let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
            command.env(name, to.as_raw_fd().to_string());
            // Only this child may inherit it: no other is started before it is closed below.
            fcntl_setfd(&to, FdFlags::empty())?;
            Ok((BufReader::new(File::from(from)), to))
        };
        let trace = args.trace.then(|| pipe("NEST_TRACE_FD")).transpose();
        let trace = trace.map_err(failed)?;
        let record = recorder.map(|recorder| Ok((recorder, pipe("NEST_RECORD_FD")?)));
        let record = record.transpose().map_err(failed)?;
        let child = command.spawn().map_err(failed)?;
        let mut heard = Vec::new();
        if let Some((lines, to)) = trace {
            drop(to);
            heard.push(aside(move || print_trace(lines)));
        }
        if let Some((recorder, (lines, to))) = record {
            drop(to);
            heard.push(aside(move || recorder.run(lines)));
        }
        Ok(Server { child, heard })
    }

    /// Returns the exit status if the server has ended; then its trace has been printed, and its
    /// conversations are recorded.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten()?;
        for heard in self.heard.drain(..) {
            // Closed by the last process of the server. A process that outlives the server must not
            // block nest.
            let _ = heard.recv_timeout(OUTLIVED);
        }
        Some(status)
    }

    /// Passes a signal on.
    pub fn signal(&self, number: i32) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(number)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends the server: asks it to stop, then to stop at once, and finally kills it.
    pub fn stop(&mut self) {
        if self.stops_within(DRAIN_LIMIT) {
            return;
        }
        term::note("the old server still serves clients; they are cut off");
        if self.stops_within(AT_ONCE) {
            return;
        }
        term::note("the old server does not stop; it is killed");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop; the second time, at once.
    fn stops_within(&mut self, time: Duration) -> bool {
        self.signal(SIGTERM);
        let limit = Instant::now() + time;
        while self.ended().is_none() {
            if Instant::now() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// Passes signals on until the server ends. Returns its exit status.
pub fn until_end(mut server: Server, events: &Receiver<Caught>) -> Result<ExitCode, Failure> {
    loop {
        if let Some(status) = server.ended() {
            return Ok(exit_code(status));
        }
        let Ok(caught) = events.recv() else {
            return Err(Failure::new("signals can no longer be received"));
        };
        pass_on(&server, caught);
    }
}

/// Passes a signal on, unless the server has received it too. When a terminal is closed, the server
/// gets SIGTERM, because it would interpret SIGHUP as a request to reload.
pub fn pass_on(server: &Server, caught: Caught) {
    match caught.number {
        SIGCHLD => {}
        SIGHUP if caught.to_all => server.signal(SIGTERM),
        number if !caught.to_all => server.signal(number),
        _ => {}
    }
}

/// The status that a shell reports: 128 and the number for a signal.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    let number = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(number.and_then(|n| u8::try_from(n).ok()).unwrap_or(1))
}

/// Runs this beside everything else. Returns what is closed at its end.
fn aside(work: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (open, closed) = channel::<()>();
    std::thread::spawn(move || {
        work();
        drop(open);
    });
    closed
}

/// When nobody reads it any more, the server ends as if nest had been told to end, and the rest is read in vain.
fn print_trace(mut lines: impl BufRead) {
    let printer = Printer::for_terminal();
    let mut heard = true;
    loop {
        let mut line = Vec::new();
        match lines
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => term::print(printer.line(String::from_utf8_lossy(&line).trim_end())),
        }
        if heard && term::unwritten().is_some() {
            heard = false;
            let _ = kill_process(getpid(), Signal::TERM);
        }
    }
}
