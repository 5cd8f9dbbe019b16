//! Runs the conformance suite's runner as a child process: sends the request, reads the results, and
//! always ends it.
//!
//! The runner leads a process group that contains all servers. When it has ended, or this program is
//! ending, all processes of the group are ended. Must not know: how results are used.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::shown::shown;
use crate::signals::{self, ENDING};
use crate::term::{self, Failure, Progress};

/// How long the runner may take to end its servers when it is told to; then all are killed.
const END_LIMIT: Duration = Duration::from_secs(1);
/// A process that was killed writes nothing any more after this time.
const LAST: Duration = Duration::from_millis(500);

/// The prefix of the message that Python prints when the runner itself hangs.
const STUCK: &str = "Timeout (";

/// The request.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// This program.
    pub nest: PathBuf,
    /// The specification.
    pub spec: PathBuf,
    /// The models, in order.
    pub models: Vec<String>,
    /// The server of each model.
    pub servers: BTreeMap<String, PathBuf>,
    /// The pages.
    pub pages: Vec<PathBuf>,
    /// Run each conversation once in each model, without splits.
    pub quick: bool,
    /// The time limit of each step in seconds.
    pub timeout: f64,
    /// Keep the output of the servers.
    pub keep: bool,
    /// Where the servers mark branches that run.
    pub branches: Option<PathBuf>,
    /// Add traces to pages that have none.
    pub write: bool,
    /// The number of pages run in parallel.
    pub jobs: usize,
}

/// The result of a page.
#[derive(Debug, Deserialize)]
pub struct Page {
    /// Its path.
    pub page: PathBuf,
    /// How long it took.
    pub seconds: f64,
    /// Each cell in which it was run.
    pub cells: Vec<Cell>,
    /// Whether traces were added to it.
    pub written: bool,
    /// The complete traces of its conversations.
    pub heard: Vec<Vec<Vec<serde_json::Value>>>,
}

/// The result of one cell.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Cell {
    /// Its name: the model, and the listener or the kind of load.
    pub cell: String,
    /// `passed`, `failed` or `skipped`.
    pub outcome: String,
    /// The line of the page that failed.
    pub line: Option<usize>,
    /// The failure, or why it was skipped.
    pub reason: Option<String>,
}

/// A line of its output.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Reported {
    Page(Page),
    Wrong { wrong: String },
    Kept { kept: Option<PathBuf> },
}

enum Event {
    Line(String),
    Signal(i32),
    End,
}

/// The unpacked runner.
pub struct Runner {
    folder: tempfile::TempDir,
}

impl Runner {
    /// Unpacks it, and checks whether there is a suitable Python.
    pub fn new() -> Result<Runner, Failure> {
        let found = Command::new("python3")
            .args(["-c", "import sys; sys.exit(sys.version_info < (3, 8))"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(Failure::new(
                "python3, version 3.8 or newer, is needed to run the conversations: install it, or \
                 put it into PATH",
            ));
        }
        let failed = |e: &std::io::Error| Failure::io("cannot make a temporary directory", e);
        let folder = tempfile::Builder::new()
            .prefix("nest-")
            .tempdir()
            .map_err(|e| failed(&e))?;
        for (name, text) in nest_conformance::FILES {
            let path = folder.path().join(name);
            let made = std::fs::create_dir_all(path.parent().unwrap_or(folder.path()));
            made.and_then(|()| std::fs::write(&path, text))
                .map_err(|e| failed(&e))?;
        }
        Ok(Runner { folder })
    }

    /// A folder that is always removed.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Runs the conversations. Passes each page to `heard` when it ends. Returns the path of kept
    /// files.
    pub fn run(
        &mut self,
        requested: &Request,
        heard: &mut dyn FnMut(Page),
    ) -> Result<Option<PathBuf>, Failure> {
        let (sender, events) = channel();
        let mut child = self.start(requested, &sender)?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let end = |signal| _ = group.map(|group| kill_process_group(group, signal));
        let result = follow(&events, &requested.pages, heard);
        if !matches!(result, Ok(Followed::Ended(_))) {
            // Closes its standard input, so that it ends its servers and then itself.
            drop(child.stdin.take());
            while !matches!(
                events.recv_timeout(END_LIMIT),
                Ok(Event::End) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)
            ) {}
        }
        end(Signal::KILL);
        let status = child.wait();
        match result? {
            Followed::Signal(number) => {
                self.remove();
                signals::end_by(number);
                Err(Failure::Reported)
            }
            Followed::Unheard => {
                self.remove();
                Err(Failure::Reported)
            }
            Followed::Ended(kept) => {
                let status = status.map_err(|e| Failure::io("cannot wait for python3", &e))?;
                if !matches!(status.code(), Some(0 | 1)) || kept.is_none() {
                    return Err(Failure::new(format!(
                        "the program that runs the conversations ended with {status}"
                    )));
                }
                if kept.as_ref().is_some_and(Option::is_some) {
                    self.folder.disable_cleanup(true);
                }
                Ok(kept.flatten())
            }
        }
    }

    /// Removes the folder, into which a killed process may write for a moment.
    fn remove(&self) {
        let limit = Instant::now() + LAST;
        while std::fs::remove_dir_all(self.folder.path()).is_err() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn start(&self, requested: &Request, sender: &Sender<Event>) -> Result<Child, Failure> {
        let request = serde_json::to_string(requested).map_err(|_| {
            Failure::new("cannot run the tests: the path of the cache or of TMPDIR is not UTF-8")
        })? + "\n";
        let caught = signals::stream()?;
        let signal = sender.clone();
        std::thread::spawn(move || {
            for caught in caught {
                if ENDING.contains(&caught.number) {
                    let _ = signal.send(Event::Signal(caught.number));
                }
            }
        });
        let failed = |e: &std::io::Error| Failure::io("cannot run python3", e);
        let mut child = Command::new("python3")
            .args(["-B", "-E", "-s"])
            .arg(self.folder.path().join("own.py"))
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| failed(&e))?;
        if let Some(stdin) = &mut child.stdin {
            stdin
                .write_all(request.as_bytes())
                .map_err(|e| failed(&e))?;
        }
        let out = child.stdout.take();
        let line = sender.clone();
        std::thread::spawn(move || {
            for output in out.into_iter().flat_map(|out| BufReader::new(out).lines()) {
                let Ok(output) = output else { break };
                let _ = line.send(Event::Line(output));
            }
            let _ = line.send(Event::End);
        });
        Ok(child)
    }
}

/// How reading its output ended.
enum Followed {
    /// It ended: whether its last line arrived, and the path of kept files.
    Ended(Option<Option<PathBuf>>),
    /// A signal asks this program to end.
    Signal(i32),
    /// Nobody reads the results any more.
    Unheard,
}

fn follow(
    events: &Receiver<Event>,
    pages: &[PathBuf],
    heard: &mut dyn FnMut(Page),
) -> Result<Followed, Failure> {
    let mut last = None;
    let mut left: Vec<&PathBuf> = pages.iter().collect();
    loop {
        let (done, all) = (pages.len() - left.len(), pages.len());
        let progress = Progress::start(format!("running conversations, {done} of {all} pages"));
        let event = events.recv();
        drop(progress);
        match event {
            Ok(Event::Line(line)) => match serde_json::from_str(&line) {
                Ok(Reported::Page(page)) => {
                    left.retain(|other| **other != page.page);
                    heard(page);
                    if term::unwritten().is_some() {
                        return Ok(Followed::Unheard);
                    }
                }
                Ok(Reported::Wrong { wrong }) => return Err(Failure::new(wrong)),
                Ok(Reported::Kept { kept }) => last = Some(kept),
                Err(_) if line.starts_with(STUCK) => {
                    let left: Vec<String> = left.into_iter().map(|page| shown(page)).collect();
                    return Err(Failure::new(format!(
                        "a pattern takes too long to compare, in {}: write one with fewer possible \
                         matches, such as a* for (a*)*",
                        left.join(" or ")
                    )));
                }
                Err(_) => return Err(Failure::new(format!("unknown result: {line}"))),
            },
            Ok(Event::Signal(number)) => return Ok(Followed::Signal(number)),
            Ok(Event::End) | Err(_) => return Ok(Followed::Ended(last)),
        }
    }
}
