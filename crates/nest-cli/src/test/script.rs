//! Runs conversations with the server without sockets: returns what happened after each act of a
//! client.
//!
//! Must not know: why they are run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nest_check::{Act, Heard};

use crate::replay::literal;
use crate::signals;
use crate::term::Failure;

/// What a client takes at most: one that is sent more is sent it for ever.
pub const CAPACITY: usize = 1 << 18;
/// The addresses of clients, without their numbers.
const NEAR: &str = "script";
const FAR: &str = "elsewhere";
/// What the server says behind each step, when it is asked to read its configuration again.
const MARK: &[u8] = b"the configuration was read again";
/// What it says when a conversation becomes encrypted, behind the number of the conversation.
const ENCRYPTED: &str = " is encrypted from here on";

/// The acts of a client; after them it sends the rest, if there is one, and half-closes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Talk {
    /// In order.
    pub acts: Vec<Act>,
    /// Input that is decided by the end of file.
    pub tail: Option<Vec<u8>>,
}

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The connection begins.
    Open,
    /// The name of a rule, and the input it matched.
    Take(String, Vec<u8>),
    /// The name of a TIMEOUT rule.
    Timeout(String),
    /// The output.
    Reply(Vec<u8>),
    /// The states, and the one that was set last.
    States(Vec<String>, String),
    /// The connection is encrypted from here on.
    Tls,
    /// Why the connection ended.
    End(String),
}

impl Entry {
    /// Whether it counts for coverage.
    pub fn heard(&self) -> Option<Heard> {
        match self {
            Entry::Take(name, _) => Some(Heard::Take(name.clone())),
            Entry::Timeout(name) => Some(Heard::Timeout(name.clone())),
            Entry::States(names, last) => Some(Heard::States(names.clone(), last.clone())),
            Entry::Open | Entry::Reply(_) | Entry::Tls | Entry::End(_) => None,
        }
    }
}

/// The result of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// After the connection, after each act, and after the end of file.
    pub parts: Vec<Vec<Entry>>,
}

/// A built server.
#[derive(Clone)]
pub struct Script {
    pub server: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The time limit.
    pub timeout: Duration,
    /// Where it marks branches that run.
    pub branches: Option<PathBuf>,
    /// Which connections it takes for encrypted ones.
    pub secrecy: Secrecy,
}

/// Which connections the server without sockets takes for encrypted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// None.
    Never,
    /// All, from their beginning.
    Always,
    /// Those for which an action calls `$startTLS()`, from there on.
    Later,
}

impl Secrecy {
    /// The value of the environment variable that tells the server.
    fn word(self) -> Option<&'static str> {
        match self {
            Secrecy::Never => None,
            Secrecy::Always => Some("yes"),
            Secrecy::Later => Some("later"),
        }
    }
}

/// The results of several conversations in one server.
pub struct Held {
    pub ran: Vec<Ran>,
    /// The files that were left below fileRoot.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Script {
    /// Runs conversations one after another. `Err`: the server did not complete them, and why.
    pub fn hold(&self, talks: &[Talk]) -> Result<Result<Held, String>, Failure> {
        self.hold_at(Duration::ZERO, talks)
    }

    /// The same at another time of day, so much later, and then also from another address.
    pub fn hold_at(
        &self,
        later: Duration,
        talks: &[Talk],
    ) -> Result<Result<Held, String>, Failure> {
        self.hold_in(later, talks, &one_after_another(talks), None)
    }

    /// The same in an order of steps: each entry is the number of the conversation that goes on. Each
    /// conversation has as many entries as it has acts, and two more, for its beginning and its end.
    /// `pause`: after so many of them the script goes on only after this time.
    pub fn hold_in(
        &self,
        later: Duration,
        talks: &[Talk],
        order: &[usize],
        pause: Option<(usize, Duration)>,
    ) -> Result<Result<Held, String>, Failure> {
        let failed = |e: std::io::Error| Failure::io("cannot hold a conversation", &e);
        let folder = tempfile::Builder::new()
            .prefix("nest-")
            .tempdir()
            .map_err(failed)?;
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("root")).map_err(failed)?;
        let text = script(talks, order);
        fs::write(place("script"), &text).map_err(failed)?;
        let input = match pause {
            Some(_) => Stdio::piped(),
            None => Stdio::from(File::open(place("script")).map_err(failed)?),
        };
        let mut command = Command::new(&self.server);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("NEST_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(&self.arguments)
            .current_dir(place("root"))
            .env("NEST_TRACE_FD", "2")
            .envs(self.branches.iter().map(|path| ("NEST_BRANCHES", path)))
            .envs(self.secrecy.word().map(|word| ("NEST_ENCRYPTED", word)))
            .env("NEST_CLOCK", later.as_secs().to_string())
            .env("NEST_PEER", address(later))
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("UBSAN_OPTIONS", "halt_on_error=1")
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(Stdio::from(File::create(place("said")).map_err(failed)?))
            .spawn()
            .map_err(failed)?;
        if let (Some((steps, time)), Some(mut input)) = (pause, child.stdin.take()) {
            let before = script(talks, &order[..steps]).len();
            // A server that has ended reads no more: its status says so. This thread ends with it.
            std::thread::spawn(move || {
                if input.write_all(&text.as_bytes()[..before]).is_ok() {
                    std::thread::sleep(time);
                    let _ = input.write_all(&text.as_bytes()[before..]);
                }
            });
        }
        let limit = Instant::now() + self.timeout;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break status;
            }
            let interrupted = signals::caught();
            if interrupted || Instant::now() > limit {
                let _ = child.kill();
                let _ = child.wait();
                if interrupted {
                    return Err(Failure::Reported);
                }
                return Ok(Err("the server does not end there".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let output = fs::read(place("said")).map_err(failed)?;
        let ran = parsed(talks, order, &output);
        if !status.success() {
            let met = ran
                .iter()
                .flat_map(|ran| &ran.parts)
                .any(|part| !part.is_empty());
            let said = String::from_utf8_lossy(&output);
            return Ok(Err(match said.trim_end().lines().last() {
                Some(last) if !met && status.code().is_some() => {
                    format!("the server does not start: {last}")
                }
                _ => format!("the server ends there, with {status}"),
            }));
        }
        let mut files = BTreeMap::new();
        below(&place("root"), &place("root"), &mut files).map_err(failed)?;
        Ok(Ok(Held { ran, files }))
    }
}

/// The address of clients at a time of day. It differs from those at other times in letters.
fn address(later: Duration) -> String {
    if later.is_zero() {
        return NEAR.to_owned();
    }
    let letter = |digit: u8| char::from(digit - b'0' + b'a');
    let name: String = later.as_secs().to_string().bytes().map(letter).collect();
    format!("{FAR}-{name}")
}

/// Each conversation from its beginning to its end.
pub fn one_after_another(talks: &[Talk]) -> Vec<usize> {
    let all = talks.iter().enumerate();
    all.flat_map(|(n, talk)| std::iter::repeat_n(n, talk.acts.len() + 2))
        .collect()
}

/// The steps of an order: each as the number of its conversation, and which of its parts it is.
fn steps(talks: &[Talk], order: &[usize]) -> Vec<(usize, usize)> {
    let mut parts = vec![0; talks.len()];
    let step = |n: &usize| {
        parts[*n] += 1;
        (*n, parts[*n] - 1)
    };
    order.iter().map(step).collect()
}

fn script(talks: &[Talk], order: &[usize]) -> String {
    let mut text = String::new();
    for (talk, part) in steps(talks, order) {
        let (n, talk) = (talk + 1, &talks[talk]);
        let _ = match part.checked_sub(1).map(|act| talk.acts.get(act)) {
            None => writeln!(text, "room {n} {CAPACITY}\nopen {n}"),
            Some(Some(Act::Send(bytes))) => writeln!(text, "in {n} {}", literal(bytes)),
            Some(Some(Act::Silence(ms))) => writeln!(text, "pass {ms}"),
            Some(None) => {
                if let Some(tail) = &talk.tail {
                    let _ = writeln!(text, "in {n} {}", literal(tail));
                }
                writeln!(text, "eof {n}")
            }
        };
        text.push_str("reload\n");
    }
    text
}

/// The lines of all, each where it belongs: what comes late is of the talk's end.
fn parsed(talks: &[Talk], order: &[usize], output: &[u8]) -> Vec<Ran> {
    let parts = |talk: &Talk| Ran {
        parts: vec![Vec::new(); talk.acts.len() + 2],
    };
    let mut all: Vec<Ran> = talks.iter().map(parts).collect();
    let steps = steps(talks, order);
    let mut step = 0;
    for line in output.split(|byte| *byte == b'\n') {
        if line.windows(MARK.len()).any(|some| some == MARK) {
            step += 1;
        } else if let Some((client, entry)) = entry(&String::from_utf8_lossy(line))
            && let Some(ran) = all.get_mut(client)
        {
            let last = ran.parts.len() - 1;
            let part = steps.get(step).filter(|(talk, _)| *talk == client);
            ran.parts[part.map_or(last, |(_, part)| *part)].push(entry);
        }
    }
    all
}

/// A line of the trace, and the number of its conversation, from 0.
fn entry(line: &str) -> Option<(usize, Entry)> {
    if let Some((_, client)) = line
        .strip_suffix(ENCRYPTED)
        .and_then(|line| line.rsplit_once("conversation "))
    {
        return Some((client.parse::<usize>().ok()?.checked_sub(1)?, Entry::Tls));
    }
    let (client, rest) = line.split_once(' ')?;
    let client: usize = client.parse().ok()?;
    let (what, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let entry = match what {
        "open" => Entry::Open,
        "take" => {
            let at = rest.find(" \"")?;
            Entry::Take(rest[..at].to_owned(), bytes(&rest[at + 1..])?)
        }
        "timeout" => Entry::Timeout(rest.to_owned()),
        "reply" => Entry::Reply(bytes(rest)?),
        "states" => {
            let (names, last) = rest.rsplit_once("last=")?;
            let names = names.split_whitespace().map(str::to_owned).collect();
            Entry::States(names, last.to_owned())
        }
        "end" => Entry::End(rest.to_owned()),
        _ => return None,
    };
    Some((client.checked_sub(1)?, entry))
}

/// The bytes of a string literal in a trace.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = inside.get(at) {
        if *byte != b'\\' {
            out.push(*byte);
            at += 1;
            continue;
        }
        at += 2;
        out.push(match inside.get(at - 1)? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                at += 2;
                let digits = std::str::from_utf8(inside.get(at - 2..at)?).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            other => *other,
        });
    }
    Some(out)
}

fn below(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            below(root, &path, found)?;
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path);
            found.insert(name.to_string_lossy().into_owned(), fs::read(&path)?);
        }
    }
    Ok(())
}
