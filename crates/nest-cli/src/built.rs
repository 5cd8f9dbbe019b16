//! Recognises servers that nest has built, by the note in their ELF file.
//!
//! Servers run on Linux with 64 bits and the least significant byte first; any other file is not one.
//! Must not know: how servers are built, or what happens to the file.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nest_emit::NOTE;

/// The sizes of ELF's file header and program header.
const HEADER: usize = 64;
const PROGRAM: usize = 56;
/// The type of a program header for notes.
const PT_NOTE: u32 = 4;
/// The notes of an executable are far smaller.
const MOST_NOTES: usize = 1 << 16;

/// Whether nothing is lost if the file is replaced: it does not exist, is empty, or is a server that
/// nest has built.
pub fn is_replaceable(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        Err(e) if e.kind() == ErrorKind::NotADirectory => return Ok(true),
        Err(e) => return Err(e),
        Ok(_) => {}
    }
    // What a symbolic link leads to decides; a link that leads nowhere is not a server.
    let Ok(found) = fs::metadata(path) else {
        return Ok(false);
    };
    if !found.is_file() {
        return Ok(false);
    }
    if found.len() == 0 {
        return Ok(true);
    }
    Ok(has_note(&File::open(path)?).unwrap_or(false))
}

/// Whether an ELF file has the note of nest; none if it is not an ELF file, or is not complete.
fn has_note(file: &File) -> Option<bool> {
    let header = part(file, 0, HEADER)?;
    // Magic number, 64 bits, least significant byte first.
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let programs = number(&header, 32, 8)?;
    let size = number(&header, 54, 2)?;
    let count = number(&header, 56, 2)?;
    for program in 0..count {
        let at = programs.checked_add(program * size)?;
        let program = part(file, at, PROGRAM)?;
        let length = usize::try_from(number(&program, 32, 8)?).ok()?;
        if number(&program, 0, 4)? == u64::from(PT_NOTE)
            && length <= MOST_NOTES
            && among(&part(file, number(&program, 8, 8)?, length)?)
        {
            return Some(true);
        }
    }
    Some(false)
}

/// A note of an ELF file.
struct Found<'n> {
    kind: u64,
    owner: &'n [u8],
    text: &'n [u8],
    /// What follows it.
    rest: &'n [u8],
}

/// Whether one of these notes is the one of nest.
fn among(mut notes: &[u8]) -> bool {
    let is = |bytes: &[u8], text: &str| bytes.strip_suffix(b"\0") == Some(text.as_bytes());
    while let Some(found) = next(notes) {
        let ours = found.kind == u64::from(NOTE.kind) && is(found.owner, NOTE.owner);
        if ours && is(found.text, NOTE.text) {
            return true;
        }
        notes = found.rest;
    }
    false
}

/// The first note.
fn next(notes: &[u8]) -> Option<Found<'_>> {
    let size = |at| usize::try_from(number(notes, at, 4)?).ok();
    let (owner, text, kind) = (size(0)?, size(4)?, number(notes, 8, 4)?);
    let behind = notes.get(12..)?;
    let inside = behind.get(owner.next_multiple_of(4)..)?;
    Some(Found {
        kind,
        owner: behind.get(..owner)?,
        text: inside.get(..text)?,
        rest: inside.get(text.next_multiple_of(4)..).unwrap_or_default(),
    })
}

/// A part of a file.
fn part(file: &File, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// An unsigned number of so many bytes, the least significant one first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}
