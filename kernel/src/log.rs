//! The access log of the answers that the kernel gave, in the Common Log Format.
//!
//! Must not know: how records come out of the kernel.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::date;
use crate::failure::Failure;
use crate::shape::{Name, Record};

/// Bytes that wait for room in a pipe.
const WAITING: usize = 64 << 10;

/// The open log.
pub struct Log {
    path: PathBuf,
    file: File,
    /// What is to be written; it may begin inside a line.
    text: Vec<u8>,
}

/// The kernel's clock waits for this thread, so the reader of a pipe is not waited for.
fn open(path: &Path) -> Result<File, Failure> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut how = OpenOptions::new();
    let file = how.create(true).append(true).custom_flags(flags).open(path);
    file.map_err(|e| {
        let what = format!("cannot open {}", path.display());
        if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
            return Failure::Failed(format!(
                "{what}: nobody reads this pipe; start its reader first"
            ));
        }
        Failure::io(what, &e)
    })
}

/// Shortens `text` to whole lines of at most `WAITING` bytes. Returns whether lines are lost.
fn cut(text: &mut Vec<u8>) -> bool {
    if text.len() <= WAITING {
        return false;
    }
    let end = text[..WAITING].iter().rposition(|byte| *byte == b'\n');
    text.truncate(end.map_or(0, |at| at + 1));
    true
}

impl Log {
    /// Opens the log, and keeps what is in it.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        Ok(Log {
            path: path.to_owned(),
            file: open(path)?,
            text: Vec::new(),
        })
    }

    /// Opens the log anew, because it may have been moved.
    pub fn reopen(&mut self) -> Result<(), Failure> {
        self.file = open(&self.path)?;
        Ok(())
    }

    /// Adds a line. The number of bytes includes the head of the answer.
    pub fn add(&mut self, record: &Record, name: Option<&Name>) {
        let line = format!(
            "{} - - [{}] \"{}\" {} {}\n",
            record.address,
            date::log(date::now()),
            record.request(name),
            record.status(),
            record.bytes
        );
        self.text.extend_from_slice(line.as_bytes());
    }

    /// Writes what was added. Returns whether lines are lost because a pipe is full.
    pub fn flush(&mut self) -> Result<bool, Failure> {
        let written = self.write();
        written.map_err(|e| Failure::io(format!("cannot write {}", self.path.display()), &e))?;
        Ok(cut(&mut self.text))
    }

    fn write(&mut self) -> Result<(), Error> {
        while !self.text.is_empty() {
            match self.file.write(&self.text) {
                Ok(count) => drop(self.text.drain(..count)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => {
                    self.text.clear();
                    return Err(e);
                }
            }
        }
        Ok(())
    }
}
