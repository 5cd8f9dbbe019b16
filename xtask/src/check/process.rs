//! Runs the program of a step to its end, or ends it with all its descendants after a time limit.
//!
//! Must not know: steps.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid,
};

use crate::tool;

/// Marks the processes of one command, also those whose parents have ended. Only this program reads it.
const MARK: &str = "CHECK_COMMAND";

/// How long a Python program has to print where it stands.
const TRACEBACK: Duration = Duration::from_secs(2);

/// Runs a command to its end; an error if it fails, or if it has not ended within `limit`. Then the error
/// lists its processes and what each waited for, and they are killed.
pub fn finish(
    command: &mut Command,
    limit: Duration,
    processor: &mut Option<f64>,
) -> Result<(), String> {
    static COMMANDS: AtomicUsize = AtomicUsize::new(0);
    let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}.{number}", std::process::id());
    // A Python program that gets SIGABRT prints the stacks of its threads.
    command.env(MARK, &mark).env("PYTHONFAULTHANDLER", "1");
    let mut child = command.spawn().map_err(|e| tool::absent(command, &e))?;
    if !ends_within(&child, limit)? {
        let report = end(&child, &mark);
        *processor = processor_of(&child.id().to_string());
        let _ = child.wait();
        return Err(format!(
            "{} did not end within {} s. Its processes were:\n{report}",
            tool::name(command),
            limit.as_secs()
        ));
    }
    *processor = processor_of(&child.id().to_string());
    let status = child.wait().map_err(|e| format!("cannot wait: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} failed: {status}", tool::name(command)))
    }
}

/// Waits for the end of a child without reaping it, so that its times can still be read; whether it ended.
fn ends_within(child: &Child, limit: Duration) -> Result<bool, String> {
    let wrong = |e: Errno| format!("cannot wait for a process: {e}");
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Err("a process has no number".to_owned());
    };
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(wrong)?;
    let started = Instant::now();
    loop {
        let left = limit.saturating_sub(started.elapsed());
        let timeout = Timespec::try_from(left).map_err(|e| format!("a limit is too long: {e}"))?;
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => break,
            Err(Errno::INTR) => (),
            Err(e) => return Err(wrong(e)),
        }
    }
    // A pidfd is readable once the first thread has ended; the others are waited for here.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(pid), options).is_err_and(|e| e == Errno::INTR) {}
    Ok(true)
}

/// Kills a command with all that it started; what each process was, and what it waited for.
fn end(child: &Child, mark: &str) -> String {
    let found = descendants(child.id(), mark);
    let report = found.iter().map(|pid| describe(*pid)).collect();
    for pid in &found {
        if fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|s| s.starts_with("python")) {
            send(*pid, Signal::ABORT);
        }
    }
    thread::sleep(TRACEBACK);
    // A process that forks while the list is made is found in the next round.
    for _ in 0..100 {
        let left = descendants(child.id(), mark);
        if left.is_empty() {
            break;
        }
        for pid in left {
            send(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(20));
    }
    report
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Processes that have not ended and have the mark in their environment, or an ancestor in `root`.
fn descendants(root: u32, mark: &str) -> Vec<u32> {
    let marked = format!("{MARK}={mark}");
    let mut found = Vec::new();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|s| s.parse().ok()) else {
            continue;
        };
        let Some((state, parent)) = state(pid) else {
            continue;
        };
        if state == "Z" {
            continue;
        }
        children.entry(parent).or_default().push(pid);
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_marked = |variable: &[u8]| variable == marked.as_bytes();
        if pid == root || environment.split(|byte| *byte == 0).any(is_marked) {
            found.push(pid);
        }
    }
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let unknown = |child: &u32| !found.contains(child);
        let more: Vec<u32> = children.remove(pid).unwrap_or_default();
        let more: Vec<u32> = more.into_iter().filter(unknown).collect();
        found.extend(more);
        next += 1;
    }
    found
}

/// The state and the parent of a process, as in proc(5).
fn state(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, which may hold anything, ends at the last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// One line: the process, its parent, its state, where in the kernel it waits, and its command.
fn describe(pid: u32) -> String {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let text = |name: &str| String::from_utf8_lossy(&read(name)).trim().to_owned();
    let (state, parent) = state(pid).unwrap_or_default();
    let command = text("cmdline").replace('\0', " ");
    let short: String = command.chars().take(200).collect();
    let mut line = format!(
        "  {pid} (of {parent}) {state} {} call {}: {short}\n",
        text("wchan"),
        text("syscall")
    );
    let stack = text("stack");
    for frame in stack.lines().take(4) {
        let _ = writeln!(line, "      {frame}");
    }
    line
}

/// The processor time that a process and those of its descendants that have ended took.
pub fn processor_of(process: &str) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything, user and system time are the 12th field and on: its
    // own, then those of children, in hundredths of a second.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(4);
    let ticks: Vec<f64> = ticks.filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum::<f64>() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_command_started_ends_with_it() {
        // The first process has lost its parent, and the second has no mark.
        let mark = format!("test.{}", std::process::id());
        let script = "(sleep 1001 &); env -i sleep 1002 & exec sleep 1003";
        let mut child = shell(script).env(MARK, &mark).spawn().unwrap();
        let sleeping = || {
            let lines = descendants(child.id(), &mark).into_iter().map(describe);
            lines.filter(|line| line.contains(": sleep 100")).count()
        };
        let started = Instant::now();
        while sleeping() < 3 {
            assert!(started.elapsed() < LONG, "the processes do not start");
            thread::sleep(Duration::from_millis(10));
        }
        let report = end(&child, &mark);
        child.wait().unwrap();
        for seconds in ["sleep 1001", "sleep 1002", "sleep 1003"] {
            let line = report.lines().find(|line| line.contains(seconds));
            let line = line.unwrap_or_else(|| panic!("{seconds} is missing in {report}"));
            let pid = line.split_whitespace().next().unwrap();
            assert!(state(pid.parse().unwrap()).is_none_or(|(state, _)| state == "Z"));
        }
    }

    #[test]
    fn a_command_has_no_more_time_than_its_limit() {
        let why = finish(
            &mut shell("sleep 1004"),
            Duration::from_millis(20),
            &mut None,
        );
        let why = why.unwrap_err();
        assert!(why.contains("did not end within 0 s"), "{why}");
        assert!(why.contains("call"), "{why}");
    }

    #[test]
    fn the_processor_time_of_a_command_is_known() {
        let mut seconds = None;
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        finish(&mut shell(busy), LONG, &mut seconds).unwrap();
        assert!(seconds.is_some_and(|s| s > 0.0 && s < 60.0), "{seconds:?}");
    }

    #[test]
    fn a_command_that_ends_in_time_is_told_as_it_ended() {
        finish(&mut shell("exit 0"), LONG, &mut None).unwrap();
        let why = finish(&mut shell("exit 3"), LONG, &mut None).unwrap_err();
        assert!(why.contains("exit status: 3"), "{why}");
    }

    const LONG: Duration = Duration::from_secs(600);
}
