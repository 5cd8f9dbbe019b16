//! Tells the server what the kernel answered for it, so that its own log has lines for it:
//! `runtime/service/kernel_log/` reads them from a pipe.
//!
//! Must not know: how records come out of the kernel, nor what a line of the log is.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::failure::Failure;
use crate::shape::{Name, Record};

/// What a pipe takes as a whole or not at all (POSIX).
const WHOLE: usize = 4096;

/// The open pipe.
pub struct Told {
    pipe: File,
    /// Lines that are to be written together, and how many.
    text: String,
    lines: u64,
    /// Lines for which the pipe had no room, and which the server does not know of yet.
    lost: u64,
    /// Records that the programs had no room for until now.
    unlogged: u64,
}

impl Told {
    /// Opens the pipe, which somebody must read.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(path, flags, Mode::empty());
        let pipe =
            pipe.map_err(|e| Failure::io(format!("cannot open {}", path.display()), &e.into()))?;
        Ok(Told {
            pipe: File::from(pipe),
            text: String::new(),
            lines: 0,
            lost: 0,
            unlogged: 0,
        })
    }

    /// Adds an answer. `name`: of what was asked for, if it is still known.
    pub fn add(&mut self, record: &Record, name: Option<&Name>) {
        let line = format!(
            "answer\t{}\t{}\t{}\t{}\n",
            record.peer(),
            record.request(name),
            record.status(),
            record.bytes
        );
        if self.text.len() + line.len() > WHOLE {
            self.write();
        }
        self.text.push_str(&line);
        self.lines += 1;
    }

    /// Writes what was added. `unlogged`: for so many answers there was no room in the programs. The
    /// kernel's clock waits for this thread, so a pipe that is full is not waited for.
    pub fn flush(&mut self, unlogged: u64) {
        self.lost += unlogged.saturating_sub(self.unlogged);
        self.unlogged = unlogged;
        self.write();
    }

    fn write(&mut self) {
        if self.lost > 0 && put(&mut self.pipe, &format!("lost\t{}\n", self.lost)) {
            self.lost = 0;
        }
        if self.lines > 0 && !put(&mut self.pipe, &self.text) {
            self.lost += self.lines;
        }
        self.text.clear();
        self.lines = 0;
    }
}

/// Whether there was room. The reader has ended only if the server has, and then it is all the same.
fn put(pipe: &mut File, text: &str) -> bool {
    loop {
        match pipe.write(text.as_bytes()) {
            Ok(_) => return true,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Told;
    use crate::shape::{HOST, NAME, Record};
    use std::io::{Read, pipe};
    use std::os::fd::AsRawFd;

    fn record() -> Record {
        Record {
            address: [127, 0, 0, 1].into(),
            port: 4711,
            index: 0,
            generation: 0,
            head: false,
            unchanged: false,
            bytes: 200,
        }
    }

    #[test]
    fn answers_are_told_and_those_without_room_counted() {
        let (mut reader, writer) = pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let mut told = Told::open(path.as_ref()).unwrap();
        let mut name = [0u8; NAME];
        name[HOST..HOST + 2].copy_from_slice(b"/a");
        told.add(&record(), Some(&name));
        told.flush(0);
        let mut bytes = vec![0; 1 << 21];
        let n = reader.read(&mut bytes).unwrap();
        let line = "answer\t127.0.0.1:4711\tGET /a HTTP/1.1\t200\t200\n";
        assert_eq!(std::str::from_utf8(&bytes[..n]).unwrap(), line);

        // Nobody reads, and no pipe holds so much.
        let all = 100_000;
        for _ in 0..all {
            told.add(&record(), Some(&name));
        }
        told.flush(0);
        let fits = reader.read(&mut bytes).unwrap();
        assert!(fits > 0 && fits.is_multiple_of(line.len()));
        told.flush(3);
        let n = reader.read(&mut bytes).unwrap();
        let lost = all - fits / line.len() + 3;
        assert_eq!(&bytes[..n], format!("lost\t{lost}\n").as_bytes());
    }
}
