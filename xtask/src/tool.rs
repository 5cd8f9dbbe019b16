//! Runs programs and walks the source tree; used by all tasks.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a task: a line that says what was done, or why it failed.
pub type Outcome = Result<String, String>;

/// The project's root.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
    let dir = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(dir)
}

/// The command that builds the whole workspace as the tests need it, which is the only way not to build
/// some of it twice, and the path of its `nest`.
pub fn test_nest() -> (Command, PathBuf) {
    let mut command = cargo();
    command.args(["build", "--quiet", "--workspace", "--all-targets"]);
    (command, target().join("debug/nest"))
}

/// Builds `nest` for use; its path.
pub fn release_nest() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--release", "--package", "nest-cli"]))?;
    Ok(target().join("release/nest"))
}

/// Runs a program to its end; an error if it is missing or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| absent(command, &e))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} failed: {status}", name(command)))
    }
}

/// Runs a program and returns its standard output.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| absent(command, &e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!(
        "{} failed: {}\n{errors}",
        name(command),
        output.status
    ))
}

/// Why a program could not be started.
pub fn absent(command: &Command, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => {
            format!(
                "{} is not installed; run scripts/setup check",
                name(command)
            )
        }
        _ => format!("cannot run {}: {error}", name(command)),
    }
}

/// A program and its arguments as typed in a shell.
pub fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// All files of the project below `place`, sorted, as paths from the root.
pub fn files(place: &str) -> Result<Vec<PathBuf>, String> {
    files_below(&root(), place)
}

/// The same of another root.
pub fn files_below(root: &Path, place: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    walk(root, Path::new(place), &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(root: &Path, place: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(root.join(place))
        .map_err(|e| format!("cannot read {}: {e}", place.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| format!("cannot read {}: {e}", place.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if place == Path::new(".") {
            name.clone().into()
        } else {
            place.join(&name)
        };
        let kind = entry
            .file_type()
            .map_err(|e| format!("{}: {e}", path.display()))?;
        if kind.is_dir()
            && !["target", "build", ".git", "__pycache__", "artifacts"].contains(&&*name)
        {
            walk(root, &path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// The text of a project file; `None` if it is not text.
pub fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// Whether the path ends in one of the extensions.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .is_some_and(|e| extensions.iter().any(|known| e == *known))
}
