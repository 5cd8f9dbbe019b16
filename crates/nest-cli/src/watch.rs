//! `nest run --watch`: restarts a server when its files change.
//!
//! It checks modification times five times a second instead of using inotify: the list of files is
//! short and known, editors that rename files need no special case, and it works on network and
//! container file systems that send no events.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::args::Run;
use crate::obtain::obtain;
use crate::signals::{self, Caught, ENDING};
use crate::supervise::{self, Server};
use crate::term::{self, Failure};

const LOOK: Duration = Duration::from_millis(200);

/// How a change of a file is recognised: inode, size, modification time; `None` if it does not
/// exist.
type Stamp = Option<(u64, u64, i64, i64)>;

/// Builds, runs, and does both again after each change, until a signal ends it.
pub fn watch(args: &Run) -> Result<ExitCode, Failure> {
    let events = signals::stream()?;
    let mut inputs = BTreeSet::from([args.spec.file.clone()]);
    let mut server: Option<Server> = None;
    loop {
        let before = stamps(&inputs);
        match obtain(args, &mut inputs) {
            Ok(path) => {
                if let Some(mut old) = server.take() {
                    old.stop();
                }
                server = Some(Server::start(&path, args)?);
            }
            Err(failure @ Failure::Usage(_)) => return Err(failure),
            Err(failure) => {
                failure.report();
                term::note(match server {
                    Some(_) => "the old server continues; waiting for a change",
                    None => "waiting for a change",
                });
            }
        }
        // The state before the build is compared, so that a change during the build counts.
        let mut known = stamps(&inputs);
        known.extend(before);
        match until_change(&mut server, &events, &inputs, &known) {
            Wakes::Changed(file) => {
                term::note(format_args!("{} has changed, building", file.display()));
            }
            Wakes::Ends(signal) => return end(server, &events, signal),
        }
    }
}

/// The reason why waiting ended.
enum Wakes {
    Changed(PathBuf),
    Ends(Caught),
}

fn until_change(
    server: &mut Option<Server>,
    events: &Receiver<Caught>,
    inputs: &BTreeSet<PathBuf>,
    known: &BTreeMap<PathBuf, Stamp>,
) -> Wakes {
    let mut seen = known.clone();
    let mut next = Instant::now() + LOOK;
    loop {
        match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(caught)
                if ENDING.contains(&caught.number) && !(server.is_some() && caught.reloads()) =>
            {
                return Wakes::Ends(caught);
            }
            Ok(caught) => {
                if let Some(server) = server {
                    supervise::pass_on(server, caught);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                next = Instant::now() + LOOK;
                let now = stamps(inputs);
                let changed = now
                    .iter()
                    .find(|(file, stamp)| known.get(*file) != Some(stamp));
                // Wait until nothing changes any more: an editor may still be writing.
                if let Some((file, _)) = changed
                    && now == seen
                {
                    return Wakes::Changed(file.clone());
                }
                seen = now;
            }
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
        if let Some(status) = server.as_mut().and_then(Server::ended) {
            *server = None;
            term::note(format_args!(
                "the server has ended: {status}; waiting for a change"
            ));
        }
    }
}

/// Ends the server with the signal that ends nest, and waits for it.
fn end(
    server: Option<Server>,
    events: &Receiver<Caught>,
    signal: Caught,
) -> Result<ExitCode, Failure> {
    let Some(server) = server else {
        signals::end_by(signal.number);
        return Ok(ExitCode::SUCCESS);
    };
    supervise::pass_on(&server, signal);
    supervise::until_end(server, events)
}

fn stamps(files: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Stamp> {
    let stamp = |file: &PathBuf| {
        let data = std::fs::metadata(file).ok()?;
        Some((data.ino(), data.size(), data.mtime(), data.mtime_nsec()))
    };
    files
        .iter()
        .map(|file| (file.clone(), stamp(file)))
        .collect()
}
