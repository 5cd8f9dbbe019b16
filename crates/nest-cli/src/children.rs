//! Programs that nest starts and waits for while it has temporary files: a signal ends them before nest.
//!
//! Must not know: what they do.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::signals;
use crate::term::Failure;

/// The longest delay until a signal is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// The time that they have to clean up; then they are killed.
const LAST: Duration = Duration::from_millis(500);
/// Those that were killed end as soon as a busy machine lets them.
const KILLED: Duration = Duration::from_secs(10);

/// Starts a program, for `finish`.
pub fn start(command: &mut Command) -> io::Result<Child> {
    if signals::held() {
        command.process_group(0); // a compiler starts other processes; `finish` ends them all
    }
    command.spawn()
}

/// Waits for all, and returns what they have written, in their order. A held signal ends them and all their
/// processes.
pub fn finish(children: Vec<Child>) -> Result<Vec<Output>, Failure> {
    let groups: Vec<u32> = children.iter().map(Child::id).collect();
    let (sender, outputs) = channel();
    for (n, child) in children.into_iter().enumerate() {
        let sender = sender.clone();
        std::thread::spawn(move || sender.send((n, child.wait_with_output())));
    }
    drop(sender);
    let mut results = BTreeMap::new();
    while results.len() < groups.len() {
        match outputs.recv_timeout(LOOK) {
            Ok((n, output)) => {
                let output = output.map_err(|e| Failure::io("cannot wait for a program", &e))?;
                results.insert(n, output);
            }
            Err(_) if signals::caught() => {
                for (signal, last) in [(Signal::TERM, LAST), (Signal::KILL, KILLED)] {
                    let left = (0..).zip(&groups).filter(|(n, _)| !results.contains_key(n));
                    for (_, id) in left {
                        let group = i32::try_from(*id).ok().and_then(Pid::from_raw);
                        _ = group.map(|group| kill_process_group(group, signal));
                    }
                    while let Ok((n, Ok(output))) = outputs.recv_timeout(last) {
                        results.insert(n, output);
                    }
                }
                return Err(Failure::Reported);
            }
            Err(_) => {}
        }
    }
    Ok(results.into_values().collect())
}
