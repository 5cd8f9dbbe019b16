//! Finds the test pages of a specification: those named on the command line, or those that name the
//! specification.
//!
//! Must not know: the rest of a page's contents.

use std::path::{Path, PathBuf};

use super::shown::shown;
use crate::source;
use crate::term::{self, Failure};

/// The directories of pages, relative to that of the specification.
const PLACES: [&str; 3] = ["", "cases", "tests"];

/// Separates pages from C files of the server on the command line.
pub fn divided(named: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    let ends = |file: &Path, with: &str| file.extension().is_some_and(|e| e == with);
    if let Some(other) = named.iter().find(|f| !ends(f, "md") && !ends(f, "c")) {
        return Err(Failure::Usage(format!(
            "{} is neither a page, whose name ends in .md, nor a C file of the server",
            other.display()
        )));
    }
    let (pages, more) = named.iter().cloned().partition(|file| ends(file, "md"));
    Ok((pages, more))
}

/// The pages to run, by their real paths. If there are none, this is a failure with advice, unless
/// pages will be `made`.
pub fn of(spec: &Path, named: &[PathBuf], made: bool) -> Result<Vec<PathBuf>, Failure> {
    let pages = found(spec, named, made)?;
    let own = std::fs::canonicalize(spec).unwrap_or_default();
    // The runner is told them as JSON.
    match std::iter::once(&own)
        .chain(&pages)
        .find(|path| path.to_str().is_none())
    {
        Some(path) => Err(Failure::new(format!(
            "cannot run the tests: the path {path:?} is not UTF-8"
        ))),
        None => Ok(pages),
    }
}

fn found(spec: &Path, named: &[PathBuf], made: bool) -> Result<Vec<PathBuf>, Failure> {
    let real = |path: &Path| {
        std::fs::canonicalize(path)
            .map_err(|e| Failure::io(format!("cannot read {}", path.display()), &e))
    };
    let own = real(spec)?;
    if !named.is_empty() {
        let mut pages = Vec::new();
        for page in named {
            let path = real(page)?;
            if !path.is_file() {
                return Err(Failure::new(format!("{} is not a file", page.display())));
            }
            if let Some((line, other)) = specification(&path).filter(|(_, other)| *other != own) {
                return Err(Failure::Usage(format!(
                    "{}:{line}: it is about {}, not about {}",
                    page.display(),
                    other.display(),
                    spec.display()
                )));
            }
            if !pages.contains(&path) {
                pages.push(path);
            }
        }
        return Ok(pages);
    }
    let mut pages = Vec::new();
    let mut nameless = Vec::new();
    for place in PLACES {
        let folder = source::directory(spec).join(place);
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = files
            .filter(|f| f.extension().is_some_and(|e| e == "md") && f.is_file())
            .collect();
        files.sort();
        for file in files {
            let path = real(&file)?;
            match specification(&path) {
                Some((_, other)) if other == own => pages.push(path),
                Some((line, other)) if !other.exists() && holds_conversations(&path) => {
                    term::note(format!(
                        "{}:{line}: there is no specification {}: the page is left out",
                        shown(&path),
                        shown(&other)
                    ));
                }
                Some(_) => {}
                None if holds_conversations(&path) => nameless.push(path),
                None => {}
            }
        }
    }
    for page in nameless {
        term::note(format!(
            "{} names no specification, with a line `spec: {}`: it is left out",
            shown(&page),
            spec.file_name().unwrap_or_default().display()
        ));
    }
    if pages.is_empty() && !made {
        return Err(Failure::new(format!(
            "there is no test page for {}: a page in Markdown with a line `spec: {}`; to begin: \
             nest test --generate {}",
            spec.display(),
            spec.file_name().unwrap_or_default().display(),
            spec.display(),
        )));
    }
    Ok(pages)
}

/// The specification that a page names, by its real path (or its own path if it does not exist),
/// and the line.
fn specification(page: &Path) -> Option<(usize, PathBuf)> {
    let text = text(page)?;
    let (line, named) = (1..).zip(text.lines()).find_map(|(number, line)| {
        let mut words = line.strip_prefix("spec:")?.split_whitespace();
        let word = words.next().filter(|_| words.next().is_none())?;
        Some((number, word))
    })?;
    let path = page.parent()?.join(named);
    Some((line, std::fs::canonicalize(&path).unwrap_or(path)))
}

/// Whether a page without a specification (its own or another) has a client fence.
fn holds_conversations(page: &Path) -> bool {
    let text = text(page).unwrap_or_default();
    let fence = |kind: &str| {
        text.lines()
            .any(|line| line.starts_with(&format!("```{kind}")))
    };
    fence("client") && fence("trace") && !fence("nest") && !fence("escaped")
}

fn text(page: &Path) -> Option<String> {
    let bytes = std::fs::read(page).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
