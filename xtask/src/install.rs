//! `make install`: installs nest, its shell completions, its manual pages, and connection conditioning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tool::{self, Outcome};

/// Installs below `destdir` + `prefix`.
pub fn install(prefix: &Path, destdir: &Path) -> Outcome {
    if !prefix.is_absolute() {
        return Err(format!(
            "PREFIX must be an absolute path, not {}",
            prefix.display()
        ));
    }
    let place = if destdir.as_os_str().is_empty() {
        prefix.to_owned()
    } else {
        destdir.join(prefix.strip_prefix("/").unwrap_or(prefix))
    };
    let nest = tool::release_nest()?;
    let program = place.join("bin/nest");
    let beside = place.join("bin/.nest.new");
    make_parent(&program)?;
    fs::copy(&nest, &beside)
        .and_then(|_| fs::rename(&beside, &program))
        .map_err(|e| format!("cannot write {}: {e}", program.display()))?;
    for (shell, file) in [
        ("bash", "share/bash-completion/completions/nest"),
        ("zsh", "share/zsh/site-functions/_nest"),
        ("fish", "share/fish/vendor_completions.d/nest.fish"),
    ] {
        let text = tool::output(Command::new(&nest).args(["completions", shell]))?;
        write(&place.join(file), &text)?;
    }
    let manual = place.join("share/man/man1");
    tool::run(Command::new(&nest).args(["man", "--all"]).arg(&manual))?;
    // make works in another folder: a relative path would lead elsewhere.
    let destdir = if destdir.as_os_str().is_empty() {
        PathBuf::new()
    } else {
        std::path::absolute(destdir).map_err(|e| format!("{}: {e}", destdir.display()))?
    };
    tool::run(
        Command::new("make")
            .args(["-s", "-C", "conditioning", "install"])
            .arg(format!("PREFIX={}", prefix.display()))
            .arg(format!("DESTDIR={}", destdir.display()))
            .current_dir(tool::root()),
    )?;
    Ok(format!(
        "nest, its completions and manual pages, and connection conditioning are installed below {}",
        place.display()
    ))
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    make_parent(path)?;
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn make_parent(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|e| format!("cannot make {}: {e}", parent.display()))
}
