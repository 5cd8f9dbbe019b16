//! Loads specifications from files, from standard input, and for `%include`.
//!
//! Must not know: their contents.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use nest_diag::{Code, Diagnostic, FileId, SourceMap, Span, nearest};
use nest_syntax::Loader;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, retry_on_intr};

use crate::term::reason;

/// The name of standard input in messages.
pub const STDIN: &str = "<stdin>";

/// The maximum size; a larger file is not a specification.
const LARGEST: u64 = 16 << 20;

/// How long a FIFO may have no writer. A shell starts the writer of `nest check <(…)` at the same time.
const WRITER: Duration = Duration::from_secs(5);

/// Why a file cannot be included.
const NOT_REGULAR: &str = "it is not a regular file";

/// A loaded specification.
pub struct Source {
    /// Its name as the user wrote it, or `<stdin>`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The reason for a failure, as findings, so that every output format shows them.
pub struct Unreadable {
    /// The text as far as it could be read.
    pub sources: SourceMap,
    /// One finding.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads the specification; `-` is standard input.
pub fn read(file: &Path) -> Result<Source, Box<Unreadable>> {
    let name = if is_stdin(file) {
        STDIN.to_owned()
    } else {
        file.to_string_lossy().into_owned()
    };
    let bytes = if is_stdin(file) {
        read_all(&mut std::io::stdin().lock())
    } else {
        read_file(file)
    };
    let finding = |code, text: String, at: usize, message: String| {
        let mut sources = SourceMap::default();
        let id: FileId = sources.add(name.clone(), text);
        let diagnostics = vec![Diagnostic::new(code, Span::new(id, at, at), message)];
        Box::new(Unreadable {
            sources,
            diagnostics,
        })
    };
    let bytes = bytes.map_err(|why| {
        let mut unreadable = finding(
            Code::E0001,
            String::new(),
            0,
            format!("cannot read {name}: {why}"),
        );
        unreadable.diagnostics[0].help = meant(file);
        unreadable
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source { name, text }),
        Err(error) => {
            let bytes = error.as_bytes();
            let at = error.utf8_error().valid_up_to();
            let (message, help) = not_utf8(bytes, at);
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut unreadable = finding(Code::E0002, text, at, message);
            unreadable.diagnostics[0].help = Some(help.to_owned());
            Err(unreadable)
        }
    }
}

/// Describes a file whose byte `at` is not UTF-8, and what to do about it.
fn not_utf8(bytes: &[u8], at: usize) -> (String, &'static str) {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return ("the file is UTF-16".into(), "save it as UTF-8");
    }
    let message = format!("byte 0x{:02x} is not UTF-8", bytes[at]);
    if bytes.contains(&0) {
        return (
            format!("this is not a text file: {message}, and other bytes are NUL"),
            "name the specification, not a file that was generated from it",
        );
    }
    let help = "save the file as UTF-8; inside a string write \\xHH for a byte";
    (message, help)
}

/// A suggestion for the name of a file that cannot be read.
fn meant(file: &Path) -> Option<String> {
    if file.is_dir() {
        return Some("name the specification itself, a file in it".into());
    }
    if is_stdin(file) || file.exists() {
        return None;
    }
    let whole = file.with_extension("nest");
    if file.extension().is_none() && whole.is_file() {
        return Some(format!("did you mean {}?", whole.display()));
    }
    let name = file.file_name()?.to_str()?;
    let beside: Vec<String> = std::fs::read_dir(directory(file))
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".nest"))
        .collect();
    let near = nearest(name, beside.iter().map(String::as_str))?;
    Some(format!(
        "did you mean {}?",
        file.with_file_name(near).display()
    ))
}

/// Whether `file` stands for standard input.
pub fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// The directory that `#include "…"` and `%include` of the specification are relative to.
pub fn directory(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !is_stdin(file) && parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Reads a file, but not more than one byte more than `most`: then it is too long.
pub fn at_most(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Loads files for `%include`, relative to the including file, and records them.
#[derive(Default)]
pub struct Files {
    /// Maps a real path to the name used first, so that a file always has the same name.
    names: BTreeMap<PathBuf, String>,
    requested: Vec<PathBuf>,
}

impl Files {
    /// For a specification called `name`, which is already loaded.
    pub fn new(name: &str) -> Self {
        let mut files = Files::default();
        if let Ok(real) = std::fs::canonicalize(name) {
            files.names.insert(real, name.to_owned());
        }
        files
    }

    /// Every file that was asked for, there or not.
    pub fn into_requested(self) -> Vec<PathBuf> {
        self.requested
    }
}

impl Loader for Files {
    fn load(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        let from = if from == STDIN {
            Path::new("-")
        } else {
            Path::new(from)
        };
        let file = tidy(&directory(from).join(path));
        self.requested.push(file.clone());
        let shown = file.to_string_lossy().into_owned();
        // The message names the file as it is written.
        let told = |why: String| {
            if shown == path {
                why
            } else {
                format!("{shown}: {why}")
            }
        };
        let bytes = read_regular(&file).map_err(told)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let byte = e.as_bytes()[at];
            told(format!("it is not UTF-8: byte 0x{byte:02x} at offset {at}"))
        })?;
        let real = std::fs::canonicalize(&file).unwrap_or(file);
        Ok((self.names.entry(real).or_insert(shown).clone(), text))
    }
}

/// Without redundant `./`.
fn tidy(path: &Path) -> PathBuf {
    let tidied: PathBuf = path
        .components()
        .filter(|c| *c != Component::CurDir)
        .collect();
    if tidied == Path::new("") {
        return ".".into();
    }
    tidied
}

fn read_file(file: &Path) -> Result<Vec<u8>, String> {
    let found = std::fs::metadata(file).map_err(|e| reason(&e))?;
    if found.file_type().is_fifo() {
        return read_fifo(file, WRITER);
    }
    read_all(&mut File::open(file).map_err(|e| reason(&e))?)
}

/// Opens a file whose reads return at once; `/proc` has files that look regular and wait for ever.
fn open_at_once(file: &Path) -> Result<File, String> {
    File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(file)
        .map_err(|e| reason(&e))
}

/// Reads a FIFO, which must have a writer soon. A pipe that a shell made, as for `<(…)`, and that has
/// no writer any more is at its end.
fn read_fifo(file: &Path, limit: Duration) -> Result<Vec<u8>, String> {
    let failed = |e: Errno| reason(&e.into());
    let opened = open_at_once(file)?;
    let within = Timespec::try_from(limit).expect("it is short");
    let mut waited = [PollFd::new(&opened, PollFlags::IN)];
    let mut first = [0];
    let mut read = 0;
    if retry_on_intr(|| poll(&mut waited, Some(&within))).map_err(failed)? == 0 {
        // It has no writer, or one that has written nothing yet, on which the user waits.
        read = match rustix::io::read(&opened, &mut first) {
            Ok(0) => {
                let seconds = limit.as_secs();
                return Err(format!("it is a FIFO that had no writer for {seconds} s"));
            }
            Ok(read) => read,
            Err(Errno::AGAIN) => 0,
            Err(error) => return Err(failed(error)),
        };
    }
    let flags = fcntl_getfl(&opened).map_err(failed)?;
    fcntl_setfl(&opened, flags - OFlags::NONBLOCK).map_err(failed)?;
    read_all(&mut first[..read].chain(opened))
}

/// Reads a file that a specification names. Opening a FIFO waits for its writer, and reading a device
/// may never end, so only regular files are opened.
fn read_regular(file: &Path) -> Result<Vec<u8>, String> {
    let found = std::fs::metadata(file).map_err(|e| reason(&e))?;
    if found.is_dir() {
        return Err("it is a directory".into());
    }
    if !found.is_file() {
        return Err(NOT_REGULAR.into());
    }
    read_at_once(&mut open_at_once(file)?)
}

/// Reads what does not wait, as the reads of regular files do not.
fn read_at_once(from: &mut dyn Read) -> Result<Vec<u8>, String> {
    read_with(from, |e| match e.kind() {
        ErrorKind::WouldBlock => NOT_REGULAR.into(), // it only looks so, like /proc/kmsg
        _ => reason(e),
    })
}

fn read_all(from: &mut dyn Read) -> Result<Vec<u8>, String> {
    read_with(from, reason)
}

fn read_with(
    from: &mut dyn Read,
    why: impl Fn(&std::io::Error) -> String,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| why(&e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it has more than {} MB", LARGEST >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_name() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.nest"), "a").unwrap();
        let main = dir.path().join("main.nest");
        std::fs::write(&main, "m").unwrap();
        let main = main.to_string_lossy().into_owned();
        let mut files = Files::new(&main);
        let first = files.load(&main, "a.nest").unwrap();
        assert_eq!(first, files.load(&main, "./a.nest").unwrap());
        assert_eq!(files.load(&first.0, "main.nest").unwrap().0, main);
        assert_eq!(files.into_requested().len(), 3);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let mut files = Files::new("x.nest");
        for (from, path, expected) in [
            ("x.nest", "no/such/file.nest", "no such file or directory"),
            ("x.nest", ".", "it is a directory"),
            (
                "no/x.nest",
                "such.nest",
                "no/such.nest: no such file or directory",
            ),
        ] {
            assert_eq!(files.load(from, path).unwrap_err(), expected);
        }
        assert!(
            read_file(Path::new("/dev/zero"))
                .unwrap_err()
                .contains("more than 16 MB")
        );
    }

    fn fifo(dir: &Path) -> PathBuf {
        let fifo = dir.join("fifo.nest");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.is_ok_and(|status| status.success()));
        fifo
    }

    #[test]
    fn a_fifo_needs_a_writer() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = fifo(dir.path());
        let why = read_fifo(&fifo, Duration::from_millis(20)).unwrap_err();
        assert!(why.contains("no writer"), "{why}");
        // One that writes is waited for, however late its bytes are.
        let (path, (say, said)) = (fifo.clone(), std::sync::mpsc::channel());
        let writer = std::thread::spawn(move || {
            let mut to = File::options().write(true).open(path).unwrap();
            said.recv().unwrap();
            std::io::Write::write_all(&mut to, b"late").unwrap();
        });
        let reader = std::thread::spawn(move || read_fifo(&fifo, WRITER));
        say.send(()).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), b"late");
        writer.join().unwrap();
    }

    /// A file that has some bytes, and waits for others.
    struct Waits(bool);

    impl Read for Waits {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(ErrorKind::WouldBlock.into());
            }
            to[0] = b'a';
            Ok(1)
        }
    }

    #[test]
    fn a_file_that_would_be_waited_for_is_not_regular() {
        assert_eq!(read_at_once(&mut Waits(false)).unwrap_err(), NOT_REGULAR);
    }

    #[test]
    fn only_regular_files_are_included() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = fifo(dir.path());
        let mut files = Files::default();
        for (path, expected) in [
            (fifo.to_str().unwrap(), "it is not a regular file"),
            ("/dev/zero", "it is not a regular file"),
            (dir.path().to_str().unwrap(), "it is a directory"),
        ] {
            let why = files.load("x.nest", path).unwrap_err();
            assert!(why.ends_with(expected), "{why}");
        }
    }
}
