//! `make fuzz`: runs libFuzzer on the front end, on the work that the whole compiler does for each
//! byte, both with every specification of the project as seed, on the matchers, and on the recordings,
//! profiles and figures that `nest bench` reads. The last three share a fifth of the time, the others have
//! the rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tool::{self, Outcome, has_extension};

/// Runs all targets for this total time; findings stay in fuzz/artifacts.
pub fn fuzz(seconds: u64) -> Outcome {
    let have = |arguments: &[&str]| {
        Command::new("cargo")
            .args(arguments)
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !have(&["+nightly", "--version"]) {
        return Err("fuzzing needs a nightly Rust; run: rustup toolchain install nightly".into());
    }
    if !have(&["fuzz", "--version"]) {
        return Err("fuzzing needs cargo-fuzz; run: cargo install cargo-fuzz".into());
    }
    let each = (seconds * 4 / 15).max(1);
    let small = (seconds / 15).max(1);
    for name in ["frontend", "work"] {
        seed(&corpus(name))?;
    }
    target(
        "frontend",
        "frontend",
        each,
        &["-timeout=5", "-max_len=16384"],
    )?;
    target("work", "frontend", each, &["-timeout=60", "-max_len=16384"])?;
    target(
        "matchers",
        "matchers",
        each,
        &["-timeout=5", "-max_len=256"],
    )?;
    for name in ["recordings", "profiles", "figures"] {
        target(name, name, small, &["-timeout=5", "-max_len=65536"])?;
    }
    Ok(format!(
        "{each} s each, recordings, profiles and figures {small} s; nothing found"
    ))
}

/// The interesting inputs that a target has found.
fn corpus(name: &str) -> PathBuf {
    tool::target().join("fuzz-corpus").join(name)
}

/// Runs one target for this time; `kept`: whose inputs of the repository it begins with.
fn target(name: &str, kept: &str, seconds: u64, options: &[&str]) -> Result<(), String> {
    let found = corpus(name);
    fs::create_dir_all(&found).map_err(|e| format!("cannot make {}: {e}", found.display()))?;
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", "fuzz", "run", name])
        .arg(&found)
        .arg(format!("fuzz/corpus/{kept}"))
        .arg("--")
        .args(options)
        .arg(format!("-max_total_time={seconds}"))
        .current_dir(tool::root());
    tool::run(&mut command).map(|_| ())
}

/// Copies every specification, including those in cases and pages.
fn seed(corpus: &Path) -> Result<(), String> {
    fs::create_dir_all(corpus).map_err(|e| format!("cannot make {}: {e}", corpus.display()))?;
    let mut seeds = Vec::new();
    for path in tool::files(".")? {
        let Some(text) = tool::text(&path) else {
            continue;
        };
        if has_extension(&path, &["nest"]) {
            seeds.push(text);
        } else if has_extension(&path, &["md"]) {
            seeds.extend(fences(&text));
        }
    }
    for (number, text) in seeds.iter().enumerate() {
        let path = corpus.join(format!("seed-{number:04}"));
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(())
}

/// The specifications in a page.
fn fences(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    for line in page.lines() {
        match &mut current {
            None if line.starts_with("```nest") => current = Some(String::new()),
            Some(_) if line.starts_with("```") => found.extend(current.take()),
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_found() {
        let page = "a\n```nest\n%%\nx\n```\n```c\ny\n```\n```nest fixed\nz\n```\n";
        assert_eq!(fences(page), ["%%\nx\n", "z\n"]);
    }
}
