//! A directory of its own for each test, and `nest` run in it, always bounded in time.
#![allow(dead_code, clippy::unwrap_used)]

pub mod greet;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Nothing here takes longer, even on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(300);

/// A specification in which nothing is wrong.
pub const GOOD: &str = "%option threadServer 4\n%%\n\"HI\" \\r?\\n { $reply(\"hello\\r\\n\"); }\n\
                        \"QUIT\" \\r?\\n { $close(); }\n";

/// A test's directory.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Place {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a program, by a process of its own. While a file is open for writing in any process, the
    /// system refuses to run it ("Text file busy"), and what this one opens is inherited for a moment by
    /// every child that another test's thread starts.
    pub fn program(&self, name: &str, text: &str) {
        let mut child = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(self.path(name))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// `nest` with these arguments, not started; servers are compiled quickly, not well, by clang, which
    /// takes half as long as gcc. It would refuse formats of which nest only warns.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nest"));
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("CC", "clang")
            .env("CFLAGS", "-O0 -Wno-error=format-security");
        for name in [
            "CPPFLAGS",
            "LDFLAGS",
            "LDLIBS",
            "NO_COLOR",
            "CLICOLOR_FORCE",
        ] {
            command.env_remove(name);
        }
        if std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0) {
            command.env("NEST_USER", "root"); // else servers would warn that they are root
        }
        command
    }

    /// Runs it to its end.
    pub fn nest(&self, arguments: &[&str]) -> Ended {
        self.nest_with(arguments, "")
    }

    /// Runs a benchmark, and a longer one until its results are `whole`: without a processor a short one may have
    /// measured too little. Returns the results as well.
    pub fn bench_until(
        &self,
        arguments: &str,
        whole: impl Fn(&serde_json::Value) -> bool,
    ) -> (Ended, serde_json::Value) {
        for time in ["300ms", "3s", "30s"] {
            let command = format!("bench {arguments} --json new.json --time {time}");
            let words: Vec<&str> = command.split(' ').collect();
            let ended = self.nest(&words).with_status(0);
            let new = serde_json::from_str(&self.read("new.json")).unwrap();
            if whole(&new) {
                return (ended, new);
            }
        }
        panic!("30 s are too short for bench {arguments}");
    }

    /// Runs it to its end behind some commands of a shell, such as limits.
    pub fn nest_behind(&self, commands: &str, arguments: &[&str]) -> Ended {
        let nest = self.command(arguments);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("{commands}\nexec \"$0\" \"$@\"")])
            .arg(nest.get_program())
            .args(nest.get_args())
            .current_dir(self.dir.path());
        for (name, value) in nest.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        ended(shell, "")
    }

    /// Runs it to its end with that standard input.
    pub fn nest_with(&self, arguments: &[&str], input: &str) -> Ended {
        ended(self.command(arguments), input)
    }

    /// Starts it; its standard output and error come line by line.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let out: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
        let err: Box<dyn Read + Send> = Box::new(child.stderr.take().unwrap());
        for stream in [out, err] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Running {
            child,
            lines,
            seen: Vec::new(),
        }
    }
}

/// Runs a command to its end with that standard input.
fn ended(mut command: Command, input: &str) -> Ended {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let (sender, receiver) = channel();
    let id = child.id();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(LIMIT) else {
        kill(id, "KILL");
        panic!("{command:?} does not end");
    };
    Ended::new(output.unwrap())
}

/// What a run came to.
pub struct Ended {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    fn new(output: Output) -> Self {
        Ended {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts on the status, and shows all if it is another.
    #[track_caller]
    pub fn with_status(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "\nout: {}\nerr: {}",
            self.out, self.err
        );
        self
    }

    #[track_caller]
    pub fn err_has(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in\n{}", self.err);
        self
    }

    #[track_caller]
    pub fn out_has(self, text: &str) -> Self {
        assert!(self.out.contains(text), "no {text:?} in\n{}", self.out);
        self
    }
}

/// A program that runs; ended when dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    /// Waits for a line that has this text; the line.
    #[track_caller]
    pub fn line_with(&mut self, text: &str) -> String {
        let limit = Instant::now() + LIMIT;
        while let Ok(line) = self
            .lines
            .recv_timeout(limit.saturating_duration_since(Instant::now()))
        {
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
        panic!("no line with {text:?}; there were {:#?}", self.seen);
    }

    /// Waits for the server's start line; its port.
    #[track_caller]
    pub fn port(&mut self) -> u16 {
        port_in(&self.line_with("listening on "))
    }

    pub fn signal(&self, name: &str) {
        kill(self.child.id(), name);
    }

    /// The processes that it and its children have started, children before their parents.
    pub fn descendants(&self) -> Vec<u32> {
        let mut all = descendants(self.child.id());
        all.pop();
        all
    }

    /// Waits for the end.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let limit = Instant::now() + LIMIT;
        while Instant::now() < limit {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end; it said {:#?}", self.seen);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            // Its server goes with it.
            kill(self.child.id(), "TERM");
            for _ in 0..200 {
                if self.child.try_wait().unwrap().is_some() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = self.child.kill();
        }
    }
}

/// A process behind all that descend from it.
fn descendants(id: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task"));
    let threads = threads.into_iter().flatten().filter_map(Result::ok);
    let texts = threads.filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok());
    let texts: Vec<String> = texts.collect();
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    let mut all: Vec<u32> = words
        .flat_map(|word| descendants(word.parse().unwrap()))
        .collect();
    all.push(id);
    all
}

/// The port in a server's start line.
pub fn port_in(line: &str) -> u16 {
    let address = line.split("listening on ").nth(1).unwrap();
    let address = address.split(", ").next().unwrap();
    address.rsplit(':').next().unwrap().parse().unwrap()
}

pub fn kill(id: u32, name: &str) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    let signal = match name {
        "TERM" => rustix::process::Signal::TERM,
        "INT" => rustix::process::Signal::INT,
        "HUP" => rustix::process::Signal::HUP,
        "KILL" => rustix::process::Signal::KILL,
        other => panic!("no signal {other}"),
    };
    let _ = rustix::process::kill_process(pid, signal);
}

/// Sends the text, half-closes, and gives back all that comes.
pub fn talk(port: u16, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Whether a file is there.
pub fn there(path: &Path) -> bool {
    path.exists()
}
