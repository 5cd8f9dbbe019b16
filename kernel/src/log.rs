//! The access log of the answers that the kernel gave, in the Common Log Format.
//!
//! Must not know: how records come out of the kernel.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::date;
use crate::failure::Failure;
use crate::shape::{Name, Record};

/// The open log.
pub struct Log {
    path: PathBuf,
    file: File,
    text: String,
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(|e| Failure::io(format!("cannot open {}", path.display()), &e))
}

impl Log {
    /// Opens the log, and keeps what is in it.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        Ok(Log {
            path: path.to_owned(),
            file: open(path)?,
            text: String::new(),
        })
    }

    /// Opens the log anew, because it may have been moved.
    pub fn reopen(&mut self) -> Result<(), Failure> {
        self.file = open(&self.path)?;
        Ok(())
    }

    /// Adds a line. The number of bytes includes the head of the answer.
    pub fn add(&mut self, record: &Record, name: Option<&Name>) {
        self.text.push_str(&format!(
            "{} - - [{}] \"{}\" {} {}\n",
            record.address,
            date::log(date::now()),
            record.request(name),
            record.status(),
            record.bytes
        ));
    }

    /// Writes what was added.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let written = self.file.write_all(self.text.as_bytes());
        self.text.clear();
        written.map_err(|e| Failure::io(format!("cannot write {}", self.path.display()), &e))
    }
}
