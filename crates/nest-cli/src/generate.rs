//! `nest gen`: writes the C project.
//!
//! Writes only files that changed, each atomically, and never into a directory that contains files
//! of others. Must not know: the contents of the files, except for the banner.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nest_emit::OutFile;
use nest_emit::filter;

use crate::args::{Gen, With};
use crate::compile::{compile, compile_filter, selected};
use crate::term::{self, Failure};

/// What is written: the files, the first of which shows whose the directory is, and the paths of
/// files that another run may have left.
struct Project {
    files: Vec<OutFile>,
    first: &'static str,
    others: Vec<String>,
}

/// `nest gen`.
pub fn generate(args: &Gen) -> Result<ExitCode, Failure> {
    let project = match args.filter {
        Some(filter) => {
            let filter = filter.into();
            let (machine, automaton) = compile_filter(&args.spec.file, filter)?;
            Project {
                files: filter::emit(&machine, &automaton, filter),
                first: filter::FIRST,
                others: filter::paths(),
            }
        }
        None => server(args)?,
    };
    let dir = &args.output;
    let ours = ours(dir, project.first)?;
    if !ours && !args.force {
        return Err(Failure::new(format!(
            "{} contains files that nest did not generate; choose another directory, or add --force",
            dir.display()
        )));
    }
    let written = write(dir, &project.files)?;
    if ours {
        remove_stale(dir, &project)?;
    }
    term::note(match written {
        0 => format!("{}: nothing has changed", dir.display()),
        1 => format!("{}: 1 file written", dir.display()),
        n => format!("{}: {n} files written", dir.display()),
    });
    Ok(ExitCode::SUCCESS)
}

/// The project of a server.
fn server(args: &Gen) -> Result<Project, Failure> {
    let machine = compile(
        &args.spec,
        &[],
        selected(args.trace, false),
        &mut BTreeSet::new(),
    )?;
    let mut files = nest_emit::emit(&machine);
    for with in &args.with {
        let (name, made) = match with {
            With::Systemd => ("systemd", nest_emit::deploy::systemd(&machine)),
            With::Docker => ("docker", nest_emit::deploy::docker(&machine)),
        };
        files.extend(made.map_err(|why| Failure::new(format!("--with {name}: {why}")))?);
    }
    let runtime = nest_runtime::parts().flat_map(|part| part.files);
    Ok(Project {
        files,
        first: "server.c",
        others: runtime
            .map(|file| format!("runtime/{}", file.path))
            .chain(nest_emit::inside::paths())
            .collect(),
    })
}

/// Writes the files that differ. Returns how many.
pub fn write(dir: &Path, files: &[OutFile]) -> Result<usize, Failure> {
    let mut written = 0;
    for file in files {
        let path = dir.join(&file.path);
        let place = path.parent().unwrap_or(dir);
        fs::create_dir_all(place)
            .map_err(|e| Failure::io(format!("cannot make {}", place.display()), &e))?;
        if !same(&path, file.text.as_bytes()) {
            replace(&path, file.text.as_bytes())
                .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))?;
            written += 1;
        }
    }
    Ok(written)
}

/// Removes files that this project does not need, left over from another model, option or filter.
fn remove_stale(dir: &Path, project: &Project) -> Result<(), Failure> {
    for path in &project.others {
        if project.files.iter().any(|file| file.path == *path) {
            continue;
        }
        let path = dir.join(path);
        match fs::remove_file(&path) {
            Ok(()) => {
                // Directories that are empty now are removed as well; the others refuse.
                for folder in path.ancestors().skip(1).take_while(|folder| *folder != dir) {
                    if fs::remove_dir(folder).is_err() {
                        break;
                    }
                }
            }
            Err(e) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&e.kind()) => {}
            Err(e) => return Err(Failure::io(format!("cannot remove {}", path.display()), &e)),
        }
    }
    Ok(())
}

/// Whether the directory is empty, does not exist, or was generated before: its file `first` says so.
fn ours(dir: &Path, first: &str) -> Result<bool, Failure> {
    let failed = |e: &io::Error| Failure::io(format!("cannot use {}", dir.display()), e);
    let mut entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(failed(&e)),
    };
    if entries.next().is_none() {
        return Ok(true);
    }
    match fs::read(dir.join(first)) {
        Ok(bytes) => {
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_lowercase();
            Ok(start.contains(&nest_emit::MARK.to_lowercase()))
        }
        Err(_) => Ok(false),
    }
}

fn same(path: &Path, bytes: &[u8]) -> bool {
    fs::read(path).is_ok_and(|old| old == bytes)
}

/// Writes to a temporary name beside the file, then renames, so that a reader sees the old file or
/// the new one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let result = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&beside, path));
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result
}

/// Writes a file that the user has named: as a whole, or not at all. To what is no file, such as a pipe, it
/// writes directly.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, bytes);
    }
    // What a symbolic link points to is replaced, not the link.
    replace(
        &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        bytes,
    )
}

/// An unused name in the same directory.
pub fn beside(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .unwrap_or(OsStr::new("server"))
        .to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}
